package mrc

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/internal/loop"
	"github.com/weft-sdn/weft/topology"
)

// A Follower denies hosts what is lost, in states that another controller has decided: the one that
// decides for all. It learns links and ports by itself, so a denial waits neither for the decider
// nor for the store. What the decider denies stays denied. What the follower alone denies is
// restored when the link was up for as long as its past demands; the decider's answer to the same
// failure, which probes have confirmed, is in the states by then, unless there is no decider.
//
// One goroutine, that of Run, owns it. The other methods may be called from any goroutine, do not
// wait for what follows, and have no effect after Run.
type Follower struct {
	places
	loop *loop.Loop
	set  func(host string, s *hostapi.State)

	hosts map[string]*followed
	// made has the states of hosts under the present losses, and was those under the losses before.
	made, was map[madeOf]*hostapi.State
	lost      *topology.LostWays
	of        *fabric // of lost; nil: there is none yet
}

// followed is a host that a Follower sets states of.
type followed struct {
	decided *hostapi.State
	// told is what the host was told last: shared, with the ports denied that the host itself must not
	// send by.
	told, shared *hostapi.State
	ports        hostapi.PortMask
}

// madeOf is what a state follows from, besides the losses.
type madeOf struct {
	decided *hostapi.State
	from    *rack
}

// NewFollower returns a follower of the fabric of an inventory. set is called from the goroutine of
// Run with each host's state, where that is another one than before. It must not wait for anything,
// nor call the follower.
func NewFollower(inv *inventory.Inventory, set func(host string, s *hostapi.State)) (*Follower, error) {
	cfg := Config{MRC: inv.MRC, Epoch: 1} // it sends no versions
	// Hosts answer the probes of the decider.
	cfg.Probes.Rate, cfg.Probes.HostRate, cfg.Suspects.Deny = 0, 0, false
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	// Drains are in the states that the decider sends.
	fabric := newFabricState(&cfg, outside{
		drainedLink: func(*edge) bool { return false },
		drainedPort: func(string, uint8) bool { return false },
		moved:       func(topology.LinkID) {}, synced: func() {}, renewed: func(*fabric) {},
	})
	return &Follower{
		places: newPlaces(fabric, inv), loop: loop.New(time.Now()), set: set,
		hosts: make(map[string]*followed), made: make(map[madeOf]*hostapi.State),
	}, nil
}

// Run runs until ctx ends, which is no error. It must be called once.
func (f *Follower) Run(ctx context.Context) error { return f.loop.Run(ctx, f, f.flush) }

// Tick implements [loop.Core].
func (f *Follower) Tick(now time.Duration) { f.state.Tick(now) }

// Next implements [loop.Core].
func (f *Follower) Next() (at time.Duration, ok bool) {
	if f.state.fabric == nil {
		return 0, false
	}
	at = f.state.next(math.MaxInt64)
	return max(at, f.state.now), at != math.MaxInt64
}

// SetTopology takes what is advertised now. Nothing is denied before the first snapshot that is not
// incomplete, and has a node.
func (f *Follower) SetTopology(ctx context.Context, s *topology.Snapshot) error {
	f.loop.Post(ctx.Done(), func() { f.setTopology(s, func(string, error) {}) })
	return nil
}

// SetPorts takes what a switch of the inventory reports of its ports, as [Runner.SetPorts] does.
func (f *Follower) SetPorts(ctx context.Context, sw string, p controller.PortStates) {
	f.loop.Post(ctx.Done(), func() { f.setPorts(sw, p) })
}

// PortStatus takes which ports of a host are up, as the host reports.
func (f *Follower) PortStatus(host string, up hostapi.PortMask) {
	f.loop.Post(nil, func() {
		_ = f.state.PortStatus(host, up) // the decider counts those that are not attached
	})
}

// Decide takes the state that the decider wants a host to hold, and returns when the host's state
// has been set accordingly. The state must not be changed any more. The error is ctx's, or
// [loop.ErrEnded].
func (f *Follower) Decide(ctx context.Context, host string, s *hostapi.State) error {
	return f.loop.Do(ctx, func() {
		h := f.hosts[host]
		if h == nil {
			h = &followed{}
			f.hosts[host] = h
		}
		h.decided, h.told = s, nil
		f.update(host, h)
	})
}

