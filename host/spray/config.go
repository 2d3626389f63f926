package spray

import (
	"fmt"
	"time"
)

// Config configures the spraying of a queue pair. Start from DefaultConfig.
type Config struct {
	// Seed draws the order in which the queue pair uses values. Give each queue pair a seed, so that
	// queue pairs with equal profiles do not send over the same path at the same time.
	Seed uint64
	// MaxSkips bounds how many SKIP values a packet passes over; the packet then takes the next value,
	// SKIP or not. Default 16.
	MaxSkips int
	// ReshuffleEvery is the number of rotations after which the set draws a new order for data; for
	// control packets it draws one after each rotation. 0 means never, for both. Default 8.
	ReshuffleEvery int
	// AllActive sends data with all usable values, however few packets the congestion window holds.
	// Default false: one to two windows of values are active (§11.2.1).
	AllActive bool
	// BadAfter is the number of packets lost in a row, with no acknowledged packet between them, after
	// which a value becomes ASSUMED_BAD. Default 3.
	BadAfter int
	// ProbeInterval is the time from a value becoming ASSUMED_BAD to its first probe; it doubles
	// with each probe until ProbeMaxInterval. Default 100 us, 10 ms.
	ProbeInterval, ProbeMaxInterval time.Duration
	// Notify, if not nil, receives the state changes of values. Notify must not call back.
	Notify func(Event)
	// Doubtful, if not nil, reports whether other queue pairs found the value at an index bad. Control
	// packets get no feedback, so Next avoids doubtful values for control packets while other values
	// remain.
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
