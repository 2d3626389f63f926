package ev

import (
	"errors"
	"math/bits"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/topology"
)

// TestPortsThatAreNotAttached: a port missing at one end gets no EVs, and Build does not fail.
func TestPortsThatAreNotAttached(t *testing.T) {
	c := leafSpine(2, 2, 2, 1).clos(t)
	whole := Attachment{"leaf1-01", "leaf2-01"}
	for _, mode := range []Mode{ModeStructured, ModeECMP} {
		a := assign(t, c, Format{Mode: mode})
		for _, x := range []struct {
			pair  Pair
			ports int
		}{
			{Pair{whole, Attachment{"leaf1-02", "leaf2-02"}}, 2}, {Pair{whole, Attachment{"leaf1-02"}}, 1},
			{Pair{whole[:1], Attachment{"leaf1-02", "leaf2-02"}}, 1},
			{Pair{whole, Attachment{"", "leaf2-02"}}, 1},
			{Pair{Attachment{"", "leaf2-01"}, Attachment{"leaf1-02", "leaf2-02"}}, 1},
			{Pair{Attachment{"leaf1-01", ""}, Attachment{"", "leaf2-02"}}, 0},
		} {
			b, err := a.Build(Request{Name: "p", Pair: x.pair})
			if x.ports == 0 {
				if !errors.Is(err, ErrNoPath) {
					t.Errorf("%v, %v: %v, want no path", mode, x.pair, err)
				}
				continue
			}
			if err != nil || len(b.Ports()) != x.ports {
				t.Fatalf("%v, %v: %v", mode, x.pair, err)
			}
			for _, l := range b.lanes {
				if l.candidates != nil {
					t.Error("a profile keeps the candidates of its EVs")
				}
			}
			out, err := b.Under(c.Lost(topology.Losses{}))
			if err != nil || out.Degraded != "" {
				t.Errorf("%v, %v: %q, %v", mode, x.pair, out.Degraded, err)
			}
			if mode == ModeStructured && (b.Profile.Mode == hostapi.ModeGenerated) !=
				(x.pair.Source.Ports() == x.ports && x.pair.Destination.Ports() == x.ports) {
				t.Errorf("%v: mode %v", x.pair, b.Profile.Mode)
			}
		}
	}
}

// TestCountOfEVs: the number of EVs is the number of paths, rounded for the alignment, and never
// above the limit. Each path may appear several times to reach a multiple of the alignment.
func TestCountOfEVs(t *testing.T) {
	for _, c := range []struct{ paths, align, most, want int }{
		{5, 1, 128, 5}, {5, 1, 4, 4}, {6, 4, 128, 12}, {6, 4, 12, 12}, {6, 4, 11, 8}, {5, 4, 20, 20},
		{5, 4, 19, 16}, {5, 4, 8, 8}, {5, 4, 4, 4}, {8, 4, 128, 8}, {1, 3, 128, 3}, {7, 2, 8, 8},
		{200, 3, 126, 126}, {9, 6, 128, 18},
	} {
		b := building{align: c.align, most: c.most}
		if got := b.count(c.paths); got != c.want {
			t.Errorf("%d paths, aligned to %d, at most %d: %d EVs, want %d", c.paths, c.align, c.most, got,
				c.want)
		}
	}
}

