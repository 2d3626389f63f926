package runner

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/topology"
)

// told has the facts that the core of switches got last.
type told struct {
	assignment *ev.Assignment
	drained    mrc.Drained
}

// tellNewest publishes the view of the fabric, and sends the switches the meaning of EVs and the
// drained links, if either has changed.
func (r *Runner) tellNewest() {
	if r.opts.Switches == nil {
		return
	}
	r.opts.Switches.SetFabric(r.core.View())
	a := r.core.Assignment()
	if a == nil && r.core.Failure() == nil {
		return
	}
	t := told{a, r.core.Drained()}
	if r.told != nil && r.told.assignment == a && r.told.drained.Seq == t.drained.Seq {
		return
	}
	r.told = &t
	select {
	case <-r.news: // an older one that was not taken
	default:
	}
	r.news <- t // there is room: no other goroutine sends
}

// After a first question whether switches have their routes the next comes in askSoon, and each
// later one after twice the time, askLate at most.
const (
	askSoon = 20 * time.Millisecond
	askLate = time.Second
)

// tell is the goroutine that informs the controller of the switches. Planning takes a while, and
// hosts do not wait for it. During a drain, tell asks whether all switches have followed.
func (r *Runner) tell(ctx context.Context) error {
	var last told
	now := make(chan time.Time)
	close(now)
	var ask <-chan time.Time
	var pause time.Duration
	for {
		var err error
		select {
		case t := <-r.news:
			if err = r.opts.Switches.SetDrained(ctx, t.drained.Links); err == nil {
				err = r.opts.Switches.SetAssignment(ctx, t.assignment)
			}
			if t.drained.Seq != last.drained.Seq {
				ask, pause = now, askSoon
			}
			last = t
		case <-ask:
			ask = nil
			var behind []string
			if behind, err = r.opts.Switches.Unrouted(ctx); err != nil {
				break
			}
			if len(behind) > 0 {
				ask, pause = time.After(pause), min(2*pause, askLate)
			}
			_ = r.ledger.Do(ctx, func() { r.core.Behind(last.drained.Seq, behind) })
		case <-ctx.Done():
			return nil
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, controller.ErrStopped) {
			return err
		}
	}
}

// readingAtOnce bounds the switches whose counters are read at a time.
const readingAtOnce = 32

// count is the goroutine that reads the sent and received packet counts of switch ports.
func (r *Runner) count(ctx context.Context, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		snap := r.newest.Load()
		if err := r.countOnce(ctx, snap); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// countOnce reads the sent packets of all switches before the received packets of any switch, so
// that no packet in between looks lost.
func (r *Runner) countOnce(ctx context.Context, snap *topology.Snapshot) error {
	var switches map[string]topology.NodeID
	numbers := make(map[topology.NodeID]map[uint32]uint32)
	if err := r.ledger.Do(ctx, func() {
		switches = make(map[string]topology.NodeID, len(r.switches))
		for name, n := range r.switches {
			switches[name], numbers[n.ID] = n.ID, r.numbers(name)
		}
	}); err != nil {
		return nil // it ends
	}
	sent := r.readPorts(ctx, switches, controller.Sent)
	received := r.readPorts(ctx, switches, controller.Received)
	name := make(map[topology.NodeID]string, len(switches))
	for sw, id := range switches {
		name[id] = sw
	}
	type count struct {
		link           topology.LinkID
		sent, received uint64
	}
	var counts []count
	for _, l := range snap.Links {
		from, to := r.opts.Inventory.Switch(name[l.Local]), r.opts.Inventory.Switch(name[l.Remote])
		if from == nil || to == nil || sent[from.Name] == nil || received[to.Name] == nil {
			continue
		}
		counts = append(counts, count{
			l.ID, sent[from.Name][fabric.PortNumber(numbers[l.Local], l.LocalID, l.LocalPort)],
			received[to.Name][fabric.PortNumber(numbers[l.Remote], l.RemoteID, l.RemotePort)],
		})
	}
	_ = r.ledger.Do(ctx, func() {
		for _, n := range counts {
			_ = r.core.LinkCounts(n.link, n.sent, n.received) // a link may be gone by now
		}
	})
	return nil
}

// readPorts reads the counters of switches; what cannot be read is missing.
func (r *Runner) readPorts(
	ctx context.Context, switches map[string]topology.NodeID, d controller.Direction,
) map[string]map[uint32]uint64 {
	var mu sync.Mutex
	out := make(map[string]map[uint32]uint64, len(switches))
	var g errgroup.Group
	g.SetLimit(readingAtOnce)
	for name := range switches {
		if sw := r.opts.Inventory.Switch(name); sw == nil || !sw.ProgramsP4() {
			continue
		}
		g.Go(func() error {
			if counts, err := r.opts.Switches.PortCounts(ctx, name, d); err == nil {
				mu.Lock()
				defer mu.Unlock()
				out[name] = counts
			}
			return nil
		})
	}
	_ = g.Wait()
	return out
}
