package ev

import (
	"encoding/binary"
	"fmt"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/topology"
)

// halves hold the values of a leaf's ascents. The value of a path is the ascent value at one leaf,
// or'd with the descent value at the other leaf. So encoding the ascents of a fabric encodes all
// its paths.
type halves struct {
	up, down []word4

	// fields is nil unless all ascents have one link and the structured EVs make up all combinations
	// of the fields' ranges. See straight.go.
	fields []hostapi.Field
}

// A word4 is a value in machine words, the first being the most significant.
type word4 [4]uint64

func (v Value) words() (w word4) {
	for i := range w {
		w[i] = binary.BigEndian.Uint64(v[8*i:])
	}
	return w
}

func (w word4) value() (v Value) {
	for i := range w {
		binary.BigEndian.PutUint64(v[8*i:], w[i])
	}
	return v
}

// encodeAscents makes the halves of all leaves, for paths with equal numbers of links up and down.
func (a *Assignment) encodeAscents() error {
	for _, leaf := range a.clos.Leaves() {
		for _, plane := range a.clos.PlanesOf(leaf.ID) {
			ascents, err := a.clos.Ascents(leaf.ID, plane)
			if err != nil {
				return err
			}
			h := &halves{up: make([]word4, ascents.Len())}
			if a.format.Mode.SRv6() {
				h.down = make([]word4, ascents.Len())
			}
			oneLink := true
			for w := range int32(ascents.Len()) {
				links := ascents.Links(w)
				oneLink = oneLink && len(links) == 1
				if a.format.Mode == ModeStructured {
					if h.up[w], err = a.fieldsOf(links); err != nil {
						return err
					}
					continue
				}
				if n := a.usidsOf(2 * len(links)); n > a.format.maxUSIDs() {
					// No path goes so high unless the containers are too small
					// for the fabric, which Build then says.
					continue
				}
				h.up[w] = a.upHalf(leaf.ID, links, len(links))
				h.down[w] = a.downHalf(links, len(links), TableUSID)
			}
			if oneLink && a.format.Mode == ModeStructured {
				h.fields = a.straightFields(h.up)
			}
			a.halves[memberKey{leaf.ID, plane}] = h
		}
	}
	return nil
}

// usidsOf is the number of uSIDs of a path of so many links.
func (a *Assignment) usidsOf(links int) int {
	if a.format.Hops == HopNodes {
		return links + 2
	}
	return links + 1
}

func (a *Assignment) fieldsOf(links []int32) (word4, error) {
	var v packet.EV
	for _, l := range links {
		link := a.snap.Links[l]
		tier, _ := a.clos.Tier(link.Local)
		var err error
		if v, err = v.With(a.format.Fields[tier], uint32(a.byLink[l])); err != nil {
			return word4{}, fmt.Errorf("link %s: %w", a.snap.LinkName(link.ID), err)
		}
	}
	return StructuredValue(v).words(), nil
}

// upHalf returns the contribution of an ascent to a path with down links down.
func (a *Assignment) upHalf(leaf topology.NodeID, links []int32, down int) word4 {
	var v Value
	n, at := a.usidsOf(len(links)+down), 0
	if a.format.Hops == HopNodes {
		a.put(&v, at, n, a.uN[leaf])
		at++
	}
	for i, l := range links {
		usid, _ := a.linkUSID(a.snap.Links[l])
		a.put(&v, at+i, n, usid)
	}
	return v.words()
}

// downHalf returns the contribution of a descent to a path with up links up.
func (a *Assignment) downHalf(links []int32, up int, last uint16) word4 {
	var v Value
	n := a.usidsOf(len(links) + up)
	a.put(&v, n-1, n, last)
	for i, l := range links {
		usid, _ := a.linkUSID(a.clos.Reverse(l))
		a.put(&v, n-2-i, n, usid)
	}
	return v.words()
}

// An Encoder makes the values of the paths of one set, in the mode of an
// assignment and with the last uSID [TableUSID].
type Encoder struct {
	a        *Assignment
	set      topology.PathSet
	up, down []word4
	// even reports whether paths are as long up as down.
	even bool
	self Value
}

// Encoder returns an encoder of a set of paths of the fabric.
func (a *Assignment) Encoder(set topology.PathSet) (*Encoder, error) {
	if a.format.Mode == ModeECMP {
		return nil, ErrUnknownPath
	}
	e := &Encoder{a: a, set: set}
	src, dst := memberKey{set.Source().ID, set.Plane()}, memberKey{set.Destination().ID, set.Plane()}
	up, down := a.halves[src], a.halves[dst]
	if up == nil || down == nil {
		return nil, fmt.Errorf("%s to %s in plane %d: not of the assignment's fabric: %w", src.leaf,
			dst.leaf, src.plane, ErrMalformed)
	}
	if a.format.Mode.SRv6() {
		if n := a.usidsOf(set.Hops()); n > a.format.maxUSIDs() {
			return nil, fmt.Errorf("%s to %s: %d uSIDs, want at most %d in mode %v: %w", src.leaf, dst.leaf,
				n, a.format.maxUSIDs(), a.format.Mode, ErrNoRoom)
		}
		e.even = set.Even()
	}
	e.up, e.down = up.up, down.down
	if set.Hops() == 0 {
		var err error
		if e.self, err = a.Encode(src.leaf, nil, TableUSID); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// Value returns the value of a path of the set.
func (e *Encoder) Value(ref topology.PathRef) Value {
	switch {
	case ref == topology.ToItself:
		return e.self
	case e.down == nil:
		return e.up[ref.Up].value()
	case !e.even:
		up, down := e.set.Up().Links(ref.Up), e.set.Down().Links(ref.Down)
		u, d := e.a.upHalf(e.set.Source().ID, up, len(down)), e.a.downHalf(down, len(up), TableUSID)
		return u.or(d).value()
	}
	return e.up[ref.Up].or(e.down[ref.Down]).value()
}

// AppendStructured appends the structured EVs of all paths of the set, in their
// order; in other modes it appends nothing.
func (e *Encoder) AppendStructured(dst []packet.EV) []packet.EV {
	if e.a.format.Mode != ModeStructured {
		return dst
	}
	if e.set.Hops() == 0 {
		return append(dst, e.self.Structured())
	}
	for ref := range e.set.All() {
		dst = append(dst, packet.EV(e.up[ref.Up][0]>>32))
	}
	return dst
}

func (w word4) or(o word4) word4 {
	return word4{w[0] | o[0], w[1] | o[1], w[2] | o[2], w[3] | o[3]}
}
