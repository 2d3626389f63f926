package multicast

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/multicast/tree"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/southbound/entry"
)

// silent has no switch answer a question for a state.
func silent(string, entry.PacketOut) (in entry.PacketIn, answers bool) { return in, false }

// TestDeletedWhileAsked: a group may be deleted while it is asked for its state, by the controller
// or by a client.
func TestDeletedWhileAsked(t *testing.T) {
	for _, byClient := range []bool{false, true} {
		d := newDesk(t)
		g := d.typed("s1", "r1", "r3")
		g.item.Spec.EvictAfter = api.Duration(time.Minute)
		held := []entry.PacketIn{}
		d.state = func(sw string, p entry.PacketOut) (entry.PacketIn, bool) {
			held = append(held, entry.PacketIn{Reason: entry.StateAnswer, Group: p.Group, Branch: p.Branch})
			return silent(sw, p)
		}
		if byClient {
			if _, err := d.Query("typed"); err != nil {
				t.Fatal(err)
			}
			d.carry()
		} else {
			d.pass(d.inv().Intervals.Stall.D() - time.Second)
		}
		if len(held) == 0 {
			t.Fatal("nothing is asked")
		}
		d.env.Take()
		if err := d.Groups().Delete("typed", resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
		events, _ := d.env.Take()
		if len(events) != 1 || events[0].Type != api.EventGroupDeleted || events[0].Object != "typed" {
			t.Errorf("deleted: events %+v", events)
		}
		d.pass(time.Minute)
		events, answers := d.env.Take()
		if len(events) != 0 || len(answers) == 1 != byClient {
			t.Errorf("by a client %v: events %+v, %d answers", byClient, events, len(answers))
		}
	}
}

// TestQuestionEnds: a question gets its answer when all branches have answered, or at the timeout
// with the answers so far. After that, the question waits for no branch. Two questions at the same
// time each get an answer.
func TestQuestionEnds(t *testing.T) {
	d := newDesk(t)
	d.inv().Intervals.Stall = 0
	g := d.typed("s1", "r1", "r3")
	var open []entry.PacketIn
	var at []string
	d.state = func(sw string, p entry.PacketOut) (entry.PacketIn, bool) {
		open = append(open, entry.PacketIn{Reason: entry.StateAnswer, Group: p.Group, Branch: p.Branch,
			Valid: true, AckPSN: 0xffffff, CNPTotal: 9, LastKnown: true, LastPSN: 5, NAKPending: true,
			RNR:      true,
			RNRTimer: 3, Epoch: 8, MSN: 2, CNPCount: 1})
		at = append(at, sw)
		return silent(sw, p)
	}
	var got []*query
	timeout := d.inv().Intervals.StateTimeout.D()
	for range 2 {
		d.ask(g, whole, func(q *query) { got = append(got, q) })
		d.pass(timeout / 2)
	}
	if len(got) != 1 || got[0].report.Complete {
		t.Fatalf("%d answers after the time for one", len(got))
	}
	for key, of := range d.Feature.asked {
		if len(of) != 1 {
			t.Errorf("%v: %d wait, one time is over", key, len(of))
		}
	}
	for i := range len(open) / 2 {
		if len(got) != 1 {
			t.Errorf("answered after %d of %d branches", i, len(open)/2)
		}
		d.arrives(at[i], open[i])
		d.arrives(at[i], open[i]) // no one has asked
	}
	if len(got) != 2 || !got[1].report.Complete || len(d.Feature.asked) != 0 {
		t.Fatalf("%d answers, %d branches are waited for", len(got), len(d.Feature.asked))
	}
	d.pass(time.Minute)
	if len(got) != 2 {
		t.Errorf("%d answers, want 2", len(got))
	}
	r := got[1].report
	if r.Group != "typed" || r.Epoch != g.resp.Epoch || len(r.Nodes) != len(g.resp.Nodes) {
		t.Errorf("%+v", r)
	}
	timer := uint8(3)
	for i, n := range r.Nodes {
		placed := g.resp.Nodes[i]
		if n.Switch != placed.Switch || !n.Answered || n.CNPTotal != 9 || n.LastPSN != 5 ||
			len(n.Branches) != len(placed.Branches) {
			t.Errorf("%+v", n)
		}
		for j, b := range n.Branches {
			want := api.GroupBranchState{Index: placed.Branches[j].Index, Answered: true, Valid: true,
				Epoch: 8, AckPSN: 0xffffff, EPSN: 0, MSN: 2, CNPCount: 1, NAKPending: true, RNRTimer: &timer}
			if p := placed.Branches[j].Receiver; p != nil {
				want.Receiver = p.Address
			} else {
				want.Child = g.resp.Nodes[placed.Branches[j].Child].Switch
			}
			if !reflect.DeepEqual(b, want) {
				t.Errorf("%+v, want %+v", b, want)
			}
		}
	}
	for _, n := range got[0].report.Nodes {
		if n.Answered || n.LastPSN != -1 || slices.ContainsFunc(n.Branches,
			func(b api.GroupBranchState) bool {
				return b.Answered || b.AckPSN != -1 || b.EPSN != -1
			}) {
			t.Errorf("not answered: %+v", n)
		}
	}
	if _, err := d.Query("other"); err == nil {
		t.Error("a group that is not there is asked")
	}
}

// TestAskedAway: a query of a group whose switches are all disconnected gets an answer at once.
func TestAskedAway(t *testing.T) {
	d := newDesk(t)
	d.inv().Intervals.Stall = 0
	g := d.typed("s1", "r1")
	for _, sw := range g.target.Switches() {
		d.away(sw)
	}
	answered := false
	d.ask(g, whole, func(q *query) { answered = !q.report.Complete && len(q.report.Nodes) == 3 })
	if !answered {
		t.Error("not answered")
	}
}

// TestSamples: for each established group, the controller asks the switch of the source for one
// branch. The answer contains the state of each switch that answered, and marks the switches that
// did not answer.
func TestSamples(t *testing.T) {
	d := newDesk(t)
	d.inv().Intervals.Stall = 0
	a, b := d.typedAs("a", 1, "s1", "r1", "r3"), d.typedAs("b", 2, "r4", "r3", "s1")
	c, gone, none := d.typedAs("c", 3, "s1", "r1"), d.typedAs("gone", 4, "s1", "r1"),
		d.typedAs("none", 5, "s1", "r1")
	c.phase, gone.item = making, nil
	none.resp = &tree.Placement{}
	a.probe.receivers = []progress{{seen: 2}, {seen: 2}, {seen: 1}}
	d.state = func(_ string, p entry.PacketOut) (entry.PacketIn, bool) {
		return entry.PacketIn{LastKnown: true, LastPSN: 77, CNPTotal: 5, Valid: true}, p.Group == a.index
	}
	d.env.Take()
	d.asked = 0
	id := d.Samples()
	d.pass(d.inv().Intervals.StateTimeout.D() - 1)
	if _, answers := d.env.Take(); len(answers) != 0 {
		t.Errorf("answered %+v, and a switch has not", answers)
	}
	answered := d.env.Wall().Add(1 - d.inv().Intervals.StateTimeout.D())
	d.pass(1)
	_, answers := d.env.Take()
	want := []Sample{{Group: "a", Switch: "n6", Port: a.resp.Nodes[0].UpstreamPort, At: answered,
		PSN:   77,
		Epoch: a.resp.Epoch, CNPs: 5, Stalled: 2},
		{Group: "b", Switch: "n3", Port: b.resp.Nodes[0].UpstreamPort, PSN: -1, Epoch: b.resp.Epoch}}
	if len(answers) != 1 || answers[0].ID != id || !reflect.DeepEqual(answers[0].Value, want) {
		t.Errorf("%+v, want %+v", answers, want)
	}
	if d.asked != 2 {
		t.Errorf("%d questions, want one a group", d.asked)
	}
	id = newDesk(t).Samples()
	if id == 0 {
		t.Error("no id without groups")
	}
}

// TestWindow: the controller polls a switch once, one tick after the CNP window that the switch
// opened. The controller does not wait for a window of another epoch, or of a group without a tree
// on the switch.
func TestWindow(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*desk, *group, *entry.PacketIn) (sw string)
		want   bool
	}{
		"of the tree": {func(*desk, *group, *entry.PacketIn) string { return "n1" }, true},
		"of the last tree": {func(d *desk, g *group, _ *entry.PacketIn) string {
			p := *g.target
			p.Epoch++
			g.target = &p
			return "n1"
		}, true},
		"of the next tree": {func(d *desk, g *group, in *entry.PacketIn) string {
			p := *g.resp
			p.Epoch++
			g.target = &p
			in.Epoch = p.Epoch
			return "n1"
		}, true},
		"of a tree that goes": {func(_ *desk, g *group, _ *entry.PacketIn) string {
			g.target = nil
			return "n1"
		}, true},
		"of another epoch": {func(_ *desk, _ *group, in *entry.PacketIn) string {
			in.Epoch++
			return "n1"
		}, false},
		"of no tree": {func(_ *desk, g *group, _ *entry.PacketIn) string {
			g.target, g.resp = nil, nil
			return "n1"
		}, false},
		"of another switch": {func(*desk, *group, *entry.PacketIn) string { return "n3" }, false},
		"of no group": {func(_ *desk, _ *group, in *entry.PacketIn) string {
			in.Group++
			return "n1"
		}, false},
	} {
		d := newDesk(t)
		d.inv().Intervals.Stall = 0
		g := d.typed("s1", "r1")
		in := entry.PacketIn{Reason: entry.CNPWindow, Group: g.index, Epoch: g.target.Epoch}
		sw := c.change(d, g, &in)
		for range 2 {
			d.arrives(sw, in)
		}
		end := g.item.Spec.CNPWindow.D() + d.inv().Intervals.CNPTick.D()
		for _, step := range []time.Duration{end - 1, 1, end} {
			d.polled = nil
			d.pass(step)
			if got := slices.Equal(d.polled, []string{sw}); got != (c.want && step == 1) || !got &&
				len(d.polled) > 0 {
				t.Errorf("%s: polled %v in a step of %v", what, d.polled, step)
			}
		}
		if len(d.polls) != 0 {
			t.Errorf("%s: %v are waited for", what, d.polls)
		}
	}
}

