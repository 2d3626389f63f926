package multicast

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/multicast/tree"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/southbound/entry"
)

// reads makes the controller read switches that hold the tree of a group without a record.
func (d *desk) reads(p *tree.Placement, switches ...string) {
	d.Helper()
	for _, sw := range switches {
		var c entry.Contents
		for _, it := range p.Items(sw) {
			c.Entities = append(c.Entities, it.Entity)
		}
		d.away(sw)
		d.events.Connect(sw, c)
		d.SwitchEvent(sw, feature.SwitchEvent{Kind: feature.ReadBack, Contents: c})
	}
	d.carry()
}

// orphans counts those on a switch.
func (d *desk) orphans(sw string) (n int) {
	for range d.env.Switches.Orphans(sw) {
		n++
	}
	return n
}

// TestFrozen: the entities of an adopted group are frozen on switches, including the group of index
// 0. Entities shared by all groups are not frozen.
func TestFrozen(t *testing.T) {
	d := newDesk(t)
	for _, c := range []struct {
		owner   reconcile.Owner
		adopted bool
		want    bool
	}{{0, true, true}, {0, false, false}, {7, true, true}, {7, false, false}, {-1, true, false}} {
		clear(d.byIndex)
		g := newGroup("g", uint16(c.owner))
		g.adopted = c.adopted
		d.byIndex[g.index] = g
		if got := d.Frozen("n1", c.owner); got != c.want {
			t.Errorf("owner %d, adopted %v: frozen %v", c.owner, c.adopted, got)
		}
	}
	if clear(d.byIndex); d.Frozen("n1", 3) {
		t.Error("what no group has is frozen")
	}
}

