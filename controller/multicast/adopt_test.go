package multicast

import (
	"slices"
	"testing"

	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/multicast/tree"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/southbound/entry"
)

// reads has switches be read that hold the tree of a group which no record explains.
func (d *desk) reads(p *tree.Placement, switches ...string) {
	d.Helper()
	for _, sw := range switches {
		var c entry.Contents
		for _, it := range p.Items(sw) {
			c.Entities = append(c.Entities, it.Entity)
		}
		d.events.Disconnect(sw, "of the test")
		d.SwitchEvent(sw, feature.SwitchEvent{Kind: feature.Disconnected})
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

// TestFrozen: what switches hold for an adopted group is frozen, also for the one of index 0; what
// belongs to all groups is not.
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
	const index = 5
	for _, c := range []struct {
		limit   int
		adopted bool
	}{{index, false}, {index + 1, true}} {
		d := newDesk(t)
		d.inv().Limits.Groups = c.limit
		spec := d.net.Spec(1, "s1", "r1", "r3", "r4")
		p, err := tree.Place(d.env.Net, tree.Request{Name: "g", Group: index, Spec: &spec, Epoch: 9})
		if err != nil {
			t.Fatal(err)
		}
		switches := p.Switches()
		last := "n3" // of r4, which the group does not have any more
		switches = slices.DeleteFunc(switches, func(sw string) bool { return sw == last })
		spec.Receivers = spec.Receivers[:2]
		d.reads(p, switches...)
		if d.orphans(switches[0]) == 0 {
			t.Fatalf("limit %d: %s has no orphans", c.limit, switches[0])
		}
		if _, _, err := d.Groups().Put("g", spec, resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
		g := d.groups["g"]
		if adopted := g.index == index; adopted != c.adopted || (d.orphans(switches[0]) == 0) != adopted {
			t.Errorf("limit %d: index %d, %d orphans on %s", c.limit, g.index, d.orphans(switches[0]),
				switches[0])
		}
		d.reads(p, last)
		if n := d.orphans(last); (n == 0) != c.adopted {
			t.Errorf("limit %d: %d orphans on %s, which is read later", c.limit, n, last)
		}
	}
}
