package fabric

import (
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/topology"
)

// env holds the state that the parts of one State share.
type env struct {
	now     time.Duration      // of the present input
	fabric  *Fabric            // nil before the first
	current *topology.Snapshot // what is advertised
	event   func(t api.EventType, object, message string, says ...api.EventFields)
}

// State holds the fabric, the state of its links and leaves, and where hosts attach. Make a State
// with New. Its methods must not be called concurrently; all are synchronous, and none blocks.
type State struct {
	*env
	cfg     *inventory.MRC
	outside Outside

	synced  bool
	remade  bool               // the fabric must be made anew
	failure error              // why it could not
	looked  *topology.Snapshot // the last whose links and leaves were all looked at

	ports  *switchPorts
	links  *Links
	leaves *leafSet
	hosts  *hostSet

	restoreAt time.Duration // when links and ports that are ready are restored
}

// Drains are the objects that clients have drained.
type Drains interface {
	Link(e *Edge) bool
	Node(id topology.NodeID) bool
	Port(host string, port uint8) bool
	// Planes returns the numbers of planes, from 1.
	Planes() []int
}

// Outside has the functions that a State calls. A nil function does nothing.
type Outside struct {
	Drains Drains
	// Event is called with what people may want to know.
	Event func(t api.EventType, object, message string, says ...api.EventFields)
	// Moved is called with each link that goes out of use or comes back.
	Moved func(topology.LinkID)
	// Synced is called when every peer has sent all it knows.
	Synced func()
	// Renewed is called after the fabric was made anew; before is the one before, nil for the first.
	Renewed func(before *Fabric)
}

// Changes are what has changed since the changes before were taken.
type Changes struct {
	// Links are the places of the links that EVs must not cross any more, or may cross again; Leaves
	// are the leaves likewise. The slices are good until the next input.
	Links  []int32
	Leaves []topology.NodeID
	// Hosts are the names of the hosts whose denied ports changed.
	Hosts map[string]bool
	// Peers reports whether State.Peers changed.
	Peers bool
	// Racks reports whether hosts were attached or have gone. Stale lists the racks whose destinations
	// changed.
	Racks bool
	Stale []*Rack
}

// Any reports whether anything has changed.
func (c *Changes) Any() bool {
	return len(c.Links)+len(c.Leaves)+len(c.Hosts) > 0 || c.Peers || c.Racks
}

// New returns a State that knows no topology and no host. The configuration must be valid, and have
// a mode.
func New(cfg *inventory.MRC, o Outside) *State {
	if o.Event == nil {
		o.Event = func(api.EventType, string, string, ...api.EventFields) {}
	}
	if o.Moved == nil {
		o.Moved = func(topology.LinkID) {}
	}
	if o.Synced == nil {
		o.Synced = func() {}
	}
	if o.Renewed == nil {
		o.Renewed = func(*Fabric) {}
	}
	e := &env{current: topology.Empty(), event: o.Event}
	s := &State{env: e, cfg: cfg, outside: o, ports: newSwitchPorts()}
	s.links = &Links{
		env: e, restore: &cfg.Restore, suspects: &cfg.Suspects, probed: cfg.Probes.Rate != 0,
		renewed: o.Moved, waiting: make(map[int32]struct{}),
		denied: make(map[int32]struct{}),
	}
	s.leaves = &leafSet{env: e, restore: &cfg.Restore, states: make(map[topology.NodeID]*leaf)}
	s.hosts = newHosts(e, &cfg.Restore, s.ports, o.Drains.Port)
	return s
}

// Tick sets the time, which does not go back; every other input happens at the
// time of the last Tick.
func (s *State) Tick(now time.Duration) {
	s.now = max(s.now, now)
	if s.fabric == nil {
		return
	}
	restoring := s.now >= s.restoreAt
	s.links.run(restoring)
	if restoring {
		s.hosts.runPorts()
		s.leaves.run()
		every := s.cfg.Restore.Every.D()
		s.restoreAt = (s.now/every + 1) * every
	}
}

