package ev

import (
	"fmt"

	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/topology"
)

// A Route is the path of an EV through a fabric.
type Route struct {
	Mode        Mode
	Source      topology.NodeID
	Destination topology.NodeID
	Hops        []Hop
	// Last is the last uSID, for the destination leaf; 0 in other modes.
	Last uint16
}

// A Hop is a link of a route, with what says so.
type Hop struct {
	// Links has the link taken by packets. It has several links if the EV leaves the choice to the
	// hash of a switch: parallel links of uN, and links down with structured EVs where a fabric has
	// more than one. The links may start at different switches after an earlier choice.
	Links []*topology.Link
	// By is what the switch goes by.
	By By
	// Value is the value of the field, or the uSID; 0 with an IP route.
	Value uint32
}

// By is what a switch forwards a packet by.
type By uint8

// What a switch forwards by.
const (
	ByRoute    By = iota // its route to the destination address, downwards
	ByField              // its field of a structured EV
	ByNode               // the uN of the next switch
	ByAdjacent           // its uA for the link
)

// String names it.
func (b By) String() string {
	switch b {
	case ByRoute:
		return "route"
	case ByField:
		return "field"
	case ByNode:
		return "uN"
	case ByAdjacent:
		return "uA"
	}
	return fmt.Sprintf("by %d", uint8(b))
}

// MarshalText writes what String returns.
func (b By) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// Decode returns the route of packets with a value from one leaf to another, switch by switch, by
// the numbers of the assignment. It finds the path of every value from Encode, and of further
// values that still lead to the destination.
//
// If a switch does not know a field or uSID, or if the path ends elsewhere or has bits behind its
// end, Decode returns [ErrNoSuchEV] with the place. In mode ecmp it returns [ErrUnknownPath].
func (a *Assignment) Decode(src, dst topology.NodeID, v Value) (*Route, error) {
	for _, leaf := range [...]topology.NodeID{src, dst} {
		if tier, ok := a.clos.Tier(leaf); !ok || tier != 0 {
			return nil, fmt.Errorf("%s: %w", leaf, topology.ErrNotLeaf)
		}
	}
	r := &Route{Mode: a.format.Mode, Source: src, Destination: dst}
	var err error
	switch {
	case a.format.Mode == ModeStructured:
		err = a.walkFields(r, v)
	case a.format.Mode.SRv6():
		err = a.walkUSIDs(r, v)
	default:
		err = ErrUnknownPath
	}
	if err != nil {
		return nil, fmt.Errorf("EV %v from %s to %s: %w", v, src, dst, err)
	}
	return r, nil
}

// walkFields climbs by fields until the destination is below, and descends.
func (a *Assignment) walkFields(r *Route, v Value) error {
	if v.bits() > packet.EVBits {
		return fmt.Errorf("%d bits, want at most %d: %w", v.bits(), packet.EVBits, ErrNoSuchEV)
	}
	below := a.depths(r.Destination)
	at := r.Source
	for {
		if depth, ok := below[at]; ok {
			return a.descend(r, at, depth, below)
		}
		tier, _ := a.clos.Tier(at)
		if tier >= len(a.format.Fields) {
			return fmt.Errorf("%s is the top and not above %s: %w", at, r.Destination, ErrNoSuchEV)
		}
		field := v.Structured().Field(a.format.Fields[tier])
		var l *topology.Link
		if field <= 1<<16-1 {
			l = a.find(at, uint16(field))
		}
		if l == nil {
			return fmt.Errorf("%s has no link up for field value %d: %w", at, field, ErrNoSuchEV)
		}
		r.Hops = append(r.Hops, Hop{Links: []*topology.Link{l}, By: ByField, Value: field})
		at = l.Remote
	}
}

// depths returns the number of links down from each node that a leaf is below.
func (a *Assignment) depths(leaf topology.NodeID) map[topology.NodeID]int {
	depth := map[topology.NodeID]int{leaf: 0}
	for level := []topology.NodeID{leaf}; len(level) > 0; {
		var next []topology.NodeID
		for _, id := range level {
			for _, l := range a.clos.Up(id) {
				if _, known := depth[l.Remote]; !known {
					depth[l.Remote] = depth[id] + 1
					next = append(next, l.Remote)
				}
			}
		}
		level = next
	}
	return depth
}

