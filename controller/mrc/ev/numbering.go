package ev

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/topology"
)

// TierNumbers define the structured uSIDs of the switches of a tier (mode usid-structured): Base,
// with the plane of the switch, from 1, and its index in tier and plane as bit fields.
type TierNumbers struct {
	Base       uint16
	PlaneShift uint8 // of the plane's least significant bit
	PlaneBits  uint8
	IndexShift uint8
	IndexBits  uint8
}

// DefaultNumbering has 15 planes of three tiers, of 1,024 switches each. The two upper bits are the
// tier: local uSIDs have both set.
func DefaultNumbering() []TierNumbers {
	const planeBits, indexBits = 4, 10
	var out []TierNumbers
	for tier := range uint16(3) {
		out = append(out, TierNumbers{Base: tier << (planeBits + indexBits), PlaneShift: indexBits,
			PlaneBits: planeBits, IndexBits: indexBits})
	}
	return out
}

// fieldMask returns a field of so many bits, all 1.
func fieldMask(shift, width uint8) uint16 { return uint16((uint32(1)<<width - 1) << shift) }

func (n TierNumbers) planeMask() uint16 { return fieldMask(n.PlaneShift, n.PlaneBits) }
func (n TierNumbers) indexMask() uint16 { return fieldMask(n.IndexShift, n.IndexBits) }

// fixed are the bits that all uSIDs of the tier have alike.
func (n TierNumbers) fixed() uint16 { return ^(n.planeMask() | n.indexMask()) }

// usid returns the uSID of a switch; ok is false when plane or index do not fit. A plane is 1 or
// more, so that no uSID is 0: behind an active one, 0 would end the container.
func (n TierNumbers) usid(plane, index int) (usid uint16, ok bool) {
	if plane < 1 || plane >= 1<<n.PlaneBits || index < 0 || index >= 1<<n.IndexBits {
		return 0, false
	}
	return n.Base | uint16(plane)<<n.PlaneShift | uint16(index)<<n.IndexShift, true
}

// parse returns plane and index of a uSID; ok is false for a uSID outside of the tier.
func (n TierNumbers) parse(usid uint16) (plane, index int, ok bool) {
	if usid&n.fixed() != n.Base {
		return 0, 0, false
	}
	plane = int(usid & n.planeMask() >> n.PlaneShift)
	return plane, int(usid & n.indexMask() >> n.IndexShift), plane > 0
}

// validateNumbering reports whether no two switches can get the same uSID, and none a local one.
func validateNumbering(tiers []TierNumbers) error {
	for t, n := range tiers {
		switch {
		case n.PlaneBits < 1 || n.IndexBits < 1:
			return fmt.Errorf("numbering[%d]: %d bits for planes and %d for indexes, want 1 or more of "+
				"each: %w", t, n.PlaneBits, n.IndexBits, ErrMalformed)
		case int(n.PlaneShift)+int(n.PlaneBits) > 16 || int(n.IndexShift)+int(n.IndexBits) > 16:
			return fmt.Errorf("numbering[%d]: a field ends above bit 15, want it within a uSID: %w",
				t, ErrNoRoom)
		case n.planeMask()&n.indexMask() != 0:
			return fmt.Errorf("numbering[%d]: the fields of plane and index overlap: %w", t, ErrMalformed)
		case n.Base&^n.fixed() != 0:
			return fmt.Errorf("numbering[%d]: base %#04x has bits of a field: %w", t, n.Base, ErrMalformed)
		case (n.Base|^n.fixed())&FirstLocal == FirstLocal:
			return fmt.Errorf("numbering[%d]: uSIDs up to %#04x, want them below %#04x, the first local "+
				"one: %w", t, n.Base|^n.fixed(), FirstLocal, ErrMalformed)
		}
		for u, other := range tiers[:t] {
			if (n.Base^other.Base)&n.fixed()&other.fixed() == 0 {
				return fmt.Errorf("numbering[%d]: a switch may have the uSID of one of numbering[%d]: %w",
					t, u, ErrMalformed)
			}
		}
	}
	return nil
}

// numbered reports whether the locators of all switches are uSIDs of the block and the numbering.
func (f *Format) numbered(c *topology.Clos) bool {
	of := Assignment{format: *f}
	return !slices.ContainsFunc(c.Nodes(), func(n *topology.Node) bool {
		tier, _ := c.Tier(n.ID)
		if tier >= len(f.Numbering) {
			return true
		}
		plane, _, ok := f.Numbering[tier].parse(of.locatorUSID(n))
		return !ok || plane != c.Plane(n.ID)
	})
}

