#!/bin/sh
# PrologSlurmctld of Slurm (slurm.conf(5)): tells Weft where a job is to run, and lets it start once
# the fabric is ready for it. With another status than 0, after WEFT_WAIT, Slurm queues the job again.
#
# /etc/weft/slurm.env has WEFT_SERVER and WEFT_TOKEN, and what is other than here:
#   WEFT_NICS     NICs of a node (1)
#   WEFT_NIC      how they are named in Weft's inventory ({host}-{nic}, or {host} for one)
#   WEFT_PATTERN  who talks to whom, as Slurm does not know (all-to-all)
#   WEFT_WAIT     the longest wait (2m)
set -eu
env=${WEFT_SLURM_ENV:-/etc/weft/slurm.env}
if [ -r "$env" ]; then
	set -a
	. "$env"
	set +a
fi
job=slurm-$SLURM_JOB_ID
nics=${WEFT_NICS:-1}
nodes=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | wc -l)
if [ "$nodes" -lt 2 ]; then
	exit 0 # a job on one node needs no fabric
fi
nic=
if [ -n "${WEFT_NIC:-}" ]; then
	nic="nic: '$WEFT_NIC'"
fi

# apply STATE tells Weft of the job.
apply() {
	weft apply -f - <<EOF
kind: job
name: $job
spec:
  hosts: '$SLURM_JOB_NODELIST'
  nicsPerHost: $nics
  $nic
  communicators:
  - {name: all, ranks: 0-$((nodes * nics - 1)), pattern: ${WEFT_PATTERN:-all-to-all}}
  state: $1
EOF
}

apply placed
if ! weft wait job "$job" --for ready --timeout "${WEFT_WAIT:-2m}"; then
	weft get readiness "$job" >&2 || true
	weft delete job "$job" || true
	exit 1
fi
apply running
