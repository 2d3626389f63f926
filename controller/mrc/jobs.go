package mrc

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/job/lease"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/mrc/flows"
	"github.com/weft-sdn/weft/topology"
)

// talk records which racks talk to each other. Only pairs of these racks have EV profiles, unless
// the configuration makes profiles for all pairs.
type talk struct {
	all bool // the configuration has profiles for all pairs
	// needs of all jobs that have not ended; nil: still unknown.
	needs   []*ready.Need
	changed bool // profiles are to be made again

	// pairs are the pairs of racks that the needs require; leaves has the leaves of racks with a peer
	// in another rack.
	pairs  map[*fabric.Rack]map[*fabric.Rack]bool
	leaves map[topology.NodeID]bool
}

// known reports whether it is known which racks talk.
func (t *talk) known() bool { return t.all || t.needs != nil }

// find finds the pairs of racks, in both directions because a receiver answers. rackOf returns the
// rack of a host.
func (t *talk) find(racks []*fabric.Rack, rackOf func(host string) *fabric.Rack) {
	t.changed = false
	if t.all {
		return
	}
	t.pairs = make(map[*fabric.Rack]map[*fabric.Rack]bool)
	t.leaves = make(map[topology.NodeID]bool)
	for _, need := range t.needs {
		at := make([]*fabric.Rack, len(need.Racks))
		for i, k := range need.Rack {
			if at[k] == nil {
				at[k] = rackOf(need.NICs[i])
			}
		}
		for _, pair := range need.Pairs {
			if from, to := at[pair[0]], at[pair[1]]; from != nil && to != nil {
				t.add(from, to)
				t.add(to, from)
			}
		}
	}
	for _, r := range racks {
		if n := len(t.pairs[r]); n > 1 || n == 1 && !t.pairs[r][r] {
			for _, leaf := range r.At() {
				t.leaves[leaf] = true
			}
		}
	}
}

func (t *talk) add(from, to *fabric.Rack) {
	if t.pairs[from] == nil {
		t.pairs[from] = make(map[*fabric.Rack]bool)
	}
	t.pairs[from][to] = true
}

// from returns the racks that a sender has profiles to: its peers in jobs, and the racks in
// profiles that clients have written, listed by name in own.
func (t *talk) from(s *sender, own map[string]bool, racks []*fabric.Rack) (out []*fabric.Rack) {
	pairs := t.pairs[s.rack]
	if len(pairs)+len(own) == 0 {
		return nil
	}
	for _, r := range racks {
		if pairs[r] || own != nil && own[s.profileTo(r)] {
			out = append(out, r)
		}
	}
	return out
}

// overridden returns the names of the profiles that clients have written, by the name of the
// sending rack.
func (ps *profileSet) overridden() map[string]map[string]bool {
	out := make(map[string]map[string]bool)
	for name := range ps.overrides {
		from, _, _ := strings.Cut(name, ":")
		if out[from] == nil {
			out[from] = make(map[string]bool)
		}
		out[from][name] = true
	}
	return out
}

// named returns the profile with a name, even if hosts do not have the profile because no job needs
// it; nil: no such racks.
func (ps *profileSet) named(name string) *profile {
	if p := ps.byName[name]; p != nil || ps.talk.all {
		return p
	}
	for _, s := range ps.senders {
		if !strings.HasPrefix(name, s.rack.Name()+":") {
			continue
		}
		for _, r := range ps.racks {
			if s.profileTo(r) == name {
				return &profile{name: name, from: s, to: r}
			}
		}
	}
	return nil
}

// Needed implements prove.Profiles.
func (ps *profileSet) Needed(leaves []topology.NodeID) bool {
	return ps.talk.all || slices.ContainsFunc(leaves,
		func(leaf topology.NodeID) bool { return ps.talk.leaves[leaf] })
}

// SetTalk sets the needs of the jobs that have not ended; the hosts get the resulting hints. If the
// configuration limits profiles to racks that talk in jobs, hosts get no state before the first
// call. Otherwise, only hosts that may have hints of an earlier core wait for the first call.
func (c *Core) SetTalk(needs []*ready.Need) {
	t := &c.profiles.talk
	if t.needs != nil && slices.Equal(t.needs, needs) {
		return
	}
	first := t.needs == nil
	t.needs = append([]*ready.Need{}, needs...)
	c.hosts.setHints(needs)
	if t.all {
		return
	}
	if t.changed = true; first && c.state.Synced() {
		c.prover.Begin()
	}
}

// beginRound begins the first round of probes once the topology is in sync and the profiles are
// known.
func (c *Core) beginRound() {
	if c.profiles.talk.known() {
		c.prover.Begin()
	}
}

