package mrc

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/mrc/prove"
	"github.com/weft-sdn/weft/packet"
)

// host is an attached host with its stream, state and reports.
type host struct {
	*prove.Host
	sender *sender // nil before the first Hello
	dirty  bool    // its state may have changed: it is in hostSet.dirty
	rank   int     // place in hostSet.ordered

	session
	holding
}

// session is the stream to a host.
type session struct {
	foreign bool          // the host has the state of an earlier controller
	hello   hostapi.Hello // the last
	// queuePairs has the queue pairs of applications that the host reported on this stream.
	queuePairs hostapi.QueuePairs
	portErrors hostapi.PortErrors // they stay while the stream is gone
}

// A sender groups the hosts of a rack whose devices have equal capabilities: they share a state.
type sender struct {
	key      string
	group    *prove.Group
	rack     *fabric.Rack
	caps     hostapi.Capabilities
	kind     int // from 1, of the rack's
	hosts    []*host
	profiles map[*fabric.Rack]*profile
	state    *hostapi.State
	// hinted are the states with hints for some of the hosts.
	hinted  map[hostapi.QPHints]*hostapi.State
	dirty   bool       // state must be made again
	ordered []*profile // by name
}

// hostSet holds all hosts, grouped by shared state, and the states sent to them.
type hostSet struct {
	*env
	wire hostapi.Wire

	byName  map[string]*host
	senders map[string]*sender

	dirty   []*host // whose state may have changed, each once
	ordered []*host // all by name; nil: it must be made again
	regroup bool    // senders have changed

	// hints has the hints of jobs, by host; nil: the jobs are not known yet.
	hints map[string]hostapi.QPHints
}

func newHosts(e *env, wire hostapi.Wire) *hostSet {
	return &hostSet{
		env: e, wire: wire, byName: make(map[string]*host),
		senders: make(map[string]*sender),
	}
}

func capabilitiesKey(caps hostapi.Capabilities) string {
	caps.EVFreeCount = 0                         // part of what changes
	caps.QPHints, caps.SelfProbes = false, false // each host has its own
	return fmt.Sprintf("%+v", caps)
}

// find returns the host of a name.
func (s *hostSet) find(name string) (*host, error) {
	if h := s.byName[name]; h != nil {
		return h, nil
	}
	s.counters.UnknownHosts++
	return nil, fmt.Errorf("%.80s: %w", name, fabric.ErrUnknownHost)
}

// put adds an attached host, or changes the attachment of a known host.
func (s *hostSet) put(at *fabric.Attached, p *prove.Prover) {
	h := s.byName[at.Name]
	if h == nil {
		s.byName[at.Name], s.ordered = &host{Host: p.Attach(at)}, nil
		return
	}
	s.delist(h)
	if h.hello.Name != "" {
		s.enlist(h)
	}
}

// remove removes a host and tells it to hold no state.
func (s *hostSet) remove(name string, p *prove.Prover) {
	h := s.byName[name]
	s.delist(h)
	delete(s.byName, name)
	s.ordered = nil
	p.Detach(h.Host)
	if h.told {
		h.seq++
		s.out.Sets = append(s.out.Sets, Set{Host: name, Seq: h.seq})
	}
}

// rackOf returns where a host is attached; nil: there is no such host.
func (s *hostSet) rackOf(name string) *fabric.Rack {
	if h := s.byName[name]; h != nil {
		return h.Rack()
	}
	return nil
}

func byHostName(a *host, name string) int { return cmp.Compare(a.Name, name) }

// enlist puts a host among those that share a state.
func (s *hostSet) enlist(h *host) {
	rack := h.Rack()
	key := rack.Key() + capabilitiesKey(h.hello.Capabilities)
	x := s.senders[key]
	if x == nil {
		x = &sender{
			key: key, group: prove.NewGroup(rack), rack: rack, caps: h.hello.Capabilities,
			profiles: make(map[*fabric.Rack]*profile), dirty: true,
		}
		for x.kind = 1; s.hasKind(rack, x.kind); {
			x.kind++
		}
		s.senders[key] = x
		s.regroup = true
	}
	i, _ := slices.BinarySearchFunc(x.hosts, h.Name, byHostName)
	x.setHosts(slices.Insert(x.hosts, i, h))
	h.sender, h.mineOf = x, nil
	s.touch(h)
}

// touch notes that the state of a host may have changed; nil is no host.
func (s *hostSet) touch(h *host) {
	if h != nil && !h.dirty {
		h.dirty = true
		s.dirty = append(s.dirty, h)
	}
}

func (s *hostSet) delist(h *host) {
	if x := h.sender; x != nil {
		x.setHosts(slices.DeleteFunc(x.hosts, func(o *host) bool { return o == h }))
		h.sender, s.regroup = nil, true
	}
	h.Recount()
}

