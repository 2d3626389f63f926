// Package cluster tests several controllers on one store and one network, in one process: REST at
// any of them, takeovers, and what switches see of them.
package cluster