// TestRangesOfFields: a field covers the bits of all candidates if their values form one gapless
// range, equal at every port.
func TestRangesOfFields(t *testing.T) {
	for _, c := range []struct {
		ports [][]uint32
		want  hostapi.Field
		ok    bool
	}{
		{[][]uint32{{1, 2, 3}}, hostapi.Field{Width: 32, MinVal: 1, MaxVal: 3, Mask: 3}, true},
		{[][]uint32{{3, 1, 2, 1}, {2, 1, 3}},
			hostapi.Field{Width: 32, MinVal: 1, MaxVal: 3, Mask: 3}, true},
		{[][]uint32{{1, 3}}, hostapi.Field{}, false},
		{[][]uint32{{1, 2, 3}, {1, 3}}, hostapi.Field{}, false},
		{[][]uint32{{1, 2, 3}, {1, 2}}, hostapi.Field{}, false},
		{[][]uint32{{1, 2, 3}, {2, 3}}, hostapi.Field{}, false},
		{[][]uint32{{2, 3}, {1, 2}}, hostapi.Field{}, false},
		{[][]uint32{{2, 3}, {1, 2, 3}}, hostapi.Field{}, false},
		{[][]uint32{{1, 2}, {1, 2, 3}}, hostapi.Field{}, false},
		{[][]uint32{{7}}, hostapi.Field{Width: 32, InitVal: 7}, true},
		{[][]uint32{{7}, {8}}, hostapi.Field{}, false},
		{[][]uint32{{1<<32 - 1}}, hostapi.Field{Width: 32, InitVal: 1<<32 - 1}, true},
		{[][]uint32{{0x48, 0x49}}, hostapi.Field{Width: 32, InitVal: 0x48, MaxVal: 1, Mask: 1}, true},
		{[][]uint32{{7, 8}}, hostapi.Field{Width: 32, MinVal: 7, MaxVal: 8, Mask: 15}, true},
	} {
		b := building{}
		for _, values := range c.ports {
			var l lane
			for _, v := range values {
				l.candidates = append(l.candidates, candidate{wire: StructuredValue(packet.EV(v))})
			}
			b.lanes = append(b.lanes, l)
		}
		if got, ok := b.rangeOf(0, 32); got != c.want || ok != c.ok {
			t.Errorf("%x: %+v, %v; want %+v, %v", c.ports, got, ok, c.want, c.ok)
		}
	}
}

// TestUnlimited: a device without limits takes every format and mode, all bits and ports.
func TestUnlimited(t *testing.T) {
	caps := Unlimited()
	for _, m := range []hostapi.Mode{hostapi.ModeAuto, hostapi.ModeExplicit, hostapi.ModeGenerated} {
		if !caps.HasMode(m) {
			t.Errorf("it does not take mode %v", m)
		}
	}
	options := uint32(hostapi.OptEVProfileModifyOnline | hostapi.OptEVEvent | hostapi.OptEVProbe)
	if caps.EVMaxWidth != 256 || caps.OptAttr != options || caps.Ports.Has(0) ||
		caps.Ports.Len() != hostapi.MaxPort || caps.EVMaxCount < 1<<30 {
		t.Errorf("%+v", caps)
	}
}

// TestEVsOfALeafToItself: in every mode, hosts at one leaf reach each other by one EV, which
// crosses no link.
func TestEVsOfALeafToItself(t *testing.T) {
	c := leafSpine(1, 2, 2, 1).clos(t)
	for _, format := range allFormats {
		if len(format.Fields) > 1 {
			continue
		}
		a := assign(t, c, format)
		p := mustBuild(t, a, Request{Pair: Pair{Attachment{"leaf1-01"}, Attachment{"leaf1-01"}},
			Explicit: true})
		if want := a.formatOf(0); len(p.EVs) != 1 || !slices.Equal(p.Format.Widths, want.Widths) {
			t.Errorf("%+v: %d EVs of widths %v, want one of %v", format, len(p.EVs), p.Format.Widths,
				want.Widths)
		}
	}
}

// TestWidthOfListedEVs: EVs of a template have the fields of the template. All other EVs have the
// layout of packets, unless the device takes fewer bits.
func TestWidthOfListedEVs(t *testing.T) {
	c := leafSpine(1, 2, 3, 1).clos(t)
	pair := Pair{Attachment{"leaf1-01"}, Attachment{"leaf1-02"}}
	for _, mode := range []Mode{ModeF3216, ModeUSIDStructured} {
		a := assign(t, c, Format{Mode: mode})
		wide := mustBuild(t, a, Request{Pair: pair, Explicit: true})
		bits := wide.Format.Bits()
		for width, want := range map[int]bool{bits - 1: true, bits: false, bits + 1: false} {
			caps := Unlimited()
			caps.EVMaxWidth = width
			p := mustBuild(t, a, Request{Pair: pair, Explicit: true, Capabilities: &caps})
			if mode == ModeUSIDStructured {
				if !slices.Equal(p.Fields, wide.Fields) || p.Fields == nil {
					t.Errorf("%d bits of %d: fields %+v, want those of the template", width, bits, p.Fields)
				}
			} else if (p.Fields != nil) != want {
				t.Errorf("%d bits of %d: fields %+v", width, bits, p.Fields)
			}
			for _, f := range p.Fields {
				if int(f.MaxVal) != 1<<ones(f.Mask)-1 {
					t.Errorf("%d bits of %d: field %+v", width, bits, f)
				}
			}
			for i, e := range p.EVs {
				x, err := p.Expand(e)
				y, _ := wide.Expand(wide.EVs[i])
				if err != nil || x != y {
					t.Errorf("%d bits of %d: EV %d is %v, want %v: %v", width, bits, i, x, y, err)
				}
			}
		}
	}
}

