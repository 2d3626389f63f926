package ev

import (
	"fmt"
	"math/bits"
)

// Source ports of mode ecmp: the dynamic ports, of which RoCEv2 takes its own.
const (
	firstSourcePort = 0xC000
	lastSourcePort  = 0xFFFF
)

// A Request asks for a profile.
type Request struct {
	Source, Destination Attachment
	// Capabilities of the hosts that are to hold it; nil: [Unlimited].
	Capabilities *Capabilities
	// MaxEVs is the number of EVs at most; 0: [DefaultMaxEVs].
	MaxEVs int
	// MinActive of the profile; 0: a quarter of its EVs.
	MinActive int
	// Explicit keeps EVs from being generated where they could be.
	Explicit bool
}

// Build makes the profile of a request: generated where the fabric is regular
// and the device can, explicit elsewhere, and automatic in mode ecmp. Where
// there are more paths than EVs these are spread evenly over the links of every
// switch, those of different pairs differently.
//
// It is an error ([ErrNoPath]) when no port has a path, and one that names the
// limit ([ErrNoRoom]) when the host cannot hold a profile.
func (a *Assignment) Build(r Request) (*Profile, error) {
	caps := Unlimited()
	if r.Capabilities != nil {
		caps = *r.Capabilities
	}
	if r.MaxEVs == 0 {
		r.MaxEVs = DefaultMaxEVs
	}
	if r.MaxEVs < 0 || r.MinActive < 0 {
		return nil, fmt.Errorf("maxEVs %d, minActive %d, want 0 or more: %w", r.MaxEVs, r.MinActive, ErrMalformed)
	}
	lanes, err := a.lanes(r.Source, r.Destination)
	if err != nil {
		return nil, err
	}
	b := building{a: a, r: r, caps: caps, lanes: lanes, most: caps.limit(r.MaxEVs)}
	if b.most == 0 {
		return nil, fmt.Errorf("maxEVs %d: the host's limits leave none, in multiples of %d: %w", r.MaxEVs, caps.align(), ErrNoRoom)
	}
	p, err := b.profile()
	if err != nil {
		return nil, fmt.Errorf("profile from %v to %v: %w", r.Source, r.Destination, err)
	}
	p.Source, p.Destination = r.Source, r.Destination
	p.MinActive = r.MinActive
	if r.MinActive == 0 && p.Count > 0 {
		p.MinActive = max(1, p.Count/4)
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return p, caps.Validate(p)
}

type building struct {
	a     *Assignment
	r     Request
	caps  Capabilities
	lanes []lane
	most  int // EVs
}

func (b *building) profile() (*Profile, error) {
	if b.a.format.Mode == ModeECMP {
		return b.unknownPaths()
	}
	paths := 0
	for _, l := range b.lanes {
		paths += len(l.candidates)
	}
	if paths == 0 {
		return nil, ErrNoPath
	}
	if b.caps.Modes&Generated != 0 && !b.r.Explicit {
		if p, ok := b.generated(paths); ok {
			return p, nil
		}
	}
	return b.explicit(paths)
}

// formatProfile is the format of a path of so many links.
func (a *Assignment) formatProfile(hops int) FormatProfile {
	f := FormatProfile{Mode: FormatUDP}
	switch {
	case a.format.Mode == ModeStructured:
		f.Mode = FormatStructured
	case a.format.Mode.SRv6():
		f.Mode = FormatSRv6
	}
	f.Widths = a.format.widths(a.usidsOf(hops))
	return f
}

// generated makes a generated profile if all ports have the same EVs, and these
// are all combinations of ranges of the fields.
func (b *building) generated(paths int) (*Profile, bool) {
	hops := b.lanes[0].set.Hops()
	if hops < 0 || len(b.lanes) != attached(b.r.Source) || len(b.lanes) != attached(b.r.Destination) {
		return nil, false
	}
	for _, l := range b.lanes {
		if l.set.Hops() != hops || len(l.candidates) != len(b.lanes[0].candidates) {
			return nil, false
		}
	}
	format := b.a.formatProfile(hops)
	fields := make([]Field, len(format.Widths))
	product, at := 1, 0
	for i, width := range format.Widths {
		f, ok := b.rangeOf(at, int(width))
		if !ok {
			return nil, false
		}
		fields[i] = f
		product *= int(f.Max-f.Min) + 1
		at += int(width)
		if product > len(b.lanes[0].candidates) {
			return nil, false
		}
	}
	if product != len(b.lanes[0].candidates) {
		return nil, false
	}
	p := &Profile{Format: format, Mode: Generated, Fields: fields, Count: b.count(paths)}
	return p, ValidateFields(fields, format) == nil && b.caps.Validate(p) == nil
}

func attached(at Attachment) int {
	n := 0
	for _, leaf := range at {
		if leaf != "" {
			n++
		}
	}
	return n
}

// rangeOf makes a field of the bits of all candidates that start at a bit: ok is
// false when they are not all numbers from one to another, at every port.
func (b *building) rangeOf(at, width int) (f Field, ok bool) {
	var lo, hi uint32
	for i, l := range b.lanes {
		seen := make(map[uint32]bool)
		least, most := ^uint32(0), uint32(0)
		for _, c := range l.candidates {
			x := c.wire.bitsAt(at, width)
			seen[x] = true
			least, most = min(least, x), max(most, x)
		}
		if i == 0 {
			lo, hi = least, most
		}
		if least != lo || most != hi || uint64(len(seen)) != uint64(hi-lo)+1 {
			return Field{}, false
		}
	}
	if lo == hi {
		return Field{Width: width, Init: lo}, true
	}
	// The bits in which the numbers differ, and those below them.
	mask := ones(bits.Len32(lo ^ hi))
	return Field{Width: width, Init: lo &^ mask, Min: lo & mask, Max: hi & mask, Mask: mask}, true
}

// explicit makes an explicit profile.
func (b *building) explicit(paths int) (*Profile, error) {
	if b.caps.Modes&Explicit == 0 {
		return nil, fmt.Errorf("mode: the fabric between them is not regular, so EVs cannot be generated, and the host takes no explicit ones (%v): %w", b.caps.Modes, ErrNoRoom)
	}
	hops := -1
	for _, l := range b.lanes {
		hops = max(hops, l.set.Hops())
	}
	format := b.a.formatProfile(hops)
	p := &Profile{Format: format, Mode: Explicit, Fields: b.explicitFields(format.Widths), Count: b.count(paths)}
	all := b.interleaved()
	for i := range p.Count {
		pick := all[i%len(all)]
		v, err := Shrink(p.Fields, format, pick.Value)
		if err != nil {
			return nil, err
		}
		p.EVs = append(p.EVs, Entry{EV: EV{Value: v, Port: pick.Port}, State: Good})
	}
	return p, nil
}

// explicitFields are none where a value is as it lies in the packet; for a
// device whose values are narrower, what all EVs have alike is fixed.
func (b *building) explicitFields(widths []uint8) []Field {
	total := 0
	for _, w := range widths {
		total += int(w)
	}
	if total <= int(b.caps.MaxWidth) {
		return nil
	}
	fields := make([]Field, len(widths))
	at := 0
	for i := range widths {
		width := int(widths[i])
		first, same := uint32(0), true
		for k, l := range b.lanes {
			for j, c := range l.candidates {
				x := c.wire.bitsAt(at, width)
				if k == 0 && j == 0 {
					first = x
				}
				same = same && x == first
			}
		}
		fields[i] = Field{Width: width, Mask: ones(width), Max: ones(width)}
		if same {
			fields[i] = Field{Width: width, Init: first}
		}
		at += width
	}
	return fields
}

// interleaved returns the EVs of all ports, as they lie in packets: port by port
// in turn, those of a port in the order of spread.
func (b *building) interleaved() []EV {
	orders := make([][]int, len(b.lanes))
	total := 0
	for i, l := range b.lanes {
		if len(l.candidates) > 0 {
			orders[i] = spread(l.set, l.candidates, pairKey(l.set.Source().ID, l.set.Destination().ID))
		}
		total += len(l.candidates)
	}
	out := make([]EV, 0, total)
	for round := 0; len(out) < total; round++ {
		for i, l := range b.lanes {
			if round < len(orders[i]) {
				out = append(out, EV{Value: l.candidates[orders[i][round]].wire, Port: l.port})
			}
		}
	}
	return out
}

// count is the number of EVs for so many paths: all, or as many as there may be;
// a multiple of the alignment, and if possible one that has all paths equally
// often.
func (b *building) count(paths int) int {
	align := b.caps.align()
	n := paths
	for n%align != 0 && n+paths <= b.most {
		n += paths
	}
	if n%align != 0 {
		n = (paths + align - 1) / align * align
	}
	if n > b.most {
		n = b.most / align * align
	}
	return n
}

// unknownPaths is the profile of mode ecmp.
func (b *building) unknownPaths() (*Profile, error) {
	p := &Profile{Format: FormatProfile{Mode: FormatUDP, Widths: []uint8{16}}}
	switch {
	case b.caps.Modes&Auto != 0:
		p.Mode = Auto
	case b.caps.Modes&Generated != 0:
		p.Mode, p.Count = Generated, b.most
		p.Fields = []Field{{Width: 16, Init: firstSourcePort, Max: lastSourcePort - firstSourcePort, Mask: lastSourcePort - firstSourcePort}}
	default:
		if len(b.lanes) == 0 {
			return nil, ErrNoPath
		}
		p.Mode, p.Count = Explicit, b.most
		for i := range p.Count {
			var v Value
			source := firstSourcePort + i*(lastSourcePort-firstSourcePort+1)/p.Count
			v.putBits(0, 16, uint32(source))
			p.EVs = append(p.EVs, Entry{EV: EV{Value: v, Port: b.lanes[i%len(b.lanes)].port}, State: Good})
		}
	}
	return p, nil
}