// JobReading reads the facts that a job depends on, in parts, so that no denial waits for a large
// job. The owner of the core calls its methods.
type JobReading struct {
	core   *Core
	need   *ready.Need
	out    *ready.Fabric
	stream func(host string) (Stream, bool)

	fabric *fabric.Fabric
	names  map[topology.NodeID]string // of switches
	// racks, senders and their attachments are by rack of the need.
	racks   []*fabric.Rack
	senders [][]*sender
	at      []ev.Attachment
}

// ReadJob begins a reading into out, whose slices the caller makes. names has the names of
// switches; stream returns the state of the stream to a host. Without a fabric the result is nil,
// and out says why.
func (c *Core) ReadJob(
	need *ready.Need, names map[topology.NodeID]string, stream func(string) (Stream, bool),
	out *ready.Fabric,
) *JobReading {
	j := &JobReading{
		core: c, need: need, out: out, stream: stream, fabric: c.state.Fabric(), names: names,
		racks: make([]*fabric.Rack, len(need.Racks)), senders: make([][]*sender, len(need.Racks)),
		at: make([]ev.Attachment, len(need.Racks)),
	}
	switch {
	case !c.state.Synced():
		out.Known = ready.Fact{Why: "the topology is not in sync"}
		return nil
	case c.state.Failure() != nil:
		out.Known = ready.Fact{State: ready.Bad, Why: c.state.Failure().Error()}
		return nil
	case j.fabric == nil:
		out.Known = ready.Fact{Why: "no fabric was found yet"}
		return nil
	}
	out.Known = ready.IsGood()
	switch {
	case c.mode == ev.ModeECMP:
		out.Unprobed = "in mode ecmp nobody knows the paths of packets"
	case !c.prover.Active():
		out.Unprobed = "no host probes"
	}
	return j
}

// Current reports whether the core still has the fabric of the reading.
func (j *JobReading) Current() bool { return j.core.state.Fabric() == j.fabric }

// Fabric returns the fabric of the reading, and the attachments of the racks of the need whose NICs
// were read; nil for others. Once the attachments are read, any goroutine may call Fabric.
func (j *JobReading) Fabric() (*fabric.Fabric, []ev.Attachment) { return j.fabric, j.at }

// name returns the name of a switch.
func (j *JobReading) name(id topology.NodeID) string {
	if name, ok := j.names[id]; ok {
		return name
	}
	if name := fabric.NameOf(j.core.state.Advertised(), id); name != "" {
		return name
	}
	return string(id)
}

// NIC reads a NIC of the need.
func (j *JobReading) NIC(i int) {
	out := &j.out.NICs[i]
	h := j.core.hosts.byName[j.need.NICs[i]]
	if h == nil {
		f := ready.Fact{State: ready.Bad, Why: "no switch that it is attached to is in the topology"}
		out.Stream, out.Holds = f, f
		return
	}
	k := j.need.Rack[i]
	if j.racks[k] == nil {
		j.racks[k], j.at[k] = h.Rack(), h.Rack().At()
	}
	if h.sender != nil && !slices.Contains(j.senders[k], h.sender) {
		j.senders[k] = append(j.senders[k], h.sender)
	}
	out.Stream, out.Holds = ready.IsGood(), ready.IsGood()
	if !h.Connected() {
		out.Stream = ready.Fact{State: ready.Bad, Why: "its host has no stream to the controller"}
		if known, ok := j.stream(h.Name); ok {
			out.Stream.Since = known.Since.UTC()
		}
	}
	switch {
	case h.refusal != "":
		out.Holds = ready.Fact{State: ready.Bad, Why: "its host refuses what it was told: " + h.refusal}
	case h.foreign:
		out.Holds = ready.Fact{Why: "its host keeps the state of an earlier controller for now"}
	case !h.told:
		out.Holds = ready.Fact{Why: "its host was told nothing yet"}
	case !h.current():
		out.Holds = ready.Fact{State: ready.Bad, Why: "its host has not applied what it was told yet"}
	}
	for p, at := range h.At {
		number := uint8(p + 1)
		port := ready.Port{Number: number, Up: portFact(h, number)}
		if at != "" {
			port.Leaf = j.name(at)
		}
		out.Ports = append(out.Ports, port)
	}
}

