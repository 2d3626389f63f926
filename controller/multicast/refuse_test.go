package multicast

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/rdmacm"
	"github.com/weft-sdn/weft/packet/cm"
	"github.com/weft-sdn/weft/topology"
)

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

// TestRefusals: the controller refuses a host that may not connect, with the reason. The host does
// not join the group, and sends one event however often the host asks. The controller accepts the
// same request without the fault.
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
			call{host: "r1", qpn: 50, port: door + 1}, cm.InvalidServiceID, 0,
			"port 4244: sources connect to 4242, receivers to 4243"},
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
				if n := len(d.conns(g, c.bad.host)); n != was || len(g.Receivers) != 0 {
					t.Errorf("%d connections, receivers %v", n, g.Receivers)
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
	if len(g.Receivers) != 0 {
		t.Errorf("receivers %v", g.Receivers)
	}
	if events, _ := d.env.Take(); slices.ContainsFunc(events, func(e api.Event) bool {
		return e.Type == api.EventConnectionRefused
	}) {
		t.Errorf("events %v", events)
	}
}

// TestStalePair: the controller refuses a connected pair of CA GUID and queue pair as stale and
// ends the connection (IBTA). After that, the controller accepts the pair. With another GUID, the
// host has started again.
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
	if len(g.Receivers) != 0 {
		t.Errorf("receivers %v", g.Receivers)
	}
	_, id = d.joins(g, "r1", 50)
	// A known communication id with a new transaction id means that the host has restarted.
	d.asks(g, call{host: "r1", qpn: 51, port: door + 1, req: cm.REQ{LocalID: id}, tid: 99})
	if r, _ := d.refusal("r1"); r.Reason != cm.StaleConnection || len(g.Receivers) != 0 {
		t.Errorf("%v, receivers %v", r.Reason, g.Receivers)
	}
	d.joins(g, "r1", 50)
	id = d.asks(g, call{host: "r1", qpn: 50, port: door + 1, req: cm.REQ{CAGUID: 8}})
	d.accepted(g, "r1", id)
	a := d.net.Address("r1")
	if c, ok := g.Conn(g.Receivers[a].Conn); !ok || c.RemoteID != id || len(g.Receivers) != 1 {
		t.Errorf("begun anew: %+v", c)
	}
	up := slices.DeleteFunc(d.conns(g, "r1"), func(c rdmacm.Conn) bool {
		return c.State != rdmacm.Established
	})
	if len(up) != 1 {
		t.Errorf("begun anew: %+v are connected", up)
	}
}

// TestGUIDs: each group has a separate CA GUID, so that a host with the designated queue pair of
// one group accepts the designated queue pair of the next group and does not refuse the queue pair
// as stale.
func TestGUIDs(t *testing.T) {
	d := newDesk(t)
	a, b := d.group(1, nil), d.group(2, nil)
	x, _ := d.joins(a, "r1", 50)
	y, _ := d.joins(b, "r1", 51)
	if x.QPN != y.QPN || x.CAGUID == y.CAGUID {
		t.Errorf("queue pairs %d and %d, GUIDs %x and %x", x.QPN, y.QPN, x.CAGUID, y.CAGUID)
	}
}

// TestGUIDOfRequests: the requests and the answers of a group use different CA GUIDs. With the same
// GUID, a late request to a host that has connected by itself would make the host end the
// connection as stale.
func TestGUIDOfRequests(t *testing.T) {
	d := newDesk(t)
	g, req := d.listener(1)
	rep, _ := d.joins(g, "r1", 50)
	if req.QPN != rep.QPN || req.CAGUID == rep.CAGUID || req.CAGUID == 0 {
		t.Errorf("request %x/%d, answer %x/%d", req.CAGUID, req.QPN, rep.CAGUID, rep.QPN)
	}
}

// TestQueuePairOfListener: a listening host may not answer with a queue pair of another group.
func TestQueuePairOfListener(t *testing.T) {
	d := newDesk(t)
	d.joins(d.group(1, nil), "r1", 50)
	b, req := d.listener(2)
	tid := b.Connections[0].TID
	rep := cm.REP{LocalID: 9, RemoteID: req.LocalID, QPN: 50, CAGUID: 7}
	d.says(b, call{host: "r1", tid: tid}, rep)
	if r, text := d.refusal("r1"); r.Reason != cm.ConsumerReject || r.Of != cm.OfREP ||
		!strings.Contains(text, "belongs to another group") || len(b.Receivers) != 0 {
		t.Errorf("%v of %v, %q, receivers %v", r.Reason, r.Of, text, b.Receivers)
	}
	d.pass(2 * redial) // it is asked again
	req, ok := d.heard("r1")[0].(cm.REQ)
	if !ok {
		t.Fatal("the listener is not asked again")
	}
	rep.RemoteID, rep.QPN = req.LocalID, 51
	d.says(b, call{host: "r1", tid: b.Connections[0].TID}, rep)
	if _, ok := d.heard("r1")[0].(cm.RTU); !ok || len(b.Receivers) != 1 {
		t.Errorf("another queue pair: receivers %v", b.Receivers)
	}
}

// TestQueuePairIsFree: a queue pair whose connection has ended is free for another group.
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

// TestQueuePairOfTwoLate: a receiver joins two groups late with the same queue pair. One group
// accepts the queue pair, the other group refuses it.
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
