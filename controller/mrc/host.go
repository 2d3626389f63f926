package mrc

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// A Host is an end system and where it is attached.
type Host struct {
	// Name is unique, and what the host calls itself.
	Name string
	// Address is the one of its queue pairs, in all planes.
	Address netip.Addr
	// Prefixes are others that it is reached by.
	Prefixes []netip.Prefix
	// At are its leaves by port.
	At ev.Attachment
	// LeafPorts are the leaves' ports towards it, by port; 0 or missing: unknown.
	LeafPorts []uint32
	// Rack is what the names of profiles call the hosts with this attachment, if it
	// is the first of them; empty: its first leaf.
	Rack string
}

// validate checks what a host says of itself.
func (h *Host) validate() error {
	attached := h.At.Ports()
	switch {
	case h.Name == "" || len(h.Name) > hostapi.MaxName:
		return fmt.Errorf("name: %.40q, want 1 to %d octets: %w", h.Name, hostapi.MaxName, ErrMalformed)
	case !h.Address.Is6() || h.Address.Is4In6() || h.Address.Zone() != "":
		return fmt.Errorf("host %s: address: %v, want an IPv6 address: %w", h.Name, h.Address, ErrMalformed)
	case attached == 0 || len(h.At) > hostapi.MaxPort:
		return fmt.Errorf("host %s: at: %d of %d ports attached, want 1 to %d: %w", h.Name, attached, len(h.At), hostapi.MaxPort, ErrMalformed)
	case len(h.LeafPorts) > len(h.At):
		return fmt.Errorf("host %s: leafPorts: %d, want at most %d, its ports: %w", h.Name, len(h.LeafPorts), len(h.At), ErrMalformed)
	}
	for _, p := range h.Prefixes {
		if !p.IsValid() || !p.Addr().Is6() || p.Addr().Is4In6() || p.Masked() != p {
			return fmt.Errorf("host %s: prefixes: %v, want IPv6 prefixes without bits beyond their length: %w", h.Name, p, ErrMalformed)
		}
	}
	return nil
}

// host is a Host and what is known of it.
type host struct {
	Host
	rack   *rack
	sender *sender // nil before the first Hello

	session
	ports hostPorts
	holding
	evidence
	probing
}

// session is the stream to a host.
type session struct {
	connected bool
	foreign   bool // the host has the state of an earlier controller
	canProbe  bool
	hello     hostapi.Hello // the last
}

// probing is what a host may spend on probes.
type probing struct {
	tokens float64 // probes that may be sent
	peer   int     // turns among the hosts it probes
}

// A rack is the hosts with one attachment.
type rack struct {
	key   string
	name  string
	at    ev.Attachment
	hosts []*host // by name
	dests []netip.Prefix
	stale bool // dests must be computed again
}

// destinations are what the hosts of a rack are reached by.
func (r *rack) destinations() []netip.Prefix {
	var out []netip.Prefix
	for _, h := range r.hosts {
		out = append(out, netip.PrefixFrom(h.Address, 128))
		out = append(out, h.Prefixes...)
	}
	slices.SortFunc(out, func(a, b netip.Prefix) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
	})
	return slices.Compact(out)
}

// A sender is the hosts of a rack whose devices can hold the same: they share a
// state.
type sender struct {
	key      string
	rack     *rack
	caps     hostapi.Capabilities
	kind     int // from 1, of the rack's
	hosts    []*host
	profiles map[*rack]*profile
	state    *hostapi.State
	dirty    bool       // state must be made again
	turn     int        // among the hosts, for probes
	inTurn   []*profile // by name
	cursor   int        // in inTurn
}

// hostSet holds all hosts, grouped by what they share, and what they were told.
type hostSet struct {
	*env
	restore *inventory.Restore
	wire    hostapi.Wire
	ports   *switchPorts
	// drained reports whether a port of a host is drained.
	drained func(host string, port uint8) bool

	byName    map[string]*host
	byAddress map[netip.Addr]*host
	byPort    map[nodePort][]string
	racks     map[string]*rack
	senders   map[string]*sender

	named hostEnds

	held    map[string]bool // hosts with ports that time moves on
	dirty   map[string]bool // hosts whose state may have changed
	regroup bool            // racks or senders have changed
	remask  bool            // peers' ports have changed
	peers   []hostapi.PeerPorts
	toldAt  time.Duration // when hosts were told something last
}

