package spray

import (
	"fmt"
	"time"
)

// Config is how a queue pair sprays. Start from DefaultConfig.
type Config struct {
	// Seed of the order in which values are used, one for each queue pair, so that those with the
	// same profile do not send over the same path at the same time.
	Seed uint64
	// MaxSkips bounds how many SKIP values a packet passes over; it is then sent with the next one,
	// SKIP or not. Default 16.
	MaxSkips int
	// ReshuffleEvery is the number of rotations after which the order is drawn anew; 0 is never.
	// Default 8.
	ReshuffleEvery int
	// AllActive has data sent with all values that can be used, however few packets the congestion
	// window holds. Default false: with one to two windows of them (§11.2.1).
	AllActive bool
	// BadAfter is the number of packets lost in a row, none acknowledged between them, that make a
	// value ASSUMED_BAD. Default 3.
	BadAfter int
	// ProbeInterval is the time from a value becoming ASSUMED_BAD to its first probe; it doubles
	// with each probe until ProbeMaxInterval. Default 100 us, 10 ms.
	ProbeInterval, ProbeMaxInterval time.Duration
	// Notify, if not nil, is told what becomes of values. It must not call back.
	Notify func(Event)
	// Doubtful, if not nil, reports that others have found the value of an index bad. What is not
	// data, of which nobody says what became, is sent with others as long as there are any.
	Doubtful func(index int) bool
}

// DefaultConfig is a configuration for a queue pair.
func DefaultConfig(seed uint64) Config {
	return Config{
		Seed: seed, MaxSkips: 16, ReshuffleEvery: 8, BadAfter: 3,
		ProbeInterval: 100 * time.Microsecond, ProbeMaxInterval: 10 * time.Millisecond,
	}
}

// Validate reports which field cannot be used; the error wraps ErrConfig.
func (c Config) Validate() error {
	switch {
	case c.MaxSkips < 1:
		return fmt.Errorf("MaxSkips %d: want 1 or more: %w", c.MaxSkips, ErrConfig)
	case c.ReshuffleEvery < 0:
		return fmt.Errorf("ReshuffleEvery %d: want 0 or more: %w", c.ReshuffleEvery, ErrConfig)
	case c.BadAfter < 1:
		return fmt.Errorf("BadAfter %d: want 1 or more: %w", c.BadAfter, ErrConfig)
	case c.ProbeInterval <= 0:
		return fmt.Errorf("ProbeInterval %v: want above 0: %w", c.ProbeInterval, ErrConfig)
	case c.ProbeMaxInterval < c.ProbeInterval || c.ProbeMaxInterval > time.Hour:
		return fmt.Errorf("ProbeMaxInterval %v: want ProbeInterval (%v) to an hour: %w",
			c.ProbeMaxInterval, c.ProbeInterval, ErrConfig)
	}
	return nil
}
