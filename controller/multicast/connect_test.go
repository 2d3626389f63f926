package multicast

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/connect"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/multicast/member"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/internal/rdmacm"
	"github.com/weft-sdn/weft/packet/cm"
	"github.com/weft-sdn/weft/southbound/entry"
)

// memoryOf returns the private data for the request of a receiver with memory.
func memoryOf(rkey uint32, va, length uint64) (r cm.REQ) {
	copy(r.Private[:], cm.Join{HasMemory: true, RKey: rkey, VA: va, Length: length}.Append(nil))
	return r
}

// fromS1 makes s1 the source of a group, even before s1 connects.
func fromS1(s *api.MulticastGroupSpec) {
	s.Connect.Source, s.Source.Address = api.SourceSpec, sample.HostAddress(1)
}

// leaves has a host end its connection.
func (d *desk) leaves(g *group, host string) {
	c := d.conns(g, host)[0]
	d.says(g, call{host: host}, cm.DREQ{LocalID: c.RemoteID, RemoteID: c.LocalID, QPN: c.LocalQPN})
}

// happened are the events of a group's connections since the last call.
func (d *desk) happened() (out []string) {
	events, _ := d.env.Take()
	for _, e := range events {
		switch e.Type {
		case api.EventConnectionUp, api.EventConnectionDown, api.EventConnectionRefused:
			out = append(out, string(e.Type)+" "+e.Message)
		}
	}
	return out
}

// TestConnectionEvents: the source and the receivers of a group come and go, and each event names
// the role of the host.
func TestConnectionEvents(t *testing.T) {
	d := newDesk(t)
	g := d.group(1, nil)
	text := func(kind api.EventType, role, host, why string) []string {
		return []string{string(kind) + " " + role + " " + d.net.Address(host).String() + why}
	}
	check := func(what string, want []string) {
		t.Helper()
		if got := d.happened(); !slices.Equal(got, want) {
			t.Errorf("%s: events %q, want %q", what, got, want)
		}
	}
	d.joins(g, "r1", 50)
	check("a receiver connects", text(api.EventConnectionUp, "receiver", "r1", ""))
	id := d.asks(g, call{host: "s1", qpn: 70, port: door})
	d.pass(time.Second)
	check("a source waits", nil)
	d.accepted(g, "s1", id)
	check("a source connects", text(api.EventConnectionUp, "source", "s1", ""))
	d.asks(g, call{host: "r3", qpn: 71, port: door})
	check("another source", text(api.EventConnectionRefused, "source", "r3", ": "+
		d.net.Address("s1").String()+" is the source"))
	d.leaves(g, "r1")
	check("a receiver leaves", text(api.EventConnectionDown, "receiver", "r1", ""))
	d.leaves(g, "s1")
	check("a source leaves", text(api.EventConnectionDown, "source", "s1", ""))

	d.heard("r3")
	id = d.asks(g, call{host: "r3", qpn: 60, port: door + 1})
	rep, _ := d.heard("r3")[0].(cm.REP)
	d.says(g, call{host: "r3"}, cm.REJ{LocalID: id, RemoteID: rep.LocalID, Of: cm.OfREP,
		Reason: cm.ConsumerReject})
	check("a host refuses the answer", text(api.EventConnectionRefused, "receiver", "r3",
		": by the host: "+cm.ConsumerReject.String()))
	if len(g.Receivers) != 0 {
		t.Errorf("it has refused, and receives: %v", g.Receivers)
	}
	d.asks(g, call{host: "r4", qpn: 61, port: door + 1})
	d.pass(5 * time.Minute)
	check("a host does not answer", text(api.EventConnectionRefused, "receiver", "r4",
		": the host does not answer"))
}

// TestListenerIsAskedQuietly: a host that does not listen yet makes no event, and is asked again;
// one that refuses for another reason makes one.
func TestListenerIsAskedQuietly(t *testing.T) {
	d := newDesk(t)
	g, req := d.listener(1)
	for _, c := range []struct {
		reason cm.Reason
		events int
	}{{cm.InvalidServiceID, 0}, {cm.ConsumerReject, 1}} {
		d.happened()
		d.says(g, call{host: "r1", tid: d.conns(g, "r1")[0].TID}, cm.REJ{RemoteID: req.LocalID,
			Of: cm.OfREQ, Reason: c.reason})
		if got := d.happened(); len(got) != c.events {
			t.Errorf("%v: events %q, want %d", c.reason, got, c.events)
		}
		if n := len(d.conns(g, "r1")); n != 0 {
			t.Errorf("%v: %d connections", c.reason, n)
		}
		d.pass(redial)
		var ok bool
		if req, ok = d.heard("r1")[0].(cm.REQ); !ok {
			t.Fatalf("%v: not asked again", c.reason)
		}
	}
	d.pass(5 * time.Minute)
	if got := d.happened(); len(got) != 0 {
		t.Errorf("a host that answers nothing: events %q", got)
	}
}