// TestRemovalPolls: after a removal the switches of a tree are polled from the leaves up, one depth
// after the other.
func TestRemovalPolls(t *testing.T) {
	d := newDesk(t)
	d.inv().Intervals.Stall = 0
	d.inv().Intervals.PollGap = api.Duration(10 * time.Millisecond)
	g := d.typed("s1", "r1", "r2", "r3")
	d.put(g, func(s *api.MulticastGroupSpec) { s.Receivers = s.Receivers[:2] })
	order := slices.Clone(g.target.Switches()) // n6, n4, n1
	slices.Reverse(order)
	d.polled = nil
	d.carry()
	for i := range order {
		d.pass(0)
		if !slices.Equal(d.polled, order[:i+1]) {
			t.Errorf("after %d steps: polled %v of %v", i, d.polled, order)
		}
		d.pass(10*time.Millisecond - 1)
		if !slices.Equal(d.polled, order[:i+1]) {
			t.Errorf("before step %d: polled %v of %v", i+1, d.polled, order)
		}
		d.pass(1)
	}
}

// TestDistances: answers that come together are one; those half an interval apart are two.
func TestDistances(t *testing.T) {
	d := newDesk(t)
	g := d.typed("s1", "r1", "r3")
	d.inv().Intervals.Stall = api.Duration(10 * time.Second)
	a := g.item.Spec.Receivers
	begin := d.env.Now
	d.env.Take()
	for i, c := range []struct {
		after time.Duration
		seen  int
	}{{0, 1}, {5*time.Second - 1, 1}, {1, 2}, {4 * time.Second, 2}, {time.Second, 3}} {
		d.env.Now += c.after
		d.findStalls(g, &api.GroupState{Nodes: []api.GroupNodeState{{Branches: []api.GroupBranchState{
			{Receiver: a[0].Address, Answered: true, Valid: true, AckPSN: 5},
			{Receiver: a[1].Address, Answered: true, Valid: true, AckPSN: 9}}}}})
		events, _ := d.env.Take()
		if stalls := c.seen == 2 && c.after == 1; stalls != (len(events) == 1) {
			t.Errorf("answer %d: events %+v", i, events)
		}
		if r := g.probe.receivers; len(r) != 1 || r[0].seen != c.seen || r[0].since != begin ||
			!r[0].Since.Equal(d.env.Start.Add(begin)) {
			t.Errorf("answer %d: %+v, want seen %d times since %v", i, r, c.seen, begin)
		}
	}
}

