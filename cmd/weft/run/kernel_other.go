//go:build !linux

package run

import (
	"context"
	"fmt"
	"runtime"
)

// RunKernel runs the agent of this machine's kernel, which must be Linux's.
func (s *Switch) RunKernel(context.Context) error {
	return fmt.Errorf("--datapath linux: this is %s", runtime.GOOS)
}