// TestListenerWaitsForItsSwitch: the controller asks a listening host as soon as the host's switch
// lets the answer pass, otherwise every few seconds, even behind a disconnected switch.
func TestListenerWaitsForItsSwitch(t *testing.T) {
	d := newDesk(t)
	start := d.env.Now
	g, _ := d.listener(1)
	d.says(g, call{host: "r1", tid: d.conns(g, "r1")[0].TID}, cm.REJ{
		RemoteID: d.conns(g, "r1")[0].LocalID, Of: cm.OfREQ, Reason: cm.InvalidServiceID})
	asked := func(by time.Duration) bool {
		d.pass(by)
		return len(d.conns(g, "r1")) > 0
	}
	if asked(redial - 2*time.Second) {
		t.Error("asked again at once")
	}
	d.busy("n1", g) // it has not taken what is to be written
	d.env.Now = start + soon + redial
	d.Tick()
	if len(d.conns(g, "r1")) != 0 {
		t.Error("asked before its switch lets the answer pass")
	}
	if !asked(soon) {
		t.Error("not asked when its switch lets the answer pass")
	}

	d = newDesk(t)
	d.away("n1")
	spec := g.item.Spec.Clone()
	g = d.group(1, func(s *api.MulticastGroupSpec) { *s = spec })
	if len(d.conns(g, "r1")) != 1 {
		t.Error("not asked, as its switch is away")
	}
}

// TestRefusedAnew: a host that was accepted in between gets a new event at the next refusal.
func TestRefusedAnew(t *testing.T) {
	d := newDesk(t)
	g := d.group(1, func(s *api.MulticastGroupSpec) { s.Connect.Token = "sesame" })
	for _, port := range []uint16{door, door + 1} {
		for i := range 2 {
			for range 2 {
				d.asks(g, call{host: "r1", qpn: 50, port: port})
				d.refusal("r1")
			}
			if got := d.happened(); len(got) != 1 {
				t.Errorf("port %d, life %d: events %q, want one", port, i, got)
			}
			d.asks(g, call{host: "r1", qpn: 50, port: port, req: token("sesame")})
			d.heard("r1")
			c := d.conns(g, "r1")[0]
			d.says(g, call{host: "r1"}, cm.REJ{LocalID: c.RemoteID, RemoteID: c.LocalID, Of: cm.OfREP,
				Reason: cm.ConsumerReject})
			d.pass(2 * time.Second) // over TimeWait
			d.heard("r1")
			d.happened()
		}
	}
}

// TestReceiverBeginsAnew: a receiver that connects again takes the place of what it has left, in
// the tree too, also while the source sends: what it has left never acknowledges again.
func TestReceiverBeginsAnew(t *testing.T) {
	for _, sends := range []bool{false, true} {
		d := newDesk(t)
		last, idle := uint32(1234), true
		var g *group
		if sends {
			g = d.sending(&last, &idle)
		} else {
			g = d.group(1, fromS1)
			d.joins(g, "r3", 60)
		}
		idle = false
		id := d.asks(g, call{host: "r3", qpn: 61, port: door + 1, req: cm.REQ{CAGUID: 8}})
		_, b := g.latest().FindReceiver(d.net.Address("r3"))
		if sends && b != nil || !sends && (b == nil || b.Receiver.QPN != 61) {
			t.Errorf("source sends %v: in the tree as %+v", sends, b)
		}
		if c := d.conns(g, "r3"); len(c) != 2 || c[0].State != rdmacm.Leaving {
			t.Errorf("source sends %v: connections %+v", sends, c)
		}
		if !sends {
			d.accepted(g, "r3", id)
			continue
		}
		if m := d.heard("r3"); !slices.ContainsFunc(m, func(m cm.Message) bool {
			wait, ok := m.(cm.MRA)
			return ok && wait.RemoteID == id
		}) {
			t.Errorf("source sends: told %+v, want MRA", m)
		}
	}
}

