package mrc

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

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

// host is a Host and what is known of it.
type host struct {
	Host
	rack   *rack
	sender *sender // nil before the first Hello

	connected bool
	foreign   bool // holds what an earlier controller told it
	canProbe  bool
	hello     hostapi.Hello

	up       hostapi.PortMask // as the host says, if it did
	upKnown  bool
	ports    []port // by port, from 1; ports[0] is nobody's
	denied   hostapi.PortMask
	usable   hostapi.PortMask
	told     bool // was set
	seq      uint64
	applied  uint64
	refusal  string
	state    *hostapi.State // that was set
	mine     *hostapi.State // the sender's with the host's own ports
	mineOf   *hostapi.State // what it was made of
	counters map[counterKey]counter
	older    bool                // may have counted for others: the first count of an EV is where the next starts from
	assumed  map[counterKey]bool // EVs that are ASSUMED_BAD
	// assumedAt is when an EV of assumed may be probed again, assumedLast the one
	// that was.
	assumedAt   time.Duration
	assumedLast counterKey
	tokens      float64 // probes that may be sent
	peer        int     // turns among the hosts it probes
}

// port is a port of a host.
type port struct {
	attached            bool
	linkDown, agentDown bool // as the leaf and the host say
	drained             bool
	failures            backoff
	until               time.Duration // held until then
	held                bool
}

func (p *port) ok() bool { return p.attached && !p.linkDown && !p.agentDown && !p.drained && !p.held }

