//go:build !linux

package live

import (
	"errors"
	"time"
)

// poller is not there: no port of this system has a descriptor.
type poller struct{}

func newPoller([]int) (*poller, error) { return nil, errors.ErrUnsupported }

func (*poller) wait(time.Duration, func() bool) {}

func (*poller) wake() {}

func (*poller) close() error { return nil }
