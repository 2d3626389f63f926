package cluster

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/weft-sdn/weft/store"
)

// movePause is the pause between moves of switches whose owner lives.
const movePause = time.Second

// movesAtOnce returns how many of n switches may move at a time: each is without a session for a
// moment.
func movesAtOnce(n int) int { return max(4, n/32) }

// share decides on the owners of switches until ctx ends.
func (n *Node) share(ctx context.Context, m *Mandate) {
	decided := make(map[string]Owner) // what was written last
	tick := time.NewTicker(movePause)
	defer tick.Stop()
	defer n.setUneven("")
	moves := 0
	for {
		v, changed := n.View()
		retry := time.Duration(0)
		if err := n.assign(ctx, m, v, decided, moves); err != nil {
			if errors.Is(err, store.ErrFenced) || ctx.Err() != nil {
				return // the term is over
			}
			n.cfg.Log.Warn("the owners of switches could not be stored", "reason", err)
			retry = n.cfg.TTL / 10
		}
		moves = 0
		var again <-chan time.Time
		if retry > 0 {
			again = time.After(retry)
		}
		select {
		case <-changed:
		case <-again:
		case <-tick.C:
			switches := n.cfg.Switches()
			moves = movesAtOnce(len(switches))
			n.setUneven(unevenness(v.staying(), switches, v.Owners))
		case <-ctx.Done():
			return
		}
	}
}

// assign stores the owners that follow from the present controllers. decided holds owners that
// assign stored before and that the view may not have yet.
func (n *Node) assign(ctx context.Context, m *Mandate, v View, decided map[string]Owner,
	moves int) error {
	owners := maps.Clone(v.Owners)
	if owners == nil {
		owners = make(map[string]Owner)
	}
	for sw, o := range decided {
		if owners[sw].Generation >= o.Generation {
			delete(decided, sw)
		} else {
			owners[sw] = o
		}
	}
	switches := n.cfg.Switches()
	next := share(v.staying(), switches, owners, moves)
	var ops []store.Op
	known := make(map[string]bool, len(switches))
	for _, sw := range switches {
		known[sw.Name] = true
	}
	for sw := range owners {
		if !known[sw] {
			ops = append(ops, store.Op{Key: ownerPrefix + sw})
		}
	}
	if len(next) > 0 {
		generation, err := n.cfg.Generation(ctx, m.Store)
		if err != nil {
			return err
		}
		since := time.Now().UTC()
		for _, sw := range slices.Sorted(maps.Keys(next)) {
			o := next[sw]
			o.Generation, o.Term, o.Since = generation, m.Term, since
			value, err := o.encode()
			if err != nil {
				return err
			}
			next[sw] = o
			ops = append(ops, store.Op{Key: ownerPrefix + sw, Value: value})
		}
	}
	if len(ops) == 0 {
		return nil
	}
	if err := m.Store.Apply(ctx, ops); err != nil {
		return err
	}
	maps.Copy(decided, next)
	return nil
}