// setHosts replaces the hosts of a sender.
func (x *sender) setHosts(hosts []*host) {
	x.hosts = hosts
	all := make([]*prove.Host, len(hosts))
	for i, h := range hosts {
		all[i] = h.Host
	}
	x.group.SetHosts(all)
}

// groupsOf returns what the prover knows of senders.
func groupsOf(senders []*sender) []*prove.Group {
	out := make([]*prove.Group, len(senders))
	for i, x := range senders {
		out[i] = x.group
	}
	return out
}

func (s *hostSet) hasKind(r *fabric.Rack, kind int) bool {
	for _, x := range s.senders {
		if x.rack == r && x.kind == kind {
			return true
		}
	}
	return false
}

// tidy drops senders without hosts. It returns the others in order.
func (s *hostSet) tidy() []*sender {
	s.regroup = false
	for key, x := range s.senders {
		if len(x.hosts) == 0 {
			delete(s.senders, key)
		}
	}
	return slices.SortedFunc(maps.Values(s.senders),
		func(a, b *sender) int { return cmp.Compare(a.key, b.key) })
}

// profileTo is the name of the profile to a rack; names of racks have no colon.
func (s *sender) profileTo(r *fabric.Rack) string {
	name := s.rack.Name() + ":" + r.Name()
	if s.kind > 1 { // the rack has devices of several kinds
		name = fmt.Sprintf("%s:%d", name, s.kind)
	}
	return name
}

// Hello records that a host has opened a stream, with the identity and capabilities in its Hello.
func (c *Core) Hello(name string, m *hostapi.Hello) error {
	h, err := c.hosts.find(name)
	if err != nil {
		return err
	}
	foreign := m.Version != (hostapi.Version{}) && m.Version.Epoch != c.cfg.Epoch
	restarted := h.hello.Instance != m.Instance
	if restarted {
		h.Restart(foreign)
	}
	again := h.sender != nil &&
		capabilitiesKey(h.hello.Capabilities) == capabilitiesKey(m.Capabilities)
	if h.hello.Capabilities.QPHints != m.Capabilities.QPHints {
		c.hosts.touch(h)
	}
	h.hello = *m
	h.hello.Name = name
	h.queuePairs, h.portErrors = hostapi.QueuePairs{}, hostapi.PortErrors{}
	h.foreign = foreign && !h.told
	c.prover.Connect(h.Host, m.Capabilities.OptAttr&hostapi.OptEVProbe != 0)
	c.prover.SetSelfProbes(h.Host, m.Capabilities.SelfProbes, restarted)
	if !again {
		c.hosts.delist(h)
		c.hosts.enlist(h)
	}
	return nil
}

// Gone records that the stream of a host has ended. The host keeps what it has.
func (c *Core) Gone(name string) error {
	h, err := c.hosts.find(name)
	if err != nil {
		return err
	}
	c.prover.Gone(h.Host)
	h.queuePairs = hostapi.QueuePairs{}
	return nil
}

// Applied records that a host holds the state of the Set with a number, or of a later Set.
func (c *Core) Applied(name string, seq uint64) error {
	h, err := c.hosts.find(name)
	if err != nil {
		return err
	}
	if seq > h.seq {
		return fmt.Errorf("host %s: applied %d, want at most %d: %w", name, seq, h.seq,
			fabric.ErrMalformed)
	}
	if h.applied = max(h.applied, seq); h.applied > 0 {
		h.SetHolds()
	}
	c.runDrains()
	return nil
}

// Refused records that a host refuses a part of its state, and why; an empty reason
// says that it holds all that it was sent.
func (c *Core) Refused(name, reason string) error {
	h, err := c.hosts.find(name)
	if err != nil || h.refusal == reason {
		return err
	}
	h.refusal = reason
	if reason == "" {
		c.event(api.EventHostChanged, name, "refuses nothing any more",
			api.EventFields{State: api.StateWhole})
	} else {
		c.event(api.EventHostChanged, name, "refused: "+reason,
			api.EventFields{State: api.StateRefused, Reason: reason})
	}
	return nil
}

// holding has the state that the controller sent to a host, and the state that the host holds.
type holding struct {
	told    bool // something, ever
	seq     uint64
	applied uint64
	refusal string
	state   *hostapi.State // the last
	// mine is the sender's state mineOf with the host's own denied ports.
	mine, mineOf *hostapi.State
}

// current reports whether the host holds all that it was told.
func (h *holding) current() bool { return h.told && h.applied >= h.seq && h.refusal == "" }

// behind returns the number of the Set that a host has not applied yet; ok is false without such a
// Set. A host without any Set may hold any state.
func (h *holding) behind() (seq uint64, ok bool) {
	if !h.told {
		return 1, true
	}
	return h.seq, h.applied < h.seq
}

// dirtyAll has all states made again.
func (s *hostSet) dirtyAll() {
	for _, x := range s.senders {
		x.dirty = true
	}
}

