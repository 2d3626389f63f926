package multicast

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/multicast/tree"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/controller/resource"
)

// TestNewTargetWaits: while the switch of the source is between two trees a new target waits, and
// the removal of the group does not.
func TestNewTargetWaits(t *testing.T) {
	for p := steady; p <= cleaning; p++ {
		for _, removal := range []bool{false, true} {
			for _, busy := range []bool{false, true} {
				d := newDesk(t)
				g := d.typed("s1", "r1", "r3")
				old := g.target
				other := *old
				target := &other
				if removal {
					target = nil
				}
				g.phase, g.queued = p, old
				if busy {
					d.busy(old.Nodes[0].Switch, g)
				}
				d.writes()
				d.aim(g, target)
				waits := p == switching && !removal && busy
				if waits && (g.target != old || g.queued != target || g.phase != switching) ||
					!waits && (g.target != target || g.queued != nil) {
					t.Errorf("%v, removal %v, busy %v: target the new one %v, queued %v, %v", p, removal, busy,
						g.target == target, g.queued != nil, g.phase)
				}
				if _, looked := d.status[g.index]; !d.saved(g) || !looked {
					t.Errorf("%v, removal %v, busy %v: not saved, or its status is not looked at: %v", p,
						removal, busy, looked)
				}
			}
		}
	}
}

// TestBetweenTrees: a connected, unfinished source switch is between two trees. This applies to the
// source switch of the new tree and of the old tree with data.
func TestBetweenTrees(t *testing.T) {
	for _, c := range []struct {
		busy, away string
		want       bool
	}{
		{"", "", true}, {"n6", "", false}, {"n6", "n6", true}, {"n3", "", false}, {"n3", "n3", true},
		{"n3", "n6", false}, {"n1", "", true},
	} {
		d := newDesk(t)
		g := d.typed("s1", "r1")
		g.oldData = &tree.Placement{Nodes: []tree.PlacedNode{{Switch: "n3"}}}
		if c.busy != "" {
			d.busy(c.busy, g)
		}
		if c.away != "" {
			d.away(c.away)
		}
		if got := d.switched(g); got != c.want {
			t.Errorf("busy %q, away %q: switched %v, want %v", c.busy, c.away, got, c.want)
		}
		if g.target, g.oldData = nil, nil; !d.switched(g) {
			t.Error("no tree, and a switch is between two")
		}
	}
}

// slow is an underlay with one switch that is not ready.
type slow struct {
	ready
	sw string
}

func (s slow) Ready(sw string) bool { return sw != s.sw }

// TestPhaseEnds: a phase ends when each connected switch has finished the phase. Until the old tree
// is left, the controller also waits for disconnected switches that the target needs. The phase
// making also waits for the underlay of the target's switches.
func TestPhaseEnds(t *testing.T) {
	const inTree, left = "n1", "n3"
	late := func(p phase) bool { return p == draining || p == cleaning }
	for what, c := range map[string]struct {
		before func(*desk, *group)
		want   func(phase) bool
	}{
		"nothing left to do": {func(*desk, *group) {}, func(phase) bool { return true }},
		"a switch of the target is busy": {func(d *desk, g *group) { d.busy(inTree, g) },
			func(phase) bool { return false }},
		"a switch that is left is busy": {func(d *desk, g *group) { d.busy(left, g) },
			func(phase) bool { return false }},
		"a switch of the target is away": {func(d *desk, _ *group) { d.away(inTree) }, late},
		"a switch that is left is away": {func(d *desk, g *group) { d.away(left) },
			func(phase) bool { return true }},
		"a switch of the target is not ready": {func(d *desk,
			_ *group) {
			d.env.Underlay = slow{sw: inTree}
		},
			func(p phase) bool { return p != making }},
		"a switch that is left is not ready": {func(d *desk,
			_ *group) {
			d.env.Underlay = slow{sw: left}
		},
			func(phase) bool { return true }},
		"packets are on their way": {func(d *desk, g *group) { g.drained = d.env.Now + 1 },
			func(p phase) bool { return p != draining }},
		"no packets are on their way": {func(d *desk, g *group) { g.drained = d.env.Now },
			func(phase) bool { return true }},
	} {
		d := newDesk(t)
		g := d.typed("s1", "r1")
		if g.target.Node(inTree) == nil || g.target.Node(left) != nil {
			t.Fatalf("tree of %v", g.target.Switches())
		}
		g.touches[left] = true
		c.before(d, g)
		for g.phase = making; g.phase <= cleaning; g.phase++ {
			if got := d.finished(g); got != c.want(g.phase) {
				t.Errorf("%s: %v is over %v", what, g.phase, got)
			}
		}
	}
}

