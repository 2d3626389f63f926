package multicast

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/rdmacm"
	"github.com/weft-sdn/weft/packet/cm"
	"github.com/weft-sdn/weft/southbound/entry"
)

// sending makes a group with a source, s1, and a receiver, r3, that is asked for stalls never. The
// source has sent the packets before last and three messages; idle: they are acknowledged.
func (d *desk) sending(last *uint32, idle *bool) *group {
	d.Helper()
	d.inv().Intervals.Stall = 0
	g := d.group(1, nil)
	d.joins(g, "r3", 60)
	id := d.asks(g, call{host: "s1", qpn: 70, port: door})
	d.pass(time.Second)
	d.accepted(g, "s1", id)
	d.state = func(sw string, _ entry.PacketOut) (in entry.PacketIn, answers bool) {
		in = entry.PacketIn{Valid: true, AckPSN: *last - 1, MSN: 3}
		if !*idle {
			in.AckPSN--
		}
		if sw == g.target.Nodes[0].Switch { // the others are not asked what they sent to the source
			in.LastKnown, in.LastPSN = true, *last
		}
		return in, true
	}
	d.env.Take()
	return g
}

// TestLateWaits: a receiver that comes while the source sends is told to wait once in lateWait, and
// begins where the source pauses. After that no one is asked.
func TestLateWaits(t *testing.T) {
	d := newDesk(t)
	last, idle := uint32(1234), false
	g := d.sending(&last, &idle)
	id := d.asks(g, call{host: "r1", qpn: 50, port: door + 1})
	waits := func() (n int) {
		for _, m := range d.heard("r1") {
			if _, ok := m.(cm.MRA); !ok {
				t.Errorf("got %+v while the source sends, want MRA", m)
			}
			n++
		}
		return n
	}
	if n := waits(); n != 1 {
		t.Errorf("told to wait %d times at first, want once", n)
	}
	for range 3 {
		d.pass(lateWait - 1)
		if n := waits(); n != 0 {
			t.Errorf("told to wait %d times, and was told before", n)
		}
		d.pass(1)
		if n := waits(); n != 1 {
			t.Errorf("told to wait %d times in %v, want once", n, lateWait)
		}
	}
	idle = true
	d.pass(time.Second)
	d.accepted(g, "r1", id)
	if j := g.Receivers[d.net.Address("r1")]; j.PSN != last || j.MSN != 3 {
		t.Errorf("begins at PSN %d, MSN %d; want %d, 3", j.PSN, j.MSN, last)
	}
	d.pass(time.Second)
	if at, ok := d.Next(); ok && at <= d.env.Now+lateGap {
		t.Errorf("no receiver is late, and something is due after %v", at-d.env.Now)
	}
}

// TestLateMisses: a late receiver that is in the tree when the source goes on has missed something:
// it is taken out, and begins at the next pause.
func TestLateMisses(t *testing.T) {
	d := newDesk(t)
	last, idle := uint32(1234), true
	g := d.sending(&last, &idle)
	r1 := d.net.Address("r1")
	answer := d.state
	d.state = func(sw string, p entry.PacketOut) (entry.PacketIn, bool) {
		if _, taken := g.Receivers[r1]; taken && last == 1234 {
			last, idle = 1300, false // it goes on
		}
		return answer(sw, p)
	}
	id := d.asks(g, call{host: "r1", qpn: 50, port: door + 1})
	d.pass(lateGap)
	d.pass(lateGap)
	if _, b := g.latest().FindReceiver(r1); b != nil || len(g.Receivers) != 1 || last != 1300 {
		t.Errorf("it has missed something: in the tree as %v, receivers %v", b, g.Receivers)
	}
	d.pass(10 * lateGap)
	for _, m := range d.heard("r1") {
		if _, ok := m.(cm.MRA); !ok {
			t.Errorf("got %+v while the source sends, want MRA", m)
		}
	}
	idle = true
	d.pass(time.Second)
	d.accepted(g, "r1", id)
	if j := g.Receivers[r1]; j.PSN != 1300 {
		t.Errorf("begins at PSN %d, want 1300", j.PSN)
	}
}

