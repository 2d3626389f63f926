//go:build !linux

package hostrun

import (
	"errors"
	"time"
)

// bell is the sleeping place of a goroutine with polled ports, which only Linux has.
type bell struct{}

func (*bell) open() error                  { return errors.ErrUnsupported }
func (*bell) close()                       {}
func (*bell) ring()                        {}
func (*bell) wait([]Polled, time.Duration) {}
