//go:build !linux

package kernel

// Lacks returns what the kernel lacks to be a switch.
func Lacks() ([]string, error) { return []string{"Linux"}, nil }
