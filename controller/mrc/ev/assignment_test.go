package ev

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/topology"
)

// Table 9-2: fields of 10, 8 and 4 bits, one a tier; and what each switch is
// programmed with.
func TestSwitchStructured(t *testing.T) {
	fields, err := packet.EVFields(10, 8, 4)
	if err != nil {
		t.Fatal(err)
	}
	f := threeTiers(1, 2, 2, 2, 2)
	c := f.clos(t)
	a := assign(t, c, Format{Mode: ModeStructured, Fields: fields})
	for id, want := range map[topology.NodeID]string{
		"leaf1-01-01": "tier 0 {0 10} 1:agg1-01-01 2:agg1-01-02",
		"agg1-01-02":  "tier 1 {10 8} 3:core1-02-01 4:core1-02-02",
		"core1-02-01": "tier 2 {18 4}",
	} {
		sw, ok := a.Switch(id)
		got := fmt.Sprintf("tier %d", sw.Tier)
		if sw.HasField {
			got += fmt.Sprint(" ", sw.Field)
		}
		for _, v := range sw.Up {
			got += fmt.Sprintf(" %d:%s", v.Value, v.Link.Remote)
		}
		if !ok || got != want || sw.USIDs != nil {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	set, err := c.Paths("leaf1-01-01", "leaf1-02-01", 1)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for ref := range set.All() {
		v, err := a.Encode("leaf1-01-01", set.Links(ref), 0)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, v.String())
	}
	// 0000000001 00000011 ...: link 1, then 3 or 4; 0000000010 00000011: link 2.
	if want := []string{"0x0040c000", "0x00410000", "0x0080c000", "0x00810000"}; !slices.Equal(values,
		want) {
		t.Errorf("EVs %v, want %v", values, want)
	}
	if _, ok := a.Switch("nobody"); ok {
		t.Error("a switch that there is not")
	}
}

// Section 9.3.4: the short cuts of structured EVs need fewer fields, and those
// behind do not matter.
func TestStructuredShortCuts(t *testing.T) {
	f := threeTiers(1, 2, 2, 2, 2)
	c := f.clos(t)
	a := assign(t, c, Format{Mode: ModeStructured})
	m := newModel(a, func(int) int { return 0 })
	for _, want := range []struct {
		src, dst topology.NodeID
		hops     string
	}{
		{"leaf1-01-01", "leaf1-01-01", ""},
		{"leaf1-01-01", "leaf1-01-02", "agg1-01-02 leaf1-01-02"},
		{"leaf1-01-01", "leaf1-02-02", "agg1-01-02 core1-02-02 agg1-02-02 leaf1-02-02"},
	} {
		v := packet.EV(0)
		for tier, number := range []uint32{2, 4} {
			var err error
			if v, err = v.With(a.Format().Fields[tier], number); err != nil {
				t.Fatal(err)
			}
		}
		ascent, err := m.sendStructured(want.src, want.dst, v)
		if err != nil {
			t.Fatal(err)
		}
		route, err := a.Decode(want.src, want.dst, StructuredValue(v))
		if err != nil {
			t.Fatal(err)
		}
		var walked, decoded []string
		for _, l := range ascent {
			walked = append(walked, string(l.Remote))
		}
		for _, h := range route.Hops {
			decoded = append(decoded, string(h.Links[0].Remote))
		}
		if strings.Join(walked, " ") != want.hops || strings.Join(decoded, " ") != want.hops {
			t.Errorf("%s to %s: walked %v, decoded %v, want %s", want.src, want.dst, walked, decoded,
				want.hops)
		}
	}
}

// TestAppendStructured: AppendStructured gives the same structured EVs as encoding the paths
// between two leaves one by one, and one EV from a leaf to itself. In modes without structured EVs
// it gives no EVs.
func TestAppendStructured(t *testing.T) {
	c := threeTiers(1, 2, 2, 2, 2).clos(t)
	a, other := assign(t, c, Format{Mode: ModeStructured}), assign(t, c, Format{Mode: ModeF3216})
	for _, dst := range []topology.NodeID{"leaf1-01-01", "leaf1-01-02", "leaf1-02-02"} {
		set, err := c.Paths("leaf1-01-01", dst, 1)
		if err != nil {
			t.Fatal(err)
		}
		var want []packet.EV
		for ref := range set.All() {
			v, err := a.Encode("leaf1-01-01", set.Links(ref), TableUSID)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, v.Structured())
		}
		for _, x := range []struct {
			a    *Assignment
			want []packet.EV
		}{{a, want}, {other, nil}} {
			enc, err := x.a.Encoder(set)
			if err != nil {
				t.Fatal(err)
			}
			if got := enc.AppendStructured(nil); !slices.Equal(got, x.want) {
				t.Errorf("%v to %s: %v, want %v", x.a.Format().Mode, dst, got, x.want)
			}
		}
	}
}

