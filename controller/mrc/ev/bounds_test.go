package ev

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/topology"
)

// TestMostNumbers: by order and by port, links get numbers up to the last possible number, and keep
// them.
func TestMostNumbers(t *testing.T) {
	f := leafSpine(1, 1, 1, firstDown-1)
	c := f.clos(t)
	var previous *Assignment
	for range 2 {
		a, err := Assign(c, Format{Mode: ModeStructured},
			Numbers{Rule: NumberByOrder, Previous: previous})
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range a.Clos().Up("leaf1-01") {
			if n, ok := a.Link(l.ID); !ok || int(n) != i+1 {
				t.Fatalf("link %d has number %d", i, n)
			}
			if previous != nil && !previous.held[held{"leaf1-01", uint16(i + 1)}] {
				t.Fatalf("number %d is not held", i+1)
			}
		}
		if len(a.held) != firstDown-1 {
			t.Errorf("%d numbers are held", len(a.held))
		}
		previous = a
	}
	if n, ok := previous.Link("nowhere"); n != 0 || ok {
		t.Errorf("a link that there is not has number %d", n)
	}
	for port, ok := range map[uint32]bool{0xffff: true, 0x10000: false} {
		f := leafSpine(1, 2, 2, 1)
		l := *f.Build().LinksFrom("leaf1-01")[0]
		l.LocalPort = port
		f.SetLink(l)
		a, err := Assign(f.clos(t), Format{Mode: ModeStructured}, Numbers{})
		if (err == nil) != ok {
			t.Errorf("port %d: %v", port, err)
		}
		if err == nil && a.Format().Fields[0].Width != 16 {
			t.Errorf("port %d: fields %v", port, a.Format().Fields)
		}
	}
	for port, ok := range map[uint16]bool{0: false, 1: true, 2047: true, 2048: false} {
		if err := checkHostPort(port); (err == nil) != ok {
			t.Errorf("host port %d: %v", port, err)
		}
	}
	for n, ok := range map[int]bool{0: false, 1: true, 31: true, 32: false} {
		at := slices.Repeat(Attachment{"a"}, n)
		if err := at.validate(); (err == nil) != ok {
			t.Errorf("%d ports: %v", n, err)
		}
	}
}

// TestWidthsOfFields: a field is as wide as the greatest number of its tier requires. A configured
// width must suffice too.
func TestWidthsOfFields(t *testing.T) {
	for spines, want := range map[int]int{1: 1, 2: 2, 3: 2, 4: 3, 7: 3, 8: 4} {
		c := leafSpine(1, 2, spines, 1).clos(t)
		a := assign(t, c, Format{Mode: ModeStructured})
		if got := a.Format().Fields; len(got) != 1 || got[0] != (packet.EVField{Width: want}) {
			t.Errorf("%d spines: fields %v, want one of %d bits", spines, got, want)
		}
		for width := 1; width < 5; width++ {
			fields, _ := packet.EVFields(width)
			if _, err := Assign(c, Format{Mode: ModeStructured, Fields: fields}, Numbers{}); (err == nil) !=
				(width >= want) {
				t.Errorf("%d spines, a field of %d bits: %v", spines, width, err)
			}
		}
	}
	tall := newFabric()
	for i, n := range []topology.NodeID{tall.leaf("n0"), tall.add("n1"), tall.add("n2")} {
		if i > 0 {
			below := topology.NodeID(fmt.Sprintf("n%d", i-1))
			tall.SetLink(topology.Link{Local: below, Remote: n, LocalID: 65535, RemoteID: 1})
			tall.SetLink(topology.Link{Local: n, Remote: below, LocalID: 1, RemoteID: 65535})
		}
	}
	if _, err := Assign(tall.clos(t), Format{Mode: ModeStructured}, Numbers{}); err != nil {
		t.Errorf("two fields of 16 bits: %v", err)
	}
}

