// Package retry does again what failed, after pauses that grow.
package retry

import (
	"context"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Backoff is exponential, with full jitter of half an interval either way.
type Backoff struct {
	Initial    time.Duration // default 100 ms
	Max        time.Duration // default 10 s
	Multiplier float64       // default 1.6
}

// DefaultBackoff returns the defaults.
func DefaultBackoff() Backoff {
	return Backoff{Initial: 100 * time.Millisecond, Max: 10 * time.Second, Multiplier: 1.6}
}

// Validate returns an error with the first field that makes no sense, named below a field Backoff.
func (b Backoff) Validate() error {
	switch {
	case b.Initial <= 0:
		return fmt.Errorf("Backoff.Initial is %v, not positive", b.Initial)
	case b.Max < b.Initial:
		return fmt.Errorf("Backoff.Max %v is below Backoff.Initial %v", b.Max, b.Initial)
	case b.Multiplier < 1:
		return fmt.Errorf("Backoff.Multiplier %v is below 1", b.Multiplier)
	}
	return nil
}

// Keep calls serve repeatedly until ctx ends. serve returns when it failed, and for how long the
// other end had answered. Then failed is told why, and the pause that follows. The pauses begin
// anew after a service longer than Max: an end that hangs up soon after it answered is not asked at
// once. After the end of ctx failed is not called.
func (b Backoff) Keep(ctx context.Context, serve func(context.Context) (served time.Duration,
	err error), failed func(err error, pause time.Duration)) {
	pauses := &backoff.ExponentialBackOff{
		InitialInterval: b.Initial, RandomizationFactor: 0.5, Multiplier: b.Multiplier,
		MaxInterval: b.Max,
	}
	pauses.Reset()
	for {
		served, err := serve(ctx)
		if ctx.Err() != nil {
			return
		}
		if served > b.Max {
			pauses.Reset()
		}
		pause := pauses.NextBackOff()
		failed(err, pause)
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return
		}
	}
}