// Now returns the time of the last Tick.
func (s *State) Now() time.Duration { return s.now }

// Next returns the time at which Tick should be called at the latest, at if nothing is due before.
// There must be a fabric.
func (s *State) Next(at time.Duration) time.Duration {
	at = s.links.next(at, s.restoreAt)
	if len(s.hosts.held) > 0 || s.leaves.waiting() {
		at = min(at, s.restoreAt)
	}
	return at
}

// Fabric returns the present fabric; nil before the first.
func (s *State) Fabric() *Fabric { return s.fabric }

// Failure returns why there is no fabric, or why the fabric does not follow the present topology.
func (s *State) Failure() error { return s.failure }

// Advertised returns the last topology that counts.
func (s *State) Advertised() *topology.Snapshot { return s.current }

// Synced reports whether every peer has sent all it knows.
func (s *State) Synced() bool { return s.synced }

// Links returns the states of the links of the present fabric.
func (s *State) Links() *Links { return s.links }

// Host returns the host of a name; nil: there is none.
func (s *State) Host(name string) *Attached { return s.hosts.byName[name] }

// HostAt returns the host with an address, nil when there is none.
func (s *State) HostAt(a netip.Addr) *Attached { return s.hosts.byAddress[a] }

// Hosts returns all hosts in no order, and HostCount how many there are.
func (s *State) Hosts() iter.Seq[*Attached] {
	return func(yield func(*Attached) bool) {
		for _, h := range s.hosts.byName {
			if !yield(h) {
				return
			}
		}
	}
}

// HostCount returns the number of hosts.
func (s *State) HostCount() int { return len(s.hosts.byName) }

// Racks returns the racks with hosts by name, as of the last Take.
func (s *State) Racks() []*Rack { return s.hosts.ordered }

// Peers returns the reachable ports of each host that lacks a port, by address, as of the last
// Take.
func (s *State) Peers() []hostapi.PeerPorts { return s.hosts.peers }

// Assignment returns the link numbers in EVs, for the programming of switches; nil before the
// topology is in sync.
func (s *State) Assignment() *ev.Assignment {
	if s.fabric == nil {
		return nil
	}
	return s.fabric.assign
}

// Settle rebuilds the fabric if changes require it, and reports whether all peers are in sync and
// there is a fabric.
func (s *State) Settle() bool {
	if !s.synced {
		return false
	}
	s.makeFabric()
	return s.fabric != nil
}

// Take returns what has changed since the last call.
func (s *State) Take() Changes {
	c := Changes{Links: s.links.take(), Leaves: s.leaves.take(), Racks: s.hosts.regroup}
	if c.Racks {
		c.Stale = s.hosts.tidy()
	}
	c.Peers = s.hosts.mask()
	c.Hosts, s.hosts.changed = s.hosts.changed, nil
	return c
}

// PutHost adds a host, or replaces the host of the same name and then returns the same pointer.
func (s *State) PutHost(h Host) (*Attached, error) {
	at, fresh, err := s.hosts.put(h, s.current)
	if err != nil {
		return nil, err
	}
	for _, leaf := range h.At {
		if fresh && (s.fabric == nil || !s.fabric.isLeaf(leaf)) {
			s.remade = true
		}
	}
	return at, nil
}

// RemoveHost removes a host. The error is of kind ErrUnknownHost.
func (s *State) RemoveHost(name string) error { return s.hosts.remove(name) }

// PortStatus records which ports of a host are up, according to the host.
func (s *State) PortStatus(name string, up hostapi.PortMask) error {
	h := s.hosts.byName[name]
	switch {
	case h == nil:
		return fmt.Errorf("%.80s: %w", name, ErrUnknownHost)
	case up&1 != 0:
		return fmt.Errorf("host %s: ports up %#x, want ports from 1 on: %w", name, uint32(up),
			ErrMalformed)
	}
	h.ports.up, h.ports.upKnown = up, true
	s.hosts.look(h)
	return nil
}