// A rack is the hosts with one attachment.
type rack struct {
	key   string
	name  string
	at    ev.Attachment
	hosts []*host // by name
	dests []netip.Prefix
	stale bool // dests are to be made anew
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
	dirty    bool
	turn     int        // among the hosts, for probes
	inTurn   []*profile // by name
	cursor   int        // in inTurn
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

// PutHost adds a host, or replaces the one of its name.
func (c *Core) PutHost(h Host) error {
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
	if other, ok := c.byAddress[h.Address]; ok && other.Name != h.Name {
		return fmt.Errorf("host %s: address: %v is that of host %s: %w", h.Name, h.Address, other.Name, ErrMalformed)
	}
	h.At, h.LeafPorts, h.Prefixes = slices.Clone(h.At), slices.Clone(h.LeafPorts), slices.Clone(h.Prefixes)
	at := c.hosts[h.Name]
	if at == nil {
		at = &host{tokens: 1, counters: make(map[counterKey]counter), assumed: make(map[counterKey]bool)}
		c.hosts[h.Name] = at
	} else {
		c.detach(at)
	}
	at.Host = h
	c.byAddress[h.Address] = at
	c.attach(at)
	return nil
}

// RemoveHost removes a host: it is told to hold nothing, and nobody is to send to it.
func (c *Core) RemoveHost(name string) error {
	h := c.hosts[name]
	if h == nil {
		return fmt.Errorf("%s: %w", name, ErrUnknownHost)
	}
	c.detach(h)
	delete(c.hosts, name)
	if h.told {
		h.seq++
		c.out.Sets = append(c.out.Sets, Set{Host: name, Seq: h.seq})
	}
	for _, d := range c.drains {
		delete(d.waits, name)
	}
	c.remask = true
	return nil
}

// attach puts a host into its rack.
func (c *Core) attach(h *host) {
	key := attachmentKey(h.At)
	r := c.racks[key]
	if r == nil {
		r = &rack{key: key, at: h.At, name: c.rackName(h)}
		c.racks[key] = r
		if c.fabric == nil || slices.ContainsFunc(h.At, func(leaf topology.NodeID) bool {
			tier, ok := c.fabric.clos.Tier(leaf)
			return leaf != "" && c.fabric.snap.Node(leaf) != nil && !(ok && tier == 0)
		}) {
			c.remade = true // a leaf that was none
		}
	}
	i, _ := slices.BinarySearchFunc(r.hosts, h.Name, func(a *host, name string) int { return cmp.Compare(a.Name, name) })
	r.hosts = slices.Insert(r.hosts, i, h)
	r.stale, c.reracked, c.remask = true, true, true
	h.rack = r
	h.ports = make([]port, len(h.At)+1)
	for i, leaf := range h.At {
		h.ports[i+1].attached = leaf != ""
		h.ports[i+1].drained = c.portDrained(h.Name, uint8(i+1))
		if i < len(h.LeafPorts) && h.LeafPorts[i] != 0 {
			key := nodePort{leaf, h.LeafPorts[i]}
			c.hostsByPort[key] = append(c.hostsByPort[key], h.Name)
		}
	}
	if h.hello.Name != "" {
		c.enlist(h)
	}
	c.lookAtHost(h)
}

// detach takes a host out of its rack.
func (c *Core) detach(h *host) {
	c.delist(h)
	r := h.rack
	r.hosts = slices.DeleteFunc(r.hosts, func(o *host) bool { return o == h })
	r.stale, c.reracked = true, true
	for i, p := range h.LeafPorts {
		key := nodePort{h.At[i], p}
		c.hostsByPort[key] = slices.DeleteFunc(c.hostsByPort[key], func(name string) bool { return name == h.Name })
	}
	delete(c.byAddress, h.Address)
}

// enlist puts a host among those that share a state.
func (c *Core) enlist(h *host) {
	key := h.rack.key + capabilitiesKey(h.hello.Capabilities)
	s := c.senders[key]
	if s == nil {
		s = &sender{key: key, rack: h.rack, caps: h.hello.Capabilities, profiles: make(map[*rack]*profile)}
		for s.kind = 1; c.hasKind(h.rack, s.kind); {
			s.kind++
		}
		c.senders[key] = s
		c.reracked = true
	}
	i, _ := slices.BinarySearchFunc(s.hosts, h.Name, func(a *host, name string) int { return cmp.Compare(a.Name, name) })
	s.hosts = slices.Insert(s.hosts, i, h)
	h.sender, h.mineOf = s, nil
	c.unset[h.Name] = true
}

func (c *Core) delist(h *host) {
	if s := h.sender; s != nil {
		s.hosts = slices.DeleteFunc(s.hosts, func(o *host) bool { return o == h })
		h.sender, c.reracked = nil, true
	}
	delete(c.unset, h.Name)
	h.older = h.older || len(h.counters) > 0
	clear(h.counters)
	clear(h.assumed)
}

func (c *Core) hasKind(r *rack, kind int) bool {
	for _, s := range c.senders {
		if s.rack == r && s.kind == kind {
			return true
		}
	}
	return false
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
func (c *Core) rackName(h *host) string {
	name := cmp.Or(h.Rack, "leaf")
	for _, leaf := range h.At {
		if leaf == "" || h.Rack != "" {
			continue
		}
		name = string(leaf)
		if c.current != nil {
			if n := c.current.Node(leaf); n != nil {
				name = n.DisplayName()
			}
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
		for _, r := range c.racks {
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

// lookAtHost finds which ports of a host may be used.
func (c *Core) lookAtHost(h *host) {
	if h == nil {
		return
	}
	var denied, usable hostapi.PortMask
	for i := 1; i < len(h.ports); i++ {
		p := &h.ports[i]
		if !p.attached {
			continue
		}
		was := p.linkDown || p.agentDown
		p.linkDown = i <= len(h.LeafPorts) && h.LeafPorts[i-1] != 0 && c.isDown(nodePort{h.At[i-1], h.LeafPorts[i-1]})
		p.agentDown = h.upKnown && !h.up.Has(i)
		is := p.linkDown || p.agentDown
		switch {
		case is && !was:
			p.failures.failed(c.now, c.cfg.Calm)
			p.held = true
		case !is && was:
			p.until = c.now + p.failures.hold(c.cfg.Hold, c.cfg.MaxHold)
			c.heldPorts[h.Name] = true
		}
		if p.linkDown || p.drained {
			denied |= hostapi.Ports(i)
		}
		if p.ok() {
			usable |= hostapi.Ports(i)
		}
	}
	if denied != h.denied {
		h.denied, h.mineOf = denied, nil
		c.unset[h.Name] = true
	}
	if usable != h.usable {
		h.usable, c.remask = usable, true
	}
}