// portFact returns whether a port of a host is up, and may be sent to.
func portFact(h *host, number uint8) ready.Fact {
	p, ok := h.Port(number)
	bad := ready.Fact{State: ready.Bad}
	switch {
	case !ok:
		return ready.Fact{Why: "its switch is not in the topology"}
	case p.LinkDown:
		bad.Why = "down, as its switch reports"
	case p.HostDown:
		bad.Why = "down, as its host reports"
	case p.Drained:
		bad.Why = "drained"
	case p.Held:
		bad.Why = "it was down, and is held for a while"
	case !h.Connected() || !h.Reports():
		return ready.Fact{Why: "its host does not report it"}
	default:
		return ready.IsGood()
	}
	return bad
}

// Path reads the paths of a pair of racks, one for each plane and kind of devices.
func (j *JobReading) Path(i int) {
	pair := j.need.Pairs[i]
	from, to := j.racks[pair[0]], j.racks[pair[1]]
	if from == nil || to == nil {
		return // not known
	}
	for _, s := range j.senders[pair[0]] {
		p := s.profiles[to]
		for port := range min(len(from.At()), len(to.At())) {
			if from.At()[port] == "" || to.At()[port] == "" {
				continue
			}
			number := uint8(port + 1)
			out := ready.Path{Pair: int32(i), Plane: int32(j.fabric.PlaneOf(from.At()[port], number)),
				From: j.name(from.At()[port]), To: j.name(to.At()[port])}
			switch {
			case p == nil:
				out.Why = "it has no EV profile"
			case p.err != nil || p.outcome.Profile == nil:
				out.Why = "it has no EVs: " + p.outcome.Degraded
			default:
				out.Active, out.Of, out.Want = p.onPort(number)
				out.RoundTrip = p.probed.RoundTrip(number)
				if out.Since = j.core.wall(p.since); p.outcome.Degraded == "" {
					out.Since = time.Time{}
				}
				if out.Of == 0 {
					out.Why = fmt.Sprintf("it has no EV by port %d", number)
				}
			}
			j.out.Paths = append(j.out.Paths, out)
		}
	}
}

// onPort returns how many EVs by a port are left, of how many, and how many a host keeps active by
// itself: a share of those of all ports.
func (p *profile) onPort(port uint8) (active, of, want int32) {
	now := p.outcome.Profile
	ports := p.built.Ports()
	if !slices.Contains(ports, port) {
		return 0, 0, 0
	}
	denied := 0
	for _, e := range now.Denied {
		if e.Port == port {
			denied++
		}
	}
	n := 0
	switch now.Mode {
	case hostapi.ModeExplicit:
		denied = 0
		for _, e := range now.EVs {
			if e.Port != port {
				continue
			}
			if n++; now.IsDenied(e) {
				denied++
			}
		}
		active = int32(n - denied)
	case hostapi.ModeGenerated:
		values := 1
		for _, f := range now.Fields {
			values *= int(f.MaxVal-f.MinVal) + 1
		}
		n = max(1, now.Count/len(ports))
		active = int32(n * max(0, values-denied) / values)
	default:
		n = max(1, now.Count/len(ports))
		active = int32(n)
	}
	share := (now.MinActive + len(ports) - 1) / len(ports)
	return active, int32(n), int32(min(max(1, share), n))
}

// Link reads one direction of a link, and has it probed.
func (j *JobReading) Link(i int, place int32) {
	l := j.core.state.Links().At(place)
	out := ready.Link{ID: string(l.ID), Name: string(l.ID),
		Plane: int32(j.fabric.Clos().LinkPlane(l.ID)),
		From:  j.name(l.Local), To: j.name(l.Remote), Use: ready.IsGood()}
	if back := j.fabric.Reverse(l.Edge); back != nil {
		out.Name = string(min(l.ID, back.ID))
	}
	if l.Denied() {
		out.Use = ready.Fact{State: ready.Bad, Since: j.core.wall(l.Since()),
			Why: l.Phase().String() + ": " + l.Cause()}
		if l.Drained() { // its time is not kept
			out.Use.Since, out.Use.Why = time.Time{}, "drained"
		}
	}
	if at := l.Heard(); at > 0 {
		out.Probed, out.Answered = j.core.wall(at), l.Misses() == 0
	}
	j.out.Links[i] = out
	j.core.prover.Want(place)
}

// viewer makes the views of the fabric that a core publishes.
type viewer struct {
	last *fabricview.View // nil: none so far
	from viewSource       // of last
	// links and paths are those of the fabric in from; nil: to be made.
	links func() map[topology.LinkID]lease.Link
	paths *leasePaths
	at    map[string]ev.Attachment // of all hosts; nil: to be read again
	moved bool                     // links, hosts or their ports have changed since last
	// losses of the fabric in from, by the attachments in at; nil: not computed yet.
	losses *losses
	// fluid is the network for simulations, of losses.
	fluid func() *flows.Network
	held  []fabricview.Held
	other bool // what does not follow from the fabric has changed since last
	// nodes are the nodes of the last view, and wired counts how often they or the racks have changed.
	nodes []*topology.Node
	wired uint64
}