// TestNumbersInOrder: the entries for a switch come in the order of numbers, whatever the order of
// its neighbors.
func TestNumbersInOrder(t *testing.T) {
	f := newFabric()
	leaf := f.leaf("leaf")
	for i := range 5 {
		spine := f.add("spine%d", 9-i)
		f.connect(leaf, spine)
		f.connect(f.leaf("other%d", i), spine)
	}
	sw, _ := assign(t, f.clos(t), Format{Mode: ModeStructured}).Switch(leaf)
	for i, v := range sw.Up {
		if v.Value != uint32(i+1) || v.Link.LocalPort != v.Value {
			t.Errorf("value %d, by port %d, is in place %d", v.Value, v.Link.LocalPort, i)
		}
	}
}

// TestLocators: a locator 16 bits longer than the block is a uN if its uSID is below the local
// uSIDs; any other locator is no uN. A block counts only if all switches share it.
func TestLocators(t *testing.T) {
	a := &Assignment{format: Format{Mode: ModeF3216, Block: block32}}
	for _, c := range []struct {
		locators []string
		usid     uint16
		block    string
	}{
		{nil, 0, ""}, {[]string{"fc00:1:1::/48"}, 1, "fc00:1::/32"},
		{[]string{"fc00:1:dfff::/48"}, 0xdfff, "fc00:1::/32"},
		{[]string{"fc00:1:e000::/48"}, 0, "fc00:1::/32"}, {[]string{"fc00:1::/48"}, 0, "fc00:1::/32"},
		{[]string{"fc00:2:1::/48"}, 0, "fc00:2::/32"}, {[]string{"fc00:1:1::/64"}, 0, ""},
		{[]string{"fc00:1:1::/40"}, 0, ""},
		{[]string{"fc00:1:1::/64", "fc00:1:7::/48"}, 7, "fc00:1::/32"},
		{[]string{"fc00:1:e000::/48", "fc00:1:8::/48"}, 8, "fc00:1::/32"},
	} {
		n := &topology.Node{}
		for _, text := range c.locators {
			n.Locators = append(n.Locators, topology.Locator{Prefix: netip.MustParsePrefix(text)})
		}
		if got := a.locatorUSID(n); got != c.usid {
			t.Errorf("locators %v: uN %#x, want %#x", c.locators, got, c.usid)
		}
		if c.block == "" {
			c.block = DefaultBlock(ModeF3216).String()
		}
		if got := commonBlock(ModeF3216, []*topology.Node{n}); got.String() != c.block {
			t.Errorf("locators %v: block %v, want %s", c.locators, got, c.block)
		}
		if got := commonBlock(ModeF3216, []*topology.Node{n, {}}); got != DefaultBlock(ModeF3216) {
			t.Errorf("locators %v, and another without: block %v", c.locators, got)
		}
	}
	four := &topology.Node{
		Locators: []topology.Locator{{Prefix: netip.MustParsePrefix("192.0.2.1/32")}}}
	if got := commonBlock(ModeF1616, []*topology.Node{four}); got != DefaultBlock(ModeF1616) {
		t.Errorf("a locator of IPv4: block %v", got)
	}
}

// TestUNsAreKept: a switch keeps its uN unless the locator of another switch now claims the uN. A
// new switch gets the lowest free uN.
func TestUNsAreKept(t *testing.T) {
	f := leafSpine(1, 2, 2, 1)
	format := Format{Mode: ModeF3216, Block: block32}
	first := assign(t, f.clos(t), format)
	new1, new2 := f.leaf("leaf1-00"), f.add("spine1-00")
	f.connect(new1, "spine1-01")
	f.connect("leaf1-01", new2)
	f.SetNode(topology.Node{ID: new1, Locators: []topology.Locator{
		{Prefix: netip.MustParsePrefix("fc00:1:2::/48")}}}) // that of leaf1-02
	a, err := Assign(f.clos(t), format, Numbers{Previous: first})
	if err != nil {
		t.Fatal(err)
	}
	want := map[topology.NodeID]uint16{new1: 2, "leaf1-01": 1, "leaf1-02": 5, "spine1-01": 3,
		"spine1-02": 4, new2: 6}
	for id, n := range want {
		if got, ok := a.Node(id); !ok || got != n {
			t.Errorf("%s has uN %d, want %d", id, got, n)
		}
	}
	if n, ok := (*Assignment)(nil).known("leaf1-01"); n != 0 || ok {
		t.Errorf("known of nothing: %d", n)
	}
}