// TestNoEVsInECMP: a profile of mode ecmp that the host makes itself needs no room for EVs; others
// do. Whatever is lost, its EVs stay, as their paths are not known.
func TestNoEVsInECMP(t *testing.T) {
	c := leafSpine(1, 2, 2, 1).clos(t)
	a := assign(t, c, Format{Mode: ModeECMP})
	pair := Pair{Attachment{"leaf1-01"}, Attachment{"leaf1-02"}}
	for _, x := range []struct {
		modes []hostapi.Mode
		count int
		ok    bool
	}{
		{[]hostapi.Mode{hostapi.ModeAuto}, 0, true}, {[]hostapi.Mode{hostapi.ModeExplicit}, 0, false},
		{[]hostapi.Mode{hostapi.ModeGenerated}, 0, false},
		{[]hostapi.Mode{hostapi.ModeExplicit}, 8, true}, {[]hostapi.Mode{hostapi.ModeGenerated}, 8, true},
	} {
		caps := Unlimited()
		caps.EVModes, caps.EVMaxCountProfile = hostapi.Modes(x.modes...), x.count
		b, err := a.Build(Request{Name: "p", Pair: pair, Capabilities: &caps})
		if (err == nil) != x.ok {
			t.Errorf("%v with %d EVs: %v", x.modes, x.count, err)
		}
		if err != nil {
			continue
		}
		lost := c.Lost(topology.Losses{Nodes: []topology.NodeID{"leaf1-02"}})
		out, err := b.Under(lost)
		q, last, denyErr := a.Deny(b.Profile, pair, lost)
		if err != nil || out.Profile != b.Profile || q != b.Profile || last || denyErr != nil {
			t.Errorf("%v: %+v, %v; %v, last %v, %v", x.modes, out, err, q, last, denyErr)
		}
	}
	stev := assign(t, c, Format{Mode: ModeStructured})
	caps := Unlimited()
	caps.EVMaxCountProfile = 0
	if _, err := stev.Build(Request{Name: "p", Pair: pair, Capabilities: &caps}); !errors.Is(err,
		ErrNoRoom) {
		t.Errorf("no room for EVs: %v", err)
	}
}

