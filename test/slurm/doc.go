// Package slurm tests what Weft gives Slurm against a slurmctld, where one is installed: Debian's
// packages slurmctld, slurm-client and slurm-wlm-basic-plugins are enough. Its nodes are names
// only: no job runs.
package slurm