// TestOffer: the source may write to memory common to all receivers, with the key of the receiver
// that is first by address; of receivers without memory to none.
func TestOffer(t *testing.T) {
	d := newDesk(t)
	g := d.group(1, func(s *api.MulticastGroupSpec) {
		fromS1(s)
		s.BaseVA = 0x1000
	})
	for _, c := range []struct {
		host string
		req  cm.REQ
		rkey uint32
		most uint64
	}{
		{"r3", memoryOf(33, 0x30, 300), 33, 300},
		{"r1", memoryOf(11, 0x10, 400), 11, 300},
		{"r2", memoryOf(22, 0x20, 200), 11, 200},
		{"r4", cm.REQ{}, 11, 0},
	} {
		epoch := g.latest().Epoch
		id := d.asks(g, call{host: c.host, qpn: 50, port: door + 1, req: c.req})
		rep := d.accepted(g, c.host, id)
		d.carry()
		want := cm.Offer{MTU: cm.MTU4096, BaseVA: 0x1000, Epoch: epoch, RKey: c.rkey,
			Length: c.most}
		if got, _, err := cm.ParseOffer(rep.Private[:]); got != want || err != nil {
			t.Errorf("with %s: %+v, %v, want %+v", c.host, got, err, want)
		}
		_, b := g.latest().FindReceiver(d.net.Address(c.host))
		m, _, _ := cm.ParseJoin(c.req.Private[:cm.JoinLen])
		if b == nil || (b.Receiver.VA != nil) != m.HasMemory || b.Receiver.RKey != m.RKey ||
			m.HasMemory && *b.Receiver.VA != m.VA {
			t.Errorf("%s is in the tree as %+v, wants %+v", c.host, b, m)
		}
	}
}

// TestSpecLeavesConnections: the controller disconnects hosts that a new spec no longer names, and
// the hosts leave the tree. If the spec changes the agreed parameters, the controller disconnects
// all hosts.
func TestSpecLeavesConnections(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*desk, *api.MulticastGroupSpec)
		stay   []string
		source bool
	}{
		"nothing": {func(*desk, *api.MulticastGroupSpec) {}, []string{"r1", "r3"}, true},
		"one is named, no others": {func(d *desk, s *api.MulticastGroupSpec) {
			s.Connect.Receivers = nil
			s.Receivers = []api.GroupReceiver{{Address: d.net.Address("r3")}}
		}, []string{"r3"}, true},
		"a prefix of one": {func(d *desk, s *api.MulticastGroupSpec) {
			s.Connect.Receivers = []netip.Prefix{netip.PrefixFrom(d.net.Address("r1"), 128)}
		}, []string{"r1"}, true},
		"another first PSN": {func(_ *desk, s *api.MulticastGroupSpec) { s.InitialPSN++ }, nil, false},
		"another source": {func(_ *desk, s *api.MulticastGroupSpec) {
			s.Connect.Source, s.Source.Address = api.SourceSpec, sample.HostAddress(5)
		}, nil, false},
	} {
		d := newDesk(t)
		g := d.group(1, nil)
		d.joins(g, "r1", 50)
		d.joins(g, "r3", 60)
		id := d.asks(g, call{host: "s1", qpn: 70, port: door})
		d.pass(time.Second)
		d.accepted(g, "s1", id)
		d.put(g, func(s *api.MulticastGroupSpec) { c.change(d, s) })
		for _, host := range []string{"r1", "r3"} {
			_, b := g.latest().FindReceiver(d.net.Address(host))
			_, receives := g.Receivers[d.net.Address(host)]
			want := slices.Contains(c.stay, host)
			named := g.item.Spec.HasReceiver(d.net.Address(host))
			if receives != want || (b != nil) != (want || named && receives) {
				t.Errorf("%s: %s receives %v, in the tree %v; want %v", what, host, receives, b != nil, want)
			}
			d.carry()
			left := slices.ContainsFunc(d.heard(host), func(m cm.Message) bool {
				_, is := m.(cm.DREQ)
				return is
			})
			if left == want {
				t.Errorf("%s: %s is disconnected %v", what, host, left)
			}
		}
		if (g.Source != 0) != c.source {
			t.Errorf("%s: the source is connection %d", what, g.Source)
		}
	}
}