// TestDrain: what an old tree had stays in switches for the time of draining; a first tree has
// nothing to wait for.
func TestDrain(t *testing.T) {
	d := newDesk(t)
	d.inv().Intervals.Drain = api.Duration(7 * time.Second)
	if _, _, err := d.Groups().Put("typed", d.net.Spec(1, "s1", "r1", "r3"),
		resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	d.carry()
	g := d.groups["typed"]
	if g.phase != steady {
		t.Errorf("%v: a first tree has no packets on their way", g.phase)
	}
	old := g.target
	d.put(g, func(s *api.MulticastGroupSpec) { s.InitialPSN++ })
	d.carry()
	for _, c := range []struct {
		after time.Duration
		want  phase
		data  *tree.Placement
	}{{0, draining, old}, {7*time.Second - 1, draining, old}, {1, steady, nil}} {
		d.pass(c.after)
		if g.phase != c.want || g.oldData != c.data || g.installed == old {
			t.Errorf("%v later: %v, old data %v, installed the old tree: %v", c.after, g.phase,
				g.oldData != nil, g.installed == old)
		}
	}
}

// TestNextEpoch: a new epoch is above all epochs of the index, is the time in seconds if the time
// is higher, and differs from the previous epoch in the low 16 bits. The clock never gives one of
// the last 65,536 epochs, because the clock may be wrong. 0: no epoch is left.
func TestNextEpoch(t *testing.T) {
	const now, late = 1e9, 1<<32 - 1<<16
	for _, c := range []struct {
		wall          int64
		highest, prev uint32
		want          uint32
	}{
		{now, 0, 0, now},
		{now, now - 1, 0, now},
		{now, now, 0, now + 1},
		{now, now + 5, 0, now + 6},
		{now, 0, now - 1<<16, now + 1},
		{now, 0, now - 1<<16 + 1, now},
		{late - 1, 5, 0, late - 1},
		{late, 5, 0, 6},
		{late + 1, 5, 0, 6},
		{now, lastEpoch - 1, 0, lastEpoch},
		{now, lastEpoch - 1, lastEpoch - 1<<16, 0},
		{now, lastEpoch, 0, 0},
	} {
		d := newDesk(t)
		d.env.Start = time.Unix(c.wall, 0).Add(-d.env.Now)
		d.epochs[1] = c.highest
		if got := d.nextEpoch(1, &tree.Placement{Epoch: c.prev}); got != c.want {
			t.Errorf("at %d, after %d, the tree has %d: %d, want %d", c.wall, c.highest, c.prev, got, c.want)
		}
	}
	d := newDesk(t)
	d.env.Start = time.Unix(now, 0).Add(-d.env.Now)
	if got := d.nextEpoch(1, nil); got != now {
		t.Errorf("without a tree: %d, want %d", got, uint32(now))
	}
}

// TestEpochIsTaken: an index whose epochs are used up takes no other than the last, which a tree
// may keep.
func TestEpochIsTaken(t *testing.T) {
	for _, c := range []struct {
		highest, epoch, after uint32
		ok                    bool
	}{
		{5, 0, 5, false}, {5, 6, 6, true}, {5, 4, 5, true}, {lastEpoch - 1, lastEpoch, lastEpoch, true},
		{lastEpoch, lastEpoch, lastEpoch, true}, {lastEpoch, lastEpoch - 1, lastEpoch, false},
		{lastEpoch, 0, lastEpoch, false},
	} {
		d := newDesk(t)
		g := d.typed("s1", "r1")
		d.epochs[g.index] = c.highest
		err := d.takeEpoch(g, &tree.Placement{Epoch: c.epoch})
		if (err == nil) != c.ok || d.epochs[g.index] != c.after {
			t.Errorf("epoch %d after %d: error %v, the highest is %d", c.epoch, c.highest, err,
				d.epochs[g.index])
		}
	}
}

// TestRaise: a group continues in a new epoch with the same tree. If no epoch is left, the group
// does not change.
func TestRaise(t *testing.T) {
	d := newDesk(t)
	g := d.typed("s1", "r1", "r3")
	was := *g.target
	d.raise(g)
	now := *g.target
	if now.Epoch <= was.Epoch || d.epochs[g.index] != now.Epoch {
		t.Errorf("epoch %d after %d, noted %d", now.Epoch, was.Epoch, d.epochs[g.index])
	}
	if now.Turn != was.Turn || now.Cost != was.Cost || len(now.Nodes) != len(was.Nodes) {
		t.Errorf("tree %+v, was %+v", now, was)
	}
	d.pass(time.Minute)
	target := g.target
	d.epochs[g.index] = lastEpoch
	d.raise(g)
	d.Report()
	c := g.condition(api.Accepted)
	if g.target != target || g.queued != nil || c.Status ||
		c.Reason != feature.Reason(api.CodeNotPlannable) ||
		!strings.Contains(c.Message, "used up") {
		t.Errorf("no epoch is left: another tree %v, %+v", g.target != target, c)
	}
}

// TestProxyInUse: a proxy address is in use until no switch holds a tree with it any more.
func TestProxyInUse(t *testing.T) {
	d := newDesk(t)
	g := d.typed("s1", "r1", "r3")
	first := g.item.Spec.ProxyAddress
	second := netip.MustParseAddr("2001:db8:ffff::77")
	check := func(when string, want ...bool) {
		t.Helper()
		for i, a := range []netip.Addr{first, second, d.net.Address("s1")} {
			if got := d.IsProxy(a); got != want[i] {
				t.Errorf("%s: %v is in use %v", when, a, got)
			}
		}
	}
	check("made", true, false, false)
	d.put(g, func(s *api.MulticastGroupSpec) { s.ProxyAddress = second })
	d.carry()
	check("while the old tree is left", true, true, false)
	d.pass(time.Minute)
	check("changed", false, true, false)
	d.away("n1")
	if err := d.Groups().Delete("typed", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	check("deleted", false, true, false)
	d.refuse = map[string]int{"n2": 99}
	d.pass(time.Minute)
	if d.groups["typed"] != g || d.byIndex[g.index] != g {
		t.Error("a group is forgotten that a switch holds")
	}
	d.refuse = nil
	d.pass(2 * time.Hour)
	d.pass(time.Minute)
	if check("gone", false, false, false); len(d.groups) != 0 {
		t.Errorf("gone: groups %v", d.groups)
	}
}

// TestHighestEpoch: the highest epoch counts all trees of a group in use.
func TestHighestEpoch(t *testing.T) {
	p := func(epoch uint32) *tree.Placement { return &tree.Placement{Epoch: epoch} }
	for i, c := range []change{{target: p(9), resp: p(3), data: p(3)}, {target: p(3), oldResp: p(9)},
		{target: p(3), data: p(9)}, {oldData: p(9)}, {resp: p(9), oldData: p(4)}} {
		g := newGroup("g", 1)
		if g.change = c; g.highestEpoch() != 9 {
			t.Errorf("change %d: epoch %d, want 9", i, g.highestEpoch())
		}
	}
	g := newGroup("g", 1)
	g.target = p(3)
	g.queued = p(9)
	if g.highestEpoch() != 9 {
		t.Errorf("queued: epoch %d, want 9", g.highestEpoch())
	}
	if g = newGroup("g", 1); g.highestEpoch() != 0 || len(g.placements()) != 0 {
		t.Error("a group without a tree has an epoch")
	}
}

// TestWrote: an epoch in a switch belongs to a group if the controller wrote the epoch, or a higher
// epoch, to the switch. An earlier controller may have written the epoch of a record.
func TestWrote(t *testing.T) {
	g := newGroup("g", 1)
	g.target = &tree.Placement{Epoch: 20}
	g.note("n1", 10)
	g.note("n1", 8)
	for _, c := range []struct {
		sw     string
		epoch  uint32
		loaded bool
		want   bool
	}{
		{"n1", 9, false, true}, {"n1", 10, false, true}, {"n1", 11, false, false}, {"n2", 9, false,
			false},
		{"n2", 20, false, false}, {"n2", 20, true, true}, {"n2", 21, true, false}, {"n2", 19, true,
			false},
	} {
		if g.loaded = c.loaded; g.wrote(c.sw, c.epoch) != c.want {
			t.Errorf("%+v: %v", c, !c.want)
		}
	}
}

// TestTouchesWhatItLeaves: a group touches a switch outside the tree until the controller knows
// that the switch holds no entries of the group.
func TestTouchesWhatItLeaves(t *testing.T) {
	const sw = "n3"
	for what, c := range map[string]struct {
		before func(*desk, *group)
		want   bool
	}{
		"a switch that holds nothing of it": {func(*desk, *group) {}, false},
		"a switch that holds something of it": {func(d *desk, g *group) {
			d.env.Want.Set(sw, g.owner(), g.entities("n1"), nil)
			d.carry()
		}, true},
		"a switch that is away": {func(d *desk, g *group) {
			d.env.Want.Set(sw, g.owner(), g.entities("n1"), nil)
			d.away(sw)
		}, false},
		"a switch that is no more": {func(d *desk, _ *group) {
			d.events.SetSwitches(map[string]bool{"n1": true}, reconcile.Intervals{})
		}, false},
	} {
		d := newDesk(t)
		g := d.typed("s1", "r1")
		g.touches[sw] = true
		c.before(d, g)
		d.apply(g)
		if g.touches[sw] != c.want {
			t.Errorf("%s: touched %v, want %v", what, !c.want, c.want)
		}
	}
}

// TestLeaves: an acknowledgement may have become due when the target has the epoch of the
// responses before, and fewer branches at a switch that is in both.
func TestLeaves(t *testing.T) {
	at := func(epoch uint32, switches map[string][]uint8) *tree.Placement {
		p := &tree.Placement{Epoch: epoch}
		for _, sw := range []string{"n1", "n2"} {
			if branches, has := switches[sw]; has {
				n := tree.PlacedNode{Switch: sw}
				for _, i := range branches {
					n.Branches = append(n.Branches, tree.PlacedBranch{Index: i})
				}
				p.Nodes = append(p.Nodes, n)
			}
		}
		return p
	}
	both := map[string][]uint8{"n1": {0, 1}, "n2": {0, 1}}
	for what, c := range map[string]struct {
		target, old *tree.Placement
		want        bool
	}{
		"the group goes": {nil, at(1, both), false},
		"a first tree":   {at(1, both), nil, false},
		"no tree":        {nil, nil, false},
		"the same":       {at(1, both), at(1, both), false},
		"another epoch":  {at(2, map[string][]uint8{"n1": {0}}), at(1, both), false},
		"a branch less at the first": {at(1, map[string][]uint8{"n1": {1}, "n2": {0, 1}}), at(1, both),
			true},
		"a branch less at the second": {at(1, map[string][]uint8{"n1": {0, 1}, "n2": {0}}), at(1, both),
			true},
		"a switch less": {at(1, map[string][]uint8{"n2": {0, 1}}), at(1, both), false},
	} {
		if g := (&change{target: c.target, oldResp: c.old}); g.leaves() != c.want {
			t.Errorf("%s: %v", what, !c.want)
		}
	}
}

// TestMarkReady: when a switch has the entities that every group needs, the controller checks the
// groups that are being made on the switch.
func TestMarkReady(t *testing.T) {
	for p := steady; p <= cleaning; p++ {
		for _, touches := range []bool{false, true} {
			d := newDesk(t)
			g := d.typed("s1", "r1")
			g.phase = p
			if !touches {
				delete(g.touches, "n1")
			}
			clear(d.check)
			d.SwitchEvent("n1", feature.SwitchEvent{Kind: feature.Progress, Owner: -1})
			if _, looked := d.check[g.index]; looked != (p == making && touches) {
				t.Errorf("%v, touches %v: looked at %v", p, touches, looked)
			}
			clear(d.check)
			d.env.Underlay = slow{sw: "n1"}
			d.SwitchEvent("n1", feature.SwitchEvent{Kind: feature.Progress, Owner: -1})
			if len(d.check) != 0 {
				t.Errorf("%v: looked at, and the switch is not ready", p)
			}
		}
	}
}