// TestDeny: a profile loses each EV whose paths are all lost, on ports that both ends have. The
// last EV remains, and Deny reports it.
func TestDeny(t *testing.T) {
	c := leafSpine(2, 2, 2, 1).clos(t)
	a := assign(t, c, Format{Mode: ModeStructured})
	both := Pair{Attachment{"leaf1-01", "leaf2-01"}, Attachment{"leaf1-02", "leaf2-02"}}
	one := Pair{both.Source[:1], both.Destination[:1]}
	spine, leaf := []topology.NodeID{"spine1-01"}, []topology.NodeID{"leaf1-02"}
	for _, x := range []struct {
		name     string
		built    Pair
		asked    Pair
		explicit bool
		lost     []topology.NodeID
		denied   int
		last     bool
	}{
		{"nothing", both, both, true, nil, 0, false}, {"a spine", both, both, true, spine, 1, false},
		{"a leaf", both, both, true, leaf, 2, false},
		{"a leaf, generated", both, both, false, leaf, 2, false},
		{"a spine, generated", one, one, false, spine, 1, false},
		{"the last path", one, one, true, leaf, 0, true},
		{"the last path, generated", one, one, false, leaf, 0, true},
		{"with a port that one end has", one, Pair{both.Source, both.Destination[:1]}, true, spine, 1,
			false},
		{"the last, with a port that one end has", one, Pair{both.Source, both.Destination[:1]}, false,
			leaf, 0, true},
		{"the last, with no port at the source", one, Pair{Attachment{"leaf1-01", ""}, both.Destination},
			false, leaf, 0, true},
		{"the last, with no port at the destination", one, Pair{both.Source, Attachment{"leaf1-02", ""}},
			false, leaf, 0, true},
		{"one of an unknown leaf", both, Pair{Attachment{"x", "leaf2-01"}, both.Destination}, true, spine,
			0, false},
	} {
		b := mustBuilt(t, a, Request{Pair: x.built, Explicit: x.explicit, MinActive: 1})
		lost := c.Lost(topology.Losses{Nodes: x.lost})
		q, last, err := a.Deny(b.Profile, x.asked, lost)
		if err != nil || last != x.last || len(q.Denied) != x.denied ||
			(q == b.Profile) != (x.denied == 0) {
			t.Errorf("%s: %d are denied, last %v, %v; want %d, %v", x.name, len(q.Denied), last, err,
				x.denied, x.last)
			continue
		}
		if again, last, err := a.Deny(q, x.asked, lost); again != q || last != x.last || err != nil {
			t.Errorf("%s: what is denied already is denied again: %v, %v", x.name, again.Denied, err)
		}
		all := make(map[hostapi.EV]bool)
		for _, e := range q.Denied {
			if all[e] || !b.Profile.Has(e) {
				t.Errorf("%s: %v is denied", x.name, e)
			}
			all[e] = true
		}
	}
	other := leafSpine(2, 2, 2, 1).clos(t)
	b := mustBuilt(t, a, Request{Pair: both})
	if q, last, err := a.Deny(b.Profile, both, other.Lost(topology.Losses{})); q != nil || last ||
		!errors.Is(err, ErrMalformed) {
		t.Errorf("losses of another fabric: %v, %v, %v", q, last, err)
	}
}

// TestEVsTwice: an EV that a profile has twice is denied once.
func TestEVsTwice(t *testing.T) {
	c := leafSpine(1, 2, 2, 1).clos(t)
	a := assign(t, c, Format{Mode: ModeStructured})
	caps := Unlimited()
	caps.EVCountAlign = 4
	b := mustBuilt(t, a, Request{Pair: Pair{Attachment{"leaf1-01"}, Attachment{"leaf1-02"}},
		Explicit: true, Capabilities: &caps, MinActive: 1})
	out, err := b.Under(c.Lost(topology.Losses{Nodes: []topology.NodeID{"spine1-01"}}))
	if err != nil || len(b.Profile.EVs) != 4 || out.Active != 2 || len(out.Profile.Denied) != 1 {
		t.Errorf("%+v, %v: want two of four EVs left, one denied", out, err)
	}
}