// wiring is [fabricview.View.Wiring].
type wiring struct {
	fabric *fabric.Fabric
	wired  uint64
}

// viewSource is what a view follows from, apart from links, hosts and their ports.
type viewSource struct {
	fabric     *fabric.Fabric
	advertised *topology.Snapshot
	// why there are no leases, and no losses; "": there are.
	why, noLosses string
}

// note notes what has changed in the fabric.
func (v *viewer) note(c *fabric.Changes) {
	v.moved = v.moved || len(c.Links) > 0 || c.Peers || c.Racks
	if c.Racks {
		v.at, v.losses = nil, nil
		v.wired++
	}
}

// setHeld has views say how far the drains of held parts are.
func (v *viewer) setHeld(states []fabricview.Held) {
	v.other = v.other || !slices.Equal(v.held, states)
	v.held = states
}

// View returns what is known of the fabric: the same as before if nothing has changed.
func (c *Core) View() *fabricview.View {
	c.settle()
	v, from := &c.viewer, viewSource{c.state.Fabric(), c.state.Advertised(), c.unleasable(),
		c.unlosable()}
	same := v.last != nil && v.from == from && !v.moved
	if same && !v.other && !c.reader.news {
		return v.last
	}
	next := &fabricview.View{}
	if v.last != nil {
		*next = *v.last
	}
	next.Revision++
	next.Held, next.Jobs = v.held, c.reader.done
	if !same {
		c.lookAtFabric(next, from)
	}
	v.last, v.from, v.moved, v.other, c.reader.news = next, from, false, false, false
	return next
}

// wiring is [fabricview.View.Wiring] now.
func (c *Core) wiring() any {
	v := &c.viewer
	if now := c.state.Advertised().Nodes; !slices.Equal(v.nodes, now) {
		v.nodes = now
		v.wired++
	}
	if !c.state.Synced() || c.state.Failure() != nil {
		return nil
	}
	return wiring{c.state.Fabric(), v.wired}
}

// lookAtFabric gives a view what follows from the fabric, its links and its hosts.
func (c *Core) lookAtFabric(next *fabricview.View, from viewSource) {
	v := &c.viewer
	if v.from.advertised != from.advertised {
		v.links = nil
	}
	next.Why, next.Leases = from.why, nil
	next.NoLosses, next.Losses, next.Fluid = from.noLosses, nil, nil
	next.Wiring = c.wiring()
	if v.at == nil {
		v.at = make(map[string]ev.Attachment, c.state.HostCount())
		for h := range c.state.Hosts() {
			v.at[h.Name] = h.Rack().At()
		}
	}
	if from.why == "" {
		next.Leases = c.leases(from)
	}
	if from.noLosses == "" {
		if v.losses == nil || v.losses.fabric != from.fabric {
			of := &losses{fabric: from.fabric, at: v.at}
			v.losses, v.fluid = of, sync.OnceValue(func() *flows.Network {
				return flows.Of(of.fabric, of.at, &c.cfg.MRC)
			})
		}
		network, lost := v.fluid, c.lostNow()
		next.Losses, next.Fluid = v.losses, func() (*flows.Network, *flows.State) {
			return network(), lost.Clone()
		}
	}
}

// lostNow returns what hosts must not use now.
func (c *Core) lostNow() *flows.State {
	s := &flows.State{Ports: make(map[string]hostapi.PortMask)}
	s.Directed = slices.Collect(maps.Keys(c.state.Links().Denied()))
	s.Planes = slices.Clone(c.drains.Planes())
	for _, p := range c.state.Peers() {
		if h := c.state.HostAt(p.Peer); h != nil {
			s.Ports[h.Name] = ^p.Ports
		}
	}
	return s
}

// unleasable returns why no paths can be leased; "": they can.
func (c *Core) unleasable() string {
	switch {
	case c.mode == ev.ModeECMP:
		return "in mode ecmp nobody knows the paths of packets"
	case !c.state.Synced():
		return "the topology is not in sync"
	case c.state.Failure() != nil:
		return c.state.Failure().Error()
	case c.state.Fabric() == nil:
		return "no fabric was found yet"
	}
	return ""
}

