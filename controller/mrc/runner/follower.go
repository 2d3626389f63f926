package runner

import (
	"context"
	"maps"
	"math"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/internal/loop"
	"github.com/weft-sdn/weft/topology"
)

// A Follower denies lost elements in host states that another controller, the decider for all
// hosts, has decided. It learns the states of links and ports by itself, so a denial waits neither
// for the decider nor for the store. EVs denied by the decider remain denied. A denial by the
// follower alone ends when the link was up for as long as its past demands. By then the states
// contain the decider's own answer to the failure, confirmed by probes, unless there is no decider.
//
// The goroutine of Run owns the follower. Any goroutine may call the other methods, which return at
// once and have no effect after Run.
type Follower struct {
	places
	state *fabric.State
	loop  *loop.Loop
	set   func(host string, s *hostapi.State)

	hosts map[string]*followed
	// made has the states of hosts under the present losses, and was those under the losses before.
	made, was map[madeOf]*hostapi.State
	// denial of the present losses in the present fabric; nil: none yet.
	denial *fabric.Denial
	of     *fabric.Fabric
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
	from    *fabric.Rack
}

// NewFollower returns a follower of the fabric of an inventory. The goroutine of Run calls set with
// each changed state of a host. set must not wait for anything, nor call the follower.
func NewFollower(
	inv *inventory.Inventory, set func(host string, s *hostapi.State),
) (*Follower, error) {
	cfg := mrc.Config{MRC: inv.MRC, Epoch: 1} // it sends no versions
	// Hosts answer the probes of the decider.
	cfg.Probes.Rate, cfg.Probes.HostRate, cfg.Suspects.Deny = 0, 0, false
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	state := fabric.New(&cfg.MRC, fabric.Outside{Drains: noDrains{}})
	put := func(h fabric.Host) error {
		_, err := state.PutHost(h)
		return err
	}
	return &Follower{
		places: newPlaces(state, put, inv), state: state, loop: loop.New(time.Now()), set: set,
		hosts: make(map[string]*followed), made: make(map[madeOf]*hostapi.State),
	}, nil
}

// noDrains implements [fabric.Drains]: drains are in the states that the decider sends.
type noDrains struct{}

func (noDrains) Link(*fabric.Edge) bool    { return false }
func (noDrains) Node(topology.NodeID) bool { return false }
func (noDrains) Port(string, uint8) bool   { return false }
func (noDrains) Planes() []int             { return nil }

// Run runs until ctx ends, which is no error. It must be called once.
func (f *Follower) Run(ctx context.Context) error { return f.loop.Run(ctx, f, f.flush) }

// Tick implements [loop.Core].
func (f *Follower) Tick(now time.Duration) { f.state.Tick(now) }

// Next implements [loop.Core].
func (f *Follower) Next() (at time.Duration, ok bool) {
	if f.state.Fabric() == nil {
		return 0, false
	}
	at = f.state.Next(math.MaxInt64)
	return max(at, f.state.Now()), at != math.MaxInt64
}

// SetTopology takes the advertised topology. The follower denies nothing before the first complete
// snapshot with a node.
func (f *Follower) SetTopology(ctx context.Context, s *topology.Snapshot) error {
	f.loop.Post(ctx.Done(), func() { f.setTopology(s, func(string, error) {}) })
	return nil
}

// SetPorts takes the port reports of an inventory switch, like [Runner.SetPorts].
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
	if !f.state.Settle() {
		return nil
	}
	changes, now := f.state.Take(), f.state.Fabric()
	switch {
	case changes.Any() || now != f.of:
		f.of, f.denial = now, f.state.Denial()
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

// update sets the state of a host if the state has changed.
func (f *Follower) update(name string, h *followed) {
	shared, ports := h.decided, hostapi.PortMask(0)
	if at := f.state.Host(name); at != nil && f.denial != nil {
		shared, ports = f.deny(h.decided, at.Rack()), at.Denied()&^h.decided.DeniedPorts
	}
	if h.told != nil && h.shared == shared && h.ports == ports {
		return
	}
	h.shared, h.ports, h.told = shared, ports, fabric.Own(shared, ports)
	f.set(name, h.told)
}

// deny returns a state without the lost elements for the hosts of a rack, or s itself without
// losses.
func (f *Follower) deny(s *hostapi.State, from *fabric.Rack) *hostapi.State {
	of := madeOf{s, from}
	if out, ok := f.made[of]; ok {
		return out
	}
	out := f.denial.Decided(s, from)
	if before, ok := f.was[of]; ok && before.Equal(out) {
		out = before
	}
	f.made[of] = out
	return out
}
