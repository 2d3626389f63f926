package ev

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/topology"
)

func containers(t testing.TB, addresses ...string) (v Value) {
	t.Helper()
	for i, s := range addresses {
		octets := netip.MustParseAddr(s).As16()
		copy(v[16*i:], octets[:])
	}
	return v
}

func TestDecodeRefuses(t *testing.T) {
	f := threeTiers(1, 2, 2, 2, 2)
	c := f.clos(t)
	stev := assign(t, c, Format{Mode: ModeStructured})
	one, srh := assign(t, c, Format{Mode: ModeF3216, Block: block32}),
		assign(t, c, Format{Mode: ModeSRH, Block: block32})
	wide := StructuredValue(0x40c00000)
	wide[4] = 1
	const src, dst = "leaf1-01-01", "leaf1-02-02"
	for _, x := range []struct {
		a        *Assignment
		src, dst topology.NodeID
		v        Value
		words    string
	}{
		{stev, src, dst, Value{}, "leaf1-01-01 has no link up for field value 0"},
		{stev, src, dst, StructuredValue(packet.EV(1) << 30),
			"agg1-01-01 has no link up for field value 0"},
		{stev, src, dst, wide, "40 bits, want at most 32"},
		{stev, "agg1-01-01", dst, Value{}, "agg1-01-01: node is not a leaf"},
		{stev, src, "x", Value{}, "x: node is not a leaf"},
		{one, src, dst, Value{}, "container ::, want one in block fc00:1::/32"},
		{one, src, dst, containers(t, "fc00:1::"), "no uSID in container fc00:1::"},
		{one, src, dst, containers(t, "fc00:1:e001:0:e000::"), "uSID 0xe000 after a 0"},
		{one, src, dst, containers(t, "fc00:1:e001::"), "it ends at leaf1-01-01"},
		{one, src, dst, containers(t, "fc00:1:e009:e000::"), "leaf1-01-01 has no link for uSID 0xe009"},
		{one, src, dst, containers(t, "fc00:1:e001:f001:e000::"),
			"agg1-01-01 has no link for uSID 0xf001"},
		{one, src, dst, containers(t, "fc00:1:9:e000::"),
			"leaf1-01-01 has no link to a switch of uSID 0x0009"},
		{one, src, dst, containers(t, "fc00:1:e001:9::"), "last uSID 0x0009"},
		{one, src, dst, containers(t, "fc00:1:e001:e001:e000::", "fc00:1:e000::"),
			"a second container fc00:1:e000::, want none in mode usid-f3216"},
		{srh, src, dst, containers(t, "fc00:1:e001::", "fc00:2:e000::"),
			"container fc00:2:e000::, want one in block"},
		{srh, src, dst, containers(t, "fc00:1:e001::", "fc00:1::"), "no uSID in container fc00:1::"},
		{srh, src, dst, containers(t, "fc00:1:e001::", "fc00:1:0:1::"), "uSID 0x0001 after a 0"},
	} {
		r, err := x.a.Decode(x.src, x.dst, x.v)
		if err == nil || !strings.Contains(err.Error(), x.words) {
			t.Errorf("%v: %+v, %v; want %q", x.v, r, err, x.words)
		}
		if !errors.Is(err, ErrNoSuchEV) && !errors.Is(err, topology.ErrNotLeaf) {
			t.Errorf("%v: %v is no ErrNoSuchEV", x.v, err)
		}
	}
}

// TestGreatestPort: with structured EVs ports up to 65,535 are numbers of links; what a wider field
// has beyond is none.
func TestGreatestPort(t *testing.T) {
	f := newFabric()
	spine := f.add("spine")
	for _, name := range []string{"leaf1", "leaf2"} {
		f.ports[topology.NodeID(name)] = 1<<16 - 2
		f.connect(f.leaf("%s", name), spine)
	}
	fields, err := packet.EVFields(20)
	if err != nil {
		t.Fatal(err)
	}
	c := f.clos(t)
	a := assign(t, c, Format{Mode: ModeStructured, Fields: fields})
	v, err := a.Encode("leaf1", append(c.Up("leaf1"), c.Down(spine)[1]), TableUSID)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := a.Decode("leaf1", "leaf2", v); err != nil || r.Hops[0].Value != 1<<16-1 {
		t.Errorf("%v: %+v, %v; want port 65,535 taken", v, r, err)
	}
	beyond, err := packet.EV(0).With(fields[0], 1<<17-1)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := a.Decode("leaf1", "leaf2", StructuredValue(beyond)); !errors.Is(err, ErrNoSuchEV) {
		t.Errorf("%v: %+v, %v; want no such EV", beyond, r, err)
	}
}