// downNow returns the denied links, and the links of dead ports of hosts. Nobody knows whether an
// unconnected host's ports are dead.
func (c *Core) downNow() map[topology.LinkID]bool {
	down := c.state.Links().Denied()
	for _, p := range c.state.Peers() {
		h := c.state.HostAt(p.Peer)
		for i := range h.At {
			if h.At[i] != "" && !p.Ports.Has(i+1) {
				down[hostPortID(h.Name, uint8(i+1))] = true
			}
		}
	}
	return down
}

// leases returns the links and the paths for leases.
func (c *Core) leases(from viewSource) *lease.Network {
	v := &c.viewer
	if v.paths == nil || v.paths.fabric != from.fabric {
		v.paths = &leasePaths{fabric: from.fabric, known: make(map[leasePathsKey][]lease.Path)}
		v.links = nil
	}
	if v.links == nil {
		v.links = sync.OnceValue(func() map[topology.LinkID]lease.Link { return leaseLinks(from) })
	}
	paths, at := v.paths, v.at
	return &lease.Network{Links: v.links, Down: c.downNow(),
		Paths: func(from, to string) []lease.Path { return paths.of(from, to, at[from], at[to]) }}
}

// leaseLinks returns the links of a fabric, with the capacities that are advertised now.
func leaseLinks(from viewSource) map[topology.LinkID]lease.Link {
	links := make(map[topology.LinkID]lease.Link, from.fabric.Len())
	for i := range int32(from.fabric.Len()) {
		e := from.fabric.Edge(i)
		capacity := e.MaxBandwidth
		if now := from.advertised.Link(e.ID); now != nil {
			capacity = now.MaxBandwidth
		}
		links[e.ID] = lease.Link{Capacity: capacity, Up: true}
	}
	return links
}

// leasePaths keeps the paths of a fabric between attachments.
type leasePaths struct {
	fabric *fabric.Fabric
	mu     sync.Mutex
	known  map[leasePathsKey][]lease.Path
}

type leasePathsKey struct {
	from, to string
	port     uint8
}

// mostLeasePaths bounds the pairs of attachments whose paths are kept.
const mostLeasePaths = 4096

// of returns the paths between two NICs by all ports.
func (p *leasePaths) of(from, to string, src, dst ev.Attachment) (out []lease.Path) {
	for i := range min(len(src), len(dst)) {
		port := uint8(i + 1)
		ends := leaseEnds(from, to, port)
		for _, path := range p.between(src, dst, port) {
			path.Ends = ends
			out = append(out, path)
		}
	}
	return out
}

func (p *leasePaths) between(src, dst ev.Attachment, port uint8) []lease.Path {
	key := leasePathsKey{fabric.AttachmentKey(src), fabric.AttachmentKey(dst), port}
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.known[key]
	if !ok {
		if len(p.known) >= mostLeasePaths {
			clear(p.known)
		}
		known = leasePathsBy(p.fabric, src, dst, port)
		p.known[key] = known
	}
	return known
}

// hostPortID names the link of a NIC in leases.
func hostPortID(host string, port uint8) topology.LinkID {
	return topology.LinkID(fmt.Sprintf("%s/%d", host, port))
}

// leasePathsBy returns the paths that packets of one port may take from an attachment to another,
// without their ends.
func leasePathsBy(f *fabric.Fabric, from, to ev.Attachment, port uint8) []lease.Path {
	set, ok := f.PathSet(from, to, port)
	if !ok {
		return nil
	}
	choices, err := f.Assignment().Choices(set)
	if err != nil {
		return nil
	}
	out := make([]lease.Path, len(choices))
	for i := range choices {
		c := &choices[i]
		p := lease.Path{Plane: set.Plane(), EV: leaseEV(f, c.Value, port)}
		for _, ref := range c.Paths {
			places := f.PlacesOf(set, ref)
			for j, place := range places {
				e := f.Edge(place)
				if !slices.Contains(p.Links, e.ID) {
					p.Links = append(p.Links, e.ID)
				}
				if j < len(places)-1 && !slices.Contains(p.Nodes, e.Remote) {
					p.Nodes = append(p.Nodes, e.Remote)
				}
			}
		}
		out[i] = p
	}
	return out
}

// leaseEV describes an EV.
func leaseEV(f *fabric.Fabric, v ev.Value, port uint8) api.LeaseEV {
	r := &ev.Route{Mode: f.Assignment().Format().Mode, Last: ev.TableUSID}
	return api.LeaseEV{Value: hostapi.EV{Value: v, Port: port}.String(), Port: port,
		Packet: viewPacket(r, v)}
}

// leaseEnds returns the ends of a path of a port between two hosts.
func leaseEnds(from, to string, port uint8) []topology.LinkID {
	return []topology.LinkID{hostPortID(from, port), hostPortID(to, port)}
}
