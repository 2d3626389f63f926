//go:build !linux

package mrchost

import (
	"errors"
	"log/slog"
	"time"
)

// door is where applications come in: nowhere but on Linux.
type door struct{}

func (r *runner) open(*slog.Logger) error {
	if r.cfg.Applications != nil {
		return errors.New("applications: want Linux, whose shared memory they need")
	}
	return nil
}

func (*door) memory() *MemoryReport    { return nil }
func (*door) close() error             { return nil }
func (*door) setPort(int, bool) bool   { return false }
func (*door) pump(time.Duration) error { return nil }
func (*door) rest(time.Duration) bool  { return false }