// descend adds the hops of all shortest descents to the destination.
func (a *Assignment) descend(
	r *Route, at topology.NodeID, depth int, depths map[topology.NodeID]int,
) error {
	level := []topology.NodeID{at}
	for ; depth > 0; depth-- {
		hop := Hop{By: ByRoute}
		var next []topology.NodeID
		seen := make(map[topology.NodeID]bool)
		for _, id := range level {
			for _, l := range a.clos.Down(id) {
				if d, ok := depths[l.Remote]; !ok || d != depth-1 {
					continue
				}
				hop.Links = append(hop.Links, l)
				if !seen[l.Remote] {
					seen[l.Remote] = true
					next = append(next, l.Remote)
				}
			}
		}
		r.Hops = append(r.Hops, hop)
		level = next
	}
	return nil
}

// walkUSIDs follows the uSIDs.
func (a *Assignment) walkUSIDs(r *Route, v Value) error {
	usids, err := a.usids(v)
	if err != nil {
		return err
	}
	r.Last = usids[len(usids)-1]
	if r.Last < FirstLocal {
		return fmt.Errorf("last uSID %#04x, want a local one from %#04x on: %w", r.Last, FirstLocal,
			ErrNoSuchEV)
	}
	usids = usids[:len(usids)-1]
	at := r.Source
	for i, usid := range usids {
		if usid >= FirstLocal {
			l := a.find(at, usid-FirstLocal)
			if l == nil {
				return fmt.Errorf("%s has no link for uSID %#04x: %w", at, usid, ErrNoSuchEV)
			}
			r.Hops = append(r.Hops, Hop{Links: []*topology.Link{l}, By: ByAdjacent, Value: uint32(usid)})
			at = l.Remote
			continue
		}
		if i == 0 && a.uN[at] == usid {
			continue
		}
		hop := Hop{By: ByNode, Value: uint32(usid)}
		for _, l := range append(a.clos.Up(at), a.clos.Down(at)...) {
			if a.uN[l.Remote] == usid {
				hop.Links = append(hop.Links, l)
			}
		}
		if len(hop.Links) == 0 {
			return fmt.Errorf("%s has no link to a switch of uSID %#04x: %w", at, usid, ErrNoSuchEV)
		}
		r.Hops = append(r.Hops, hop)
		at = hop.Links[0].Remote
	}
	if at != r.Destination {
		return fmt.Errorf("it ends at %s: %w", at, ErrNoSuchEV)
	}
	return nil
}

// usids returns the uSIDs of a value: one at least.
func (a *Assignment) usids(v Value) ([]uint16, error) {
	format := a.format.Mode.USID()
	block := a.format.Block
	if !block.Contains(v.Container()) {
		return nil, fmt.Errorf("container %v, want one in block %v: %w", v.Container(), block,
			ErrNoSuchEV)
	}
	usids, err := format.AppendUSIDs(nil, v.Container())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoSuchEV, err)
	}
	if len(usids) == 0 {
		return nil, fmt.Errorf("no uSID in container %v: %w", v.Container(), ErrNoSuchEV)
	}
	second, ok := v.Segment()
	if !ok {
		return usids, nil
	}
	if a.format.Mode != ModeSRH {
		return nil, fmt.Errorf("a second container %v, want none in mode %v: %w", second, a.format.Mode,
			ErrNoSuchEV)
	}
	if !block.Contains(second) {
		return nil, fmt.Errorf("container %v, want one in block %v: %w", second, block, ErrNoSuchEV)
	}
	n := len(usids)
	if usids, err = format.AppendUSIDs(usids, second); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoSuchEV, err)
	}
	if len(usids) == n {
		return nil, fmt.Errorf("no uSID in container %v: %w", second, ErrNoSuchEV)
	}
	return usids, nil
}
