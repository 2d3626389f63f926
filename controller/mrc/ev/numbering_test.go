package ev

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// TestTemplateVectors: addresses that the first NIC with templates makes (system.json of
// github.com/microsoft/mrc-verbs-shim-lib). The two lower bits of its selectors are the port.
func TestTemplateVectors(t *testing.T) {
	for _, c := range []struct {
		data, mask string
		selectors  map[uint64]string
	}{
		{"2001:db8:0:101::", "0:0:70::", map[uint64]string{4: "2001:db8:10:101::",
			9: "2001:db8:20:101::", 14: "2001:db8:30:101::", 19: "2001:db8:40:101::"}},
		{"2001:db8:0:0:1:104::", "0:0:70:7003:70::", map[uint64]string{
			1156: "2001:db8:10:1000:11:104::", 1188: "2001:db8:10:1001:11:104::",
			2313: "2001:db8:20:2000:21:104::"}},
	} {
		tmpl := Template{netip.MustParseAddr(c.data), netip.MustParseAddr(c.mask)}
		for selector, want := range c.selectors {
			a := tmpl.Address(selector >> 2)
			back, ok := tmpl.EV(a)
			if a.String() != want || !ok || back != selector>>2 {
				t.Errorf("%d: %v, want %s; back %d, %t", selector, a, want, back<<2, ok)
			}
		}
		if _, ok := tmpl.EV(netip.MustParseAddr("2001:db8:1000::")); ok {
			t.Errorf("%v makes an address with other bits", tmpl)
		}
	}
}

// attachments are the leaves of hosts by number, a plane a port.
func attachments(c *topology.Clos) (out []Attachment) {
	leaves := make(map[int][]topology.NodeID)
	for _, n := range c.Leaves() {
		leaves[c.Plane(n.ID)] = append(leaves[c.Plane(n.ID)], n.ID)
	}
	for i := range leaves[1] {
		at := Attachment{}
		for p := 1; p <= c.Planes(); p++ {
			at = append(at, leaves[p][i])
		}
		out = append(out, at)
	}
	return out
}

// TestTemplates: in regular fabrics, address(template, EV) equals the uSIDs of the path for every
// pair and path; profiles hold these EVs, of few bits; and no uSID behind the active one is 0.
func TestTemplates(t *testing.T) {
	for _, seed := range seeds(t, 20) {
		r := rand.New(rand.NewPCG(seed, 7))
		planes := 1 + r.IntN(4)
		f := leafSpine(planes, 1+r.IntN(5), 1+r.IntN(6), 1+r.IntN(2))
		if r.IntN(2) == 0 {
			f = threeTiers(planes, 1+r.IntN(2), 1+r.IntN(3), 1+r.IntN(2), 1+r.IntN(3))
		}
		a := assign(t, f.clos(t), Format{Mode: ModeUSIDStructured})
		all := attachments(a.Clos())
		for _, src := range all {
			for _, dst := range all {
				pair := Pair{src, dst}
				tmpl, err := a.Template(pair)
				if err != nil {
					t.Fatalf("seed %d: %v: %v", seed, pair, err)
				}
				built, err := a.Build(Request{Name: "p", Pair: pair, Explicit: true, MaxEVs: 1000})
				if err != nil {
					t.Fatal(err)
				}
				checkTemplate(t, fmt.Sprintf("seed %d: %v", seed, pair), a, tmpl, built)
			}
		}
	}
}

func checkTemplate(t *testing.T, at string, a *Assignment, tmpl Template, b *Built) {
	t.Helper()
	p := b.Profile
	if p.Bits() != tmpl.Bits() || p.Bits() > 80 {
		t.Fatalf("%s: EVs of %d bits in the profile, %d in the template", at, p.Bits(), tmpl.Bits())
	}
	paths := 0
	for port, leaf := range b.Pair.Source {
		set, err := a.paths(leaf, b.Pair.Destination[port], uint8(port+1))
		if err != nil {
			t.Fatal(err)
		}
		enc, err := a.Encoder(set)
		if err != nil {
			t.Fatal(err)
		}
		for ref := range set.All() {
			paths++
			wire := enc.Value(ref)
			ev, ok := tmpl.EV(wire.Container())
			if !ok || tmpl.Address(ev) != wire.Container() {
				t.Fatalf("%s: path %v by EV %#x is %v", at, wire, ev, tmpl.Address(ev))
			}
			short, err := p.Shrink(hostapi.EV{Value: wire, Port: uint8(port + 1)})
			if err != nil || !p.Has(short) {
				t.Fatalf("%s: %v is not of the profile: %v", at, wire, err)
			}
			var number uint64
			for i := range p.Bits() {
				number = number<<1 | uint64(short.Value[i/8]>>(7-i%8)&1)
			}
			if number != ev {
				t.Fatalf("%s: the profile has EV %#x, and the template %#x", at, number, ev)
			}
			usids, err := a.usids(wire)
			if err != nil || len(usids) != a.usidsOf(set.Hops()) || slices.Contains(usids, 0) {
				t.Fatalf("%s: uSIDs %#x, %v", at, usids, err)
			}
		}
	}
	if paths == 0 {
		t.Fatalf("%s: no path", at)
	}
}