// TestEvictGuests: of receivers that the spec does not name the last one stays too.
func TestEvictGuests(t *testing.T) {
	d := newDesk(t)
	d.inv().Intervals.Stall = 0
	g := d.group(1, fromS1)
	for _, host := range []string{"r1", "r3"} {
		d.joins(g, host, 50)
	}
	g.item.Spec.EvictAfter = api.Duration(time.Minute)
	d.env.Now += time.Hour
	for i, host := range []string{"r3", "r1"} {
		g.probe.receivers = []progress{{seen: 2, StalledReceiver: api.StalledReceiver{
			Address: d.net.Address(host)}}}
		d.evict(g)
		if len(g.evicted) != 1 || !g.evicted[d.net.Address("r3")] {
			t.Errorf("stall %d, of %s: evicted %v", i, host, g.evicted)
		}
		for _, a := range []string{"r1", "r3"} {
			if _, b := g.latest().FindReceiver(d.net.Address(a)); (b == nil) != (a == "r3") {
				t.Errorf("stall %d: %s is in the tree as %v", i, a, b)
			}
		}
	}
	clear(g.evicted)
	if g.item.Spec.EvictAfter = 0; g.probe.receivers[0].seen != 2 {
		t.Fatal("no stall")
	}
	d.evict(g)
	if len(g.evicted) != 0 {
		t.Errorf("a group without evictAfter evicts %v", g.evicted)
	}
}

// TestGroupsOn: an event of a switch concerns the groups that may have entries on the switch or
// will get entries. The controller forgets other groups.
func TestGroupsOn(t *testing.T) {
	for _, c := range []struct {
		sw      string
		touches bool
		is      bool // the group is there
		want    bool
	}{
		{"n1", true, true, true}, {"n1", false, true, true}, {"n3", true, true, true},
		{"n3", false, true, false}, {"n1", true, false, false},
	} {
		d := newDesk(t)
		g := d.typed("s1", "r1")
		d.noteOn(c.sw, g)
		if !c.touches {
			delete(g.touches, c.sw)
		}
		if !c.is {
			delete(d.byIndex, g.index)
		}
		clear(d.check)
		clear(d.status)
		d.SwitchEvent(c.sw, feature.SwitchEvent{Kind: feature.Disconnected})
		_, checked := d.check[g.index]
		_, looked := d.status[g.index]
		if checked != c.want || looked != c.want || d.on[c.sw][g.index] != c.want {
			t.Errorf("%+v: checked %v, status %v, noted %v", c, checked, looked, d.on[c.sw][g.index])
		}
	}
}