// TestParseNumbers: parsing a uSID of a tier returns the plane and index that made the uSID.
// Parsing any other uSID fails.
func TestParseNumbers(t *testing.T) {
	n := TierNumbers{Base: 0x4000, PlaneShift: 8, PlaneBits: 3, IndexShift: 2, IndexBits: 5}
	for plane := 1; plane < 8; plane++ {
		for index := range 32 {
			usid, ok := n.usid(plane, index)
			p, i, is := n.parse(usid)
			if want := 0x4000 + uint16(plane)*256 + uint16(index)*4; usid != want || !ok || !is ||
				p != plane || i != index {
				t.Fatalf("plane %d, index %d: %#x, parsed as %d, %d, %v", plane, index, usid, p, i, is)
			}
		}
	}
	for _, usid := range []uint16{0, 0x4000, 0x4004, 0x4801, 0xc100, 0x0100, 0x4102} {
		if p, i, ok := n.parse(usid); ok || usid != 0x4000 && usid != 0x4004 && (p != 0 || i != 0) {
			t.Errorf("%#x: plane %d, index %d", usid, p, i)
		}
	}
}

// TestLastNumber: the digits at the end of a name are its number.
func TestLastNumber(t *testing.T) {
	for name, want := range map[string]int{"": -1, "a": -1, "7": 7, "a7": 7, "a-07": 7, "a1b20": 20,
		"19b": -1, "x09": 9, "x/0": 0, "x:5": 5, "90": 90, "t1-99999999999999999999": -1} {
		got, ok := lastNumber(name)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %d, %v; want %d", name, got, ok, want)
		}
	}
}

// TestNumberingOfFewerTiers: Assign refuses a fabric with more tiers than the numbering, even if
// the switches have locators.
func TestNumberingOfFewerTiers(t *testing.T) {
	f := threeTiers(1, 2, 1, 1, 1)
	for i, n := range f.Build().Nodes {
		m := *n
		m.Locators = []topology.Locator{{Prefix: netip.MustParsePrefix(
			fmt.Sprintf("fc00:1:%x::/48", map[byte]int{'l': 0x400, 'a': 0x4400, 'c': 0x8400}[n.ID[0]]+i))}}
		f.SetNode(m)
	}
	_, err := Assign(f.clos(t), Format{Mode: ModeUSIDStructured, Numbering: DefaultNumbering()[:2]},
		Numbers{})
	if !errors.Is(err, ErrNoRoom) || !strings.Contains(err.Error(), "tier 2, and numbering has 2") {
		t.Errorf("%v", err)
	}
}

// TestPlanesOfPorts: a port is in the plane of its leaf. If the leaf is in several planes, the
// number of the port is the plane.
func TestPlanesOfPorts(t *testing.T) {
	c := planesByGroup(t)
	several := assign(t, c, Format{Mode: ModeStructured})
	one := assign(t, leafSpine(2, 2, 2, 1).clos(t), Format{Mode: ModeStructured})
	for _, x := range []struct {
		a    *Assignment
		leaf topology.NodeID
		port int
		want int // 0: an error
	}{
		{several, "leaf1-01", 0, 0}, {several, "leaf1-01", 1, 1}, {several, "leaf1-01", 2, 2},
		{several, "leaf1-01", 3, 0}, {several, "nobody", 1, 0}, {one, "leaf1-01", 7, 1},
		{one, "leaf2-02", 1, 2},
	} {
		got, err := x.a.planeOf(x.leaf, x.port)
		if got != x.want || (err == nil) != (x.want > 0) ||
			err != nil && !errors.Is(err, topology.ErrNotLeaf) {
			t.Errorf("port %d of %s: plane %d, %v; want %d", x.port, x.leaf, got, err, x.want)
		}
	}
	if m, err := ParseMode("no mode"); m != 0 || err == nil {
		t.Errorf("no mode: %v, %v", m, err)
	}
}
