package controller

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/weft-sdn/weft/api"
)

// Turns give switches another P4 program one after the other. A switch waits until the controller
// has programmed the switch before and all ports of that switch are up: the network keeps paths
// around a switch without entries.
type Turns struct {
	turn chan struct{} // has the one turn
	of   atomic.Pointer[Controller]
}

// NewTurns returns turns for the switches of the controller that [Turns.Follow] gets.
func NewTurns() *Turns { return &Turns{turn: make(chan struct{}, 1)} }

// Follow makes turns end when the controller c reports that it has programmed the switch.
func (t *Turns) Follow(c *Controller) { t.of.Store(c) }

// How often a turn looks at its switch, and how long a switch that does not become programmed keeps
// others from their turn.
const (
	turnLook     = 20 * time.Millisecond
	turnPatience = 30 * time.Second
)

// take waits for the turn of a switch, and until it is known what the switch is to hold. programmed
// gives the turn to the next one.
func (t *Turns) take(ctx context.Context, sw string) (programmed func(context.Context), err error) {
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	down := -1 // nothing is known of its ports
	t.until(ctx, sw, func(s *api.SwitchStatus) bool {
		if s.Ports != nil {
			down = len(s.Ports.Down)
		}
		return s.Node != "" && !s.Settling
	})
	return func(ctx context.Context) {
		defer func() { <-t.turn }()
		t.until(ctx, sw, func(s *api.SwitchStatus) bool {
			return s.Synced && (down < 0 || s.Ports != nil && s.Ports.Error == "" &&
				len(s.Ports.Down) <= down)
		})
	}, nil
}

// until polls until something holds of a switch, the patience is over or ctx ends.
func (t *Turns) until(ctx context.Context, sw string, holds func(*api.SwitchStatus) bool) {
	ctx, cancel := context.WithTimeout(ctx, turnPatience)
	defer cancel()
	ticker := time.NewTicker(turnLook)
	defer ticker.Stop()
	for {
		if c := t.of.Load(); c != nil {
			// The controller may begin or end: then the switch is not known.
			if s, ok, _ := c.Switch(ctx, sw); ok && holds(&s) {
				return
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