// Flush returns when the states that follow from what was called before have been set. The error is
// ctx's, or [loop.ErrEnded].
func (f *Follower) Flush(ctx context.Context) error { return f.loop.Do(ctx, func() {}) }

// Forget has the follower set no state of a host until the next Decide.
func (f *Follower) Forget(host string) { f.loop.Post(nil, func() { delete(f.hosts, host) }) }

// flush sets the states of hosts after an input.
func (f *Follower) flush(context.Context) error {
	changed, now := f.state.take(), f.state.fabric
	switch {
	case now == nil:
	case changed || now != f.of:
		f.of, f.lost = now, now.clos.Lost(f.state.losses())
		f.was, f.made = f.made, make(map[madeOf]*hostapi.State, len(f.made))
		for name, h := range f.hosts {
			f.update(name, h)
		}
		f.was = nil
	case len(f.made) > 2*len(f.hosts)+1:
		f.prune()
	}
	return nil
}

// prune drops states that no host has any more.
func (f *Follower) prune() {
	used := make(map[*hostapi.State]bool, len(f.hosts))
	for _, h := range f.hosts {
		used[h.decided] = true
	}
	maps.DeleteFunc(f.made, func(of madeOf, _ *hostapi.State) bool { return !used[of.decided] })
}

// update sets the state of a host, if it is another one than before.
func (f *Follower) update(name string, h *followed) {
	shared, ports := h.decided, hostapi.PortMask(0)
	if at := f.state.hosts.byName[name]; at != nil && f.of != nil {
		shared, ports = f.deny(h.decided, at.rack), at.ports.denied&^h.decided.DeniedPorts
	}
	if h.told != nil && h.shared == shared && h.ports == ports {
		return
	}
	h.shared, h.ports, h.told = shared, ports, shared
	if ports != 0 {
		own := *shared
		own.DeniedPorts |= ports
		h.told = &own
	}
	f.set(name, h.told)
}

// deny returns a state for the hosts of a rack without what is lost, the same one when nothing is.
func (f *Follower) deny(s *hostapi.State, from *rack) *hostapi.State {
	of := madeOf{s, from}
	if out, ok := f.made[of]; ok {
		return out
	}
	out := f.of.deny(s, from, f.state.hosts, f.lost)
	if before, ok := f.was[of]; ok && before.Equal(out) {
		out = before
	}
	f.made[of] = out
	return out
}

// deny returns a state for the hosts of a rack in which EVs are denied that cross what is lost, and
// ports of peers that are down are missing. It is the same one when nothing is lost.
func (f *fabric) deny(s *hostapi.State, from *rack, hosts *hostSet, lost *topology.LostWays) *hostapi.State {
	next := *s
	next.Peers = fewerPorts(s.Peers, hosts.peers)
	same := slices.Equal(next.Peers, s.Peers)
	cloned := false
	for i, p := range s.Profiles {
		to := hosts.reachedBy(p)
		if to == nil {
			continue // it leads to nothing that is attached
		}
		q, err := f.assign.Deny(p, ev.Pair{Source: from.at, Destination: to.at}, lost)
		if err != nil || q == p {
			continue // the decider knows paths that this fabric does not have yet
		}
		if !cloned {
			next.Profiles, cloned, same = slices.Clone(s.Profiles), true, false
		}
		next.Profiles[i] = q
	}
	if same {
		return s
	}
	return &next
}

// reachedBy returns the rack that a profile leads to, nil when it is none.
func (s *hostSet) reachedBy(p *hostapi.Profile) *rack {
	for _, d := range p.Destinations {
		if h := s.byAddress[d.Addr()]; h != nil && d.IsSingleIP() {
			return h.rack
		}
	}
	return nil
}

// fewerPorts returns the ports of peers that are in two lists, each ordered by peer. A peer that is
// missing from a list has all ports there.
func fewerPorts(a, b []hostapi.PeerPorts) []hostapi.PeerPorts {
	if len(b) == 0 {
		return a
	}
	out := make([]hostapi.PeerPorts, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch order := a[0].Peer.Compare(b[0].Peer); {
		case order < 0:
			out, a = append(out, a[0]), a[1:]
		case order > 0:
			out, b = append(out, b[0]), b[1:]
		default:
			out = append(out, hostapi.PeerPorts{Peer: a[0].Peer, Ports: a[0].Ports & b[0].Ports})
			a, b = a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}