// TestEncodersOfOtherFabrics: there is no encoder for leaves that the fabric does not have.
func TestEncodersOfOtherFabrics(t *testing.T) {
	small := assign(t, leafSpine(1, 2, 2, 1).clos(t), Format{Mode: ModeStructured})
	big := leafSpine(1, 3, 2, 1).clos(t)
	for _, x := range []struct {
		src, dst topology.NodeID
		ok       bool
	}{{"leaf1-01", "leaf1-02", true}, {"leaf1-01", "leaf1-03", false},
		{"leaf1-03", "leaf1-01", false}} {
		set, err := big.Paths(x.src, x.dst, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := small.Encoder(set); (err == nil) != x.ok ||
			err != nil && !errors.Is(err, ErrMalformed) {
			t.Errorf("%s to %s: %v", x.src, x.dst, err)
		}
	}
}

// TestLongPaths: for paths whose uSIDs fill both containers, an encoder gives the same value as
// encoding link by link. A fabric too high for the containers has no values.
func TestLongPaths(t *testing.T) {
	for _, n := range []int{9, 17} {
		f := newFabric()
		before := f.leaf("a")
		for i := range n {
			next := f.add("n%d", i)
			f.connect(before, next)
			before = next
		}
		f.connect(before, f.leaf("z"))
		c, err := f.Build().Graph().Clos(topology.ClosRequest{Leaves: f.leaves, MaxTiers: 12})
		if err != nil {
			t.Fatal(err)
		}
		set, err := c.Paths("a", "z", 1)
		if err != nil || set.Len() != 1 {
			t.Fatalf("%d paths, %v", set.Len(), err)
		}
		for _, mode := range []Mode{ModeSRH, ModeF3216, ModeF1616} {
			a := assign(t, c, Format{Mode: mode})
			ref, _ := set.At(0)
			want, wantErr := a.Encode("a", set.Links(ref), TableUSID)
			enc, err := a.Encoder(set)
			if (err == nil) != (wantErr == nil) {
				t.Errorf("%v, %d switches: %v; link by link %v", mode, n, err, wantErr)
			}
			if err == nil && enc.Value(ref) != want {
				t.Errorf("%v, %d switches: %v, want %v", mode, n, enc.Value(ref), want)
			}
		}
	}
}

// TestDecodeTop: a value that leads up to the top, or from a leaf without links, leads nowhere.
func TestDecodeTop(t *testing.T) {
	f := leafSpine(2, 2, 2, 1)
	f.leaf("alone")
	a := assign(t, f.clos(t), Format{Mode: ModeStructured})
	v, _ := a.Encode("leaf1-01", a.Clos().Up("leaf1-01")[:1], 0)
	for src, words := range map[topology.NodeID]string{
		"leaf1-01": "spine1-01 is the top and not above leaf2-02", "alone": "alone has no link up",
	} {
		if _, err := a.Decode(src, "leaf2-02", v); !errors.Is(err, ErrNoSuchEV) ||
			!strings.Contains(err.Error(), words) {
			t.Errorf("from %s: %v, want %q", src, err, words)
		}
	}
	fields, _ := packet.EVFields(20)
	a = assign(t, f.clos(t), Format{Mode: ModeStructured, Fields: fields})
	wide, _ := packet.EV(0).With(fields[0], 1<<16+1)
	r, err := a.Decode("leaf1-01", "leaf1-02", StructuredValue(wide))
	if !errors.Is(err, ErrNoSuchEV) {
		t.Errorf("a number of 17 bits: %+v, %v", r, err)
	}
	usid := assign(t, f.clos(t), Format{Mode: ModeF3216, Block: block32})
	_, err = usid.Decode("leaf1-01", "leaf1-02", containers(t, "fc00:1:e000:e000::"))
	if err == nil || !strings.Contains(err.Error(), "has no link for uSID 0xe000") {
		t.Errorf("the last uSID first: %v", err)
	}
}

// TestDescents: two parallel links to a switch do not duplicate the links down of this switch.
func TestDescents(t *testing.T) {
	f := newFabric()
	src, dst := f.leaf("src"), f.leaf("dst")
	left, right, core := f.add("left"), f.add("right"), f.add("core")
	f.connect(src, left)
	f.connect(dst, right)
	f.connect(left, core)
	f.connect(right, core)
	f.connect(right, core)
	a := assign(t, f.clos(t), Format{Mode: ModeStructured})
	set, _ := a.Clos().Paths(src, dst, 1)
	ref, _ := set.At(0)
	v, err := a.Encode(src, set.Links(ref), 0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Decode(src, dst, v)
	if err != nil || len(r.Hops) != 4 || len(r.Hops[2].Links) != 2 || len(r.Hops[3].Links) != 1 {
		t.Errorf("%+v, %v: want two links to the switch above the leaf, and one to it", r, err)
	}
}

// TestSpreadOverLinks: for any number of chosen paths, the path counts of a switch's links differ
// by at most one, and different pairs choose differently.
func TestSpreadOverLinks(t *testing.T) {
	f := newFabric()
	src, dst := f.leaf("src"), f.leaf("dst")
	for i := range 3 { // with parallel links between the switches above
		agg, other := f.add("agg%d", i), f.add("other%d", i)
		f.connect(src, agg)
		f.connect(dst, other)
		for j := range 2 {
			core := f.add("core%d-%d", i, j)
			for range 3 {
				f.connect(agg, core)
			}
			f.connect(core, other)
		}
	}
	a := assign(t, f.clos(t), Format{Mode: ModeStructured})
	for n := 1; n <= 18; n++ {
		p := mustBuild(t, a, Request{Pair: Pair{Attachment{src}, Attachment{dst}}, Explicit: true,
			MaxEVs: n})
		used := make(map[topology.NodeID]map[topology.LinkID]int)
		for _, e := range p.EVs {
			r, err := a.Decode(src, dst, e.Value)
			if err != nil {
				t.Fatal(err)
			}
			for _, hop := range r.Hops[:2] {
				l := hop.Links[0]
				if used[l.Local] == nil {
					used[l.Local] = make(map[topology.LinkID]int)
				}
				used[l.Local][l.ID]++
			}
		}
		for id, links := range used {
			least, most, all := n, 0, len(a.Clos().Up(id))
			for _, k := range links {
				least, most = min(least, k), max(most, k)
			}
			if len(links) < all {
				least = 0
			}
			if most-least > 1 {
				t.Errorf("%d EVs: links of %s are used %v times", n, id, links)
			}
		}
	}
	many := assign(t, leafSpine(1, 16, 2, 1).clos(t), Format{Mode: ModeStructured})
	first := 0
	for i := range 16 {
		for j := range 16 {
			if i == j {
				continue
			}
			p := mustBuild(t, many, Request{Pair: Pair{attach(1, i+1), attach(1, j+1)}, Explicit: true,
				MaxEVs: 1})
			if r, err := many.Decode(attach(1, i+1)[0], attach(1, j+1)[0], p.EVs[0].Value); err == nil &&
				r.Hops[0].Links[0].Remote == "spine1-01" {
				first++
			}
		}
	}
	if first < 80 || first > 160 {
		t.Errorf("%d of 240 pairs choose the first of two spines", first)
	}
}

func ones(mask uint32) int { return bits.OnesCount32(mask) }

// TestBitsOfTemplates: the bits of an EV go to the bits of a template's mask, from the least
// significant on, wherever the mask bits are. The mask of an assignment's template has no bits in
// the block.
func TestBitsOfTemplates(t *testing.T) {
	for _, c := range []struct {
		mask, address string
		ev            uint64
		bits          int
	}{
		{"ff00::", "ab00::", 0xab, 8}, {"::ff", "::ab", 0xab, 8}, {"8000::1", "8000::", 2, 2},
		{"8000::1", "::1", 1, 2}, {"::f0f", "::a05", 0xa5, 8}, {"::8000:0:0:0", "::8000:0:0:0", 1, 1},
	} {
		m := Template{Data: netip.IPv6Unspecified(), Mask: netip.MustParseAddr(c.mask)}
		a := netip.MustParseAddr(c.address)
		if ev, ok := m.EV(a); m.Address(c.ev) != a || ev != c.ev || !ok || m.Bits() != c.bits {
			t.Errorf("mask %s: %v of %#x, %#x of %s; %d bits", c.mask, m.Address(c.ev), c.ev, ev, c.address,
				m.Bits())
		}
		if _, ok := m.EV(netip.MustParseAddr("::40")); ok && c.mask != "::ff" {
			t.Errorf("mask %s makes an address that it does not have", c.mask)
		}
	}
	a := assign(t, leafSpine(1, 2, 2, 1).clos(t), Format{Mode: ModeUSIDStructured, Block: block32})
	m, err := a.Template(Pair{attach(1, 1), attach(1, 2)})
	if err != nil || m.Bits() != 4+14+4 || !block32.Contains(m.Data) || m.Mask.As16()[3] != 0 {
		t.Errorf("data %v, mask %v, %d bits, %v; want those of three planes and an index", m.Data, m.Mask,
			m.Bits(), err)
	}
	leaf, _ := assign(t, a.Clos(), Format{Mode: ModeF3216}).Switch("leaf1-01")
	if !slices.ContainsFunc(leaf.USIDs, func(u LocalUSID) bool {
		return u.USID == TableUSID && u.Behavior == packet.UDT6
	}) {
		t.Errorf("a leaf has the uSIDs %+v, and none to take the outer headers off", leaf.USIDs)
	}
}
