package mrc

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/mrc/prove"
	"github.com/weft-sdn/weft/hostapi"
)

// host is a host that is attached, and what is known of it.
type host struct {
	*prove.Host
	sender *sender // nil before the first Hello

	session
	holding
}

// session is the stream to a host.
type session struct {
	foreign bool          // the host has the state of an earlier controller
	hello   hostapi.Hello // the last
}

// A sender is the hosts of a rack whose devices can hold the same: they share a
// state.
type sender struct {
	key      string
	group    *prove.Group
	rack     *fabric.Rack
	caps     hostapi.Capabilities
	kind     int // from 1, of the rack's
	hosts    []*host
	profiles map[*fabric.Rack]*profile
	state    *hostapi.State
	dirty    bool       // state must be made again
	ordered  []*profile // by name
}

// hostSet holds all hosts, grouped by what they share, and what they were told.
type hostSet struct {
	*env
	wire hostapi.Wire

	byName  map[string]*host
	senders map[string]*sender

	dirty   map[string]bool // hosts whose state may have changed
	regroup bool            // senders have changed
}

func newHosts(e *env, wire hostapi.Wire) *hostSet {
	return &hostSet{
		env: e, wire: wire, byName: make(map[string]*host),
		senders: make(map[string]*sender), dirty: make(map[string]bool),
	}
}

func capabilitiesKey(caps hostapi.Capabilities) string {
	caps.EVFreeCount = 0 // part of what changes
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

// put adds a host that was attached, or takes another attachment of one that is there.
func (s *hostSet) put(at *fabric.Attached, p *prove.Prover) {
	h := s.byName[at.Name]
	if h == nil {
		s.byName[at.Name] = &host{Host: p.Attach(at)}
		return
	}
	s.delist(h)
	if h.hello.Name != "" {
		s.enlist(h)
	}
}

// remove removes a host: it is told to hold nothing.
func (s *hostSet) remove(name string, p *prove.Prover) {
	h := s.byName[name]
	s.delist(h)
	delete(s.byName, name)
	p.Detach(h.Host)
	if h.told {
		h.seq++
		s.out.Sets = append(s.out.Sets, Set{Host: name, Seq: h.seq})
	}
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
			profiles: make(map[*fabric.Rack]*profile),
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
	s.dirty[h.Name] = true
}

func (s *hostSet) delist(h *host) {
	if x := h.sender; x != nil {
		x.setHosts(slices.DeleteFunc(x.hosts, func(o *host) bool { return o == h }))
		h.sender, s.regroup = nil, true
	}
	delete(s.dirty, h.Name)
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
