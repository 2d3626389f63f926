package mrc

import (
	"context"
	"fmt"
	"time"

	"github.com/weft-sdn/weft/lab"
)

// virtual is a stage in virtual time.
type virtual struct {
	world   *lab.World
	control *lab.Control
	limit   time.Duration // of the world's time, for every wait
}

// virtualPoll is how often, in round trips, until looks.
const virtualPoll = 0.25

func (v *virtual) Do(_ context.Context, f func(w *lab.World) error) error { return f(v.world) }

func (v *virtual) Until(ctx context.Context, what string, done func(w *lab.World) (bool,
	error)) error {
	step := max(time.Microsecond, time.Duration(virtualPoll*float64(v.world.Network.RoundTrip())))
	for end := v.world.Now() + v.limit; ; v.world.Run(v.world.Now()+step, nil) {
		ok, err := done(v.world)
		switch {
		case ok || err != nil:
			return err
		case v.control.Err() != nil:
			return v.control.Err()
		case ctx.Err() != nil:
			return ctx.Err()
		case v.world.Now() >= end:
			return fmt.Errorf("demo: waiting until %s: %v are over", what, v.limit)
		}
	}
}

func (v *virtual) Lose(_ context.Context, l lab.Loss) error {
	if _, err := v.world.Lose(l); err != nil {
		return err
	}
	for _, s := range l.Switches {
		v.control.SwitchChanged(s)
	}
	v.control.NetworkChanged()
	return nil
}
