package lab

import (
	"context"
	"fmt"
	"time"
)

// virtual is a stage in virtual time.
type virtual struct {
	world   *World
	control *Control
	limit   time.Duration // of the world's time, for every wait
}

// virtualPoll is how often, in round trips, until looks.
const virtualPoll = 0.25

func (v *virtual) do(_ context.Context, f func(w *World) error) error { return f(v.world) }

func (v *virtual) until(ctx context.Context, what string, done func(w *World) (bool, error)) error {
	step := max(time.Microsecond, time.Duration(virtualPoll*float64(v.world.Network.RoundTrip())))
	for end := v.world.now + v.limit; ; v.world.Run(v.world.now+step, nil) {
		ok, err := done(v.world)
		switch {
		case ok || err != nil:
			return err
		case v.control.Err() != nil:
			return v.control.Err()
		case ctx.Err() != nil:
			return ctx.Err()
		case v.world.now >= end:
			return fmt.Errorf("lab: waiting until %s: %v are over", what, v.limit)
		}
	}
}

func (v *virtual) lose(_ context.Context, l Loss) error {
	if _, err := v.world.Lose(l); err != nil {
		return err
	}
	for _, s := range l.Switches {
		v.control.SwitchChanged(s)
	}
	v.control.NetworkChanged()
	return nil
}