// TestAskedAnew: after a change of the agreed parameters, the controller asks a listening host at
// once, and then as often as before. The controller also asks a host whose connection has just
// ended.
func TestAskedAnew(t *testing.T) {
	d := newDesk(t)
	g, _ := d.listener(1)
	for range 3 {
		d.put(g, func(s *api.MulticastGroupSpec) { s.InitialPSN++ })
		d.pass(time.Second)
	}
	asked := 0
	for range 10 * int(redial/time.Second) {
		for _, c := range d.conns(g, "r1") {
			asked++
			d.says(g, call{host: "r1", tid: c.TID}, cm.REJ{RemoteID: c.LocalID, Of: cm.OfREQ,
				Reason: cm.InvalidServiceID})
		}
		d.pass(time.Second)
	}
	if asked != 10 {
		t.Errorf("asked %d times in %v, want once in %v", asked, 10*redial, redial)
	}

	d = newDesk(t)
	start := d.env.Now
	g, req := d.listener(1)
	d.says(g, call{host: "r1", tid: d.conns(g, "r1")[0].TID}, cm.REP{LocalID: 9, RemoteID: req.LocalID,
		QPN: 50, CAGUID: 7})
	d.pass(start + soon + redial - d.env.Now - time.Millisecond)
	d.leaves(g, "r1")
	if c := d.conns(g, "r1"); len(c) != 1 || c[0].State != rdmacm.TimeWait {
		t.Fatalf("%+v", c)
	}
	d.pass(time.Millisecond)
	if n := len(d.conns(g, "r1")); n != 2 {
		t.Errorf("a host whose connection has just ended is not asked: %d connections", n)
	}
}

// TestResume: a controller that takes over answers the source and the receivers that wait. One that
// was in the tree, and was not answered, may have missed something.
func TestResume(t *testing.T) {
	d := newDesk(t)
	g := d.group(1, nil)
	r1, r2, r3 := d.net.Address("r1"), d.net.Address("r2"), d.net.Address("r3")
	for i, c := range []struct {
		conn     rdmacm.Conn
		source   bool
		receives bool // it is in the tree
		begins   bool
		late     bool
		stays    bool
	}{
		{rdmacm.Conn{Peer: d.net.Address("s1"), State: rdmacm.Asked, Port: door}, true, false, true,
			false, false},
		{rdmacm.Conn{Peer: d.net.Address("s1"), State: rdmacm.Established, Port: door}, true, false,
			false, false,
			false},
		{rdmacm.Conn{Peer: r1, State: rdmacm.Asked, Port: door + 1}, false, false, false, true, false},
		{rdmacm.Conn{Peer: r1, State: rdmacm.Asked, Port: door + 1}, false, true, false, true, false},
		{rdmacm.Conn{Peer: r2, State: rdmacm.Answered, Active: true, Port: door}, false, false, false,
			true, false},
		{rdmacm.Conn{Peer: r3, State: rdmacm.Established, Port: door + 1}, false, true, false, false,
			true},
		{rdmacm.Conn{Peer: r3, State: rdmacm.Replied, Port: door + 1}, false, true, false, false, true},
	} {
		c.conn.LocalID = uint32(100 + i)
		g.Hosts = member.Hosts{First: 7777, Connections: []rdmacm.Conn{c.conn}}
		if c.receives {
			g.Receivers = map[netip.Addr]member.Joined{c.conn.Peer: {Conn: c.conn.LocalID}}
		}
		if c.source {
			g.Source = c.conn.LocalID
		}
		d.hosts = connect.New(d.env, d.Feature)
		d.renewed.add(g.index)
		d.Settle()
		_, stays := g.Receivers[c.conn.Peer]
		if begins := g.First == 1000; begins != c.begins || stays != c.stays {
			t.Errorf("case %d: begins %v, receivers %v", i, begins, g.Receivers)
		}
		if got, ok := g.Conn(c.conn.LocalID); !ok || got.Peer != c.conn.Peer {
			t.Errorf("case %d: the connection is lost", i)
		}
		g.SourceAt = d.net.Address("s1")
		d.pass(time.Second)
		if _, joins := g.Receivers[c.conn.Peer]; joins != c.late && !c.stays {
			t.Errorf("case %d: a second later receivers %v", i, g.Receivers)
		}
	}
}

