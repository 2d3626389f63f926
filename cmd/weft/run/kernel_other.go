//go:build !linux

package run

import (
	"context"
	"fmt"
	"runtime"
)

// RunKernel runs the agent of this machine's kernel, which must be Linux.
func (s *Switch) RunKernel(context.Context) error {
	return fmt.Errorf("--datapath linux: this is %s", runtime.GOOS)
}

// KernelLacks returns what this machine's kernel lacks to be a switch.
func KernelLacks() ([]string, error) { return []string{"Linux"}, nil }
