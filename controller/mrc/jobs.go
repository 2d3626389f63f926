package mrc

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/job/lease"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// talk is which racks talk to each other. Only these have EV profiles, unless all have.
type talk struct {
	all bool // the configuration has profiles for all pairs
	// needs are those of jobs that have not ended; nil: nobody knows them yet.
	needs   []*ready.Need
	changed bool // profiles are to be made again

	// pairs are what the needs come to, and leaves those of racks that talk to another one.
	pairs  map[*fabric.Rack]map[*fabric.Rack]bool
	leaves map[topology.NodeID]bool
}

// known reports whether it is known which racks talk.
func (t *talk) known() bool { return t.all || t.needs != nil }

// find finds the pairs of racks: in both directions, as who is sent to answers. rackOf returns
// where a host is attached.
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

// from returns those of the racks that a sender has profiles to: in jobs it talks to them, or a
// client has written the profile, whose names are own.
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

// overridden returns the names of the profiles that clients have written, by that of the rack that
// sends.
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

// named returns the profile of a name, also one that hosts do not have as no job needs it; nil:
// there are no such racks.
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

// SetTalk sets what the jobs need that have not ended: hosts are told the hints that follow. Where
// the configuration has profiles for the pairs of racks that talk in jobs, hosts are told nothing
// before the first call. Elsewhere those that may have the hints of an earlier core wait for it.
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

// beginRound begins the first round of probes once the topology is in sync and it is known which
// profiles there are.
func (c *Core) beginRound() {
	if c.profiles.talk.known() {
		c.prover.Begin()
	}
}

// JobReading is a reading of what a job depends on, in parts, so that a denial waits for none of a
// large job. The owner of the core calls its methods.
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

// ReadJob begins a reading into out, whose slices the caller makes. names are those of switches,
// and stream returns what is known of the stream to a host. The result is nil when there is no
// fabric, and out says why.
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

// Wiring returns the present fabric, and whether it can be read.
func (c *Core) Wiring() (f *fabric.Fabric, known bool) {
	return c.state.Fabric(), c.state.Synced() && c.state.Failure() == nil
}

// Current reports whether the fabric of the reading is still that of the core.
func (j *JobReading) Current() bool { return j.core.state.Fabric() == j.fabric }

// Fabric returns the fabric of the reading, and the attachments of the racks of the need whose NICs
// were read; nil for others. Any goroutine may call it after those were read.
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

// LeaseFacts are what leases between some hosts are of. They do not change.
type LeaseFacts struct {
	Fabric *fabric.Fabric
	// Advertised has the present capacities.
	Advertised *topology.Snapshot
	// At are the attachments of the hosts that have one.
	At map[string]ev.Attachment
	// Down are links that must not be crossed, and ends of paths that are known to be down.
	Down map[topology.LinkID]bool
}

// LeaseFacts reads what leases between some hosts are of; why is why there is nothing.
func (c *Core) LeaseFacts(hosts []string) (out LeaseFacts, why string) {
	c.settle()
	out = LeaseFacts{Fabric: c.state.Fabric(), Advertised: c.state.Advertised(),
		At: make(map[string]ev.Attachment, len(hosts)), Down: make(map[topology.LinkID]bool)}
	switch {
	case c.mode == ev.ModeECMP:
		return out, "in mode ecmp nobody knows the paths of packets"
	case !c.state.Synced():
		return out, "the topology is not in sync"
	case c.state.Failure() != nil:
		return out, c.state.Failure().Error()
	case out.Fabric == nil:
		return out, "no fabric was found yet"
	}
	links := c.state.Links()
	for i := range int32(out.Fabric.Len()) {
		if links.At(i).Denied() {
			out.Down[out.Fabric.Edge(i).ID] = true
		}
	}
	for _, name := range hosts {
		h := c.hosts.byName[name]
		if h == nil {
			continue
		}
		out.At[name] = h.Rack().At()
		for i := range h.At {
			// A host that is not connected is not known to be down: a lease stays where it is.
			if p, ok := h.Port(uint8(i + 1)); ok && (p.Drained || p.Held) { // while it is down, too
				out.Down[hostPortID(name, uint8(i+1))] = true
			}
		}
	}
	return out, ""
}

// hostPortID names the link of a NIC in leases.
func hostPortID(host string, port uint8) topology.LinkID {
	return topology.LinkID(fmt.Sprintf("%s/%d", host, port))
}

// LeasePaths returns the paths that packets of one port may take from an attachment to another,
// without their ends.
func LeasePaths(f *fabric.Fabric, from, to ev.Attachment, port uint8) []lease.Path {
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

// LeaseEnds returns the ends of a path of a port between two hosts.
func LeaseEnds(from, to string, port uint8) []topology.LinkID {
	return []topology.LinkID{hostPortID(from, port), hostPortID(to, port)}
}
