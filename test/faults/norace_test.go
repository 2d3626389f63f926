//go:build !race

package faults

// standardSeeds are the runs of TestFaults.
const standardSeeds = 500