func newHosts(e *env, cfg *Config, ports *switchPorts, drained func(host string, port uint8) bool) *hostSet {
	return &hostSet{
		env: e, restore: &cfg.Restore, wire: wireOf(&cfg.Classes.DSCP), ports: ports, drained: drained,
		named: make(hostEnds), byName: make(map[string]*host), byAddress: make(map[netip.Addr]*host), byPort: make(map[nodePort][]string),
		racks: make(map[string]*rack), senders: make(map[string]*sender), held: make(map[string]bool), dirty: make(map[string]bool),
	}
}

func attachmentKey(at ev.Attachment) string {
	var b strings.Builder
	for _, leaf := range at {
		fmt.Fprintf(&b, "%d:%s", len(leaf), leaf)
	}
	return b.String()
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
	return nil, fmt.Errorf("%.80s: %w", name, ErrUnknownHost)
}

// put adds a host, or replaces the one of its name. nodes have the names of leaves.
// fresh reports whether its rack is new.
func (s *hostSet) put(h Host, nodes *topology.Snapshot) (fresh bool, err error) {
	if err := h.validate(); err != nil {
		return false, err
	}
	if other, ok := s.byAddress[h.Address]; ok && other.Name != h.Name {
		return false, fmt.Errorf("host %s: address: %v is that of host %s: %w", h.Name, h.Address, other.Name, ErrMalformed)
	}
	h.At, h.LeafPorts, h.Prefixes = slices.Clone(h.At), slices.Clone(h.LeafPorts), slices.Clone(h.Prefixes)
	at := s.byName[h.Name]
	if at == nil {
		at = &host{probing: probing{tokens: 1}, evidence: newEvidence()}
		s.byName[h.Name] = at
	} else {
		s.detach(at)
	}
	at.Host = h
	s.byAddress[h.Address] = at
	return s.attach(at, nodes), nil
}

// remove removes a host: it is told to hold nothing, and no host sends to it any more.
func (s *hostSet) remove(name string) error {
	h := s.byName[name]
	if h == nil {
		return fmt.Errorf("%s: %w", name, ErrUnknownHost)
	}
	s.detach(h)
	delete(s.byName, name)
	s.named.forget(name)
	if h.told {
		h.seq++
		s.out.Sets = append(s.out.Sets, Set{Host: name, Seq: h.seq})
	}
	s.remask = true
	return nil
}

// attach puts a host into its rack, and reports whether that is a new one.
func (s *hostSet) attach(h *host, nodes *topology.Snapshot) (fresh bool) {
	key := attachmentKey(h.At)
	r := s.racks[key]
	if fresh = r == nil; fresh {
		r = &rack{key: key, at: h.At, name: s.rackName(h, nodes)}
		s.racks[key] = r
	}
	i, _ := slices.BinarySearchFunc(r.hosts, h.Name, byHostName)
	r.hosts = slices.Insert(r.hosts, i, h)
	r.stale, s.regroup, s.remask = true, true, true
	h.rack = r
	h.ports.attach(h.At)
	for i, leaf := range h.At {
		h.ports.list[i+1].drained = s.drained(h.Name, uint8(i+1))
		if i < len(h.LeafPorts) && h.LeafPorts[i] != 0 {
			key := nodePort{leaf, h.LeafPorts[i]}
			s.byPort[key] = append(s.byPort[key], h.Name)
		}
	}
	if h.hello.Name != "" {
		s.enlist(h)
	}
	s.look(h)
	return fresh
}

func byHostName(a *host, name string) int { return cmp.Compare(a.Name, name) }