// SetPorts records the states that a switch reports of its ports, at links or towards hosts, by
// P4Runtime port number. The report replaces the report before: a missing port becomes unknown. The
// switch need not be advertised yet, and ports without a link or host of ours do no harm.
func (s *State) SetPorts(node topology.NodeID, isUp map[uint32]bool) {
	affected, ok := s.ports.set(node, isUp)
	if !ok {
		return
	}
	s.lookAtPorts(node)
	for _, port := range affected {
		s.hosts.lookAt(nodePort{node, port})
	}
}

// SetPortNumbers sets the P4Runtime ports of the links of a switch, by link identifier (TLV 258),
// where the ports differ from the advertised ports.
func (s *State) SetPortNumbers(node topology.NodeID, numbers map[uint32]uint32) {
	if s.ports.setNumbers(node, numbers) {
		s.lookAtPorts(node)
	}
}

// LinkPorts returns what switches report of the ports at the two ends of a link: "up", "down", or
// "" when nothing is known.
func (s *State) LinkPorts(l *topology.Link) (local, remote string) {
	from, to := s.ports.ofLink(l)
	return s.ports.state(from), s.ports.state(to)
}

// lookAtPorts looks at the links of a node after a change of its ports.
func (s *State) lookAtPorts(node topology.NodeID) {
	if s.fabric == nil {
		return
	}
	for _, l := range s.fabric.snap.LinksFrom(node) {
		i, _ := s.fabric.Place(l.ID)
		s.lookAtPort(i)
		if r := s.fabric.edges[i].reverse; r >= 0 {
			s.lookAtPort(r)
		}
	}
}

func (s *State) lookAtPort(i int32) {
	s.links.setPort(i, s.ports.linkDown(s.fabric.edges[i].Link))
}

// makeFabric makes the fabric anew when it has grown.
func (s *State) makeFabric() {
	if !s.remade {
		return
	}
	s.remade = false
	before, snap := s.fabric, topology.Empty()
	if before != nil {
		snap = before.snap
	}
	snap = whole(snap, s.current)
	made, err := newFabric(snap, s.hosts.leaves(snap), s.cfg, before)
	s.failure = err
	if err != nil {
		s.event(api.EventFabricChanged, "", err.Error())
		if before != nil {
			s.lookAtAll() // of the fabric that there is
		}
		return
	}
	s.fabric, s.hosts.regroup = made, true
	s.links.adopt(before, s.outside.Drains.Link)
	if s.ports.known() { // a port that nothing is known of is not down
		for i := range made.edges {
			s.lookAtPort(int32(i))
		}
	}
	s.lookAtAll()
	s.outside.Renewed(before)
}

// SetTopology sets the advertised topology. It ignores an incomplete snapshot, because elements
// missing from the snapshot may still exist. A snapshot that is only stale counts, because a dead
// switch takes its BGP session down, and withdrawals by its neighbors mean lost elements.
func (s *State) SetTopology(snap *topology.Snapshot) {
	if snap.Incomplete() {
		return
	}
	s.current = snap
	switch {
	case !s.synced:
	case s.lookAtChanged():
	case s.fabric == nil || !s.fabric.has(snap):
		s.remade = true
	default:
		s.lookAtAll()
	}
}

