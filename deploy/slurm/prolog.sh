#!/bin/sh
# PrologSlurmctld of Slurm (slurm.conf(5)): tells Weft where a job is to run, and lets it start once
# the fabric is ready for it. When a command fails, or the fabric is not ready within WEFT_WAIT, the
# job does not start: Slurm queues a batch job again, and cancels that of srun or salloc. The reason
# is what srun and salloc print, the AdminComment of the job, and in the system's log.
#
# /etc/weft/slurm.env has WEFT_SERVER and WEFT_TOKEN, and what is other than here:
#   WEFT_NICS     NICs of a node (1)
#   WEFT_NIC      how they are named in Weft's inventory ({host}-{nic}, or {host} for one)
#   WEFT_PATTERN  who talks to whom, as Slurm does not know (all-to-all)
#   WEFT_WAIT     the longest wait (2m)
#   SLURM_CONF    slurm.conf, where it is not in Slurm's own folder: slurmctld does not pass it on
set -eu
env=${WEFT_SLURM_ENV:-/etc/weft/slurm.env}
if [ -e "$env" ]; then
	set -a
	. "$env"
	set +a
fi
if [ "${SLURM_JOB_NUM_NODES:?}" = 1 ]; then
	exit 0 # a job on one node needs no fabric
fi
job=slurm-${SLURM_JOB_ID:?}

# apply STATE tells Weft of the job.
apply() {
	nics=${WEFT_NICS:-1}
	last=$((SLURM_JOB_NUM_NODES * nics - 1))
	nic=
	if [ -n "${WEFT_NIC:-}" ]; then
		nic="nic: '$WEFT_NIC'"
	fi
	weft apply -f - <<EOF
kind: job
name: $job
spec:
  hosts: '${SLURM_JOB_NODELIST:?}'
  nicsPerHost: $nics
  $nic
  communicators:
  - {name: all, ranks: 0-$last, pattern: ${WEFT_PATTERN:-all-to-all}}
  state: $1
EOF
}

# comment TEXT sets the job's AdminComment, where nobody but this script has written one.
comment() {
	case $(scontrol --oneliner show job "$SLURM_JOB_ID") in
	*" AdminComment=weft: "*) ;;
	*" AdminComment="*) return ;;
	esac
	scontrol update JobId="$SLURM_JOB_ID" AdminComment="$1"
}

set +e # which holds in a condition for all that the condition calls
said=$(
	set -e
	exec 2>&1 >/dev/null
	apply placed
	weft wait job "$job" --for ready --timeout "${WEFT_WAIT:-2m}"
	apply running
)
status=$?
if [ "$status" = 0 ]; then
	if [ "${SLURM_JOB_RESTART_COUNT:-0}" != 0 ]; then
		comment '' # it says why an earlier try did not start
	fi
	exit 0
fi
reason=${said##*"
"}
reason="weft: not started: ${reason#weft: }"
weft delete job --ignore-missing "$job"
scontrol notify "$SLURM_JOB_ID" "$reason"
comment "$reason"
logger -t weft-prolog "JobId=$SLURM_JOB_ID: status $status: $reason"
exit 1
