//go:build race

package faults

// standardSeeds under the race detector, which a world on one goroutine gives little to do and
// makes twenty times slower: enough to see that it finds nothing.
const standardSeeds = 10
