package ev

import (
	"fmt"

	"github.com/weft-sdn/weft/topology"
)

// Numbers says where the numbers of links come from.
type Numbers struct {
	Rule NumberRule
	// Previous matters to NumberByOrder: links and nodes keep the numbers they
	// had there, also while they are gone.
	Previous *Assignment
}

// NumberRule says how the links of each switch are numbered.
type NumberRule uint8

const (
	// NumberByPort takes the number of the port: nothing to remember, the same
	// after every restart, and a value that says what it does. Ports must be
	// known and small enough.
	NumberByPort NumberRule = iota
	// NumberByOrder counts the links of a switch in the order of the snapshot,
	// those up from 1 and those down from 1,024.
	NumberByOrder
)

const firstDown = 1024

// An Assignment says which number each link of a fabric has at its local
// switch, and which uSID each switch has itself: what EVs are made of, and what
// switches are programmed with. It is immutable.
type Assignment struct {
	clos   *topology.Clos
	snap   *topology.Snapshot
	format Format
	rule   NumberRule

	number map[topology.LinkID]uint16
	held   map[held]topology.LinkID // what a number of a node stands for, gone links too
	uN     map[topology.NodeID]uint16

	place  map[topology.LinkID]int32 // in the snapshot's links
	byLink []uint16                  // number by place, 0: none
	halves map[memberKey]*halves
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
	if f.Mode.SRv6() && !f.Block.IsValid() {
		f.Block = commonBlock(f.Mode, c.Nodes())
	}
	if err := f.Validate(); err != nil {
		return nil, err
	}
	a := &Assignment{
		clos: c, snap: s, format: f, rule: n.Rule,
		number: make(map[topology.LinkID]uint16), held: make(map[held]topology.LinkID), uN: make(map[topology.NodeID]uint16),
		place: make(map[topology.LinkID]int32, len(s.Links)), byLink: make([]uint16, len(s.Links)),
		halves: make(map[memberKey]*halves),
	}
	if f.Mode == ModeECMP {
		return a, nil
	}
	for i, l := range s.Links {
		a.place[l.ID] = int32(i)
	}
	if n.Rule == NumberByOrder && n.Previous != nil && n.Previous.rule == NumberByOrder {
		for key, id := range n.Previous.held {
			a.held[key], a.number[id] = id, key.number
		}
	}
	for _, node := range c.Nodes() {
		if err := a.numberLinks(node, c.Up(node.ID), 1, firstDown-1); err != nil {
			return nil, err
		}
		if f.Mode.SRv6() {
			if err := a.numberLinks(node, c.Down(node.ID), firstDown, maxNumber); err != nil {
				return nil, err
			}
		}
	}
	if f.Mode == ModeStructured {
		if err := a.fitFields(); err != nil {
			return nil, err
		}
	} else if err := a.numberNodes(n.Previous); err != nil {
		return nil, err
	}
	return a, a.encodeWays()
}

// Format returns the format, with what it left open.
func (a *Assignment) Format() Format { return a.format }

// Clos returns the fabric.
func (a *Assignment) Clos() *topology.Clos { return a.clos }

// Link returns the number of a link at its local switch. ok is false for links
// that no path uses, and with structured EVs for links down.
func (a *Assignment) Link(id topology.LinkID) (number uint16, ok bool) {
	if i, known := a.place[id]; known && a.byLink[i] != 0 {
		return a.byLink[i], true
	}
	return 0, false
}

// Node returns the uN of a switch; ok is false when the mode has no uSIDs.
func (a *Assignment) Node(id topology.NodeID) (usid uint16, ok bool) {
	usid, ok = a.uN[id]
	return usid, ok
}

// numberLinks numbers links of a node: by order, from first to last.
func (a *Assignment) numberLinks(node *topology.Node, links []*topology.Link, first, last int) error {
	var fresh []*topology.Link
	for _, l := range links {
		if a.rule == NumberByPort {
			if err := a.give(node, l, l.LocalPort); err != nil {
				return err
			}
		} else if old := int(a.number[l.ID]); first <= old && old <= last {
			a.byLink[a.place[l.ID]] = uint16(old)
		} else {
			fresh = append(fresh, l)
		}
	}
	number := first
	for _, l := range fresh {
		for {
			if number > last {
				return fmt.Errorf("link %s: no number up to %d left at %s: %w", l.ID, last, node.DisplayName(), ErrNoRoom)
			}
			if _, taken := a.held[held{node.ID, uint16(number)}]; !taken {
				break
			}
			number++
		}
		if err := a.give(node, l, uint32(number)); err != nil {
			return err
		}
	}
	return nil
}

func (a *Assignment) give(node *topology.Node, l *topology.Link, number uint32) error {
	limit := uint32(maxNumber)
	if a.format.Mode == ModeStructured {
		limit = 1<<16 - 1
	}
	if number == 0 || number > limit {
		return fmt.Errorf("link %s: port %d of %s, want 1 to %d, or links numbered by order: %w", l.ID, number, node.DisplayName(), limit, ErrNoRoom)
	}
	key := held{node.ID, uint16(number)}
	if other, taken := a.held[key]; taken {
		return fmt.Errorf("link %s: port %d of %s is that of link %s too: %w", l.ID, number, node.DisplayName(), other, ErrMalformed)
	}
	a.held[key], a.number[l.ID], a.byLink[a.place[l.ID]] = l.ID, uint16(number), uint16(number)
	return nil
}

// find returns the link that has a number at a node, nil when none has that is
// there.
func (a *Assignment) find(node topology.NodeID, number uint16) *topology.Link {
	id, ok := a.held[held{node, number}]
	if !ok {
		return nil
	}
	i, ok := a.place[id]
	if !ok || a.byLink[i] != number {
		return nil
	}
	return a.snap.Links[i]
}
