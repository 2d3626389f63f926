//go:build race

package dataplane

// raced: the race detector, which a switch on one goroutine gives nothing to do, makes
// everything some ten times slower.
const raced = true
