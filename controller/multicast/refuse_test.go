package multicast

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/rdmacm"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/packet/cm"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/topology"
)

const door = 4242 // the port of sources; receivers connect to the next one

// ready is an underlay that has all that groups wait for.
type ready struct{ feature.Underlay }

func (ready) Settled() bool     { return true }
func (ready) Ready(string) bool { return true }

// desk is the feature on the network of the draft, whose switches take everything at once: s1 is at
// n6, r1 and r2 at n1, r3 at n2, r4 and r5 at n3. Hosts are tests.
type desk struct {
	*testing.T
	*Feature
	events reconcile.Events
	net    *sample.Net
	sent   map[netip.Addr][]cm.Message // to hosts, since they were looked at
	next   uint32                      // communication id
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	net := sample.Figure1()
	start := time.Unix(1e9, 0)
	want, state, events, err := reconcile.New(reconcile.Config{Start: start, Rank: plan.Rank,
		Owner:    func(e entry.Entity) reconcile.Owner { return reconcile.Owner(plan.OwnerOf(e)) },
		Frozen:   func(string, reconcile.Owner) bool { return false },
		Keeps:    func(string, reconcile.Owner, entry.Entity) bool { return false },
		Object:   func(reconcile.Owner) string { return "" },
		Intended: func(o reconcile.Owner) bool { return plan.Intended(int(o)) }}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{T: t, events: events, net: net, sent: make(map[netip.Addr][]cm.Message), next: 100,
		Feature: New(&feature.Env{Start: start, Want: want, Switches: state, Underlay: ready{},
			Versions: resource.NewVersions("versions"),
			Net:      plan.NewNetwork(net.Topology.Build(), &net.Inventory)})}
	names := make(map[string]bool)
	for i := range net.Inventory.Switches {
		names[net.Inventory.Switches[i].Name] = true
	}
	events.SetSwitches(names, reconcile.Intervals{})
	d.Start()
	for name := range names {
		events.Connect(name, entry.Contents{})
		d.SwitchEvent(name, feature.SwitchEvent{Kind: feature.ReadBack})
	}
	d.carry()
	return d
}

// carry has the switches take what they should hold, and send what they should send.
func (d *desk) carry() {
	for more := true; more; {
		more = d.events.Diff(func(sw string, o reconcile.Owner) {
			d.SwitchEvent(sw, feature.SwitchEvent{Kind: feature.Progress, Owner: o})
		})
		more = d.Settle() || more
		d.Report()
		for _, task := range d.events.Tasks(0, 0) {
			more = true
			for _, p := range task.Packets {
				d.out(task.Switch, p)
			}
			if task.ID != 0 {
				d.events.Done(reconcile.Result{Switch: task.Switch, ID: task.ID})
			}
		}
	}
}

// out takes a packet of a switch: a message to a host, or a question for a state, which none has.
func (d *desk) out(sw string, p entry.PacketOut) {
	switch p.Op {
	case entry.Send:
		f, _, err := cm.ParseFrame(p.Payload)
		if err != nil {
			d.Fatal(err)
		}
		d.sent[f.IPv6.Dst] = append(d.sent[f.IPv6.Dst], f.MAD.Message)
	case entry.State:
		d.arrives(sw, entry.PacketIn{Reason: entry.StateAnswer, Group: p.Group, Branch: p.Branch})
	}
}

func (d *desk) arrives(sw string, p entry.PacketIn) {
	d.SwitchEvent(sw, feature.SwitchEvent{Kind: feature.GotPacket, PacketIn: &p})
}

// pass lets time pass.
func (d *desk) pass(by time.Duration) {
	for end := d.env.Now + by; ; {
		d.carry()
		at, ok := d.Next()
		if !ok || at > end {
			d.env.Now = end
			d.events.Tick(end)
			return
		}
		d.env.Now = max(at, d.env.Now)
		d.events.Tick(d.env.Now)
		d.Tick()
	}
}

// TestNetworkLeavesGroups: with a new topology, what switches hold is made anew for those groups
// alone whose trees change. They are in check then.
func TestNetworkLeavesGroups(t *testing.T) {
	d := newDesk(t)
	spec := d.net.Spec(1, "s1", "r1", "r3")
	if _, _, err := d.Groups().Put("g", spec, resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	d.SetNetwork() // the first after the start
	d.pass(time.Second)
	d.net.Topology.SetNode(topology.Node{ID: "elsewhere"})
	d.env.Net = plan.NewNetwork(d.net.Topology.Build(), &d.net.Inventory)
	if d.SetNetwork(); len(d.check) > 0 {
		t.Errorf("groups %v are written again", d.check)
	}
	d.net.Topology.RemoveLink(d.groups["g"].latest().Nodes[1].Links[0])
	d.env.Net = plan.NewNetwork(d.net.Topology.Build(), &d.net.Inventory)
	if d.SetNetwork(); len(d.check) != 1 {
		t.Errorf("groups %v are written again, want the one that lost a link", d.check)
	}
}

// group makes the i-th group, to which every host may connect.
func (d *desk) group(i int, change func(*api.MulticastGroupSpec)) *group {
	d.Helper()
	spec := api.MulticastGroupSpec{DesignatedQPN: 0xabc, InitialPSN: 1000,
		ProxyAddress: netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 0xff, 0xff, 15: byte(i)}),
		Connect: &api.GroupConnect{Port: door, Source: api.SourceAny,
			Receivers: []netip.Prefix{netip.MustParsePrefix("2001:db8:1::/64")}}}
	if change != nil {
		change(&spec)
	}
	name := string(rune('a' + i - 1))
	if _, _, err := d.Groups().Put(name, spec, resource.Precondition{}); err != nil {
		d.Fatal(err)
	}
	d.pass(time.Second)
	d.env.Take()
	return d.groups[name]
}