// TestLateWaitsForTheTree: a late receiver is not answered before all switches hold the tree, and
// not without being in it.
func TestLateWaitsForTheTree(t *testing.T) {
	d := newDesk(t)
	last, idle := uint32(1234), true
	g := d.sending(&last, &idle)
	away := g.target.Nodes[len(g.target.Nodes)-1].Switch
	d.away(away)
	d.asked = 0
	id := d.asks(g, call{host: "r1", qpn: 50, port: door + 1})
	d.pass(time.Second)
	if d.asked != 0 {
		t.Errorf("%s is away, and %d questions are asked", away, d.asked)
	}
	d.heard("r1")
	d.pass(lateWait)
	if got := d.heard("r1"); len(got) != 1 {
		t.Errorf("%s is away: got %+v, want MRA", away, got)
	}
	d.back(away)
	d.carry()
	g.phase, g.drained, d.asked = draining, d.env.Now+time.Hour, 0
	if d.pass(time.Second); d.asked != 0 {
		t.Errorf("the tree changes, and %d questions are asked", d.asked)
	}
	g.phase = steady
	d.pass(time.Second)
	d.accepted(g, "r1", id)

	d = newDesk(t)
	g = d.sending(&last, &idle)
	host := d.env.Net.Host(d.net.Address("r1"))
	node := host.Node
	host.Node = nil // its switch has left the topology
	d.asks(g, call{host: "r1", qpn: 50, port: door + 1})
	d.pass(time.Second)
	if _, taken := g.Receivers[host.Address]; !taken || g.planErr == nil {
		t.Errorf("taken %v, error %v", taken, g.planErr)
	}
	for _, m := range d.heard("r1") {
		if _, ok := m.(cm.REP); ok {
			t.Error("answered, and not in the tree")
		}
	}
	host.Node = node
	d.place(g, false)
	d.pass(time.Second)
	if _, b := g.installed.FindReceiver(host.Address); b == nil {
		t.Error("not in the tree")
	}
}

// TestLateIsAskedOnce: a group is asked where it is for a late receiver once, until the answer.
func TestLateIsAskedOnce(t *testing.T) {
	d := newDesk(t)
	last, idle := uint32(1234), true
	g := d.sending(&last, &idle)
	d.state = func(string, entry.PacketOut) (in entry.PacketIn, answers bool) { return in, false }
	branches := 0
	for _, n := range g.target.Nodes {
		branches += len(n.Branches)
	}
	d.asked = 0
	d.asks(g, call{host: "r1", qpn: 50, port: door + 1})
	if d.pass(d.inv().Intervals.StateTimeout.D() / 2); d.asked != branches {
		t.Errorf("%d questions, want one of each of %d branches", d.asked, branches)
	}
}

// TestLateOfAnotherSource: when another host takes the place of the source, a receiver that waits
// in the tree for the last one is refused, and waits no more.
func TestLateOfAnotherSource(t *testing.T) {
	d := newDesk(t)
	last, idle := uint32(1234), true
	g := d.sending(&last, &idle)
	r1 := d.net.Address("r1")
	answer := d.state
	d.state = func(sw string, p entry.PacketOut) (entry.PacketIn, bool) {
		in, _ := answer(sw, p)
		_, taken := g.Receivers[r1]
		return in, !taken
	}
	d.asks(g, call{host: "r1", qpn: 50, port: door + 1})
	d.pass(2 * lateGap)
	if g.Receivers[r1].Conn != d.conns(g, "r1")[0].LocalID {
		t.Fatalf("receivers %v", g.Receivers)
	}
	c := d.conns(g, "s1")[0]
	d.says(g, call{host: "s1"}, cm.DREQ{LocalID: c.RemoteID, RemoteID: c.LocalID, QPN: c.LocalQPN})
	if g.Source != 0 {
		t.Errorf("the source has left, and is connection %d", g.Source)
	}
	d.heard("r1")
	d.asks(g, call{host: "r4", qpn: 72, port: door})
	d.pass(time.Second)
	if len(g.Receivers) != 0 {
		t.Errorf("another host is the source: receivers %v", g.Receivers)
	}
	if r, _ := d.refusal("r1"); r.Reason != cm.ConsumerReject {
		t.Errorf("refused: %v", r.Reason)
	}
}

// TestListenerIsUp: a listening host sends one connection event, when the host has answered.
func TestListenerIsUp(t *testing.T) {
	d := newDesk(t)
	g, req := d.listener(1)
	ups := func() (out []string) {
		events, _ := d.env.Take()
		for _, e := range events {
			if e.Type == api.EventConnectionUp {
				out = append(out, e.Object+": "+e.Message)
			}
		}
		return out
	}
	d.says(g, call{host: "r1", tid: g.Connections[0].TID}, cm.REP{LocalID: 9, RemoteID: req.LocalID,
		QPN: 50, CAGUID: 7})
	want := []string{"a: receiver " + d.net.Address("r1").String()}
	if got := ups(); !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
	c := d.conns(g, "r1")
	if len(c) != 1 || c[0].State != rdmacm.Established {
		t.Fatalf("connections %+v", c)
	}
}

// TestSourceWaitsForSwitches: a source that connects again gets an answer when all switches of the
// tree hold the tree.
func TestSourceWaitsForSwitches(t *testing.T) {
	d := newDesk(t)
	last, idle := uint32(1234), true
	g := d.sending(&last, &idle)
	d.heard("s1")
	sw := g.target.Nodes[len(g.target.Nodes)-1].Switch
	d.away(sw)
	id := d.asks(g, call{host: "s1", qpn: 70, port: door, req: cm.REQ{CAGUID: 8}})
	d.pass(5 * time.Second)
	for _, m := range d.heard("s1") {
		if _, ok := m.(cm.REP); ok {
			t.Errorf("%s is away, and the source is answered", sw)
		}
	}
	d.back(sw)
	d.pass(time.Second)
	d.accepted(g, "s1", id)
}
