package ev

import (
	"fmt"
	"maps"

	"github.com/weft-sdn/weft/topology"
)

// Numbers defines where the numbers of links come from.
type Numbers struct {
	Rule NumberRule
	// Previous matters only to NumberByOrder: links and nodes keep their numbers from Previous, even
	// while they are gone.
	Previous *Assignment
}

// NumberRule defines how the links of each switch are numbered.
type NumberRule uint8

const (
	// NumberByPort uses the number of the port. It needs no memory, gives the same numbers after every
	// restart, and makes values readable. Ports must be known and small enough.
	NumberByPort NumberRule = iota
	// NumberByOrder counts the links of a switch in the order of the snapshot,
	// those up from 1 and those down from 1,024.
	NumberByOrder
)

const firstDown = 1024

// An Assignment gives each link of a fabric a number at its local switch, and each switch a uSID.
// EVs consist of these numbers, and the controller programs switches with the same numbers. An
// Assignment is immutable.
type Assignment struct {
	clos   *topology.Clos
	snap   *topology.Snapshot
	format Format
	rule   NumberRule

	byLink []uint16 // number by place in the snapshot's links, 0: none
	uN     map[topology.NodeID]uint16
	halves map[memberKey]*halves

	// The numbers that NumberByOrder gave, also to links that are gone.
	number map[topology.LinkID]uint16
	held   map[held]bool
}

// held is a number at a node.
type held struct {
	node   topology.NodeID
	number uint16
}

// A memberKey is a leaf in a plane.
type memberKey struct {
	leaf  topology.NodeID
	plane int
}

// Assign numbers the links and switches of a fabric for a format.
func Assign(c *topology.Clos, f Format, n Numbers) (*Assignment, error) {
	s := c.Graph().Snapshot()
	given := f.Block.IsValid()
	if f.Mode.SRv6() && !given {
		f.Block = commonBlock(f.Mode, c.Nodes())
	}
	if f.Mode == ModeUSIDStructured {
		f.Hops = HopNodes
		if f.Numbering == nil {
			f.Numbering = DefaultNumbering()
		}
		if !given && !f.numbered(c) {
			f.Block = DefaultBlock(f.Mode)
		}
	}
	if err := f.Validate(); err != nil {
		return nil, err
	}
	a := &Assignment{
		clos: c, snap: s, format: f, rule: n.Rule,
		byLink: make([]uint16, len(s.Links)), uN: make(map[topology.NodeID]uint16),
		halves: make(map[memberKey]*halves),
	}
	if f.Mode == ModeECMP {
		return a, nil
	}
	if n.Rule == NumberByOrder {
		a.remember(n.Previous)
	}
	for _, node := range c.Nodes() {
		up, down := c.Up(node.ID), []*topology.Link(nil)
		if f.Mode.SRv6() {
			down = c.Down(node.ID)
		}
		if err := a.numberNode(node, up, down); err != nil {
			return nil, err
		}
	}
	if f.Mode == ModeStructured {
		if err := a.fitFields(); err != nil {
			return nil, err
		}
	} else if f.Mode == ModeUSIDStructured {
		if err := a.numberStructured(n.Previous); err != nil {
			return nil, err
		}
	} else if err := a.numberNodes(n.Previous); err != nil {
		return nil, err
	}
	return a, a.encodeAscents()
}

// Format returns the format, with what it left open.
func (a *Assignment) Format() Format { return a.format }

// Clos returns the fabric.
func (a *Assignment) Clos() *topology.Clos { return a.clos }

// Link returns the number of a link at its local switch. ok is false for links
// that no path uses, and with structured EVs for links down.
func (a *Assignment) Link(id topology.LinkID) (number uint16, ok bool) {
	if i := a.snap.LinkPlace(id); i >= 0 && a.byLink[i] != 0 {
		return a.byLink[i], true
	}
	return 0, false
}

// Node returns the uN of a switch; ok is false when the mode has no uSIDs.
func (a *Assignment) Node(id topology.NodeID) (usid uint16, ok bool) {
	usid, ok = a.uN[id]
	return usid, ok
}

// numberOf returns the number of a numbered link.
func (a *Assignment) numberOf(l *topology.Link) uint16 { return a.byLink[a.placeOf(l)] }

// placeOf is the place of a link that paths use.
func (a *Assignment) placeOf(l *topology.Link) int32 { return a.clos.Graph().PlaceOf(l) }

// remember takes over the numbers of an assignment by order; previous may be nil.
func (a *Assignment) remember(previous *Assignment) {
	a.number, a.held = make(map[topology.LinkID]uint16), make(map[held]bool)
	if previous != nil {
		maps.Copy(a.number, previous.number)
		maps.Copy(a.held, previous.held)
	}
}

// numberNode numbers the links of a node. With numbers by order, some links have a number already.
func (a *Assignment) numberNode(node *topology.Node, up, down []*topology.Link) error {
	if a.rule == NumberByOrder {
		if err := a.numberByOrder(node, up, 1, firstDown-1); err != nil {
			return err
		}
		return a.numberByOrder(node, down, firstDown, maxNumber)
	}
	limit := uint32(maxNumber)
	if a.format.Mode == ModeStructured {
		limit = 1<<16 - 1
	}
	owner := make(map[uint32]topology.LinkID, len(up)+len(down))
	for _, links := range [...][]*topology.Link{up, down} {
		for _, l := range links {
			if l.LocalPort == 0 || l.LocalPort > limit {
				return fmt.Errorf("link %s: port %d of %s, want 1 to %d, or links numbered by order: %w",
					a.snap.LinkName(l.ID), l.LocalPort, node.DisplayName(), limit, ErrNoRoom)
			}
			if other, taken := owner[l.LocalPort]; taken {
				return fmt.Errorf("link %s: port %d of %s is that of link %s too: %w",
					a.snap.LinkName(l.ID), l.LocalPort, node.DisplayName(), a.snap.LinkName(other), ErrMalformed)
			}
			owner[l.LocalPort] = l.ID
			a.byLink[a.placeOf(l)] = uint16(l.LocalPort)
		}
	}
	return nil
}

// numberByOrder numbers links of a node from first to last.
func (a *Assignment) numberByOrder(
	node *topology.Node, links []*topology.Link, first, last int,
) error {
	next := first
	for _, l := range links {
		number := int(a.number[l.ID])
		if number < first || number > last {
			for ; a.held[held{node.ID, uint16(next)}]; next++ {
			}
			if next > last {
				return fmt.Errorf("link %s: no number up to %d left at %s: %w", a.snap.LinkName(l.ID), last,
					node.DisplayName(), ErrNoRoom)
			}
			number = next
			a.number[l.ID], a.held[held{node.ID, uint16(number)}] = uint16(number), true
		}
		a.byLink[a.placeOf(l)] = uint16(number)
	}
	return nil
}

// find returns the link with a number at a node, nil without such a link.
func (a *Assignment) find(node topology.NodeID, number uint16) *topology.Link {
	links := a.snap.LinksFrom(node)
	if len(links) == 0 || number == 0 {
		return nil
	}
	at := a.snap.LinkPlace(links[0].ID)
	for i, l := range links {
		if a.byLink[at+i] == number {
			return l
		}
	}
	return nil
}
