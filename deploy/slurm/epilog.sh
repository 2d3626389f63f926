#!/bin/sh
# EpilogSlurmctld of Slurm (slurm.conf(5)): tells Weft that a job is over. See prolog.sh.
set -eu
env=${WEFT_SLURM_ENV:-/etc/weft/slurm.env}
if [ -e "$env" ]; then
	set -a
	. "$env"
	set +a
fi
if [ "${SLURM_JOB_NUM_NODES:?}" = 1 ]; then
	exit 0
fi
job=slurm-${SLURM_JOB_ID:?}
if ! said=$(weft delete job --ignore-missing "$job" 2>&1); then
	logger -t weft-epilog "JobId=$SLURM_JOB_ID: weft has $job still: $said" || true
	exit 1
fi
