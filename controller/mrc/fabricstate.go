package mrc

import (
	"fmt"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// fabricState is the fabric, what of it is up, and which hosts are attached where. It follows from
// what is advertised, and from what switches and hosts report; it knows no profiles and proves
// nothing.
type fabricState struct {
	*env
	cfg     *Config
	outside outside

	synced  bool
	remade  bool  // the fabric must be made anew
	failure error // why it could not

	ports  *switchPorts
	links  *linkSet
	leaves *leafSet
	hosts  *hostSet

	restoreAt time.Duration // when links and ports that are ready are restored
}

// outside is the rest of a core: what it decides about a fabric, and what it learns of one.
type outside struct {
	drainedLink func(*edge) bool
	drainedPort func(host string, port uint8) bool
	// moved is called with each link that goes out of use or comes back.
	moved func(topology.LinkID)
	// synced is called when every peer has sent all it knows, renewed after the fabric was made anew;
	// before is the one before, nil for the first.
	synced  func()
	renewed func(before *fabric)
}

func newFabricState(cfg *Config, o outside) *fabricState {
	e := &env{start: cfg.Start, mode: cfg.Format().Mode, current: topology.Empty()}
	f := &fabricState{env: e, cfg: cfg, outside: o, ports: newSwitchPorts()}
	f.links = &linkSet{
		env: e, restore: &cfg.Restore, suspects: &cfg.Suspects, probed: cfg.Probes.Rate != 0,
		renewed: o.moved, waiting: make(map[int32]struct{}),
	}
	f.leaves = &leafSet{env: e, restore: &cfg.Restore, states: make(map[topology.NodeID]*leaf)}
	f.hosts = newHosts(e, cfg, f.ports, o.drainedPort)
	return f
}

// Tick sets the time, which does not go back; every other input happens at the
// time of the last Tick.
func (f *fabricState) Tick(now time.Duration) {
	f.now = max(f.now, now)
	if f.fabric == nil {
		return
	}
	restoring := f.now >= f.restoreAt
	f.links.run(restoring)
	if restoring {
		f.hosts.runPorts()
		f.leaves.run()
		every := f.cfg.Restore.Every.D()
		f.restoreAt = (f.now/every + 1) * every
	}
}

// next returns the time at which Tick should be called at the latest, at if nothing is due before.
// There must be a fabric.
func (f *fabricState) next(at time.Duration) time.Duration {
	at = f.links.next(at, f.restoreAt)
	if len(f.hosts.held) > 0 || f.leaves.waiting() {
		at = min(at, f.restoreAt)
	}
	return at
}

// settled makes the fabric that follows from what has changed, and reports whether there is one
// that may be spoken of.
func (f *fabricState) settled() bool {
	if !f.synced {
		return false
	}
	f.makeFabric()
	return f.fabric != nil
}

// take settles for whoever tells hosts nothing of its own, and reports whether what is lost, or
// which ports hosts have, may have changed since the last call. Events are left out.
func (f *fabricState) take() bool {
	changed := len(f.links.touched)+len(f.leaves.touched)+len(f.hosts.dirty) > 0 || f.hosts.remask
	ready := f.settled()
	f.out = Ready{}
	if !ready {
		return false
	}
	if f.hosts.regroup {
		f.hosts.tidy()
	}
	f.links.take()
	f.leaves.take()
	if f.hosts.remask {
		f.hosts.mask()
	}
	clear(f.hosts.dirty)
	return changed
}

// losses are the links and leaves that EVs must not cross.
func (f *fabricState) losses() topology.Losses {
	return topology.Losses{OneWay: f.links.lost(), Nodes: f.leaves.lost()}
}

// PutHost adds a host, or replaces the one of its name.
func (f *fabricState) PutHost(h Host) error {
	fresh, err := f.hosts.put(h, f.current)
	if err != nil {
		return err
	}
	for _, leaf := range h.At {
		if fresh && leaf != "" && (f.fabric == nil || !f.fabric.isLeaf(leaf)) {
			f.remade = true
		}
	}
	return nil
}

// SetPorts records all that a switch reports of its ports: whether they are up, at the
// ends of links or towards hosts, by their P4Runtime numbers. It replaces what
// was known; of a port that is missing nothing is. The switch need not be
// advertised, or not yet, and ports that nothing of ours is behind do no harm.
func (f *fabricState) SetPorts(node topology.NodeID, isUp map[uint32]bool) {
	affected, ok := f.ports.set(node, isUp)
	if !ok {
		return
	}
	f.lookAtPorts(node)
	for _, port := range affected {
		f.hosts.lookAt(nodePort{node, port})
	}
}

// SetPortNumbers sets at which P4Runtime ports the links of a switch are, by
// their identifiers (TLV 258), where these are others than advertised.
func (f *fabricState) SetPortNumbers(node topology.NodeID, numbers map[uint32]uint32) {
	if f.ports.setNumbers(node, numbers) {
		f.lookAtPorts(node)
	}
}

// lookAtPorts looks at the links of a node after a change of its ports.
func (f *fabricState) lookAtPorts(node topology.NodeID) {
	if f.fabric == nil {
		return
	}
	for _, l := range f.fabric.snap.LinksFrom(node) {
		i := f.fabric.place[l.ID]
		f.lookAtPort(i)
		if r := f.fabric.edges[i].reverse; r >= 0 {
			f.lookAtPort(r)
		}
	}
}

func (f *fabricState) lookAtPort(i int32) {
	f.links.setPort(i, f.ports.linkDown(f.fabric.edges[i].Link))
}

// makeFabric makes the fabric anew when it has grown.
func (f *fabricState) makeFabric() {
	if !f.remade || !f.synced {
		return
	}
	f.remade = false
	before, snap := f.fabric, topology.Empty()
	if before != nil {
		snap = before.snap
	}
	snap = whole(snap, f.current)
	made, err := newFabric(snap, f.hosts.leaves(snap), f.cfg, before)
	f.failure = err
	if err != nil {
		f.event(api.EventFabricChanged, "", err.Error())
		return
	}
	f.fabric, f.hosts.regroup = made, true
	f.links.adopt(before, f.outside.drainedLink)
	for i := range made.edges {
		f.lookAtPort(int32(i))
	}
	if before == nil {
		f.restoreAt = f.now
	}
	f.lookAtAll()
	f.outside.renewed(before)
}

// SetTopology sets what is advertised now. A snapshot that is incomplete says
// nothing: what it lacks may be there all the same. One that is only stale
// counts: a switch that has died takes its BGP session with it, and what its
// neighbours withdraw is lost.
func (f *fabricState) SetTopology(s *topology.Snapshot) {
	if s.Incomplete() {
		return
	}
	f.current = s
	switch {
	case !f.synced:
	case f.fabric == nil || !f.fabric.has(s):
		f.remade = true
		f.makeFabric()
	default:
		f.lookAtAll()
	}
}

// lookAtAll looks at every link and leaf after the topology has changed.
func (f *fabricState) lookAtAll() {
	present := make([]bool, len(f.fabric.edges))
	crossable := make(map[topology.NodeID]bool, len(f.current.Nodes))
	for _, n := range f.current.Nodes {
		tier, _ := f.fabric.clos.Tier(n.ID)
		crossable[n.ID] = !n.Overload || tier == 0
	}
	i := 0
	for _, l := range f.current.Links { // in the order of the fabric's
		for i < len(f.fabric.edges) && f.fabric.edges[i].ID != l.ID {
			i++
		}
		if i == len(f.fabric.edges) {
			break // not in the fabric yet
		}
		present[i] = crossable[l.Local] && crossable[l.Remote]
	}
	for i := range f.fabric.edges {
		reverse := f.fabric.edges[i].reverse
		f.links.setPresent(int32(i), present[i] && reverse >= 0 && present[reverse])
	}
	for _, leaf := range f.fabric.clos.Leaves() {
		f.leaves.setPresent(leaf.ID, f.current.Node(leaf.ID) != nil)
	}
}

// InSync records that every peer has sent all it knows (End-of-RIB): from now on
// what is missing is down. Nothing is told to hosts before.
func (f *fabricState) InSync() {
	if !f.synced {
		f.synced, f.remade = true, true
		f.outside.synced()
	}
}

// Assignment returns the numbers of links that EVs are made of, which switches
// must be programmed with; nil before the topology is in sync.
func (f *fabricState) Assignment() *ev.Assignment {
	if f.fabric == nil {
		return nil
	}
	return f.fabric.assign
}

// PortStatus records which ports of a host are up, as the host has it.
func (f *fabricState) PortStatus(name string, up hostapi.PortMask) error {
	h, err := f.hosts.find(name)
	if err != nil {
		return err
	}
	if up&1 != 0 {
		f.counters.BadPorts++
		return fmt.Errorf("host %s: ports up %#x, want ports from 1 on: %w", name, uint32(up),
			ErrMalformed)
	}
	h.ports.up, h.ports.upKnown = up, true
	f.hosts.look(h)
	return nil
}
