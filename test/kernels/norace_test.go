//go:build !race

package kernels

const slowed = false