// call is a request of a host.
type call struct {
	host string
	qpn  uint32
	port uint16 // of the service
	req  cm.REQ // the fields that are not as usual
	at   inventory.Attachment
	to   netip.Addr
	tid  uint64
}

// asks sends a request, and returns its communication id.
func (d *desk) asks(g *group, c call) uint32 {
	r := c.req
	if r.LocalID == 0 {
		d.next++
		r.LocalID = d.next
	}
	if r.ServiceID == 0 {
		r.ServiceID = cm.ServiceID(c.port)
	}
	if r.PathMTU == 0 {
		r.PathMTU = cm.MTU1024
	}
	if r.CAGUID == 0 {
		r.CAGUID = 7
	}
	r.QPN, r.StartingPSN = c.qpn, 55
	d.says(g, c, r)
	return r.LocalID
}

// says sends a message of a host to a group.
func (d *desk) says(g *group, c call, m cm.Message) {
	h := d.net.Inventory.Host(d.net.Address(c.host))
	if c.at.Switch == "" {
		c.at = inventory.Attachment{Switch: h.Switch, Port: h.Port}
	}
	if !c.to.IsValid() {
		c.to = g.item.Spec.ProxyAddress
	}
	if c.tid == 0 {
		c.tid = uint64(d.next)
	}
	f := cm.Frame{Ethernet: packet.Ethernet{Src: packet.MAC(h.MAC)}, IPv6: packet.IPv6{HopLimit: 64,
		Src: h.Address, Dst: c.to}, SrcPort: 0xC001, PKey: packet.DefaultPKey, SourceQPN: cm.GSI,
		MAD: cm.MAD{TID: c.tid, Message: m}}
	d.arrives(c.at.Switch, entry.PacketIn{Reason: entry.Connect, IngressPort: uint16(c.at.Port),
		Group: g.index, Payload: f.Append(nil)})
	d.carry()
}

// heard returns what a host was sent since the last call.
func (d *desk) heard(host string) []cm.Message {
	a := d.net.Address(host)
	out := d.sent[a]
	delete(d.sent, a)
	return out
}

// refusal returns the one answer of a host's request, which must be REJ, and its text.
func (d *desk) refusal(host string) (r cm.REJ, text string) {
	d.Helper()
	got := d.heard(host)
	if len(got) != 1 {
		d.Fatalf("%s got %+v, want a REJ", host, got)
	}
	r, ok := got[0].(cm.REJ)
	if !ok {
		d.Fatalf("%s got %+v, want a REJ", host, got)
	}
	return r, string(bytes.TrimRight(r.Private[:], "\x00"))
}

// accepted has a receiver, whose request was answered, be connected. It returns the answer.
func (d *desk) accepted(g *group, host string, id uint32) (rep cm.REP) {
	d.Helper()
	got := d.heard(host)
	if len(got) == 0 {
		d.Fatalf("%s got nothing, want a REP", host)
	}
	rep, ok := got[len(got)-1].(cm.REP)
	if !ok || rep.RemoteID != id {
		d.Fatalf("%s got %+v, want a REP for %d", host, got, id)
	}
	d.says(g, call{host: host}, cm.RTU{LocalID: id, RemoteID: rep.LocalID})
	return rep
}

