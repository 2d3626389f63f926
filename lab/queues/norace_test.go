//go:build !race

package queues

const raced = false
