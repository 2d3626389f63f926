package mrc

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/topology"
)

// The facts that jobs depend on are read in parts, one at each Tick, so that no denial waits for a
// large job. A part is this many NICs, pairs of racks or links.
const (
	nicsAtOnce  = 1024
	pathsAtOnce = 512
	linksAtOnce = 8192
)

// Every job is read each readEvery. The parts of a job that nobody waits for are readPause apart.
const (
	readEvery = 500 * time.Millisecond
	readPause = 2 * time.Millisecond
)

// Surroundings are what a core needs beside the fabric to read what jobs depend on.
type Surroundings interface {
	// SwitchNames returns the names of switches in the inventory, by node.
	SwitchNames() map[topology.NodeID]string
	// Stream returns the state of the stream to a host; false: nothing is known.
	Stream(host string) (Stream, bool)
}

// reader reads what jobs depend on.
type reader struct {
	from  Surroundings
	wants *fabricview.Wants // nil: none so far
	// done holds the newest readings for the wanted needs, at their beginning, and links the links in
	// needs.
	done  map[*ready.Need]*fabricview.Reading
	at    map[*ready.Need]time.Duration
	links map[*ready.Need]crossedOf
	// now is under way, nil: nothing is; interrupted goes on after it.
	now, interrupted *partReading
	// job is to be read next, at the time due; hurry: somebody waits for it. nil: there is none.
	job   *fabricview.Job
	due   time.Duration
	hurry bool
	next  time.Duration // of a part that nobody waits for
	news  bool          // done has changed since the last view
}

