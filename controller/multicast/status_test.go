package multicast

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/multicast/member"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/rdmacm"
	"github.com/weft-sdn/weft/packet/cm"
	"github.com/weft-sdn/weft/southbound/entry"
)

// typed makes a group of hosts that the spec names.
func (d *desk) typed(source string, receivers ...string) *group {
	d.Helper()
	return d.typedAs("typed", 1, source, receivers...)
}

// typedAs makes the i-th group of hosts that the spec names.
func (d *desk) typedAs(name string, i int, source string, receivers ...string) *group {
	d.Helper()
	if _, _, err := d.Groups().Put(name, d.net.Spec(i, source, receivers...),
		resource.Precondition{}); err != nil {
		d.Fatal(err)
	}
	d.pass(time.Second)
	return d.groups[name]
}

// condition is one of a group.
func (g *group) condition(kind api.ConditionType) api.Condition {
	i := slices.IndexFunc(g.status.Conditions, func(c api.Condition) bool { return c.Type == kind })
	return g.status.Conditions[i]
}

// TestGroupNamesWhatItWaitsFor: the conditions of a group name the disconnected switches of the
// tree, in natural order.
func TestGroupNamesWhatItWaitsFor(t *testing.T) {
	d := newDesk(t)
	g := d.typed("s1", "r1", "r3", "r4")
	if c := g.condition(api.Programmed); !c.Status {
		t.Fatalf("%+v", c)
	}
	order := g.target.Switches()
	away := slices.Clone(order)
	slices.Sort(away) // n1 to n9
	if slices.Equal(order, away) {
		t.Fatalf("the tree has its switches in natural order, %v: it shows nothing", order)
	}
	for _, sw := range away {
		d.away(sw)
	}
	d.pass(time.Second)
	for kind, message := range map[api.ConditionType]string{
		api.Programmed: "waiting for " + feature.Names(away), api.Degraded: feature.Names(away)} {
		if c := g.condition(kind); c.Message != message || c.Reason != api.ReasonDisconnected ||
			c.Status != (kind == api.Degraded) {
			t.Errorf("%s: %+v, want %q", kind, c, message)
		}
	}
}

// TestOneSwitchIsAway: one switch that is not connected is waited for.
func TestOneSwitchIsAway(t *testing.T) {
	d := newDesk(t)
	g := d.typed("s1", "r1", "r3", "r4")
	d.away("n1")
	d.pass(time.Second)
	for kind, message := range map[api.ConditionType]string{
		api.Programmed: "waiting for n1", api.Degraded: "n1"} {
		if c := g.condition(kind); c.Message != message || c.Reason != api.ReasonDisconnected {
			t.Errorf("%s: %+v, want %q", kind, c, message)
		}
	}
}

