//go:build !linux

package hostrun

import (
	"errors"
	"time"
)

// bell is what a goroutine with ports that are polled sleeps at: only Linux has those.
type bell struct{}

func (*bell) open() error                  { return errors.ErrUnsupported }
func (*bell) close()                       {}
func (*bell) ring()                        {}
func (*bell) wait([]Polled, time.Duration) {}
