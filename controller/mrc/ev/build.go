package ev

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// DefaultMaxEVs is the number of EVs of a profile at most (section 11.2.1).
const DefaultMaxEVs = 128

// Source ports of mode ecmp: the dynamic ports, as RoCEv2 has them.
const (
	firstSourcePort = 0xC000
	lastSourcePort  = 0xFFFF
)

// A Request asks for a profile.
type Request struct {
	Pair
	Name string
	// Capabilities of the hosts that will hold the profile; nil: [Unlimited].
	Capabilities *hostapi.Capabilities
	// MaxEVs is the number of EVs at most; 0: [DefaultMaxEVs].
	MaxEVs int
	// MinActive of the profile; 0: a quarter of its EVs.
	MinActive int
	// Explicit keeps EVs from being generated where they could be.
	Explicit bool

	pathByPath bool // looks at every path, whatever the plane is like; tests compare
}

// Unlimited are the capabilities of a device that can do everything, on ports 1
// to [hostapi.MaxPort].
func Unlimited() hostapi.Capabilities {
	const much = math.MaxInt32
	return hostapi.Capabilities{
		EVMaxFormats: much, EVMaxProfiles: much, EVMaxCount: much, EVFreeCount: much,
		EVMaxCountProfile: much,
		EVMaxWidth:        8 * hostapi.EVBytes, Ports: ^hostapi.PortMask(1),
		EVFormatModes: hostapi.Modes(hostapi.FormatSTEV, hostapi.FormatSRv6, hostapi.FormatUDP),
		EVModes:       hostapi.Modes(hostapi.ModeAuto, hostapi.ModeExplicit, hostapi.ModeGenerated),
		OptAttr:       hostapi.OptEVProfileModifyOnline | hostapi.OptEVEvent | hostapi.OptEVProbe,
	}
}

// Built is a profile and the paths of its EVs. It is immutable.
type Built struct {
	Pair Pair
	// Profile is the profile that hosts hold while nothing is lost. [Built.With] returns a copy with
	// destinations, events and CC profile.
	Profile *hostapi.Profile

	a *Assignment
	// why a port has no EV; "": each that is attached at both ends may have
	without   string
	rangeOnly bool               // the device takes consecutive values only
	lanes     []lane             // without candidates
	refs      []topology.PathRef // of explicit EVs in order
	first     []int32            // by explicit EV: its first path; one more than EVs
}

// With returns the same with another profile, which differs from the present one
// in name, destinations, events and CC profile at most.
func (b *Built) With(p *hostapi.Profile) *Built {
	out := *b
	out.Profile = p
	return &out
}

// Ports returns the ports that have EVs, in order.
func (b *Built) Ports() []uint8 {
	out := make([]uint8, len(b.lanes))
	for i := range b.lanes {
		out[i] = b.lanes[i].port
	}
	return out
}

// Assignment returns the numbers that the EVs are made of.
func (b *Built) Assignment() *Assignment { return b.a }

// Build makes the profile of a request: generated if the fabric is regular and the device can
// generate, else explicit, and automatic in mode ecmp. With more paths than EVs, Build spreads the
// EVs evenly over the links of every switch, differently for different pairs. The values of an
// explicit profile have the layout of packets, unless the device's values are too narrow.
//
// Build returns [ErrNoPath] when no port has a path, and an error with the limit when the host
// cannot hold a profile.
func (a *Assignment) Build(r Request) (*Built, error) {
	b := building{a: a, r: r, caps: Unlimited()}
	if r.Capabilities != nil {
		b.caps = *r.Capabilities
	}
	if r.MaxEVs < 0 {
		return nil, fmt.Errorf("profile %s: maxEVs: %d, want 0 or more: %w", r.Name, r.MaxEVs,
			ErrMalformed)
	}
	built, err := b.build()
	if err != nil {
		return nil, fmt.Errorf("profile %s, %v: %w", r.Name, r.Pair, err)
	}
	return built, nil
}

type building struct {
	a     *Assignment
	r     Request
	caps  hostapi.Capabilities
	lanes []lane
	align int
	most  int // EVs
	out   Built
}

