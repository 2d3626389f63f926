package tunnel

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/weft-sdn/weft/topology"
)

// A PathRequest asks for the path of an SRv6 policy.
type PathRequest struct {
	Headend, Endpoint topology.NodeID
	// Via are the segments between, in order; both ends may be among them. Empty:
	// the path is computed.
	Via    []Via
	Metric topology.Metric // of a computed path
}

// A Via is a node, or a SID of a node.
type Via struct {
	Node topology.NodeID
	SID  netip.Addr
}

// A Path is that of an SRv6 policy with everything decided. It refers to no
// snapshot.
type Path struct {
	// Hops are the nodes crossed, the headend first and the endpoint last.
	Hops []Hop `json:"hops"`
	// Segments is the segment list of the policy in the notation of the draft: the headend's End.X.PFC
	// SID first, if the headend has such a SID, and a SID of the endpoint last.
	Segments []Segment `json:"segments"`
}

// A Hop is a node of a path and the link by which the path leaves it.
type Hop struct {
	Node topology.NodeID `json:"node"`
	// Port of the link; 0 at the endpoint. Arrival is the port by which the path
	// came, 0 at the headend.
	Port    uint32          `json:"port,omitempty"`
	Arrival uint32          `json:"arrival,omitempty"`
	Link    topology.LinkID `json:"link,omitempty"`
	// Rate of the link in bit/s, 0 when unknown; Delay in microseconds, one way,
	// -1 when unknown.
	Rate  uint64 `json:"rate,omitempty"`
	Delay int64  `json:"delay"`
	// PFC is the End.X.PFC SID of the link, the requested one or the one
	// with the fewest flavors, and Back that of the link by which the path came, or
	// else the node's End.PFC (BackByNode); invalid where there is none.
	PFC          netip.Addr        `json:"pfc,omitzero"`
	PFCBehavior  topology.Behavior `json:"pfcBehavior,omitempty"`
	Back         netip.Addr        `json:"back,omitzero"`
	BackBehavior topology.Behavior `json:"backBehavior,omitempty"`
	BackByNode   bool              `json:"backByNode,omitempty"`
	// End is the node's End SID (or End.PFC), by which tunnels cross it.
	End netip.Addr `json:"end,omitzero"`
	// Address of the node: the source of what it encapsulates.
	Address netip.Addr `json:"address,omitzero"`
}

// A Segment is a SID of a list.
type Segment struct {
	Node     topology.NodeID   `json:"node"`
	SID      netip.Addr        `json:"sid"`
	Behavior topology.Behavior `json:"behavior"`
	// Hop is the place of Node in the path.
	Hop int `json:"hop"`
}

// FindPath decides the path and the segment list of a policy.
func FindPath(s *topology.Snapshot, b topology.PFCBehaviors, w PathRequest) (*Path, error) {
	f := pathWork{snap: s, graph: s.Graph(), behaviors: b}
	for _, id := range [...]topology.NodeID{w.Headend, w.Endpoint} {
		if s.Node(id) == nil {
			return nil, fmt.Errorf("%s %w", id, ErrNoNode)
		}
	}
	err := error(nil)
	if len(w.Via) == 0 {
		err = f.compute(w)
	} else {
		err = f.follow(w)
	}
	if err != nil {
		return nil, err
	}
	seen := make(map[topology.NodeID]bool)
	at := w.Headend
	for i := 0; ; i++ {
		if seen[at] {
			return nil, fmt.Errorf("%s: %w", f.name(at), ErrLoop)
		}
		seen[at] = true
		if i == len(f.links) {
			break
		}
		at = f.links[i].Remote
	}
	p := &Path{Hops: f.hops(w)}
	if p.Segments, err = f.segments(p, w); err != nil {
		return nil, err
	}
	return p, nil
}

type pathWork struct {
	snap      *topology.Snapshot
	graph     *topology.Graph
	behaviors topology.PFCBehaviors
	links     []*topology.Link
	// stops holds the requested stops, as indexes into the nodes of the path. If a path must leave a
	// stop over a given link, forced is set and sid is the SID that names the link.
	stops []stop
}