// Section 9.3.5: the uSID stacks of the full path and the short cuts, by switches
// as in its examples and by links.
func TestUSIDStacks(t *testing.T) {
	f := threeTiers(1, 2, 2, 2, 2)
	c := f.clos(t)
	nodes, links := assign(t, c, Format{Mode: ModeF3216, Hops: HopNodes, Block: block32}),
		assign(t, c, Format{Mode: ModeF3216, Block: block32})
	wide, srh := assign(t, c, Format{Mode: ModeF1616, Block: netip.MustParsePrefix("fc00::/16")}),
		assign(t, c, Format{Mode: ModeSRH, Block: block32})
	// uN in the order of tiers: leaves 1 to 4, aggregation switches 5 to 8, cores 9 to 12.
	for _, want := range []struct {
		dst                     topology.NodeID
		nodes, links, wide, srh string
	}{
		{"leaf1-02-02", "fc00:1:1:5:9:7:4:e000", "fc00:1:e001:e003:e002:e002:e000:0",
			"fc00:e001:e003:e002:e002:e000:0:0", "fc00:1:e001:e003:e002:e002:0:0 fc00:1:e000:0:0:0:0:0"},
		{"leaf1-01-01", "fc00:1:1:e000:0:0:0:0", "fc00:1:e000:0:0:0:0:0", "fc00:e000:0:0:0:0:0:0",
			"fc00:1:e000:0:0:0:0:0"},
		{"leaf1-01-02", "fc00:1:1:5:2:e000:0:0", "fc00:1:e001:e002:e000:0:0:0",
			"fc00:e001:e002:e000:0:0:0:0", "fc00:1:e001:e002:0:0:0:0 fc00:1:e000:0:0:0:0:0"},
	} {
		set, err := c.Paths("leaf1-01-01", want.dst, 1)
		if err != nil {
			t.Fatal(err)
		}
		ref, _ := set.At(0)
		for a, text := range map[*Assignment]string{nodes: want.nodes, links: want.links, wide: want.wide,
			srh: want.srh} {
			v, err := a.Encode("leaf1-01-01", set.Links(ref), TableUSID)
			if err != nil {
				t.Fatal(err)
			}
			got := []netip.Addr{v.Container()}
			if segment, ok := v.Segment(); ok {
				got = append(got, segment)
			}
			var addresses []netip.Addr
			for s := range strings.SplitSeq(text, " ") {
				addresses = append(addresses, netip.MustParseAddr(s))
			}
			if !slices.Equal(got, addresses) {
				t.Errorf("%v to %s: %v, want %v", a.Format().Mode, want.dst, got, addresses)
			}
		}
	}
}