// setHints sets the hints of the hosts of jobs: a host in several jobs gets the hints of all these
// jobs.
func (s *hostSet) setHints(needs []*ready.Need) {
	next := make(map[string]hostapi.QPHints)
	for _, n := range needs {
		for i, h := range n.Hints {
			next[n.NICs[i]] = next[n.NICs[i]].Beside(h)
		}
	}
	for _, all := range [...]map[string]hostapi.QPHints{s.hints, next} {
		for name := range all {
			if next[name] != s.hints[name] {
				s.touch(s.byName[name])
			}
		}
	}
	s.hints = next
}

// hintsOf returns the hints that a host is told.
func (s *hostSet) hintsOf(h *host) hostapi.QPHints {
	if !h.hello.Capabilities.QPHints {
		return hostapi.QPHints{}
	}
	return s.hints[h.Name]
}

// with returns the state with hints, which hosts share that have the same.
func (x *sender) with(hints hostapi.QPHints) *hostapi.State {
	if hints == (hostapi.QPHints{}) {
		return x.state
	}
	if x.hinted[hints] == nil {
		if x.hinted == nil {
			x.hinted = make(map[hostapi.QPHints]*hostapi.State)
		}
		own := *x.state
		own.Hints = hints
		x.hinted[hints] = &own
	}
	return x.hinted[hints]
}

// makeStates makes the states of senders with changed parts. Since the parts are made sorted and
// valid, so is the state.
func (s *hostSet) makeStates(cc []*hostapi.CCProfile) {
	for _, x := range s.senders {
		if !x.dirty {
			continue
		}
		x.dirty = false
		state := &hostapi.State{
			CC: cc, Peers: s.state.Peers(), Wire: s.wire,
			Profiles: make([]*hostapi.Profile, 0, len(x.ordered)),
		}
		for _, p := range x.ordered {
			if p.outcome.Profile != nil {
				state.Profiles = append(state.Profiles, p.outcome.Profile)
			}
		}
		x.state, x.hinted = state, nil
		for _, h := range x.hosts {
			s.touch(h)
		}
	}
}

// takeDirty returns the hosts whose state may have changed, by name, and forgets them.
func (s *hostSet) takeDirty() []*host {
	out := s.dirty
	s.dirty = nil
	byName := func(a, b *host) int { return cmp.Compare(a.Name, b.Name) }
	if len(out) > len(s.byName)/8 { // to look at all is less than to sort many
		if s.ordered == nil {
			s.ordered = slices.SortedFunc(maps.Values(s.byName), byName)
			for i, h := range s.ordered {
				h.rank = i
			}
		}
		out = slices.Grow(out[:0], len(s.ordered))
		for _, h := range s.ordered {
			if h.dirty {
				out = append(out, h)
			}
		}
	} else if s.ordered != nil {
		slices.SortFunc(out, func(a, b *host) int { return cmp.Compare(a.rank, b.rank) })
	} else {
		slices.SortFunc(out, byName)
	}
	for _, h := range out {
		h.dirty = false
	}
	return out
}

// tell sends hosts their changed states. With tested, all links have been tried. Until then a host
// with a state from an earlier controller keeps this state, because it may deny EVs that would seem
// good. told reports whether tell has sent any state.
func (s *hostSet) tell(tested bool) (told bool) {
	dirty := s.takeDirty()
	s.out.Sets = slices.Grow(s.out.Sets, len(dirty))
	for _, h := range dirty {
		if h.sender == nil {
			continue
		}
		if h.foreign && (!tested || s.hints == nil && h.hello.Capabilities.QPHints) {
			s.touch(h)
			continue
		}
		state := h.sender.with(s.hintsOf(h))
		if denied := h.Denied(); denied != 0 {
			if h.mineOf != state || h.mine.DeniedPorts != denied {
				h.mine, h.mineOf = fabric.Own(state, denied), state
			}
			state = h.mine
		}
		if state == h.state {
			continue
		}
		h.state, h.told, h.foreign = state, true, false
		h.seq++
		s.out.Sets = append(s.out.Sets, Set{Host: h.Name, Seq: h.seq, State: state})
		told = true
	}
	return told
}

// awaited reports whether a host has the state of an earlier controller, and is told
// nothing before all links have been tried.
func (s *hostSet) awaited() bool {
	for _, h := range s.byName {
		if h.foreign {
			return true
		}
	}
	return false
}

// wireOf returns the UDP port and the DSCPs that hosts use.
func wireOf(d *inventory.DSCPs) hostapi.Wire {
	return hostapi.Wire{
		UDPPort: packet.RoCEPort,
		NoTrim:  d.NoTrim, Trimmable: d.Trimmable, TrimmableRetx: d.TrimmableRetx, Trimmed: d.Trimmed,
		TrimmedLastHop: d.TrimmedLastHop, Control: d.Control,
	}
}
