package ev

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/weft-sdn/weft/topology"
)

func checkHostPort(port uint16) error {
	if port == 0 || port > maxNumber {
		return fmt.Errorf("host port %d, want 1 to %d: %w", port, maxNumber, ErrNoRoom)
	}
	return nil
}

// ordered returns links with their numbers, in the order of these.
func (a *Assignment) ordered(links ...[]*topology.Link) []FieldValue {
	var out []FieldValue
	for _, l := range slices.Concat(links...) {
		out = append(out, FieldValue{Value: uint32(a.numberOf(l)), Link: l})
	}
	slices.SortFunc(out, func(x, y FieldValue) int { return cmp.Compare(x.Value, y.Value) })
	return out
}

// Encode returns the value that takes a packet from a leaf along links to their end at another
// leaf. From a leaf to itself there are no links: the hosts are below the leaf and need no field,
// and with structured EVs the value is 0. last is the last uSID in the SRv6 modes: [TableUSID], or
// [DecapUSID] or [KeepUSID] of a port of the last leaf. The remaining modes ignore last.
//
// In the SRv6 modes the path need not be an up-down path. With structured EVs the value leaves out
// the links down; see [Assignment.Decode].
func (a *Assignment) Encode(
	leaf topology.NodeID, links []*topology.Link, last uint16,
) (Value, error) {
	at := leaf
	for i, l := range links {
		if l.Local != at {
			return Value{}, fmt.Errorf("path: link %d, %s, does not start at %s: %w", i, l.ID, at,
				ErrMalformed)
		}
		at = l.Remote
	}
	switch {
	case a.format.Mode == ModeStructured:
		return a.encodeFields(links)
	case a.format.Mode.SRv6():
		return a.encodeUSIDs(leaf, links, last)
	}
	return Value{}, ErrUnknownPath
}

func (a *Assignment) encodeFields(links []*topology.Link) (Value, error) {
	v := StructuredValue(0).Structured()
	descending := false
	for i, l := range links {
		from, ok1 := a.clos.Tier(l.Local)
		to, ok2 := a.clos.Tier(l.Remote)
		switch {
		case !ok1 || !ok2 || from == to || from < to && descending:
			return Value{}, fmt.Errorf("path: link %d, %s, from tier %d to %d, want up and then down: %w", i,
				l.ID, from, to, ErrMalformed)
		case from > to:
			descending = true
			continue
		}
		number, ok := a.Link(l.ID)
		if !ok {
			return Value{}, fmt.Errorf("path: link %d, %s, has no number: %w", i, l.ID, ErrMalformed)
		}
		var err error
		if v, err = v.With(a.format.Fields[from], uint32(number)); err != nil {
			return Value{}, fmt.Errorf("path: link %d, %s: %w", i, l.ID, err)
		}
	}
	return StructuredValue(v), nil
}

func (a *Assignment) encodeUSIDs(
	leaf topology.NodeID, links []*topology.Link, last uint16,
) (Value, error) {
	if last < FirstLocal {
		return Value{}, fmt.Errorf("last uSID %#04x, want a local one from %#04x on: %w", last,
			FirstLocal, ErrMalformed)
	}
	var usids []uint16
	if a.format.Hops == HopNodes {
		usids = append(usids, a.uN[leaf])
	}
	for i, l := range links {
		usid, ok := a.linkUSID(l)
		if !ok {
			return Value{}, fmt.Errorf("path: link %d, %s, has no uSID: %w", i, l.ID, ErrMalformed)
		}
		usids = append(usids, usid)
	}
	usids = append(usids, last)
	if usids[0] == 0 {
		return Value{}, fmt.Errorf("path: %s has no uSID: %w", leaf, ErrMalformed)
	}
	if len(usids) > a.format.maxUSIDs() {
		return Value{}, fmt.Errorf("path: %d uSIDs, want at most %d in mode %v: %w", len(usids),
			a.format.maxUSIDs(), a.format.Mode, ErrNoRoom)
	}
	var v Value
	for i, usid := range usids {
		a.put(&v, i, len(usids), usid)
	}
	return v, nil
}

// linkUSID is the uSID that takes a packet over a link.
func (a *Assignment) linkUSID(l *topology.Link) (usid uint16, ok bool) {
	if a.format.Hops == HopNodes {
		usid = a.uN[l.Remote]
		return usid, usid != 0
	}
	number, ok := a.Link(l.ID)
	return LinkUSID(number), ok
}

// put writes the block, and the i-th of n uSIDs.
func (a *Assignment) put(v *Value, i, n int, usid uint16) {
	block := a.format.Block.Addr().As16()
	octets := a.format.Block.Bits() / 8
	first, second := a.format.containers(n)
	copy(v[:octets], block[:])
	at := octets + 2*i
	if second > 0 {
		copy(v[16:16+octets], block[:])
		if i >= first {
			at = 16 + octets + 2*(i-first)
		}
	}
	binary.BigEndian.PutUint16(v[at:], usid)
}
