package static

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/topology"
)

// A Fault is one value that cannot be used.
type Fault struct {
	Field string // "nodes[1].locator"
	Value string
	Want  string
}

func (f Fault) Error() string { return f.Field + ": " + f.Message() }

// Message returns the fault without the field.
func (f Fault) Message() string { return "is " + f.Value + ": want " + f.Want }

// Bounds of a topology.
const (
	maxNodes  = 1 << 16
	maxLinks  = 1 << 20
	maxMetric = 1<<24 - 1 // RFC 5305 section 3
	maxDelay  = time.Duration(1<<24-1) * time.Microsecond
)

// Validate returns everything that cannot be used, in the order of the fields.
func (t *Topology) Validate() (faults []Fault) {
	bad := func(field string, value any, want string) {
		text := fmt.Sprint(value)
		switch v := value.(type) {
		case string:
			text = fmt.Sprintf("%q", v)
		case netip.Addr:
			if !v.IsValid() {
				text = "missing"
			}
		case netip.Prefix:
			if !v.IsValid() {
				text = "missing"
			}
		}
		faults = append(faults, Fault{field, text, want})
	}
	if len(t.Nodes) == 0 || len(t.Nodes) > maxNodes {
		bad("nodes", fmt.Sprintf("%d nodes", len(t.Nodes)), fmt.Sprintf("1 to %d", maxNodes))
	}
	if len(t.Links) > maxLinks {
		bad("links", fmt.Sprintf("%d links", len(t.Links)), fmt.Sprintf("at most %d", maxLinks))
	}
	names := make(map[string]int)
	ids := make(map[topology.NodeID]int)
	loopbacks := make(map[netip.Addr]int)
	var locators locatorSet
	for i := range t.Nodes {
		n, field := &t.Nodes[i], fmt.Sprintf("nodes[%d]", i)
		if n.Name == "" {
			bad(field+".name", n.Name, "a name")
		} else if first, twice := names[n.Name]; twice {
			bad(field+".name", n.Name, fmt.Sprintf("a name of its own; nodes[%d] has it", first))
		} else {
			names[n.Name] = i
		}
		if !n.RouterID.Is4() || n.RouterID.IsUnspecified() {
			bad(field+".routerId", n.RouterID, "an IPv4 address")
		} else if first, twice := ids[t.id(n)]; twice {
			bad(field+".routerId", n.RouterID, fmt.Sprintf("a router-id of its own; nodes[%d] has it",
				first))
		} else {
			ids[t.id(n)] = i
		}
		if l := n.Loopback; !l.Is6() || l.Is4In6() || l.Zone() != "" || !l.IsGlobalUnicast() {
			bad(field+".loopback", l, "a global unicast IPv6 address")
		} else if first, twice := loopbacks[l]; twice {
			bad(field+".loopback", l, fmt.Sprintf("an address of its own; nodes[%d] has it", first))
		} else {
			loopbacks[l] = i
		}
		if l := n.Locator; !isPrefix(l) || l.Addr().Is4() || l.Bits() == 0 || l.Bits() > maxLocator {
			bad(field+".locator", l, fmt.Sprintf("an IPv6 prefix of 1 to %d bits without host bits",
				maxLocator))
		} else if first, overlaps := locators.add(l, i); overlaps {
			bad(field+".locator", l, fmt.Sprintf("a locator that does not overlap that of nodes[%d]", first))
		}
		for j, p := range n.Prefixes {
			if !isPrefix(p) {
				bad(fmt.Sprintf("%s.prefixes[%d]", field, j), p, "a prefix of IPv6 or IPv4 without host bits")
			}
		}
	}
	ends := make(map[end]int)
	for i := range t.Links {
		l, field := &t.Links[i], fmt.Sprintf("links[%d]", i)
		for _, e := range [...]struct {
			field string
			end   end
		}{{"A", end{l.A, l.PortA}}, {"B", end{l.B, l.PortB}}} {
			if _, ok := names[e.end.node]; !ok {
				bad(field+"."+map[string]string{"A": "a", "B": "b"}[e.field], e.end.node, "the name of a node")
			}
			first, twice := ends[e.end]
			switch {
			case e.end.port < 1 || e.end.port > MaxPort:
				bad(field+".port"+e.field, e.end.port, fmt.Sprintf("a port from 1 to %d", MaxPort))
			case twice:
				bad(field+".port"+e.field, e.end.port, fmt.Sprintf("a port of its own; links[%d] has it",
					first))
			default:
				ends[e.end] = i
			}
		}
		if l.A == l.B {
			bad(field+".b", l.B, "another node than a")
		}
		if d := time.Duration(l.Delay); d < 0 || d > maxDelay {
			bad(field+".delay", d, fmt.Sprintf("0 to %v", maxDelay))
		}
		if l.Metric > maxMetric {
			bad(field+".metric", l.Metric, fmt.Sprintf("at most %d", maxMetric))
		}
	}
	return faults
}

// An end is one end of a link.
type end struct {
	node string
	port uint32
}

func isPrefix(p netip.Prefix) bool {
	return p.IsValid() && !p.Addr().Is4In6() && p.Masked() == p
}

// A locatorSet finds prefixes that overlap. Its zero value is empty.
type locatorSet struct {
	at map[netip.Prefix]int
	// inner holds the prefixes around the prefixes in at, with a locator in each.
	inner map[netip.Prefix]int
}

// add adds the i-th locator, unless another overlaps it.
func (s *locatorSet) add(p netip.Prefix, i int) (other int, overlaps bool) {
	if s.at == nil {
		s.at, s.inner = make(map[netip.Prefix]int), make(map[netip.Prefix]int)
	}
	if other, overlaps = s.inner[p]; overlaps {
		return other, true
	}
	for bits := p.Bits(); bits > 0; bits-- {
		if other, overlaps = s.at[netip.PrefixFrom(p.Addr(), bits).Masked()]; overlaps {
			return other, true
		}
	}
	s.at[p] = i
	for bits := p.Bits() - 1; bits > 0; bits-- {
		s.inner[netip.PrefixFrom(p.Addr(), bits).Masked()] = i
	}
	return 0, false
}
