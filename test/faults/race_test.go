//go:build race

package faults

// Under the race detector, which a world on one goroutine gives little to do and makes twenty
// times slower: enough to see that it finds nothing, when -short makes it a quarter of the seeds.
const (
	standardSeeds = 40 // runs of TestFaults
	replays       = 1  // kinds that TestReplay runs twice
	modeSeeds     = 1  // seeds of TestModesGiveTheSameBytes
	planeSeeds    = 80 // runs of TestPlanes
	clientSeeds   = 1  // runs of TestLeases, of TestJobs and of TestTenants
)
