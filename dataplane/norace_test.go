//go:build !race

package dataplane

const raced = false
