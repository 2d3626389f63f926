// Package cluster tests several controllers on one store and one network, in one process: REST at
// any of them, takeovers, and their effect on switches.
package cluster