// partReading is a reading under way.
type partReading struct {
	*JobReading // nil: there is nothing to read
	of          *fabricview.Reading
	began       time.Duration
	// n is how much of a stage is read: the NICs, the pairs, the pairs whose links are to be found,
	// and the links.
	stage, n int
	crossed  []bool
	places   []int32
	hurry    bool // somebody waits for it
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

// crossedOf holds the places of links that a need's pairs cross.
type crossedOf struct {
	fabric *fabric.Fabric
	at     []ev.Attachment // of the racks
	places []int32
}

// newReader returns a reader without wants.
func newReader(from Surroundings) reader {
	return reader{from: from, done: make(map[*ready.Need]*fabricview.Reading),
		at: make(map[*ready.Need]time.Duration), links: make(map[*ready.Need]crossedOf)}
}

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

// SetWants takes what jobs want of the fabric: that pairs can talk, and that views have what each
// job depends on.
func (c *Core) SetWants(w *fabricview.Wants) {
	c.SetTalk(w.Talk())
	r := &c.reader
	wanted := make(map[*ready.Need]bool, len(w.Jobs))
	for i := range w.Jobs {
		wanted[w.Jobs[i].Need] = true
	}
	r.wants, r.news, r.done = w, true, maps.Clone(r.done)
	for need := range r.done {
		if !wanted[need] {
			delete(r.done, need)
			delete(r.at, need)
			delete(r.links, need)
		}
	}
	for _, p := range []**partReading{&r.now, &r.interrupted} {
		if *p != nil && !wanted[(*p).of.Need] {
			*p = nil
		}
	}
	r.plan()
}

// plan chooses the job to be read next: one that somebody waits for, or that was read the longest
// time ago.
func (r *reader) plan() {
	r.job, r.hurry = nil, false
	for i := range r.wants.Jobs {
		j := &r.wants.Jobs[i]
		if done := r.done[j.Need]; done == nil || done.Wants < j.Since {
			r.job, r.hurry = j, true
			return
		}
		if due := r.at[j.Need] + readEvery; r.job == nil || due < r.due {
			r.job, r.due = j, due
		}
	}
}

// nextPart returns when the next part is to be read.
func (r *reader) nextPart() (at time.Duration, ok bool) {
	switch {
	case r.hurry || r.now != nil && r.now.hurry:
		return 0, true
	case r.now != nil || r.interrupted != nil:
		return r.next, true
	}
	return max(r.due, r.next), r.job != nil
}

// readPart reads the next due part of the facts that jobs depend on.
func (c *Core) readPart() {
	r := &c.reader
	if at, ok := r.nextPart(); !ok || c.now < at {
		return
	}
	c.settle()
	switch p := r.now; {
	case r.hurry && (p == nil || !p.hurry):
		r.interrupted = cmp.Or(r.now, r.interrupted)
		r.now = c.beginReading(r.job.Need, true)
	case p == nil && r.interrupted != nil:
		r.now, r.interrupted = r.interrupted, nil
	case p == nil:
		r.now = c.beginReading(r.job.Need, false)
	}
	p := r.now
	if p.JobReading != nil && !p.Current() { // there is another fabric by now
		p = c.beginReading(p.of.Need, p.hurry)
		r.now = p
	}
	r.next = c.now + readPause
	if p.JobReading != nil && !c.readMore(p) {
		return
	}
	need := p.of.Need
	r.done = maps.Clone(r.done)
	r.done[need], r.at[need], r.now, r.news = p.of, p.began, nil, true
	if p := r.interrupted; p != nil && p.of.Need == need {
		r.interrupted = nil
	}
	r.plan()
}

// beginReading begins to read what a job depends on.
func (c *Core) beginReading(need *ready.Need, hurry bool) *partReading {
	r := &c.reader
	p := &partReading{hurry: hurry, began: c.now,
		of: &fabricview.Reading{Need: need, Wants: r.wants.Seq, Wiring: c.wiring()}}
	var names map[topology.NodeID]string
	stream := func(string) (s Stream, ok bool) { return s, false }
	if r.from != nil {
		names, stream = r.from.SwitchNames(), r.from.Stream
	}
	out := &p.of.Fabric
	if p.JobReading = c.ReadJob(need, names, stream, out); p.JobReading != nil {
		out.NICs = make([]ready.NIC, len(p.need.NICs))
	}
	return p
}

// wiring is [fabricview.View.Wiring].
type wiring struct {
	fabric *fabric.Fabric
	wired  uint64
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

// readMore reads another part, and reports whether it was the last.
func (c *Core) readMore(p *partReading) (last bool) {
	part := func(of, atOnce int, read func(i int)) {
		to := min(of, p.n+atOnce)
		for ; p.n < to; p.n++ {
			read(p.n)
		}
		if p.n == of {
			p.stage, p.n = p.stage+1, 0
		}
	}
	switch p.stage {
	case 0:
		part(len(p.need.NICs), nicsAtOnce, p.NIC)
	case 1:
		part(len(p.need.Pairs), pathsAtOnce, p.Path)
	case 2:
		known, ok := c.reader.links[p.need]
		if ok && known.fabric == p.fabric && slices.EqualFunc(known.at, p.at,
			slices.Equal[ev.Attachment]) {
			p.places, p.stage = known.places, 3
			break
		}
		if p.crossed == nil {
			p.crossed = make([]bool, p.fabric.Len())
		}
		part(len(p.need.Pairs), pathsAtOnce, p.cross)
		if p.stage == 3 {
			for i, is := range p.crossed {
				if is {
					p.places = append(p.places, int32(i))
				}
			}
			c.reader.links[p.need] = crossedOf{p.fabric, p.at, p.places}
		}
	}
	if p.stage == 3 {
		if p.out.Links == nil {
			p.out.Links = make([]ready.Link, len(p.places))
		}
		part(len(p.places), linksAtOnce, func(i int) { p.Link(i, p.places[i]) })
	}
	return p.stage == 4
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

// cross notes the links that a pair of racks crosses.
func (p *partReading) cross(i int) {
	pair := p.need.Pairs[i]
	from, to := p.at[pair[0]], p.at[pair[1]]
	for port := range from {
		set, ok := p.fabric.PathSet(from, to, uint8(port+1))
		if !ok {
			continue
		}
		for ref := range set.All() {
			for _, l := range p.fabric.PlacesOf(set, ref) {
				p.crossed[l] = true
			}
		}
	}
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