// TestAdoptWithinLimits: a group takes over the orphans of its proxy address, those that a switch
// brings later too, but not at an index above the limit.
func TestAdoptWithinLimits(t *testing.T) {
	for _, c := range []struct {
		index   uint16
		limit   int
		adopted bool
	}{{5, 5, false}, {5, 6, true}, {0, 1, true}} {
		d := newDesk(t)
		d.inv().Limits.Groups = c.limit
		spec := d.net.Spec(1, "s1", "r1", "r3", "r4")
		p, err := tree.Place(d.env.Net, tree.Request{Name: "g", Group: c.index, Spec: &spec, Epoch: 9})
		if err != nil {
			t.Fatal(err)
		}
		switches := p.Switches()
		last := "n3" // of r4, which the group does not have any more
		switches = slices.DeleteFunc(switches, func(sw string) bool { return sw == last })
		spec.Receivers = spec.Receivers[:2]
		d.reads(p, switches...)
		if d.orphans(switches[0]) == 0 {
			t.Fatalf("index %d: %s has no orphans", c.index, switches[0])
		}
		if _, _, err := d.Groups().Put("g", spec, resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
		g := d.groups["g"]
		if (g.index == c.index) != c.adopted || (d.orphans(switches[0]) == 0) != c.adopted {
			t.Errorf("index %d, limit %d: index %d, %d orphans on %s", c.index, c.limit, g.index,
				d.orphans(switches[0]), switches[0])
		}
		d.reads(p, last)
		if n := d.orphans(last); (n == 0) != c.adopted {
			t.Errorf("index %d, limit %d: %d orphans on %s, which is read later", c.index, c.limit, n, last)
		}
	}
}

// TestAdoptedTurn: an adopted group keeps the turn of the tree in the switches if the group's tree
// is the same, otherwise takes the other turn. If both turns are in use, the group takes the turn
// of the tree that the group had.
func TestAdoptedTurn(t *testing.T) {
	for _, c := range []struct {
		inUse []uint8
		other bool // the tree in the switches is another one
		had   int  // the turn of the tree that the group had, -1 for none
		want  uint8
	}{
		{[]uint8{0}, false, -1, 0}, {[]uint8{1}, false, -1, 1}, {[]uint8{0}, true, -1, 1},
		{[]uint8{1}, true, -1, 0}, {nil, true, -1, 0}, {[]uint8{0, 1}, true, -1, 0},
		{[]uint8{0, 1}, true, 0, 0}, {[]uint8{0, 1}, true, 1, 1},
	} {
		d := newDesk(t)
		spec := d.net.Spec(1, "s1", "r1", "r3")
		var contents entry.Contents
		for _, turn := range c.inUse {
			there := spec
			if c.other {
				there = d.net.Spec(1, "s1", "r1", "r4")
			}
			p, err := tree.Place(d.env.Net, tree.Request{Name: "g", Group: 5, Spec: &there, Epoch: 9,
				Turn: turn})
			if err != nil {
				t.Fatal(err)
			}
			for _, sw := range p.Switches() {
				contents.Entities = contents.Entities[:0]
				for _, it := range p.Items(sw) {
					contents.Entities = append(contents.Entities, it.Entity)
				}
				for e := range d.env.Switches.Of(sw, 5).Owned() {
					contents.Entities = append(contents.Entities, e)
				}
				for e := range d.env.Switches.Of(sw, 5).Orphans() {
					contents.Entities = append(contents.Entities, e)
				}
				d.away(sw)
				d.events.Connect(sw, contents)
			}
		}
		r := tree.Request{Name: "g", Group: 5, Spec: &spec, Epoch: 9}
		if c.had >= 0 {
			r.Previous = &tree.Placement{Turn: uint8(c.had), Nodes: []tree.PlacedNode{{Switch: "n1"}}}
		}
		if got := d.turnBeside(newGroup("g", 5), r); got != c.want {
			t.Errorf("turns %v in use, another tree %v, had %d: turn %d, want %d", c.inUse, c.other, c.had,
				got, c.want)
		}
	}
}

// TestTurnOfAdopted: a group goes on with the turn of the tree that it adopts; one that adopts none
// begins in the first.
func TestTurnOfAdopted(t *testing.T) {
	for turn := range uint8(2) {
		d := newDesk(t)
		spec := d.net.Spec(1, "s1", "r1", "r3")
		p, err := tree.Place(d.env.Net, tree.Request{Name: "g", Group: 5, Spec: &spec, Epoch: 9,
			Turn: turn})
		if err != nil {
			t.Fatal(err)
		}
		d.reads(p, p.Switches()...)
		if g := d.typed("s1", "r1", "r3"); g.index != 5 || g.target.Turn != turn {
			t.Errorf("turn %d in the switches: index %d, turn %d", turn, g.index, g.target.Turn)
		}
	}
}

// TestAdoptedTreeGoes: the controller removes the remains of the adopted tree when the group's own
// tree carries data.
func TestAdoptedTreeGoes(t *testing.T) {
	d := newDesk(t)
	spec := d.net.Spec(1, "s1", "r1", "r4")
	p, err := tree.Place(d.env.Net, tree.Request{Name: "g", Group: 5, Spec: &spec, Epoch: 9})
	if err != nil {
		t.Fatal(err)
	}
	d.reads(p, p.Switches()...)
	g := d.typed("s1", "r1", "r3")
	d.pass(time.Minute)
	if g.index != 5 || g.adopted || d.Frozen("n3", 5) {
		t.Errorf("index %d, adopted %v", g.index, g.adopted)
	}
	for _, sw := range d.env.Switches.Switches() {
		if held, wanted := len(d.env.Switches.Held(sw)), len(d.env.Switches.Wanted(sw)); held != wanted {
			t.Errorf("%s holds %d entities, want %d", sw, held, wanted)
		}
	}
}

// TestWhichOrphans: if orphans with one proxy address exist at several indexes, a group continues
// at the index with the highest epoch. The group takes no index in use, no index without a free
// epoch, and no orphan with another address.
func TestWhichOrphans(t *testing.T) {
	d := newDesk(t)
	spec := d.net.Spec(1, "s1", "r1")
	for i, sw := range []string{"n1", "n4", "n6"} {
		p, err := tree.Place(d.env.Net, tree.Request{Name: "g", Group: uint16(3 + i), Spec: &spec,
			Epoch: 9})
		if err != nil {
			t.Fatal(err)
		}
		d.reads(p, sw)
	}
	if got := d.env.Switches.OrphanOwners(); !slices.Equal(got, []reconcile.Owner{3, 4, 5}) {
		t.Fatalf("orphans at %v", got)
	}
	for _, c := range []struct {
		epochs map[uint16]uint32
		used   []uint16
		want   uint16
		ok     bool
	}{
		{map[uint16]uint32{3: 7, 4: 9, 5: 8}, nil, 4, true},
		{map[uint16]uint32{3: 9, 4: 7, 5: 8}, nil, 3, true},
		{map[uint16]uint32{3: 7, 4: 8, 5: 9}, nil, 5, true},
		{map[uint16]uint32{3: 7, 4: 9, 5: 8}, []uint16{4}, 5, true},
		{map[uint16]uint32{3: 7, 4: lastEpoch, 5: 8}, nil, 5, true},
		{map[uint16]uint32{3: 7, 4: lastEpoch, 5: 8}, []uint16{3, 5}, 0, false},
	} {
		d.epochs = c.epochs
		clear(d.byIndex)
		for _, i := range c.used {
			d.byIndex[i] = newGroup("used", i)
		}
		index, ok := d.adoptable(spec.ProxyAddress)
		if index != c.want || ok != c.ok {
			t.Errorf("epochs %v, in use %v: index %d, %v; want %d, %v", c.epochs, c.used, index, ok, c.want,
				c.ok)
		}
		if _, ok := d.adoptable(d.net.Address("s1")); ok {
			t.Error("adoptable by another address")
		}
	}
}

// TestNames: the reconciler's questions about an owner concern the group with the same index,
// including index 0. An owner without a group has no name.
func TestNames(t *testing.T) {
	for _, index := range []uint16{0, 5} {
		d := newDesk(t)
		g := newGroup("g", index)
		g.item = d.typed("s1", "r1").item
		clear(d.byIndex)
		d.byIndex[index] = g
		o := g.owner()
		for p := steady; p <= cleaning; p++ {
			if g.phase = p; d.Moving(o) != (p != steady) {
				t.Errorf("index %d, %v: moving %v", index, p, d.Moving(o))
			}
		}
		if got := d.Object(o); got != "group g" {
			t.Errorf("index %d: %q", index, got)
		}
		if got := d.Removal(o); got != "its tree has changed" {
			t.Errorf("index %d: %q", index, got)
		}
		if g.item = nil; d.Removal(o) != "it was deleted" {
			t.Errorf("index %d, deleted: %q", index, d.Removal(o))
		}
		if clear(d.byIndex); d.Removal(o) != "it was deleted" || d.Moving(o) ||
			d.Object(o) != fmt.Sprintf("group of index %d", index) {
			t.Errorf("no group at %d: %q, %q, moving %v", index, d.Object(o), d.Removal(o), d.Moving(o))
		}
		if d.Object(-1) != "" || d.Removal(-1) != "" || d.Moving(-1) {
			t.Errorf("what belongs to all: %q, %q, moving %v", d.Object(-1), d.Removal(-1), d.Moving(-1))
		}
	}
}
