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
	if j := g.receivers[d.net.Address("r1")]; j.PSN != last || j.MSN != 3 {
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
		if l := g.late[r1]; l != nil && l.taken && last == 1234 {
			last, idle = 1300, false // it goes on
		}
		return answer(sw, p)
	}
	id := d.asks(g, call{host: "r1", qpn: 50, port: door + 1})
	d.pass(lateGap)
	d.pass(lateGap)
	if _, b := g.latest().FindReceiver(r1); b != nil || len(g.receivers) != 1 || g.late[r1] == nil ||
		g.late[r1].taken || last != 1300 {
		t.Errorf("it has missed something: in the tree as %v, receivers %v, late %+v", b, g.receivers,
			g.late[r1])
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
	if j := g.receivers[r1]; j.PSN != 1300 || len(g.late) != 0 {
		t.Errorf("begins at PSN %d, want 1300; late %v", j.PSN, g.late)
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
	if l := g.late[host.Address]; l == nil || !l.taken || g.planErr == nil {
		t.Errorf("late %+v, error %v", l, g.planErr)
	}
	for _, m := range d.heard("r1") {
		if _, ok := m.(cm.REP); ok {
			t.Error("answered, and not in the tree")
		}
	}
	host.Node = node
	d.place(g, false)
	d.pass(time.Second)
	if _, b := g.installed.FindReceiver(host.Address); b == nil || len(g.late) != 0 {
		t.Errorf("in the tree as %v, late %v", b, g.late)
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
		return in, g.late[r1] == nil || !g.late[r1].taken
	}
	d.asks(g, call{host: "r1", qpn: 50, port: door + 1})
	d.pass(2 * lateGap)
	if l := g.late[r1]; l == nil || !l.taken || g.receivers[r1].Conn != l.conn {
		t.Fatalf("late %+v, receivers %v", l, g.receivers)
	}
	c := d.conns(g, "s1")[0]
	d.says(g, call{host: "s1"}, cm.DREQ{LocalID: c.RemoteID, RemoteID: c.LocalID, QPN: c.LocalQPN})
	if g.source != 0 {
		t.Errorf("the source has left, and is connection %d", g.source)
	}
	d.heard("r1")
	d.asks(g, call{host: "r4", qpn: 72, port: door})
	d.pass(time.Second)
	if len(g.late) != 0 || len(g.receivers) != 0 {
		t.Errorf("another host is the source: late %v, receivers %v", g.late, g.receivers)
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
	d.says(g, call{host: "r1", tid: g.cm.Conns()[0].TID}, cm.REP{LocalID: 9, RemoteID: req.LocalID,
		QPN: 50, CAGUID: 7})
	want := []string{"a: receiver " + d.net.Address("r1").String()}
	if got := ups(); !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
	c := d.conns(g, "r1")
	if len(c) != 1 || c[0].State != rdmacm.Established {
		t.Fatalf("connections %+v", c)
	}
	d.heard("r1")
	for _, id := range []uint32{c[0].LocalID, c[0].LocalID + 1000} {
		d.acceptReceiver(g, id)
		d.settleConnections(g)
		d.carry()
		if got, sent := ups(), d.heard("r1"); len(got) != 0 || len(sent) != 0 {
			t.Errorf("connection %d has nothing to answer: events %q, sent %+v", id, got, sent)
		}
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

// TestUnreachableHost: a message to a host that cannot be reached now is dropped: it is repeated.
func TestUnreachableHost(t *testing.T) {
	d := newDesk(t)
	g := d.group(1, nil)
	a := d.net.Address("r1")
	sends := func() int {
		d.sendMessage(g, rdmacm.Packet{To: a, MAD: cm.MAD{Message: cm.DREQ{}}})
		d.carry()
		return len(d.heard("r1"))
	}
	h := d.env.Net.Host(a)
	was, host, item := *h, *h.Host, g.item
	for what, fault := range map[string]func(){
		"a switch that is not in the inventory": func() { h.At = nil },
		"no port":                               func() { h.Ingress = nil },
		"no MAC":                                func() { h.MAC = [6]byte{} },
		"the group deleted":                     func() { g.item = nil },
		"an address that no host has":           func() { a = g.item.Spec.ProxyAddress },
	} {
		if n := sends(); n != 1 {
			t.Errorf("%d messages to a host, want 1", n)
		}
		fault()
		if n := sends(); n != 0 {
			t.Errorf("%s: %d messages, want none", what, n)
		}
		*h, *h.Host, g.item, a = was, host, item, host.Address
	}
}