type stop struct {
	hop    int
	forced bool
	sid    netip.Addr
}

func (f *pathWork) name(id topology.NodeID) string {
	if n := f.snap.Node(id); n != nil {
		return n.DisplayName()
	}
	return string(id)
}

func (f *pathWork) compute(w PathRequest) error {
	paths, ok := f.graph.From(w.Headend, w.Metric)
	if ok {
		f.links = paths.Path(w.Endpoint, 0)
	}
	if len(f.links) == 0 {
		return fmt.Errorf("%w from %s to %s", ErrUnreachable, f.name(w.Headend), f.name(w.Endpoint))
	}
	return nil
}

// follow goes through the segments, by shortest paths between them.
func (f *pathWork) follow(w PathRequest) error {
	at := w.Headend
	to := func(id topology.NodeID) error {
		if id == at {
			return nil
		}
		paths, ok := f.graph.Toward(id, topology.MetricIGP)
		if !ok {
			return fmt.Errorf("%s %w", f.name(id), ErrNoNode)
		}
		links := paths.Path(at, 0)
		if links == nil {
			return fmt.Errorf("%w from %s to %s", ErrUnreachable, f.name(at), f.name(id))
		}
		f.links = append(f.links, links...)
		at = id
		return nil
	}
	for _, v := range w.Via {
		node, link := v.Node, (*topology.Link)(nil)
		if node == "" {
			if node, link = f.owner(v.SID); node == "" {
				return fmt.Errorf("%v: %w", v.SID, ErrNoSID)
			}
		}
		if err := to(node); err != nil {
			return err
		}
		f.stops = append(f.stops, stop{len(f.links), link != nil, v.SID})
		if link != nil {
			if !f.graph.Usable(link) {
				return fmt.Errorf("%w over %s", ErrUnreachable, f.snap.LinkName(link.ID))
			}
			f.links = append(f.links, link)
			at = link.Remote
		}
	}
	if err := to(w.Endpoint); err != nil {
		return err
	}
	if len(f.links) == 0 {
		return fmt.Errorf("%w: %s is both ends", ErrLoop, f.name(at))
	}
	return nil
}

// owner returns the node with a SID, and the link if the SID is an adjacency SID.
func (f *pathWork) owner(sid netip.Addr) (topology.NodeID, *topology.Link) {
	for _, n := range f.snap.Nodes {
		if slices.ContainsFunc(n.SIDs, func(s topology.SID) bool { return s.Address == sid }) {
			return n.ID, nil
		}
	}
	for _, l := range f.snap.Links {
		if slices.ContainsFunc(l.EndX, func(x topology.EndX) bool { return x.Address == sid }) {
			return l.Local, l
		}
	}
	return "", nil
}

func (f *pathWork) hops(w PathRequest) []Hop {
	out := make([]Hop, 0, len(f.links)+1)
	hop := func(id topology.NodeID, out, in *topology.Link) Hop {
		h := Hop{Node: id, Delay: -1}
		n := f.snap.Node(id)
		end, marked := f.behaviors.EndPFC(n)
		h.End, h.Address = endOf(n).Address, n.Loopback
		if !h.End.IsValid() {
			h.End = end.Address // invalid where there is none
		}
		if out != nil {
			h.Port, h.Link, h.Rate = out.LocalPort, out.ID, out.MaxBandwidth
			if out.Delay.Known {
				h.Delay = int64(max(out.Delay.Average, out.Delay.Min))
			}
			if x, ok := f.behaviors.EndXPFC(out); ok {
				h.PFC, h.PFCBehavior = x.Address, x.Behavior
			}
		}
		if in != nil {
			h.Arrival = in.RemotePort
			if r := f.graph.Reverse(in); r != nil {
				h.Arrival = r.LocalPort
				if x, ok := f.behaviors.EndXPFC(r); ok {
					h.Back, h.BackBehavior = x.Address, x.Behavior
				}
			}
			if marked && !h.Back.IsValid() {
				h.Back, h.BackBehavior, h.BackByNode = end.Address, end.Behavior, true
			}
		}
		return h
	}
	var in *topology.Link
	for _, l := range f.links {
		out = append(out, hop(l.Local, l, in))
		in = l
	}
	out = append(out, hop(w.Endpoint, nil, in))
	for _, s := range f.stops {
		if !s.forced {
			continue
		}
		for _, x := range f.links[s.hop].EndX {
			if _, ok := f.behaviors.EndXFlavors(x.Behavior); ok && x.Address == s.sid && x.Algorithm == 0 {
				out[s.hop].PFC, out[s.hop].PFCBehavior = x.Address, x.Behavior
			}
		}
	}
	return out
}