// TestGeneratedFromTemplate: within one plane the profile of a template is generated.
func TestGeneratedFromTemplate(t *testing.T) {
	a := assign(t, leafSpine(1, 3, 5, 1).clos(t), Format{Mode: ModeUSIDStructured})
	p := mustBuild(t, a, Request{Pair: Pair{Attachment{"leaf1-01"}, Attachment{"leaf1-03"}}})
	if p.Mode != hostapi.ModeGenerated || p.Count != 5 {
		t.Errorf("%v with %d EVs, want GEN with 5", p.Mode, p.Count)
	}
}

// TestRowDenial: a lost link up denies one EV, the same for all destinations of a row. A lost link
// down to a leaf denies one EV only for destinations at this leaf.
func TestRowDenial(t *testing.T) {
	f := leafSpine(2, 4, 3, 1)
	c := f.clos(t)
	a := assign(t, c, Format{Mode: ModeUSIDStructured})
	all := attachments(c)
	src := all[0]
	up := c.Up(src[1])[2]
	down := c.Down(up.Remote)[3]
	for name, loss := range map[string]*topology.Link{"up": up, "down": down} {
		lost := c.Lost(topology.Losses{Links: []topology.LinkID{loss.ID}})
		denied := make(map[hostapi.EV][]int)
		for i, dst := range all[1:] {
			out, err := mustBuilt(t, a, Request{Pair: Pair{src, dst}}).Under(lost)
			if err != nil {
				t.Fatal(err)
			}
			if len(out.Profile.Denied) > 1 {
				t.Errorf("%s: to %v: %v are denied, want one", name, dst, out.Profile.Denied)
			}
			for _, e := range out.Profile.Denied {
				denied[e] = append(denied[e], i+1)
			}
		}
		want := []int{1, 2, 3}
		if name == "down" {
			want = []int{3}
		}
		if len(denied) != 1 {
			t.Fatalf("%s: denied %v, want one EV for all destinations", name, denied)
		}
		for e, of := range denied {
			if !slices.Equal(of, want) || e.Port != 2 {
				t.Errorf("%s: %v of port %d is denied to %v, want %v", name, e, e.Port, of, want)
			}
		}
	}
}

// TestNumberingValidate: validation refuses a numbering that could give two switches one uSID, or a
// switch a local uSID, and reports the place.
func TestNumberingValidate(t *testing.T) {
	t0 := TierNumbers{PlaneShift: 4, PlaneBits: 3, IndexBits: 4}
	t1 := TierNumbers{Base: 0x0800, PlaneShift: 8, PlaneBits: 3, IndexBits: 8}
	for _, c := range []struct {
		tiers []TierNumbers
		want  string
	}{
		{[]TierNumbers{t0, t1}, ""},
		{[]TierNumbers{{IndexBits: 4}}, "numbering[0]: 0 b"},
		{[]TierNumbers{{PlaneShift: 4, PlaneBits: 1, IndexBits: 4}}, ""},
		{[]TierNumbers{{PlaneShift: 4, PlaneBits: 3}}, "numbering[0]: 3 bits for planes and 0 f"},
		{[]TierNumbers{{PlaneShift: 4, PlaneBits: 3, IndexBits: 1}}, ""},
		{[]TierNumbers{{PlaneShift: 13, PlaneBits: 1, IndexBits: 13}}, ""},
		{[]TierNumbers{{Base: 0x8000, PlaneShift: 13, PlaneBits: 1, IndexBits: 13}}, ""},
		{[]TierNumbers{{PlaneShift: 14, PlaneBits: 2, IndexBits: 4}}, ""}, // up to 0xC00F
		{[]TierNumbers{{PlaneShift: 13, PlaneBits: 3, IndexBits: 4}}, "numbering[0]: uSI"},
		{[]TierNumbers{{PlaneShift: 14, PlaneBits: 3, IndexBits: 4}}, "numbering[0]: a f"},
		{[]TierNumbers{{PlaneBits: 3, IndexShift: 12, IndexBits: 4}}, "numbering[0]: uSI"},
		{[]TierNumbers{{PlaneBits: 3, IndexShift: 13, IndexBits: 4}}, "numbering[0]: a f"},
		{[]TierNumbers{{PlaneShift: 3, PlaneBits: 3, IndexBits: 4}}, "numbering[0]: the"},
		{[]TierNumbers{{Base: 0x0011, PlaneShift: 4, PlaneBits: 3, IndexBits: 4}}, "numbering[0]: bas"},
		{[]TierNumbers{{PlaneShift: 12, PlaneBits: 4, IndexBits: 8}}, "numbering[0]: uSI"},
		{[]TierNumbers{t0, {PlaneShift: 8, PlaneBits: 3, IndexBits: 8}}, "numbering[1]: a s"},
	} {
		f := Format{Mode: ModeUSIDStructured, Numbering: c.tiers}
		err := f.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.tiers, err, c.want)
		}
	}
}

