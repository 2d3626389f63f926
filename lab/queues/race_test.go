//go:build race

package queues

// raced: the race detector, which a fabric on one goroutine gives nothing to do, makes
// everything some ten times slower.
const raced = true
