package suspect

import (
	"errors"
	"fmt"
	"time"
)

// ErrConfig reports that a Config cannot be used.
var ErrConfig = errors.New("suspect")

// Config bounds what is taken for a bad link.
type Config struct {
	// Window is how long evidence counts, at least; it counts for at most one
	// and a half times as long.
	Window time.Duration
	// MinLoss is the smallest loss rate across a link, from 0 to 1, for which the link is named.
	MinLoss float64
	// MaxMarked is the share of arrived packets with a congestion mark, from 0 to 1, above which
	// congestion explains an observation, so that the observation does not count.
	MaxMarked float64
	// Confidence is the least that a suspect is named with, of 1.
	Confidence float64
	// MaxSuspects bounds how many are named at once: where more links lose
	// packets, something else is wrong.
	MaxSuspects int
}

// Defaults are the values for a fabric whose hosts report once a second or more
// often: a link that loses 1 % is named within two reports.
func Defaults() Config {
	return Config{Window: 2 * time.Second, MinLoss: 1e-3, MaxMarked: 0.3, Confidence: 0.99,
		MaxSuspects: 8}
}

// Validate names the first field that cannot be used.
func (c Config) Validate() error {
	share := func(v float64) bool { return v > 0 && v < 1 }
	switch {
	case c.Window < 2:
		return fmt.Errorf("%w: window %v: want 2ns or more, for two halves", ErrConfig, c.Window)
	case !share(c.MinLoss):
		return fmt.Errorf("%w: minLoss %v: want more than 0 and less than 1", ErrConfig, c.MinLoss)
	case !share(c.MaxMarked):
		return fmt.Errorf("%w: maxMarked %v: want more than 0 and less than 1", ErrConfig, c.MaxMarked)
	case !share(c.Confidence):
		return fmt.Errorf("%w: confidence %v: want more than 0 and less than 1", ErrConfig, c.Confidence)
	case c.MaxSuspects < 1:
		return fmt.Errorf("%w: maxSuspects %d: want 1 or more", ErrConfig, c.MaxSuspects)
	}
	return nil
}