// position is where a switch is numbered: in a tier of a plane.
type position struct{ tier, plane int }

// numberStructured gives each switch its structured uN. A switch with a locator in the block gets
// the index of the locator. Each other switch gets the first free index of: its previous index, the
// number at the end of its name, the lowest free index.
func (a *Assignment) numberStructured(previous *Assignment) error {
	owner := make(map[uint16]*topology.Node)
	take := func(n *topology.Node, usid uint16, ok bool) bool {
		if !ok || owner[usid] != nil {
			return false
		}
		owner[usid], a.uN[n.ID] = n, usid
		return true
	}
	var rest []*topology.Node
	for _, n := range a.clos.Nodes() {
		at, ok, err := a.positionOf(n)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		usid := a.locatorUSID(n)
		if usid == 0 {
			rest = append(rest, n)
			continue
		}
		if plane, _, ok := a.format.Numbering[at.tier].parse(usid); !ok || plane != at.plane {
			return fmt.Errorf("uN %#04x of %s, by its locator: want one of plane %d in numbering[%d]: %w",
				usid, n.DisplayName(), at.plane, at.tier, ErrMalformed)
		}
		if !take(n, usid, true) {
			return fmt.Errorf("uN %#04x of %s: it is that of %s too: %w", usid, n.DisplayName(),
				owner[usid].DisplayName(), ErrMalformed)
		}
	}
	slices.SortStableFunc(rest, func(x, y *topology.Node) int {
		return natural.Compare(x.DisplayName(), y.DisplayName())
	})
	for _, choose := range []func(*topology.Node, position) (uint16, bool){
		func(n *topology.Node, at position) (uint16, bool) {
			usid, ok := previous.known(n.ID)
			plane, _, fits := a.format.Numbering[at.tier].parse(usid)
			return usid, ok && fits && plane == at.plane
		},
		func(n *topology.Node, at position) (uint16, bool) {
			index, ok := lastNumber(n.Name)
			usid, fits := a.format.Numbering[at.tier].usid(at.plane, index)
			return usid, ok && fits
		},
	} {
		rest = slices.DeleteFunc(rest, func(n *topology.Node) bool {
			at, _, _ := a.positionOf(n)
			usid, ok := choose(n, at)
			return take(n, usid, ok)
		})
	}
	next := make(map[position]int)
	for _, n := range rest {
		at, _, _ := a.positionOf(n)
		for {
			usid, ok := a.format.Numbering[at.tier].usid(at.plane, next[at])
			if !ok {
				return fmt.Errorf("%s: no index of %d bits is left in plane %d of numbering[%d]: %w",
					n.DisplayName(), a.format.Numbering[at.tier].IndexBits, at.plane, at.tier, ErrNoRoom)
			}
			next[at]++
			if take(n, usid, true) {
				break
			}
		}
	}
	return nil
}

// positionOf returns the tier and plane in which a switch is numbered. It fails when the numbering
// has no room for the tier or plane. ok is false for a switch without links, which may be in any
// plane.
func (a *Assignment) positionOf(n *topology.Node) (at position, ok bool, err error) {
	at.tier, _ = a.clos.Tier(n.ID)
	at.plane = a.clos.Plane(n.ID)
	if at.tier >= len(a.format.Numbering) {
		return at, false, fmt.Errorf("%s: tier %d, and numbering has %d: %w", n.DisplayName(), at.tier,
			len(a.format.Numbering), ErrNoRoom)
	}
	_, ok = a.format.Numbering[at.tier].usid(at.plane, 0)
	switch {
	case ok || len(a.clos.Up(n.ID))+len(a.clos.Down(n.ID)) == 0:
		return at, ok, nil
	case at.plane == 0:
		return at, false, fmt.Errorf("%s: it is in several planes, and a structured uSID is in one: %w",
			n.DisplayName(), ErrMalformed)
	}
	return at, false, fmt.Errorf("%s: plane %d does not fit %d bits of numbering[%d]: %w",
		n.DisplayName(), at.plane, a.format.Numbering[at.tier].PlaneBits, at.tier, ErrNoRoom)
}

// lastNumber returns the number that a name ends with.
func lastNumber(name string) (int, bool) {
	i := len(name)
	for i > 0 && name[i-1] >= '0' && name[i-1] <= '9' {
		i--
	}
	n, err := strconv.Atoi(name[i:])
	return n, err == nil
}
