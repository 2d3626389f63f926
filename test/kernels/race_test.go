//go:build race

package kernels

// Under the race detector hosts are twenty times slower, and kernels are not.
const slowed = true
