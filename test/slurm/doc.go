// Package slurm tests Weft's Slurm scripts against an installed slurmctld: Debian's packages
// slurmctld, slurm-client and slurm-wlm-basic-plugins suffice. The nodes exist only as names. "make
// interop" runs jobs and also requires the package slurmd.
package slurm