// TestNumbers: a switch gets, in order of preference, the locator's index, the previous index, the
// number at the end of the name, or a free index. All uSIDs differ, and encode tier and plane.
func TestNumbers(t *testing.T) {
	named := func(f *fabric, id topology.NodeID, name string, usid uint16) {
		n := topology.Node{ID: id, Name: name}
		if usid != 0 {
			n.Locators = []topology.Locator{{Prefix: netip.MustParsePrefix(
				fmt.Sprintf("fc00:1:%x::/48", usid))}}
		}
		f.SetNode(n)
	}
	f := leafSpine(2, 3, 2, 1)
	named(f, "leaf1-01", "P1-T0-7", 0)
	named(f, "leaf1-02", "P1-T0-7", 0)      // the same number: another one
	named(f, "leaf1-03", "P1-T0-9", 0x0405) // plane 1, index 5
	format := Format{Mode: ModeUSIDStructured, Block: block32}
	first := assign(t, f.clos(t), format)
	want := map[topology.NodeID]uint16{"leaf1-01": 0x0407, "leaf1-02": 0x0400, "leaf1-03": 0x0405,
		"leaf2-01": 0x0800, "spine1-01": 0x4400, "spine2-02": 0x4801}
	for id, usid := range want {
		if got, _ := first.Node(id); got != usid {
			t.Errorf("%s has uN %#04x, want %#04x", id, got, usid)
		}
	}
	// A lost switch keeps its number, and a new name changes no number.
	named(f, "leaf1-01", "P1-T0-1", 0)
	again, err := Assign(f.clos(t), format, Numbers{Previous: first})
	if err != nil {
		t.Fatal(err)
	}
	for id, usid := range want {
		if got, _ := again.Node(id); got != usid {
			t.Errorf("%s had uN %#04x, and has %#04x", id, usid, got)
		}
	}
	seen := make(map[uint16]bool)
	for _, n := range again.Clos().Nodes() {
		usid, ok := again.Node(n.ID)
		if !ok || usid == 0 || usid >= FirstLocal || seen[usid] {
			t.Errorf("%s has uN %#04x", n.ID, usid)
		}
		seen[usid] = true
	}
	for words, change := range map[string]func(*fabric){
		"want one of plane 1": func(f *fabric) { named(f, "leaf1-02", "x", 0x0802) },
		"that of x too": func(f *fabric) {
			named(f, "leaf1-02", "x", 0x0405)
			named(f, "leaf1-03", "", 0x0405)
		},
	} {
		f := leafSpine(2, 3, 2, 1)
		change(f)
		if _, err := Assign(f.clos(t), format, Numbers{}); err == nil ||
			!errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want %q", err, words)
		}
	}
	small := []TierNumbers{{PlaneShift: 2, PlaneBits: 1, IndexBits: 2},
		{Base: 0x100, PlaneShift: 2, PlaneBits: 1, IndexBits: 2}}
	for words, f := range map[string]*fabric{
		"plane 2 does not fit":        leafSpine(2, 3, 2, 1),
		"no index of 2 bits is left":  leafSpine(1, 5, 2, 1),
		"tier 2, and numbering has 2": threeTiers(1, 2, 2, 2, 2),
	} {
		_, err := Assign(f.clos(t), Format{Mode: ModeUSIDStructured, Numbering: small}, Numbers{})
		if !errors.Is(err, ErrNoRoom) || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want %q", err, words)
		}
	}
}

