#!/bin/sh
# EpilogSlurmctld of Slurm (slurm.conf(5)): tells Weft that a job is over. See prolog.sh.
set -eu
env=${WEFT_SLURM_ENV:-/etc/weft/slurm.env}
if [ -r "$env" ]; then
	set -a
	. "$env"
	set +a
fi
if [ "$(scontrol show hostnames "$SLURM_JOB_NODELIST" | wc -l)" -lt 2 ]; then
	exit 0
fi
exec weft delete job "slurm-$SLURM_JOB_ID"