// joins connects a receiver that is taken.
func (d *desk) joins(g *group, host string, qpn uint32) (cm.REP, uint32) {
	d.Helper()
	id := d.asks(g, call{host: host, qpn: qpn, port: door + 1})
	return d.accepted(g, host, id), id
}

// conns are the connections of a host with a group.
func (d *desk) conns(g *group, host string) []rdmacm.Conn {
	return slices.DeleteFunc(g.cm.Conns(), func(c rdmacm.Conn) bool {
		return c.Peer != d.net.Address(host)
	})
}

// TestRefusals: who may not connect is refused with the reason, is no part of the group, and has
// one event however often it asks; the same request without the fault is taken.
func TestRefusals(t *testing.T) {
	typed := func(d *desk) {
		spec := d.net.Spec(9, "s1", "r1", "r4")
		if _, _, err := d.Groups().Put("typed", spec, resource.Precondition{}); err != nil {
			d.Fatal(err)
		}
		d.pass(time.Second)
	}
	taken := sample.QPN(9) + 1
	foreign := func(d *desk) {
		d.MayUse = func(group, host string) bool { return group == "a" && host != "r2" }
	}
	narrow := func(d *desk) { // n4, which is between n6 and n1 carry less
		d.PortMTU = func(sw string, _ uint32) uint32 {
			if sw == "n4" {
				return 2048 + groupHeaders - 1
			}
			return 0
		}
	}
	mtu := func(s *api.MulticastGroupSpec) { s.Connect.MTU = 1024 }
	named := func(s *api.MulticastGroupSpec) {
		s.Connect.Source, s.Connect.Receivers = api.SourceSpec, nil
		s.Source.Address = sample.HostAddress(1)
		s.Receivers = []api.GroupReceiver{{Address: sample.HostAddress(2)}}
	}
	withMTU := func(m cm.MTU) cm.REQ { return cm.REQ{PathMTU: m} }
	for _, c := range []struct {
		what      string
		before    func(*desk)
		spec      func(*api.MulticastGroupSpec)
		bad, good call
		reason    cm.Reason
		info      cm.MTU
		text      string
	}{
		{"a queue pair of a typed group, as receiver", typed, nil,
			call{host: "r1", qpn: taken, port: door + 1},
			call{host: "r1", qpn: taken + 7, port: door + 1}, cm.ConsumerReject, 0,
			"belongs to another group"},
		{"a queue pair of a typed group, as source", typed, nil, call{host: "r1", qpn: taken, port: door},
			call{host: "r1", qpn: taken + 7, port: door}, cm.ConsumerReject, 0,
			"belongs to another group"},
		{"the queue pair of another's source", typed, nil,
			call{host: "s1", qpn: sample.QPN(9), port: door + 1},
			call{host: "r3", qpn: sample.QPN(9), port: door + 1}, cm.ConsumerReject, 0,
			"belongs to another group"},
		{"another project's, as receiver", foreign, nil, call{host: "r2", qpn: 50, port: door + 1},
			call{host: "r1", qpn: 50, port: door + 1}, cm.ConsumerReject, 0, "project"},
		{"another project's, as source", foreign, nil, call{host: "r2", qpn: 50, port: door},
			call{host: "r1", qpn: 50, port: door}, cm.ConsumerReject, 0, "project"},
		{"a path MTU above the spec's", nil, mtu,
			call{host: "r1", qpn: 50, port: door + 1, req: withMTU(cm.MTU2048)},
			call{host: "r1", qpn: 50, port: door + 1, req: withMTU(cm.MTU1024)}, cm.InvalidMTU,
			cm.MTU1024, "spec.connect.mtu"},
		{"a path MTU above the spec's, as source", nil, mtu,
			call{host: "s1", qpn: 50, port: door, req: withMTU(cm.MTU2048)},
			call{host: "s1", qpn: 50, port: door, req: withMTU(cm.MTU512)}, cm.InvalidMTU,
			cm.MTU1024, "spec.connect.mtu"},
		{"no path MTU", nil, nil, call{host: "r1", qpn: 50, port: door + 1, req: withMTU(9)},
			call{host: "r1", qpn: 50, port: door + 1, req: withMTU(cm.MTU256)}, cm.InvalidMTU,
			cm.MTU4096, "path MTU 0"},
		{"a path MTU above the links'", narrow, func(s *api.MulticastGroupSpec) {
			s.Connect.Source, s.Source.Address = api.SourceSpec, sample.HostAddress(1)
		}, call{host: "r1", qpn: 50, port: door + 1, req: withMTU(cm.MTU2048)},
			call{host: "r1", qpn: 50, port: door + 1, req: withMTU(cm.MTU1024)}, cm.InvalidMTU,
			cm.MTU1024, "links"},
		{"a port after those of the group", nil, nil, call{host: "r1", qpn: 50, port: door + 2},
			call{host: "r1", qpn: 50, port: door + 1}, cm.InvalidServiceID, 0, "port 4244"},
		{"a port before those of the group", nil, nil, call{host: "r1", qpn: 50, port: door - 1},
			call{host: "r1", qpn: 50, port: door}, cm.InvalidServiceID, 0, "port 4241"},
		{"a receiver that the spec does not have", nil, named, call{host: "r3", qpn: 50, port: door + 1},
			call{host: "r1", qpn: 50, port: door + 1}, cm.ConsumerReject, 0, "address of a receiver"},
		{"another source than the spec's", nil, named, call{host: "r1", qpn: 50, port: door},
			call{host: "r1", qpn: 50, port: door + 1}, cm.ConsumerReject, 0,
			"not the address of the source"},
		{"without the token", nil, func(s *api.MulticastGroupSpec) { s.Connect.Token = "sesame" },
			call{host: "r1", qpn: 50, port: door + 1}, call{host: "r1", qpn: 50, port: door + 1,
				req: token("sesame")}, cm.ConsumerReject, 0, "token"},
		{"with another token, as source", nil, func(s *api.MulticastGroupSpec) {
			s.Connect.Token = "sesame"
		}, call{host: "r1", qpn: 50, port: door, req: token("sesam")}, call{host: "r1", qpn: 50,
			port: door, req: token("sesame")}, cm.ConsumerReject, 0, "token"},
		{"the source as receiver", nil, func(s *api.MulticastGroupSpec) {
			s.Connect.AtLeast = 2
		}, call{host: "s1", qpn: 51, port: door + 1}, call{host: "r1", qpn: 51, port: door + 1},
			cm.ConsumerReject, 0, "is the source"},
	} {
		t.Run(c.what, func(t *testing.T) {
			d := newDesk(t)
			if c.before != nil {
				c.before(d)
			}
			g := d.group(1, c.spec)
			if c.text == "is the source" {
				d.asks(g, call{host: "s1", qpn: 50, port: door})
			}
			d.heard(c.bad.host) // questions whether it listens, and MRA
			clear(d.sent)
			was := len(d.conns(g, c.bad.host))
			for range 3 {
				d.asks(g, c.bad)
				r, text := d.refusal(c.bad.host)
				if r.Reason != c.reason || r.Of != cm.OfREQ || !strings.Contains(text, c.text) {
					t.Errorf("refused of %v: %v, %q; want %v, %q", r.Of, r.Reason, text, c.reason, c.text)
				}
				if c.info != 0 && (r.InfoLen != 1 || cm.MTU(r.Info[0]) != c.info) {
					t.Errorf("additional information %d of %d octets, want %v", r.Info[0], r.InfoLen, c.info)
				}
				if n := len(d.conns(g, c.bad.host)); n != was || len(g.receivers) != 0 {
					t.Errorf("%d connections, receivers %v", n, g.receivers)
				}
			}
			events, _ := d.env.Take()
			n := 0
			for _, e := range events {
				if e.Type == api.EventConnectionRefused {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%d events of refusals: %v", n, events)
			}
			id := d.asks(g, c.good)
			switch got := d.heard(c.good.host); m := got[len(got)-1].(type) {
			case cm.REP:
				if m.RemoteID != id {
					t.Errorf("answer to %d, want %d", m.RemoteID, id)
				}
			case cm.MRA: // a source waits for receivers
			default:
				t.Errorf("without the fault: %+v", got)
			}
		})
	}
}

// token is the rest of a request with a token.
func token(text string) (r cm.REQ) {
	j := cm.Join{HasToken: true}
	copy(j.Token[:], text)
	copy(r.Private[:], j.Append(nil))
	return r
}

// TestWrongPort: what comes by another port than the host's own, or with another destination than
// the group's, is not answered, and changes nothing.
func TestWrongPort(t *testing.T) {
	d := newDesk(t)
	g := d.group(1, nil)
	h := d.net.Inventory.Host(d.net.Address("r1"))
	for what, c := range map[string]call{
		"a neighbor's port":                  {at: inventory.Attachment{Switch: "n1", Port: h.Port + 1}},
		"a port between switches":            {at: inventory.Attachment{Switch: "n1", Port: 1}},
		"the same port of another switch":    {at: inventory.Attachment{Switch: "n3", Port: h.Port}},
		"the proxy address of another":       {to: netip.MustParseAddr("2001:db8:ffff::2")},
		"the address of the host, not of us": {to: h.Address},
	} {
		c.host, c.qpn, c.port = "r1", 50, door+1
		d.asks(g, c)
		if got := d.heard("r1"); len(got) != 0 || len(d.conns(g, "r1")) != 0 {
			t.Errorf("%s: answered %+v, connections %+v", what, got, d.conns(g, "r1"))
		}
	}
	// Nor can a neighbor end what is connected.
	rep, id := d.joins(g, "r1", 50)
	d.says(g, call{host: "r1", at: inventory.Attachment{Switch: "n1", Port: h.Port + 1}},
		cm.DREQ{LocalID: id, RemoteID: rep.LocalID, QPN: rep.QPN})
	if c := d.conns(g, "r1"); len(c) != 1 || c[0].State != rdmacm.Established {
		t.Errorf("disconnected by a neighbor: %+v", c)
	}
	d.says(g, call{host: "r1"}, cm.DREQ{LocalID: id, RemoteID: rep.LocalID, QPN: rep.QPN})
	if len(g.receivers) != 0 {
		t.Errorf("receivers %v", g.receivers)
	}
	if events, _ := d.env.Take(); slices.ContainsFunc(events, func(e api.Event) bool {
		return e.Type == api.EventConnectionRefused
	}) {
		t.Errorf("events %v", events)
	}
}

// TestStalePair: a pair of CA GUID and queue pair that is connected is refused as stale, and the
// connection ends, as IBTA has it; after that it is taken. With another GUID it has begun anew.
func TestStalePair(t *testing.T) {
	d := newDesk(t)
	g := d.group(1, nil)
	rep, id := d.joins(g, "r1", 50)
	d.asks(g, call{host: "r1", qpn: 50, port: door + 1})
	got := d.heard("r1")
	if len(got) != 2 {
		t.Fatalf("got %+v, want REJ and DREQ", got)
	}
	rej, _ := got[0].(cm.REJ)
	dreq, _ := got[1].(cm.DREQ)
	if rej.Reason != cm.StaleConnection || dreq.RemoteID != id || dreq.QPN != 50 {
		t.Errorf("got %+v", got)
	}
	d.says(g, call{host: "r1"}, cm.DREP{LocalID: id, RemoteID: rep.LocalID})
	if len(g.receivers) != 0 {
		t.Errorf("receivers %v", g.receivers)
	}
	_, id = d.joins(g, "r1", 50)
	// The same communication id under another transaction is another life of the host.
	d.asks(g, call{host: "r1", qpn: 51, port: door + 1, req: cm.REQ{LocalID: id}, tid: 99})
	if r, _ := d.refusal("r1"); r.Reason != cm.StaleConnection || len(g.receivers) != 0 {
		t.Errorf("%v, receivers %v", r.Reason, g.receivers)
	}
	d.joins(g, "r1", 50)
	id = d.asks(g, call{host: "r1", qpn: 50, port: door + 1, req: cm.REQ{CAGUID: 8}})
	d.accepted(g, "r1", id)
	a := d.net.Address("r1")
	if c, ok := g.cm.Conn(g.receivers[a].Conn); !ok || c.RemoteID != id || len(g.receivers) != 1 {
		t.Errorf("begun anew: %+v", c)
	}
	up := slices.DeleteFunc(d.conns(g, "r1"), func(c rdmacm.Conn) bool {
		return c.State != rdmacm.Established
	})
	if len(up) != 1 {
		t.Errorf("begun anew: %+v are connected", up)
	}
}

// TestGUIDs: each group has a CA GUID of its own: a host that has the designated queue pair of one
// takes that of another, and does not refuse it as stale.
func TestGUIDs(t *testing.T) {
	d := newDesk(t)
	a, b := d.group(1, nil), d.group(2, nil)
	x, _ := d.joins(a, "r1", 50)
	y, _ := d.joins(b, "r1", 51)
	if x.QPN != y.QPN || x.CAGUID == y.CAGUID {
		t.Errorf("queue pairs %d and %d, GUIDs %x and %x", x.QPN, y.QPN, x.CAGUID, y.CAGUID)
	}
}

// TestGUIDOfRequests: a request of a group has another CA GUID than its answers: one that is late
// reaches a host that has connected by itself, which would end its connection as stale.
func TestGUIDOfRequests(t *testing.T) {
	d := newDesk(t)
	g := d.group(1, func(s *api.MulticastGroupSpec) {
		s.Receivers = []api.GroupReceiver{{Address: sample.HostAddress(2)}}
	})
	req, ok := d.heard("r1")[0].(cm.REQ)
	if !ok {
		t.Fatal("the listener is not asked")
	}
	rep, _ := d.joins(g, "r1", 50)
	if req.QPN != rep.QPN || req.CAGUID == rep.CAGUID || req.CAGUID == 0 {
		t.Errorf("request %x/%d, answer %x/%d", req.CAGUID, req.QPN, rep.CAGUID, rep.QPN)
	}
}

// TestQueuePairOfListener: a host that listens may not answer with a queue pair of another group.
func TestQueuePairOfListener(t *testing.T) {
	d := newDesk(t)
	d.joins(d.group(1, nil), "r1", 50)
	b := d.group(2, func(s *api.MulticastGroupSpec) {
		s.Receivers = []api.GroupReceiver{{Address: sample.HostAddress(2)}}
	})
	req, ok := d.heard("r1")[0].(cm.REQ)
	if !ok {
		t.Fatal("the listener is not asked")
	}
	tid := b.cm.Conns()[0].TID
	rep := cm.REP{LocalID: 9, RemoteID: req.LocalID, QPN: 50, CAGUID: 7}
	d.says(b, call{host: "r1", tid: tid}, rep)
	if r, text := d.refusal("r1"); r.Reason != cm.ConsumerReject || r.Of != cm.OfREP ||
		!strings.Contains(text, "belongs to another group") || len(b.receivers) != 0 {
		t.Errorf("%v of %v, %q, receivers %v", r.Reason, r.Of, text, b.receivers)
	}
	d.pass(2 * redial) // it is asked again
	req, ok = d.heard("r1")[0].(cm.REQ)
	if !ok {
		t.Fatal("the listener is not asked again")
	}
	rep.RemoteID, rep.QPN = req.LocalID, 51
	d.says(b, call{host: "r1", tid: b.cm.Conns()[0].TID}, rep)
	if _, ok := d.heard("r1")[0].(cm.RTU); !ok || len(b.receivers) != 1 {
		t.Errorf("another queue pair: receivers %v", b.receivers)
	}
}

// TestQueuePairIsFree: a queue pair whose connection has ended may be another group's.
func TestQueuePairIsFree(t *testing.T) {
	d := newDesk(t)
	a, b := d.group(1, nil), d.group(2, nil)
	rep, id := d.joins(a, "r1", 50)
	d.asks(b, call{host: "r1", qpn: 50, port: door + 1})
	d.refusal("r1")
	d.says(a, call{host: "r1"}, cm.DREQ{LocalID: id, RemoteID: rep.LocalID, QPN: rep.QPN})
	d.heard("r1")
	d.joins(b, "r1", 50)
}

// TestQueuePairOfTwoLate: of two groups that a receiver joins late with one queue pair, one has it.
func TestQueuePairOfTwoLate(t *testing.T) {
	d := newDesk(t)
	var groups []*group
	for i := range 2 {
		g := d.group(i+1, nil)
		d.joins(g, "r3", uint32(60+i))
		id := d.asks(g, call{host: "s1", qpn: uint32(70 + i), port: door})
		d.pass(time.Second)
		d.accepted(g, "s1", id)
		groups = append(groups, g)
	}
	for _, g := range groups {
		d.asks(g, call{host: "r1", qpn: 50, port: door + 1})
	}
	d.pass(3 * time.Second)
	var reps, rejs int
	for _, m := range d.heard("r1") {
		switch m := m.(type) {
		case cm.REP:
			reps++
		case cm.REJ:
			rejs++
			if m.Reason != cm.ConsumerReject {
				t.Errorf("refused: %v", m.Reason)
			}
		}
	}
	pair := api.QueuePair{Address: d.net.Address("r1"), QPN: 50}
	if n := len(d.pairs[pair]); n != 1 || reps != 1 || rejs != 1 {
		t.Errorf("%d groups have the queue pair; %d REP, %d REJ", n, reps, rejs)
	}
}