// TestSourceWaitsForWhereItIs: with the tree ready, the controller answers the source right after
// the switches' report of the group's position.
func TestSourceWaitsForWhereItIs(t *testing.T) {
	d := newDesk(t)
	last, idle := uint32(1234), true
	g := d.sending(&last, &idle)
	answer := d.state
	d.state = silent
	id := d.asks(g, call{host: "s1", qpn: 71, port: door, req: cm.REQ{CAGUID: 8}})
	d.pass(5 * time.Second)
	if g.phase != steady || !d.settled(g) {
		t.Fatalf("the tree is not ready: %v", g.phase)
	}
	for _, m := range d.heard("s1") {
		if _, ok := m.(cm.REP); ok {
			t.Errorf("answered with %+v before switches have answered", m)
		}
	}
	d.state = answer
	d.pass(d.inv().Intervals.StateTimeout.D() + lateGap)
	if rep := d.accepted(g, "s1", id); rep.StartingPSN != last {
		t.Errorf("begins at PSN %d, want %d", rep.StartingPSN, last)
	}
}

// admit has the controller answer a group's source, if the tree is ready.
func (d *desk) admit(g *group) {
	d.renewed.add(g.index)
	d.hosts.Settle()
}

// TestSourceIsAdmitted: the controller answers a source when the start position is known, the tree
// is for the source's queue pair and carries all connected and awaited receivers, and all switches
// hold the tree.
func TestSourceIsAdmitted(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*desk, *group)
		want   bool
	}{
		"all is there":     {func(*desk, *group) {}, true},
		"the tree changes": {func(_ *desk, g *group) { g.phase = draining }, false},
		"a receiver of the spec is away": {func(d *desk, g *group) {
			delete(g.Receivers,
				d.net.Address("r1"))
		}, false},
		"fewer than it waits for": {func(_ *desk, g *group) { g.item.Spec.Connect.AtLeast = 3 },
			false},
		"as many as it waits for": {func(_ *desk, g *group) { g.item.Spec.Connect.AtLeast = 2 },
			true},
		"no tree": {func(_ *desk, g *group) { g.target = nil }, false},
		"a tree of another queue pair": {func(_ *desk, g *group) {
			p := *g.target
			p.Source.QPN++
			g.target = &p
		}, false},
		"one that the tree does not have": {func(d *desk,
			g *group) {
			g.Receivers[d.net.Address("r4")] = member.Joined{}
		}, false},
		"one of these that is evicted": {func(d *desk, g *group) {
			g.Receivers[d.net.Address("r4")] = member.Joined{}
			g.evicted[d.net.Address("r4")] = true
		}, true},
		"a switch is away": {func(d *desk, _ *group) { d.away("n1") }, false},
		"a switch is busy": {func(d *desk, g *group) { d.busy("n1", g) }, false},
		"it is answered already": {func(d *desk, g *group) {
			d.admit(g)
			d.carry()
			d.heard("s1")
		}, false},
		"it has gone": {func(_ *desk, g *group) { g.Source = 0 }, false},
	} {
		d := newDesk(t)
		g := d.group(1, func(s *api.MulticastGroupSpec) {
			fromS1(s)
			s.Receivers = []api.GroupReceiver{{Address: sample.HostAddress(2)}}
		})
		d.heard("r1")
		d.joins(g, "r1", 50)
		d.joins(g, "r3", 60)
		d.away("n2") // so that it is not answered yet
		d.asks(g, call{host: "s1", qpn: 70, port: door})
		for _, m := range d.heard("s1") {
			if _, ok := m.(cm.REP); ok {
				t.Fatal("answered, and a switch is away")
			}
		}
		d.back("n2")
		for d.events.Diff(func(string, reconcile.Owner) {}) {
			for _, task := range d.events.Tasks(0, 0) {
				if task.ID != 0 {
					d.events.Done(reconcile.Result{Switch: task.Switch, ID: task.ID})
				}
			}
		}
		g.phase = steady
		c.change(d, g)
		d.admit(g)
		answered := false
		for _, task := range d.events.Tasks(0, 0) {
			for _, p := range task.Packets {
				if p.Op == entry.Send {
					d.out(task.Switch, p)
				}
			}
		}
		for _, m := range d.heard("s1") {
			rep, ok := m.(cm.REP)
			answered = answered || ok
			if ok && (rep.QPN != g.item.Spec.DesignatedQPN || rep.StartingPSN != 1000 ||
				rep.RNRRetryCount != 7 ||
				rep.CAGUID == 0 || rep.Failover != cm.FailoverUnsupported) {
				t.Errorf("%s: %+v", what, rep)
			}
		}
		if answered != c.want {
			t.Errorf("%s: answered %v", what, answered)
		}
		if g.SourceAt.IsValid() {
			t.Errorf("%s: the source of the spec is kept as one that came: %v", what, g.SourceAt)
		}
	}
}