// TestStructuredBlock: locators that follow the numbering become the uNs of their switches.
func TestStructuredBlock(t *testing.T) {
	f := leafSpine(1, 2, 1, 1)
	locators := map[topology.NodeID]uint16{"leaf1-01": 0x0403, "leaf1-02": 0x0404, "spine1-01": 0x4400}
	for id, usid := range locators {
		f.SetNode(topology.Node{ID: id, Locators: []topology.Locator{{Prefix: netip.MustParsePrefix(
			fmt.Sprintf("fc00:9:%x::/48", usid))}}})
	}
	a := assign(t, f.clos(t), Format{Mode: ModeUSIDStructured})
	for id, usid := range locators {
		if got, _ := a.Node(id); got != usid || a.Format().Block.String() != "fc00:9::/32" {
			t.Errorf("%s has uN %#04x in %v, want %#04x", id, got, a.Format().Block, usid)
		}
	}
	f.SetNode(topology.Node{ID: "spine1-01", Locators: []topology.Locator{{
		Prefix: netip.MustParsePrefix("fc00:9:7::/48")}}})
	a = assign(t, f.clos(t), Format{Mode: ModeUSIDStructured})
	if a.Format().Block != DefaultBlock(ModeUSIDStructured) {
		t.Errorf("block %v of locators that are numbered otherwise", a.Format().Block)
	}
}

// TestWithoutTemplate: T0s of a host with different indexes have no template; their hosts hold EVs
// as they lie in packets.
func TestWithoutTemplate(t *testing.T) {
	a := assign(t, leafSpine(2, 3, 2, 1).clos(t), Format{Mode: ModeUSIDStructured})
	pair := Pair{Attachment{"leaf1-01", "leaf2-02"}, Attachment{"leaf1-03", "leaf2-03"}}
	if _, err := a.Template(pair); !errors.Is(err, ErrNoRoom) ||
		!strings.Contains(err.Error(), "want T0s of one index in all planes") {
		t.Errorf("%v", err)
	}
	p := mustBuild(t, a, Request{Pair: pair})
	if p.Mode != hostapi.ModeExplicit || p.Fields != nil || p.Count != 4 {
		t.Errorf("%v, fields %v, %d EVs", p.Mode, p.Fields, p.Count)
	}
	other := assign(t, leafSpine(2, 3, 2, 1).clos(t), Format{Mode: ModeF3216})
	if _, err := other.Template(pair); !errors.Is(err, ErrMalformed) {
		t.Errorf("mode usid-f3216: %v", err)
	}
}

// planesByGroup returns two leaves in both planes, with one spine for each plane; the
// administrative groups of links select the plane.
func planesByGroup(t *testing.T) *topology.Clos {
	t.Helper()
	f := leafSpine(1, 2, 2, 1)
	for _, l := range f.Build().Links {
		m := *l
		m.AdminGroup = 1
		if strings.Contains(string(l.ID), "spine1-02") {
			m.AdminGroup = 2
		}
		f.SetLink(m)
	}
	c, err := f.Build().Graph().Clos(topology.ClosRequest{Leaves: f.leaves,
		Planes: topology.PlanesByAdminGroup})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestLeavesOfSeveralPlanes: a T0 that is in several planes has no structured uSID; the number of
// plane 0 would be 0.
func TestLeavesOfSeveralPlanes(t *testing.T) {
	_, err := Assign(planesByGroup(t), Format{Mode: ModeUSIDStructured}, Numbers{})
	if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "it is in several planes") {
		t.Errorf("%v", err)
	}
}

// TestUSIDBounds: planes range from 1 to all ones, indexes from 0 to all ones.
func TestUSIDBounds(t *testing.T) {
	n := TierNumbers{Base: 0x4000, PlaneShift: 8, PlaneBits: 3, IndexShift: 0, IndexBits: 5}
	for _, c := range []struct {
		plane, index int
		want         uint16
		ok           bool
	}{
		{0, 0, 0, false}, {1, 0, 0x4100, true}, {7, 31, 0x471f, true}, {8, 0, 0, false},
		{1, -1, 0, false}, {1, 32, 0, false}, {-1, 3, 0, false},
	} {
		if got, ok := n.usid(c.plane, c.index); got != c.want || ok != c.ok {
			t.Errorf("plane %d, index %d: %#x, %v; want %#x, %v", c.plane, c.index, got, ok, c.want, c.ok)
		}
	}
}

// TestFieldOfZero: if some bits are 0 in all candidates, their field is always 0.
func TestFieldOfZero(t *testing.T) {
	b := building{lanes: []lane{{candidates: make([]candidate, 2)}}}
	if f, ok := b.rangeOf(3, 4); !ok || f != (hostapi.Field{Width: 4}) {
		t.Errorf("%+v, %v, want a field of four bits that is 0", f, ok)
	}
}
