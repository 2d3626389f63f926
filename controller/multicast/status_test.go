package multicast

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/rdmacm"
	"github.com/weft-sdn/weft/packet/cm"
)

// typed makes a group of hosts that the spec names.
func (d *desk) typed(source string, receivers ...string) *group {
	d.Helper()
	if _, _, err := d.Groups().Put("typed", d.net.Spec(1, source, receivers...),
		resource.Precondition{}); err != nil {
		d.Fatal(err)
	}
	d.pass(time.Second)
	return d.groups["typed"]
}

// condition is one of a group.
func (g *group) condition(kind api.ConditionType) api.Condition {
	i := slices.IndexFunc(g.status.Conditions, func(c api.Condition) bool { return c.Type == kind })
	return g.status.Conditions[i]
}

// TestGroupNamesWhatItWaitsFor: the conditions of a group name the switches of its tree that are
// not connected, in natural order.
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
		d.events.Disconnect(sw, "of the test")
		d.SwitchEvent(sw, feature.SwitchEvent{Kind: feature.Disconnected})
	}
	d.pass(time.Second)
	for kind, message := range map[api.ConditionType]string{
		api.Programmed: "waiting for " + feature.Names(away), api.Degraded: feature.Names(away)} {
		if c := g.condition(kind); c.Message != message || c.Reason != api.ReasonDisconnected {
			t.Errorf("%s: %+v, want %q", kind, c, message)
		}
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

// TestSourceBeginsAnew: a source that connects again, as it lost its connection, keeps the
// receivers; when another host is the source they connect again.
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
		return len(g.receivers) == 1 && len(c) == 1 && c[0].State == rdmacm.Established
	}
	source("s1", 70, 7)
	if !up() {
		t.Fatalf("receivers %v", g.receivers)
	}
	rep, id := source("s1", 71, 8)
	if !up() {
		t.Errorf("the source began anew, and the receiver is connected as %+v", d.conns(g, "r1"))
	}
	d.says(g, call{host: "s1"}, cm.DREQ{LocalID: id, RemoteID: rep.LocalID, QPN: rep.QPN})
	d.heard("r1")
	d.asks(g, call{host: "r3", qpn: 72, port: door})
	if len(g.receivers) != 0 {
		t.Errorf("another host is the source, and %v receive still", g.receivers)
	}
	if m := d.heard("r1"); len(m) != 1 {
		t.Errorf("the receiver of the last source is told %+v, want a DREQ", m)
	} else if _, ok := m[0].(cm.DREQ); !ok {
		t.Errorf("the receiver of the last source is told %+v, want a DREQ", m)
	}
}

// TestStallQuestions: a group is asked for receivers that hold it up once an interval, however
// often its spec was written meanwhile, and no more when it is gone.
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
