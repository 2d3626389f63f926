package tunnel

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/topology"
)

// A Tunnel carries PFC frames from one node to the other end's interface (draft
// section 3).
type Tunnel struct {
	From topology.NodeID `json:"from"`
	To   topology.NodeID `json:"to"`
	// Source is the outer source address: that of From.
	Source netip.Addr `json:"source"`
	// List are the SIDs on the wire before the last; empty: SRv6 best effort, or
	// nothing lies between. From's own SID is not among them: the tunnel starts
	// there.
	List []netip.Addr `json:"list,omitempty"`
	// SID is the last: an End.X.PFC of To, or its End.PFC (ByNode).
	SID    netip.Addr `json:"sid"`
	ByNode bool       `json:"byNode,omitempty"`
	// Port of To that frames in the tunnel pause.
	Port uint32 `json:"port"`
	// Segments are the segments of the draft, From's own first.
	Segments []Segment `json:"segments"`
	// Upward: From is downstream of To, and tells it to stop.
	Upward bool `json:"upward,omitempty"`
	// Nodes lie between; Delay is the delay of the links there and back, -1 when unknown.
	Nodes int           `json:"nodes,omitempty"`
	Delay time.Duration `json:"delay"`
}

// list names the segment list of a tunnel on the switch it starts from.
func (t *Tunnel) list() string { return listKey(t.From, t.List) }

func listKey(from topology.NodeID, list []netip.Addr) string {
	var b strings.Builder
	b.WriteString(string(from))
	for _, a := range list {
		fmt.Fprintf(&b, "|%v", a)
	}
	return b.String()
}

// measured names what a probe of the tunnel measures: tunnels of several slices may
// share it.
func (t *Tunnel) measured() string { return t.list() + ">" + t.SID.String() }

// tunnels returns the two between neighboring stages, the one upward first. a and
// b are hops of the path.
func (p *Path) tunnels(a, b int, bestEffort bool) (up, down Tunnel) {
	u, d := &p.Hops[a], &p.Hops[b]
	var between []Segment
	for _, s := range p.Segments {
		h := &p.Hops[s.Hop]
		if s.Hop > a && s.Hop < b && h.End.IsValid() {
			between = append(between, Segment{Node: s.Node, SID: h.End, Behavior: topology.BehaviorEnd,
				Hop: s.Hop})
		}
	}
	delay := time.Duration(0)
	for i := a; i < b; i++ {
		if p.Hops[i].Delay < 0 {
			delay = -1
			break
		}
		delay += 2 * time.Duration(p.Hops[i].Delay) * time.Microsecond
	}
	tunnel := func(from, to *Hop, sid netip.Addr, port uint32, between []Segment) Tunnel {
		t := Tunnel{From: from.Node, To: to.Node, Source: from.Address, SID: sid, Port: port,
			Nodes: b - a - 1, Delay: delay}
		t.Segments = []Segment{{Node: from.Node, SID: from.End, Behavior: topology.BehaviorEnd}}
		if !bestEffort {
			for _, s := range between {
				t.List = append(t.List, s.SID)
				t.Segments = append(t.Segments, s)
			}
		}
		return t
	}
	down = tunnel(u, d, d.Back, d.Arrival, between)
	slices.Reverse(between)
	up = tunnel(d, u, u.PFC, u.Port, between)
	up.Upward, down.ByNode = true, d.BackByNode
	up.Segments = append(up.Segments, Segment{Node: u.Node, SID: up.SID, Behavior: u.PFCBehavior,
		Hop: a})
	down.Segments = append(down.Segments,
		Segment{Node: d.Node, SID: down.SID, Behavior: d.BackBehavior, Hop: b})
	return up, down
}