func TestEncodeRefuses(t *testing.T) {
	f := threeTiers(1, 2, 2, 2, 2)
	c := f.clos(t)
	stev, usid := assign(t, c, Format{Mode: ModeStructured}), assign(t, c, Format{Mode: ModeF3216})
	up, down := c.Up("leaf1-01-01")[0], c.Down("agg1-01-01")[1]
	again := c.Up("leaf1-01-02")[0]
	stranger := &topology.Link{ID: "x", Local: "leaf1-01-01", Remote: "y"}
	for _, x := range []struct {
		a     *Assignment
		links []*topology.Link
		words string
	}{
		{stev, []*topology.Link{down}, "does not start at leaf1-01-01"},
		{stev, []*topology.Link{up, down, again}, "want up and then down"},
		{stev, []*topology.Link{stranger}, "from tier 0 to 0"},
		{stev, []*topology.Link{up, down, {ID: "x", Local: down.Remote, Remote: up.Local}},
			"link 2, x, from tier 0 to 0"},
		{stev, []*topology.Link{{ID: "x", Local: "leaf1-01-01", Remote: "core1-01-01"}},
			"link 0, x, has no number"},
		{usid, []*topology.Link{stranger}, "has no uSID"},
	} {
		if v, err := x.a.Encode("leaf1-01-01", x.links, TableUSID); err == nil ||
			!strings.Contains(err.Error(), x.words) {
			t.Errorf("%v, %v; want %q", v, err, x.words)
		}
	}
}

// An EV that Decode takes leads from leaf to leaf, link by link, and the model of the switches
// agrees.
func FuzzDecode(f *testing.F) {
	fab := threeTiers(1, 2, 2, 2, 2)
	c := fab.clos(f)
	var all []*Assignment
	var models []*model
	for _, format := range allFormats {
		a := assign(f, c, format)
		all, models = append(all, a), append(models, newModel(a, func(int) int { return 0 }))
	}
	set, err := c.Paths("leaf1-01-01", "leaf1-02-02", 1)
	if err != nil {
		f.Fatal(err)
	}
	for i, a := range all {
		enc, err := a.Encoder(set)
		if err != nil {
			f.Fatal(err)
		}
		for ref := range set.All() {
			v := enc.Value(ref)
			f.Add(uint8(i), v[:])
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, octets []byte) {
		a, m := all[int(which)%len(all)], models[int(which)%len(all)]
		var v Value
		copy(v[:], octets)
		const src, dst = "leaf1-01-01", "leaf1-02-02"
		r, err := a.Decode(src, dst, v)
		if err != nil {
			return
		}
		at := topology.NodeID(src)
		for _, h := range r.Hops {
			for _, l := range h.Links {
				if l.Local != at {
					t.Fatalf("%v: link %s does not start at %s", v, l.ID, at)
				}
			}
			at = h.Links[0].Remote
		}
		if at != dst {
			t.Fatalf("%v ends at %s", v, at)
		}
		var ascent []*topology.Link
		if a.Format().Mode == ModeStructured {
			ascent, err = m.sendStructured(src, dst, v.Structured())
		} else {
			ascent, _, _, err = m.sendUSID(src, a.Format().Mode.USID(), v)
		}
		if err != nil || len(ascent) != len(r.Hops) {
			t.Fatalf("%v: Decode has %d hops, the switches take %d, %v", v, len(r.Hops), len(ascent), err)
		}
	})
}
