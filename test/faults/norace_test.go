//go:build !race

package faults

const (
	standardSeeds = 250   // runs of TestFaults
	replays       = kinds // kinds that TestReplay runs twice
	modeSeeds     = 6     // seeds of TestModesGiveTheSameBytes
	planeSeeds    = 250   // runs of TestPlanes
	clientSeeds   = 8     // runs of TestLeases, of TestJobs and of TestTenants
)