// Seven uSIDs and more need the second container.
func TestUSIDContainersOfALongPath(t *testing.T) {
	f := newFabric()
	f.leaf("a")
	before := topology.NodeID("a")
	for i := range 9 {
		n := f.add("n%d", i)
		f.connect(before, n)
		before = n
	}
	f.connect(before, f.leaf("z"))
	s := f.Build()
	c, err := s.Graph().Clos(topology.ClosRequest{Leaves: f.leaves})
	if err != nil {
		t.Fatal(err)
	}
	var path []*topology.Link
	for at := topology.NodeID("a"); at != "z"; at = path[len(path)-1].Remote {
		for _, l := range s.LinksFrom(at) {
			if len(path) == 0 || l.Remote != path[len(path)-1].Local {
				path = append(path, l)
				break
			}
		}
	}
	if len(path) != 10 {
		t.Fatalf("%d links from end to end", len(path))
	}
	for mode, refused := range map[Mode]string{ModeSRH: "", ModeF3216: "11 uSIDs, want at most 6",
		ModeF1616: "11 uSIDs, want at most 7"} {
		a, err := Assign(c, Format{Mode: mode}, Numbers{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := a.Encode("a", path, TableUSID)
		if refused != "" {
			if err == nil || !strings.Contains(err.Error(), refused) {
				t.Errorf("%v: %v, want %q", mode, err, refused)
			}
			_, err = a.Build(Request{Name: "p", Pair: Pair{Attachment{"a"}, Attachment{"z"}}})
			if err == nil || !strings.Contains(err.Error(), refused) {
				t.Errorf("%v: profile: %v, want %q", mode, err, refused)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		ascent, at, last, err := newModel(a, func(int) int { return 0 }).sendUSID("a", mode.USID(), v)
		if err != nil || at != "z" || last != TableUSID ||
			!slices.Equal(linkIDs(ascent), linkIDs(path)) {
			t.Errorf("arrives at %s with %#04x, %v", at, last, err)
		}
		route, err := a.Decode("a", "z", v)
		if err != nil || len(route.Hops) != 10 {
			t.Errorf("decoded: %v", err)
		}
	}
}

// The last uSID may be for one host of the leaf, with its outer headers or without.
func TestHostUSIDs(t *testing.T) {
	f := leafSpine(1, 2, 1, 1)
	a := assign(t, f.clos(t), Format{Mode: ModeF3216, Block: block32})
	keep, decap, err := a.HostUSIDs(7)
	if err != nil || keep.SID.String() != "fc00:1:e807::/48" || keep.Behavior != packet.UA ||
		decap.SID.String() != "fc00:1:f007::/48" || decap.Behavior != packet.UDX6 {
		t.Errorf("%+v, %+v, %v", keep, decap, err)
	}
	set, _ := a.Clos().Paths("leaf1-01", "leaf1-02", 1)
	ref, _ := set.At(0)
	for _, last := range []uint16{KeepUSID(7), DecapUSID(7), TableUSID} {
		v, err := a.Encode("leaf1-01", set.Links(ref), last)
		if err != nil {
			t.Fatal(err)
		}
		if route, err := a.Decode("leaf1-01", "leaf1-02", v); err != nil || route.Last != last {
			t.Errorf("last %#04x: %+v, %v", last, route, err)
		}
	}
	for _, port := range []uint16{0, 2048} {
		if _, _, err := a.HostUSIDs(port); err == nil || !strings.Contains(err.Error(), "1 to 2047") {
			t.Errorf("port %d: %v", port, err)
		}
	}
	if _, err := a.Encode("leaf1-01", set.Links(ref), 12); err == nil ||
		!strings.Contains(err.Error(), "last uSID 0x000c") {
		t.Errorf("a global uSID last: %v", err)
	}
}

// Every uA number means the same on all switches of a tier that are cabled alike,
// and no uSID of a switch means two things.
func TestUSIDsOfSwitches(t *testing.T) {
	f := threeTiers(2, 2, 2, 2, 2)
	c := f.clos(t)
	for _, rule := range []NumberRule{NumberByPort, NumberByOrder} {
		a, err := Assign(c, Format{Mode: ModeF3216, Block: block32}, Numbers{Rule: rule})
		if err != nil {
			t.Fatal(err)
		}
		byTier := map[int]string{}
		nodes := map[uint16]topology.NodeID{}
		for _, n := range c.Nodes() {
			sw, _ := a.Switch(n.ID)
			seen := map[uint16]bool{}
			uAs := ""
			for _, u := range sw.USIDs {
				if seen[u.USID] || !u.SID.IsValid() {
					t.Errorf("%s has uSID %#04x twice, or without a SID", n.ID, u.USID)
				}
				seen[u.USID] = true
				switch u.Behavior {
				case packet.UN:
					if other, taken := nodes[u.USID]; taken || u.USID >= FirstLocal {
						t.Errorf("uN %#04x of %s is that of %s, or local", u.USID, n.ID, other)
					}
					nodes[u.USID] = n.ID
				case packet.UA:
					uAs += fmt.Sprintf(" %#04x", u.USID)
				case packet.UDT6:
					if sw.Tier != 0 || u.USID != TableUSID {
						t.Errorf("%s of tier %d has uDT6 %#04x", n.ID, sw.Tier, u.USID)
					}
				}
			}
			if want, ok := byTier[sw.Tier]; ok && uAs != want {
				t.Errorf("%s has uAs%s, others of tier %d%s", n.ID, uAs, sw.Tier, want)
			}
			byTier[sw.Tier] = uAs
		}
	}
}

// Locators within one uSID block determine the block and each uN.
func TestUNFromLocators(t *testing.T) {
	f := leafSpine(1, 2, 2, 1)
	locator := func(id topology.NodeID, prefix string) {
		f.SetNode(topology.Node{ID: id,
			Locators: []topology.Locator{{Prefix: netip.MustParsePrefix(prefix)}}})
	}
	locator("leaf1-01", "5f00:7:10::/48")
	locator("leaf1-02", "5f00:7:11::/48")
	locator("spine1-01", "5f00:7:20::/48")
	locator("spine1-02", "5f00:7:21::/48")
	a := assign(t, f.clos(t), Format{Mode: ModeF3216})
	if usid, _ := a.Node("spine1-02"); usid != 0x21 || a.Format().Block.String() != "5f00:7::/32" {
		t.Errorf("uN %#04x in block %v, want 0x0021 in 5f00:7::/32", usid, a.Format().Block)
	}
	locator("spine1-02", "5f00:8:21::/48")
	a = assign(t, f.clos(t), Format{Mode: ModeF3216})
	if usid, _ := a.Node("spine1-02"); usid != 4 || a.Format().Block != DefaultBlock(ModeF3216) {
		t.Errorf("uN %#04x in block %v, want 0x0004 in the default one", usid, a.Format().Block)
	}
	locator("spine1-02", "5f00:7:20::/48")
	if _, err := Assign(f.clos(t), Format{Mode: ModeF3216}, Numbers{}); err == nil ||
		!strings.Contains(err.Error(), "uN 0x0020 of spine1-02: it is that of spine1-01 too") {
		t.Errorf("a locator twice: %v", err)
	}
}

// TestNumbersByOrderAreKept: with NumberByOrder, the loss of a link leaves all other numbers alone,
// and the link gets its number again when it comes back; new links take free numbers.
func TestNumbersByOrderAreKept(t *testing.T) {
	for _, format := range []Format{{Mode: ModeStructured}, {Mode: ModeF3216}} {
		f := leafSpine(1, 2, 4, 1)
		number := func(a *Assignment) map[topology.LinkID]uint16 {
			out := map[topology.LinkID]uint16{}
			for _, l := range a.snap.Links {
				if n, ok := a.Link(l.ID); ok {
					out[l.ID] = n
				}
			}
			return out
		}
		assignAfter := func(previous *Assignment) *Assignment {
			a, err := Assign(f.clos(t), format, Numbers{Rule: NumberByOrder, Previous: previous})
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		first := assignAfter(nil)
		all := number(first)
		links := slices.Clone(first.snap.Links)
		f.RemoveLink(links[0].ID)
		second := assignAfter(first)
		for id, n := range number(second) {
			if all[id] != n {
				t.Errorf("%v: %s had number %d, has %d after the loss of another", format.Mode, id, all[id], n)
			}
		}
		f.connect("leaf1-01", "spine1-02")
		third := assignAfter(second)
		for id, n := range number(third) {
			if old, ok := all[id]; ok && old != n || !ok && n < 3 {
				t.Errorf("%v: %s has number %d, had %d", format.Mode, id, n, old)
			}
		}
		f.SetLink(*links[0])
		back := number(assignAfter(third))
		for id, n := range all {
			if back[id] != n {
				t.Errorf("%v: %s had number %d, has %d when all are back", format.Mode, id, n, back[id])
			}
		}
	}
}

// TestNumbersByOrderOfTurnedLinks: with NumberByOrder, a turned link (the leaf is now at its other
// end) gets a number from the range of its new direction.
func TestNumbersByOrderOfTurnedLinks(t *testing.T) {
	f := newFabric()
	a, b, c := f.add("a"), f.add("b"), f.add("c")
	f.connect(a, b)
	f.connect(c, b)
	var previous *Assignment
	for _, leaves := range [][]topology.NodeID{{a, c}, {b}, {a, c}} {
		f.leaves = leaves
		clos := f.clos(t)
		next, err := Assign(clos, Format{Mode: ModeF3216}, Numbers{Rule: NumberByOrder,
			Previous: previous})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range next.snap.Links {
			from, _ := clos.Tier(l.Local)
			n, ok := next.Link(l.ID)
			if up := from == 0; !ok || up != (n < firstDown) || n == 0 {
				t.Errorf("leaves %v: %s has number %d, %v; up: %v", leaves, l.ID, n, ok, up)
			}
		}
		previous = next
	}
}

func TestAssignRefuses(t *testing.T) {
	link := func(f *fabric, change func(l *topology.Link)) *fabric {
		l := *f.Build().LinksFrom("leaf1-01")[0]
		change(&l)
		f.SetLink(l)
		return f
	}
	fields := func(widths ...int) Format {
		f, err := packet.EVFields(widths...)
		if err != nil {
			t.Fatal(err)
		}
		return Format{Mode: ModeStructured, Fields: f}
	}
	big := leafSpine(1, 1, 1, firstDown)
	tall := newFabric()
	for i, n := range []topology.NodeID{tall.leaf("n0"), tall.add("n1"), tall.add("n2"),
		tall.add("n3")} {
		if i > 0 {
			below := topology.NodeID(fmt.Sprintf("n%d", i-1))
			tall.SetLink(topology.Link{Local: below, Remote: n, LocalID: 65535, RemoteID: 1})
			tall.SetLink(topology.Link{Local: n, Remote: below, LocalID: 1, RemoteID: 65535})
		}
	}
	for _, c := range []struct {
		f      *fabric
		format Format
		rule   NumberRule
		words  string
	}{
		{leafSpine(1, 2, 4, 1), fields(2), NumberByPort, "fields[0]: 2 bits hold no number above 3"},
		{threeTiers(1, 2, 2, 2, 2), fields(8), NumberByPort, "fields: 1, want one for tier 1"},
		{link(leafSpine(1, 2, 2, 1), func(l *topology.Link) { l.LocalPort = 70000 }),
			Format{Mode: ModeStructured}, NumberByPort,
			"port 70000 of leaf1-01, want 1 to 65535, or links numbered by order"},
		{link(link(leafSpine(1, 2, 2, 1),
			func(l *topology.Link) { l.ID, l.LocalID, l.LocalPort = "", 0, 0 }),
			func(l *topology.Link) {
				*l = topology.Link{Local: l.Remote, Remote: l.Local, LocalID: l.RemoteID}
			}), Format{Mode: ModeF3216}, NumberByPort, "port 0 of leaf1-01, want 1 to 2047"},
		{link(leafSpine(1, 2, 2, 1), func(l *topology.Link) { l.LocalPort = 2048 }),
			Format{Mode: ModeF3216}, NumberByPort, "port 2048 of leaf1-01, want 1 to 2047"},
		{link(leafSpine(1, 2, 2, 1), func(l *topology.Link) { l.LocalPort = 2 }), Format{Mode: ModeF3216},
			NumberByPort, "port 2 of leaf1-01 is that of link"},
		{big, Format{Mode: ModeStructured}, NumberByOrder, "no number up to 1023 left at leaf1-01"},
		{leafSpine(1, 2, 2, 1), Format{Mode: modes}, NumberByPort, "mode:"},
		{tall, Format{Mode: ModeStructured}, NumberByPort,
			"fields: widths [16 16 16], 48 bits in all, want at most 32"},
	} {
		seen, err := c.f.Build().Graph().Clos(topology.ClosRequest{Leaves: c.f.leaves})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = Assign(seen, c.format, Numbers{Rule: c.rule}); err == nil ||
			!strings.Contains(err.Error(), c.words) {
			t.Errorf("%v, want %q", err, c.words)
		}
	}
}