func (b *building) build() (*Built, error) {
	b.align = max(b.caps.EVCountAlign, 1)
	b.most = b.r.MaxEVs
	if b.most == 0 {
		b.most = DefaultMaxEVs
	}
	b.most = min(b.most, b.caps.EVMaxCountProfile, b.caps.EVMaxCount) / b.align * b.align
	p := &hostapi.Profile{Name: b.r.Name}
	b.out = Built{Pair: b.r.Pair, Profile: p, a: b.a,
		rangeOnly: b.caps.OptAttr&hostapi.OptEVExplicitRange != 0}
	if b.r.pathByPath || !b.straight(p) {
		var err error
		if b.lanes, b.out.without, err = b.a.lanes(b.r.Pair); err != nil {
			return nil, err
		}
		if err := b.fill(p); err != nil {
			return nil, err
		}
	}
	p.MinActive = b.r.MinActive
	if p.MinActive == 0 && p.Count > 0 {
		p.MinActive = max(1, p.Count/4)
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := b.caps.Check(&hostapi.State{Profiles: []*hostapi.Profile{p}}); err != nil {
		return nil, err
	}
	b.out.lanes = make([]lane, 0, len(b.lanes))
	for _, l := range b.lanes {
		l.candidates = nil
		b.out.lanes = append(b.out.lanes, l)
	}
	out := b.out // on its own, so that the candidates can go
	return &out, nil
}

func (b *building) fill(p *hostapi.Profile) error {
	paths := 0
	for _, l := range b.lanes {
		paths += len(l.candidates)
	}
	ecmp := b.a.format.Mode == ModeECMP
	if len(b.lanes) == 0 || paths == 0 && !ecmp {
		return ErrNoPath
	}
	if b.most == 0 && !(ecmp && b.caps.HasMode(hostapi.ModeAuto)) {
		return fmt.Errorf("count: the limits leave no EV (ev_max_count_profile %d, ev_max_count %d, "+
			"ev_count_align %d): %w",
			b.caps.EVMaxCountProfile, b.caps.EVMaxCount, b.align, ErrNoRoom)
	}
	if ecmp {
		b.unknownPaths(p)
		return nil
	}
	if b.caps.HasMode(hostapi.ModeGenerated) && !b.r.Explicit && b.generated(p, paths) {
		return nil
	}
	return b.explicit(p, paths)
}

// formatOf is the format of a path of so many links.
func (a *Assignment) formatOf(hops int) hostapi.Format {
	f := hostapi.Format{Mode: hostapi.FormatUDP, Widths: a.format.widths(a.usidsOf(hops))}
	switch {
	case a.format.Mode == ModeStructured:
		f.Mode = hostapi.FormatSTEV
	case a.format.Mode.SRv6():
		f.Mode = hostapi.FormatSRv6
	}
	return f
}

// generated makes the profile a generated profile if all ports have the same EVs, namely all
// combinations of ranges of the fields. The device may use all of its ports, so all ports must be
// attached at both ends.
func (b *building) generated(p *hostapi.Profile, paths int) bool {
	hops := b.lanes[0].set.Hops()
	if len(b.lanes) != b.r.Source.Ports() || len(b.lanes) != b.r.Destination.Ports() {
		return false
	}
	for _, l := range b.lanes {
		if l.set.Hops() != hops || len(l.candidates) != len(b.lanes[0].candidates) {
			return false
		}
	}
	format := b.a.formatOf(hops)
	fields := make([]hostapi.Field, len(format.Widths))
	product, at, width := 1, 0, 0
	for i, w := range format.Widths {
		f, ok := b.rangeOf(at, w)
		if !ok {
			return false
		}
		fields[i] = f
		product *= int(f.MaxVal-f.MinVal) + 1
		at += int(w)
		width += f.Bits()
		if product > len(b.lanes[0].candidates) {
			return false
		}
	}
	if product != len(b.lanes[0].candidates) || width > b.caps.EVMaxWidth {
		return false
	}
	p.Format, p.Mode, p.Fields, p.Count = format, hostapi.ModeGenerated, fields, b.count(paths)
	return true
}

// rangeOf makes a field from the bits of all candidates that start at a bit. ok is false unless
// these values form one gapless range, equal at every port.
func (b *building) rangeOf(at int, width uint8) (f hostapi.Field, ok bool) {
	var lo, hi uint32
	seen := make(map[uint32]struct{})
	for i, l := range b.lanes {
		clear(seen)
		least, most := ^uint32(0), uint32(0)
		for j := range l.candidates {
			x := l.candidates[j].wire.bitsAt(at, int(width))
			seen[x] = struct{}{}
			least, most = min(least, x), max(most, x)
		}
		if i == 0 {
			lo, hi = least, most
		}
		if least != lo || most != hi || uint64(len(seen)) != uint64(hi-lo)+1 {
			return hostapi.Field{}, false
		}
	}
	if lo == hi {
		return hostapi.Field{Width: width, InitVal: lo}, true
	}
	// The bits in which the numbers differ, and those below them.
	mask := uint32(1)<<bits.Len32(lo^hi) - 1
	return hostapi.Field{Width: width, InitVal: lo &^ mask, MinVal: lo & mask, MaxVal: hi & mask,
		Mask: mask}, true
}

// bitsAt returns width bits from bit at on; width is at most 32.
func (v *Value) bitsAt(at, width int) uint32 {
	var x uint32
	for i := at; i < at+width; i++ {
		x = x<<1 | uint32(v[i/8]>>(7-i%8)&1)
	}
	return x
}

// explicit makes the profile an explicit one.
func (b *building) explicit(p *hostapi.Profile, paths int) error {
	if !b.caps.HasMode(hostapi.ModeExplicit) {
		return fmt.Errorf("mode: the paths are not regular enough to generate EVs, and the host takes "+
			"no explicit ones (ev_mode_mask %#x): %w", b.caps.EVModes, ErrNoRoom)
	}
	hops := 0
	for _, l := range b.lanes {
		hops = max(hops, l.set.Hops())
	}
	p.Format, p.Mode, p.Count = b.a.formatOf(hops), hostapi.ModeExplicit, b.count(paths)
	if b.a.format.Mode == ModeUSIDStructured {
		if t, err := b.a.templateOf(b.lanes); err == nil {
			p.Fields = t.fields(p.Format.Widths)
		}
	}
	if p.Fields == nil && p.Format.Bits() > b.caps.EVMaxWidth {
		p.Fields = b.explicitFields(p.Format.Widths)
	}
	all := interleave(b.lanes)
	p.EVs = make([]hostapi.EV, 0, p.Count)
	b.out.first = make([]int32, 0, p.Count+1)
	b.out.refs = make([]topology.PathRef, 0, p.Count)
	for i := range p.Count {
		pick := all[i%len(all)]
		l := &b.lanes[pick.lane]
		c := &l.candidates[pick.candidate]
		e, err := p.Shrink(hostapi.EV{Value: c.wire, Port: l.port})
		if err != nil {
			return err
		}
		p.EVs = append(p.EVs, e)
		b.out.first = append(b.out.first, int32(len(b.out.refs)))
		b.out.refs = append(b.out.refs, c.refs...)
	}
	b.out.first = append(b.out.first, int32(len(b.out.refs)))
	return nil
}

// explicitFields are for a device whose values are narrower than the format: bits that
// are equal in all EVs are fixed.
func (b *building) explicitFields(widths []uint8) []hostapi.Field {
	fields := make([]hostapi.Field, len(widths))
	at := 0
	for i, width := range widths {
		var zeros, all uint32 // bits that some EV has not, and that some has
		for _, l := range b.lanes {
			for j := range l.candidates {
				x := l.candidates[j].wire.bitsAt(at, int(width))
				zeros, all = zeros|^x, all|x
			}
		}
		mask := zeros & all // bits that differ
		fields[i] = hostapi.Field{Width: width, InitVal: all &^ mask, Mask: mask,
			MaxVal: uint32(1)<<bits.OnesCount32(mask) - 1}
		at += int(width)
	}
	return fields
}

// count returns the number of EVs for a number of paths: all paths, or the maximum. The result is a
// multiple of the alignment and, if possible, has all paths equally often.
func (b *building) count(paths int) int {
	n := paths
	for n%b.align != 0 && n+paths <= b.most {
		n += paths
	}
	n = (n + b.align - 1) / b.align * b.align
	return min(n, b.most)
}

// unknownPaths is the profile of mode ecmp.
func (b *building) unknownPaths(p *hostapi.Profile) {
	p.Format = hostapi.Format{Mode: hostapi.FormatUDP, Widths: []uint8{16}}
	const span = lastSourcePort - firstSourcePort
	switch {
	case b.caps.HasMode(hostapi.ModeAuto):
		p.Mode = hostapi.ModeAuto
	case b.caps.HasMode(hostapi.ModeGenerated):
		p.Mode, p.Count = hostapi.ModeGenerated, b.most
		p.Fields = []hostapi.Field{{Width: 16, InitVal: firstSourcePort, MaxVal: span, Mask: span}}
	default:
		p.Mode, p.Count = hostapi.ModeExplicit, b.most
		for i := range p.Count {
			source := firstSourcePort + i*(span+1)/p.Count
			e := hostapi.NewEV(uint32(source)<<16, b.lanes[i%len(b.lanes)].port)
			p.EVs = append(p.EVs, e)
		}
	}
}