// TestReceiverIsTakenIn: a receiver of a spec counts as programmed if the last complete tree
// contains the receiver with the same queue pair and first PSN.
func TestReceiverIsTakenIn(t *testing.T) {
	d := newDesk(t)
	g := d.typed("s1", "r1", "r3")
	first := g.item.Spec.InitialPSN
	other := first + 1
	for what, c := range map[string]struct {
		change func(*api.GroupReceiver)
		want   bool
	}{
		"as it is":           {func(*api.GroupReceiver) {}, true},
		"another queue pair": {func(r *api.GroupReceiver) { r.QPN++ }, false},
		"another begin":      {func(r *api.GroupReceiver) { r.StartPSN = &other }, false},
		"the same begin":     {func(r *api.GroupReceiver) { r.StartPSN = &first }, true},
		"another first PSN":  {func(r *api.GroupReceiver) { r.PSN = &other }, false},
		"another host":       {func(r *api.GroupReceiver) { r.Address = d.net.Address("r4") }, false},
	} {
		r := g.item.Spec.Receivers[0]
		c.change(&r)
		if got := g.serves(&r); got != c.want {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
	}
	g.item.Spec.InitialPSN++
	if r := g.item.Spec.Receivers[0]; g.serves(&r) {
		t.Error("a receiver is taken in with another initial PSN of the group")
	}
}

// TestNotCreated: a group that is refused is not created.
func TestNotCreated(t *testing.T) {
	for what, change := range map[string]func(*desk, *api.MulticastGroupSpec){
		"of no queue pair": func(_ *desk, s *api.MulticastGroupSpec) { s.DesignatedQPN = 0 },
		"of no index":      func(d *desk, _ *api.MulticastGroupSpec) { d.inv().Limits.Groups = 0 },
		"of a host without a switch": func(d *desk, _ *api.MulticastGroupSpec) {
			d.env.Net.Host(d.net.Address("r1")).At = nil
		},
	} {
		d := newDesk(t)
		spec := d.net.Spec(1, "s1", "r1")
		change(d, &spec)
		r, created, err := d.Groups().Put("g", spec, resource.Precondition{})
		if created || err == nil || r.Name != "" || len(d.groups) != 0 {
			t.Errorf("a group %s: created %v, error %v, groups %v", what, created, err, d.groups)
		}
	}
}

// TestUnknownState: the controller reports no state for a branch that has not reported in the
// present epoch.
func TestUnknownState(t *testing.T) {
	d := newDesk(t)
	g := d.typed("s1", "r1")
	valid := false
	d.state = func(string, entry.PacketOut) (entry.PacketIn, bool) {
		return entry.PacketIn{Valid: valid, AckPSN: 5, MSN: 6, CNPCount: 7}, true
	}
	for _, want := range []api.GroupBranchState{{AckPSN: -1, EPSN: -1},
		{AckPSN: 5, EPSN: 6, MSN: 6, CNPCount: 7}} {
		d.ask(g, whole, func(q *query) {
			b := q.report.Nodes[0].Branches[0]
			if b.Valid != valid || b.AckPSN != want.AckPSN || b.EPSN != want.EPSN || b.MSN != want.MSN ||
				b.CNPCount != want.CNPCount {
				t.Errorf("valid %v: %+v, want %+v", valid, b, want)
			}
			valid = !valid
		})
		was := valid
		if d.carry(); valid == was {
			t.Fatal("no answer")
		}
	}
}

// TestFork: a copy of the controller knows the epochs that the controller has written, and does not
// count the epochs in the records as written.
func TestFork(t *testing.T) {
	from, to := newDesk(t), newDesk(t)
	g, copied := from.typed("s1", "r1"), to.typed("s1", "r1")
	epoch := g.target.Epoch
	g.writes = map[string]uint32{"n1": epoch}
	copied.writes, copied.loaded = nil, true // as from a record
	from.Fork()(to.Feature)
	if !copied.wrote("n1", epoch) || copied.wrote("n4", epoch) {
		t.Errorf("epoch %d of n1 only: written %v, from a record %v", epoch, copied.writes, copied.loaded)
	}
	g.note("n4", epoch)
	if copied.wrote("n4", epoch) {
		t.Error("what one writes later counts for the other")
	}
}

// TestTurns: a new group uses the first turn. Each tree of a new epoch uses the turn that the data
// does not use.
func TestTurns(t *testing.T) {
	d := newDesk(t)
	g := d.typed("s1", "r1", "r3")
	for i := range 4 {
		if turn := g.target.Turn; int(turn) != i%2 {
			t.Errorf("change %d: turn %d", i, turn)
		}
		spec := g.item.Spec.Clone()
		spec.InitialPSN++
		if _, _, err := d.Groups().Put("typed", spec, resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
		d.pass(time.Minute)
	}
}

// TestTouches: a group has entries on the switches of the tree that are in the inventory.
func TestTouches(t *testing.T) {
	d := newDesk(t)
	g := d.typed("s1", "r1", "r3")
	touched := func() []string { return slices.Sorted(maps.Keys(g.touches)) }
	want := slices.Sorted(slices.Values(g.target.Switches()))
	if d.apply(g); !slices.Equal(touched(), want) {
		t.Errorf("something on %v, want %v", touched(), want)
	}
	names := make(map[string]bool)
	for _, sw := range want[1:] {
		names[sw] = true
	}
	d.events.SetSwitches(names, reconcile.Intervals{})
	if d.apply(g); !slices.Equal(touched(), want[1:]) {
		t.Errorf("without %s: something on %v, want %v", want[0], touched(), want[1:])
	}
}

// TestRecordKeepsATreeOnce: a placement that is the target, carries data and aggregates is once in
// the record of a group.
func TestRecordKeepsATreeOnce(t *testing.T) {
	d := newDesk(t)
	var r treeRecord
	b, err := json.Marshal(d.typed("s1", "r1", "r3"))
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil || len(r.Placements) != 1 || r.Target != 0 || r.Data != 0 || r.Resp != 0 {
		t.Errorf("error %v, %d placements, target %d, data %d, responses %d", err, len(r.Placements),
			r.Target, r.Data, r.Resp)
	}
}

// TestHoldsTheTree: an adopted group goes on with the tree in the switches when they hold all of it
// that carries data; those that are not connected cannot be asked.
func TestHoldsTheTree(t *testing.T) {
	d := newDesk(t)
	g := d.typed("s1", "r1", "r3", "r4")
	p := *g.latest()
	if !d.holds(&p) {
		t.Error("the switches do not hold the tree that was written")
	}
	p.Turn ^= 1
	if d.holds(&p) {
		t.Error("the switches hold the tree of the other turn")
	}
	p.Turn ^= 1
	p.Nodes = slices.Clone(p.Nodes)
	last := len(p.Nodes) - 1
	p.Nodes[last].Branches = slices.Clone(p.Nodes[last].Branches)
	other := *p.Nodes[last].Branches[0].Receiver
	other.QPN++
	p.Nodes[last].Branches[0].Receiver = &other
	if d.holds(&p) {
		t.Error("the switches hold a tree in which the last receiver has another queue pair")
	}
	sw := p.Nodes[last].Switch
	d.events.Disconnect(sw, "of the test")
	if !d.holds(&p) {
		t.Errorf("%s is not connected, and the others hold the tree", sw)
	}
}

// TestSourceBeginsAnew: a source that connects again after losing the connection keeps the
// receivers. If another host becomes the source, the receivers must connect again.
func TestSourceBeginsAnew(t *testing.T) {
	d := newDesk(t)
	g := d.group(1, nil)
	d.joins(g, "r1", 50)
	source := func(host string, qpn uint32, guid uint64) (rep cm.REP, id uint32) {
		id = d.asks(g, call{host: host, qpn: qpn, port: door, req: cm.REQ{CAGUID: guid}})
		d.pass(time.Second)
		return d.accepted(g, host, id), id
	}
	up := func() bool {
		c := d.conns(g, "r1")
		return len(g.Receivers) == 1 && len(c) == 1 && c[0].State == rdmacm.Established
	}
	source("s1", 70, 7)
	if !up() {
		t.Fatalf("receivers %v", g.Receivers)
	}
	rep, id := source("s1", 71, 8)
	if !up() {
		t.Errorf("the source began anew, and the receiver is connected as %+v", d.conns(g, "r1"))
	}
	d.says(g, call{host: "s1"}, cm.DREQ{LocalID: id, RemoteID: rep.LocalID, QPN: rep.QPN})
	d.heard("r1")
	g.Reached = member.Place{PSN: 7, Known: true}
	d.asks(g, call{host: "r3", qpn: 72, port: door})
	if len(g.Receivers) != 0 || g.Reached.Known {
		t.Errorf("another host is the source: receivers %v, reached %+v", g.Receivers, g.Reached)
	}
	if m := d.heard("r1"); len(m) != 1 {
		t.Errorf("the receiver of the last source is told %+v, want a DREQ", m)
	} else if _, ok := m[0].(cm.DREQ); !ok {
		t.Errorf("the receiver of the last source is told %+v, want a DREQ", m)
	}
}

// TestStallQuestions: the feature asks a group for stalling receivers once an interval, however
// often clients write the spec meanwhile, and never after the group's end.
func TestStallQuestions(t *testing.T) {
	d := newDesk(t)
	g := d.typed("s1", "r1", "r3")
	every := d.inv().Intervals.Stall.D()
	in := func(intervals int) int {
		d.asked = 0
		d.pass(time.Duration(intervals) * every)
		return d.asked
	}
	once := in(1)
	if once == 0 {
		t.Fatal("nothing is asked")
	}
	spec := g.item.Spec
	for range 3 {
		spec.InitialPSN++
		if _, _, err := d.Groups().Put("typed", spec, resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
		d.pass(time.Second)
	}
	if got := in(4); got != 4*once {
		t.Errorf("%d questions in 4 intervals, want %d", got, 4*once)
	}
	if err := d.Groups().Delete("typed", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	if in(1); d.asked != 0 {
		t.Errorf("%d questions about a group that is gone", d.asked)
	}
}

// TestDegraded: a degraded group reports the most serious reason.
func TestDegraded(t *testing.T) {
	d := newDesk(t)
	connects := d.group(1, func(s *api.MulticastGroupSpec) {
		s.Receivers = []api.GroupReceiver{{Address: d.net.Address("r1")}, {Address: d.net.Address("r3")}}
	})
	typed := d.typedAs("typed", 2, "s1", "r3", "r4")
	other := d.typedAs("other", 3, "s1", "r3", "r4")
	open := d.group(4, nil) // it waits for no receiver
	addresses := func(hosts ...string) (out []string) {
		for _, host := range hosts {
			out = append(out, d.net.Address(host).String())
		}
		return out
	}
	r4 := d.net.Address("r4")
	var s api.MulticastGroupStatus
	var offline []string
	check := func(what string, g *group, reason, message string) {
		t.Helper()
		d.degraded(g, &s, offline)
		c := s.Conditions[0]
		if c.Type != api.Degraded || c.Reason != reason || c.Message != message ||
			c.Status != (reason != api.ReasonHealthy) {
			t.Errorf("%s: %+v, want %s: %q", what, c, reason, message)
		}
	}
	check("nothing", typed, api.ReasonHealthy, "")
	check("all have connected", open, api.ReasonHealthy, "")
	check("nobody has connected", connects, api.ReasonNotConnected,
		feature.Names(addresses("r1", "r3")))
	s.EvictedReceivers = append(s.EvictedReceivers, r4)
	check("evicted", typed, api.ReasonReceiversEvicted, feature.Names(addresses("r4")))
	check("evicted, and all others have connected", open, api.ReasonReceiversEvicted,
		feature.Names(addresses("r4")))
	check("evicted, and not connected", connects, api.ReasonNotConnected,
		feature.Names(addresses("r1", "r3")))
	s.StalledReceivers = append(s.StalledReceivers, api.StalledReceiver{Address: r4})
	check("stalled", typed, api.ReasonReceiverStalled, feature.Names(addresses("r4")))
	check("stalled, and not connected", connects, api.ReasonReceiverStalled,
		feature.Names(addresses("r4")))
	offline = []string{"n1", "n2"}
	check("away", typed, api.ReasonDisconnected, "n1, n2")
	for _, sw := range typed.target.Switches() {
		d.env.Want.Set(sw, typed.owner(), nil, nil)
	}
	d.carry()
	d.refuse = map[string]int{"n2": 1, "n3": 3}
	d.apply(typed)
	d.carry()
	failures := slices.Concat(d.env.Switches.Of("n3", typed.owner()).Failures(9),
		d.env.Switches.Of("n2", typed.owner()).Failures(9))
	if len(failures) != 4 {
		t.Fatalf("refused: %q", failures)
	}
	refused := []string{}
	for _, sw := range typed.target.Switches() {
		refused = append(refused, d.env.Switches.Of(sw, typed.owner()).Failures(9)...)
	}
	check("refused", typed, api.ReasonDeviceError, strings.Join(refused[:3], "; "))
	pair := typed.item.Spec.Receivers[0]
	other.item.Spec.Receivers[0] = pair
	d.takePairs(other)
	check("shared", typed, api.ReasonQueuePairShared,
		fmt.Sprintf("queue pair %d of %v is another group's too", pair.QPN, pair.Address))
	typed.planErr = &api.Error{Code: api.CodeUnreachable, Message: "of the test"}
	check("not planned", typed, feature.Reason(api.CodeUnreachable), typed.planErr.Error())
}

// TestRefusedUpdate: a switch that has refused an update of a tree counts as unfinished.
func TestRefusedUpdate(t *testing.T) {
	for refused, want := range map[int]bool{0: false, 1: true, 2: true} {
		d := newDesk(t)
		d.refuse = map[string]int{"n1": refused}
		g := d.typed("s1", "r1")
		offline, unfinished := d.obstacles(g)
		if unfinished != want || len(offline) != 0 || d.settled(g) == want {
			t.Errorf("%d updates are refused: unfinished %v, away %v, complete %v", refused, unfinished,
				offline, d.settled(g))
		}
	}
	d := newDesk(t)
	g := d.typed("s1", "r1")
	d.busy("n1", g)
	if _, unfinished := d.obstacles(g); !unfinished {
		t.Error("a switch that is to be written is finished")
	}
	d.away("n1")
	if offline, unfinished := d.obstacles(g); unfinished || !slices.Equal(offline, []string{"n1"}) {
		t.Errorf("away %v, unfinished %v", offline, unfinished)
	}
}