// lookAtChanged looks at the changes since the snapshot before. It returns false if these changes
// are unknown or the fabric lacks a changed element.
func (s *State) lookAtChanged() bool {
	nodes, ids, ok := s.current.Since(s.looked)
	if !ok {
		return false
	}
	places := make(map[int32]struct{}, 2*len(ids))
	add := func(i int32) {
		places[i] = struct{}{}
		if r := s.fabric.edges[i].reverse; r >= 0 {
			places[r] = struct{}{}
		}
	}
	for _, id := range ids {
		i, ok := s.fabric.Place(id)
		if !ok {
			return false
		}
		add(i)
		if l := s.current.Same(s.fabric.edges[i].Link); l != nil && !s.fabric.hasLink(i, l) ||
			l == nil && s.current.Link(id) != nil { // it is between other nodes now
			return false
		}
	}
	for _, id := range nodes {
		if n := s.current.Node(id); n != nil && !s.fabric.hasNode(n) {
			return false
		}
		for _, l := range s.fabric.snap.LinksFrom(id) {
			i, _ := s.fabric.Place(l.ID)
			add(i)
		}
	}
	s.looked = s.current
	for _, i := range slices.Sorted(maps.Keys(places)) {
		reverse := s.fabric.edges[i].reverse
		s.links.setPresent(i, reverse >= 0 && s.carries(i) && s.carries(reverse))
	}
	for _, id := range nodes {
		if tier, ok := s.fabric.clos.Tier(id); ok && tier == 0 {
			s.leaves.setPresent(id, s.current.Node(id) != nil)
		}
	}
	return true
}

// carries reports whether the link at a place is advertised, from a node that may be crossed.
func (s *State) carries(place int32) bool {
	l := s.fabric.edges[place].Link
	return s.crossable(s.current.Node(l.Local)) && s.current.Same(l) != nil
}

// crossable reports whether paths cross a node of the snapshot; nil is none.
func (s *State) crossable(n *topology.Node) bool {
	if n == nil {
		return false
	}
	tier, _ := s.fabric.clos.Tier(n.ID)
	return !n.Overload || tier == 0
}

// lookAtAll looks at every link and leaf after the topology has changed.
func (s *State) lookAtAll() {
	s.looked = s.current
	present := make([]bool, len(s.fabric.edges))
	crossable := make(map[topology.NodeID]bool, len(s.current.Nodes))
	for _, n := range s.current.Nodes {
		crossable[n.ID] = s.crossable(n)
	}
	next := int32(0)
	for _, l := range s.current.Links { // in the order of the fabric's, so that most are the next
		if int(next) == len(present) || s.fabric.edges[next].ID != l.ID {
			i, ok := s.fabric.Place(l.ID)
			if !ok {
				continue // not in the fabric yet
			}
			next = i
		}
		present[next] = crossable[l.Local]
		next++
	}
	for i := range s.fabric.edges {
		reverse := s.fabric.edges[i].reverse
		s.links.setPresent(int32(i), present[i] && reverse >= 0 && present[reverse])
	}
	for _, leaf := range s.fabric.clos.Leaves() {
		s.leaves.setPresent(leaf.ID, s.current.Node(leaf.ID) != nil)
	}
}

// InSync records that every peer has sent all it knows (End-of-RIB). From now on missing elements
// count as down. Before InSync, hosts learn nothing.
func (s *State) InSync() {
	if !s.synced {
		s.synced, s.remade = true, true
		s.outside.Synced()
	}
}

// LinksDrained updates the links at some places after drains that cover them have begun or ended.
func (s *State) LinksDrained(places []int32) {
	for _, i := range places {
		s.links.setDrained(i, s.outside.Drains.Link(&s.fabric.edges[i]))
	}
}

// NodeDrained updates a node after a drain of the node has begun or ended.
func (s *State) NodeDrained(id topology.NodeID) {
	s.leaves.setDrained(id, s.outside.Drains.Node(id))
}

// PlaneDrained updates the leaves after a drain of a plane has begun or ended: EVs from a leaf to
// itself cross no link.
func (s *State) PlaneDrained() {
	if s.fabric == nil {
		return // a drain that was resumed may end before there is a fabric
	}
	for _, leaf := range s.fabric.clos.Leaves() {
		s.leaves.touch(leaf.ID)
	}
}

// LeafDrained reports whether a drain covers a leaf, or its plane. There must be a fabric.
func (s *State) LeafDrained(id topology.NodeID) bool {
	return s.outside.Drains.Node(id) ||
		slices.Contains(s.outside.Drains.Planes(), s.fabric.clos.Plane(id))
}

// PortDrained updates a port of a host after a drain of the port has begun or ended.
func (s *State) PortDrained(host string, port uint8) { s.hosts.setDrained(host, port) }