// detach takes a host out of its rack.
func (s *hostSet) detach(h *host) {
	s.delist(h)
	r := h.rack
	r.hosts = slices.DeleteFunc(r.hosts, func(o *host) bool { return o == h })
	r.stale, s.regroup = true, true
	for i, p := range h.LeafPorts {
		key := nodePort{h.At[i], p}
		s.byPort[key] = slices.DeleteFunc(s.byPort[key], func(name string) bool { return name == h.Name })
	}
	delete(s.byAddress, h.Address)
}

// enlist puts a host among those that share a state.
func (s *hostSet) enlist(h *host) {
	key := h.rack.key + capabilitiesKey(h.hello.Capabilities)
	x := s.senders[key]
	if x == nil {
		x = &sender{key: key, rack: h.rack, caps: h.hello.Capabilities, profiles: make(map[*rack]*profile)}
		for x.kind = 1; s.hasKind(h.rack, x.kind); {
			x.kind++
		}
		s.senders[key] = x
		s.regroup = true
	}
	i, _ := slices.BinarySearchFunc(x.hosts, h.Name, byHostName)
	x.hosts = slices.Insert(x.hosts, i, h)
	h.sender, h.mineOf = x, nil
	s.dirty[h.Name] = true
}

func (s *hostSet) delist(h *host) {
	if x := h.sender; x != nil {
		x.hosts = slices.DeleteFunc(x.hosts, func(o *host) bool { return o == h })
		h.sender, s.regroup = nil, true
	}
	delete(s.dirty, h.Name)
	h.restart(h.older || len(h.counts) > 0)
}

func (s *hostSet) hasKind(r *rack, kind int) bool {
	for _, x := range s.senders {
		if x.rack == r && x.kind == kind {
			return true
		}
	}
	return false
}

// tidy drops racks and senders without hosts. It returns the others in order, and the
// racks whose destinations are others now.
func (s *hostSet) tidy() (senders []*sender, racks, stale []*rack) {
	s.regroup = false
	for key, r := range s.racks {
		if len(r.hosts) == 0 {
			delete(s.racks, key)
			continue
		}
		if r.stale {
			r.stale, r.dests = false, r.destinations()
			stale = append(stale, r)
		}
	}
	for key, x := range s.senders {
		if len(x.hosts) == 0 {
			delete(s.senders, key)
		}
	}
	racks = slices.SortedFunc(maps.Values(s.racks), func(a, b *rack) int { return cmp.Compare(a.name, b.name) })
	senders = slices.SortedFunc(maps.Values(s.senders), func(a, b *sender) int { return cmp.Compare(a.key, b.key) })
	return senders, racks, stale
}

// profileTo is the name of the profile to a rack; names of racks have no colon.
func (s *sender) profileTo(r *rack) string {
	name := s.rack.name + ":" + r.name
	if s.kind > 1 { // the rack has devices of several kinds
		name = fmt.Sprintf("%s:%d", name, s.kind)
	}
	return name
}

// rackName is what a rack is called as names of profiles may have it, and a number
// when another rack has it already.
func (s *hostSet) rackName(h *host, nodes *topology.Snapshot) string {
	name := cmp.Or(h.Rack, "leaf")
	for _, leaf := range h.At {
		if leaf == "" || h.Rack != "" {
			continue
		}
		name = string(leaf)
		if n := nodes.Node(leaf); n != nil {
			name = n.DisplayName()
		}
		break
	}
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	name = name[:min(len(name), 100)]
	taken := func(name string) bool {
		for _, r := range s.racks {
			if r.name == name {
				return true
			}
		}
		return false
	}
	for base, n := name, 2; taken(name); n++ {
		name = fmt.Sprintf("%s.%d", base, n)
	}
	return name
}

// leaves are the switches of hosts, and those that seem to have some.
func (s *hostSet) leaves(snap *topology.Snapshot) []topology.NodeID {
	leaves := snap.Leaves()
	for _, r := range s.racks {
		for _, leaf := range r.at {
			if leaf != "" && snap.Node(leaf) != nil {
				leaves = append(leaves, leaf)
			}
		}
	}
	slices.Sort(leaves)
	return slices.Compact(leaves)
}