// endOf returns the End SID of a node, of algorithm 0, preferably without
// flavors.
func endOf(n *topology.Node) topology.SID {
	var best topology.SID
	for _, s := range n.SIDs {
		if s.Behavior.Base() == topology.BehaviorEnd && s.Algorithm == 0 &&
			(!best.Address.IsValid() || s.Behavior < best.Behavior) {
			best = s
		}
	}
	return best
}

// segments writes the list: the requested segments, or, for a computed path, every PFC-capable node
// and the fewest others that make the path unique.
func (f *pathWork) segments(p *Path, w PathRequest) ([]Segment, error) {
	last := len(p.Hops) - 1
	var out []Segment
	node := func(i int) error {
		h := &p.Hops[i]
		s := Segment{Node: h.Node, SID: h.End, Hop: i, Behavior: topology.BehaviorEnd}
		if n := f.snap.Node(h.Node); endOf(n).Address == h.End {
			s.Behavior = endOf(n).Behavior
		} else {
			s.Behavior = f.behaviors.End
		}
		if !s.SID.IsValid() {
			return fmt.Errorf("%s: %w: it has no End SID", f.name(h.Node), ErrNoSID)
		}
		out = append(out, s)
		return nil
	}
	over := func(i int) error {
		h := &p.Hops[i]
		for _, x := range f.links[i].EndX {
			_, pfc := f.behaviors.EndXFlavors(x.Behavior)
			if x.Address == h.PFC || !h.PFC.IsValid() && !pfc && x.Algorithm == 0 &&
				x.Behavior.Base() == topology.BehaviorEndX {
				out = append(out, Segment{Node: h.Node, SID: x.Address, Behavior: x.Behavior, Hop: i})
				return nil
			}
		}
		return fmt.Errorf("%s: %w: it has no End.X SID over %s", f.name(h.Node), ErrNoSID, h.Link)
	}
	at := 0 // packets are known to be here
	if p.Hops[0].PFC.IsValid() {
		if err := over(0); err != nil {
			return nil, err
		}
		at = 1
	}
	if len(w.Via) > 0 {
		for _, s := range f.stops {
			var err error
			switch {
			case s.hop == last || s.hop == 0 && p.Hops[0].PFC.IsValid():
			case s.forced || p.Hops[s.hop].PFC.IsValid():
				err = over(s.hop)
			case s.hop > 0:
				err = node(s.hop)
			}
			if err != nil {
				return nil, err
			}
		}
		return out, node(last)
	}
	for at < last {
		to := at
		for to < last && f.pinned(at, to+1) {
			to++
			if p.Hops[to].PFC.IsValid() {
				break
			}
		}
		var err error
		switch {
		case to == at || to < last && p.Hops[to].PFC.IsValid():
			err = over(to)
			at = to + 1
		case to < last:
			err = node(to)
			at = to
		default:
			at = last
		}
		if err != nil {
			return nil, err
		}
	}
	return out, node(last)
}

// pinned reports whether shortest paths from one hop to a later one are the
// path's own, and no others.
func (f *pathWork) pinned(from, to int) bool {
	paths, ok := f.graph.Toward(f.links[to-1].Remote, topology.MetricIGP)
	if !ok {
		return false
	}
	for i := from; i < to; i++ {
		if links := paths.Links(f.links[i].Local); len(links) != 1 || links[0] != f.links[i] {
			return false
		}
	}
	return true
}
