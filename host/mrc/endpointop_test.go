package mrc

import (
	"bytes"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// TestEVProbes: another host answers an EV probe with any DSCP, and the identifier matches the
// answer; the sender gives up a lost probe (§7.3, §7.4.7).
func TestEVProbes(t *testing.T) {
	l := newBed(t, 1, 2, 2)
	l.planes[0].delay, l.planes[1].dead = 3*time.Microsecond, true
	var requests, responses []packet.MRC
	l.tap = func(_ time.Duration, from, _ int, frame []byte) bool {
		p, _, err := packet.ParseMRC(bytes.Clone(frame), packet.DefaultMRCSettings())
		if err != nil {
			t.Fatal(err)
		}
		if from == 0 {
			requests = append(requests, p)
		} else {
			responses = append(responses, p)
		}
		return false
	}
	paths := testPaths(4, 2)
	var ids []uint16
	for i, path := range paths {
		id, err := l.hosts[0].SendEVProbe(l.Now(), EVProbe{Peer: testAddr(1), Path: path, DSCP: uint8(i)})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	l.run(time.Second, func() bool { return false })
	for i, p := range requests {
		if p.BTH.DestQPN != packet.EndpointQPN || p.BTH.EndpointID() != ids[i] ||
			packet.DSCP(p.IPv6.TrafficClass) != uint8(i) || p.ERTH.Op != packet.EndpointEVProbe ||
			p.EV() != paths[i].EV {
			t.Errorf("request %d: %+v %+v", i, p.BTH, p.ERTH)
		}
	}
	for _, p := range responses {
		if p.BTH.DestQPN != packet.EndpointQPN || p.EETH.Op != packet.EndpointEVProbe ||
			packet.DSCP(p.IPv6.TrafficClass) != packet.DefaultDSCPClasses().Control {
			t.Errorf("response: %+v %+v", p.BTH, p.EETH)
		}
	}
	answered := 0
	for r, ok := l.hosts[0].PollEndpoint(); ok; r, ok = l.hosts[0].PollEndpoint() {
		i := slices.Index(ids, r.ID)
		if i < 0 || r.Path != paths[i] || r.Peer != testAddr(1) || r.Op != packet.EndpointEVProbe ||
			r.Answered != (i%2 == 0) {
			t.Errorf("result %+v", r)
		}
		if r.Answered {
			answered++
			if r.RTT < 5*time.Microsecond || r.RTT > 7*time.Microsecond {
				t.Errorf("RTT %v, want 6 us", r.RTT)
			}
		}
	}
	if answered != 2 || len(requests) != 4 || len(responses) != 2 {
		t.Errorf("%d requests, %d responses, %d answered", len(requests), len(responses), answered)
	}
	for _, bad := range []EVProbe{{Path: paths[0]}, {Peer: testAddr(1)},
		{Peer: testAddr(1), Path: paths[0], DSCP: 64},
		{Peer: testAddr(1), Path: paths[0], Timeout: -1}} {
		if _, err := l.hosts[0].SendEVProbe(l.Now(), bad); !errors.Is(err, verbs.ErrConfig) {
			t.Errorf("%+v: %v", bad, err)
		}
		if _, err := l.hosts[0].SendPortStatusOf(l.Now(), bad, 1<<1); !errors.Is(err, verbs.ErrConfig) {
			t.Errorf("port status as %+v: %v", bad, err)
		}
	}
}

// TestEndpointIDs: identifiers of endpoint operations count up, wrap at 16 bits, and skip
// operations in progress, so that a late answer never matches another operation.
func TestEndpointIDs(t *testing.T) {
	for _, c := range []struct {
		last    uint16
		waiting []uint16
		want    uint16
	}{{0, nil, 1}, {5, []uint16{4, 5}, 6}, {5, []uint16{6}, 7}, {5, []uint16{8, 6, 7}, 9},
		{0xFFFF, nil, 0}, {0xFFFE, []uint16{0xFFFF, 0}, 1}} {
		o := endpointOps{id: c.last}
		for _, id := range c.waiting {
			o.waiting = append(o.waiting, endpointOp{result: EndpointResult{ID: id}})
		}
		if o.name(); o.id != c.want {
			t.Errorf("after %d, with %v under way: %d, want %d", c.last, c.waiting, o.id, c.want)
		}
	}
}

// TestEndpointOpsEnd: unanswered operations end at their deadlines; operations with equal deadlines
// end in sending order.
func TestEndpointOpsEnd(t *testing.T) {
	l := newBed(t, 1, 2, 1)
	l.planes[0].dead = true
	var ids []uint16
	for _, timeout := range []time.Duration{3, 2, 2, 1, 2} {
		id, err := l.hosts[0].SendEVProbe(l.Now(), EVProbe{Peer: testAddr(1), Path: Path{EV: 1, Port: 1},
			Timeout: timeout * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	l.run(time.Second, func() bool { return false })
	for _, i := range []int{3, 1, 2, 4, 0} {
		if r, ok := l.hosts[0].PollEndpoint(); !ok || r.ID != ids[i] || r.Answered {
			t.Errorf("result %+v, want that of operation %d (ID %d), not answered", r, i, ids[i])
		}
	}
}

// TestPortStatus: a port status update tells the peer which ports to use, is answered, and is never
// sent twice (§7.4.8).
func TestPortStatus(t *testing.T) {
	l := newBed(t, 1, 2, 3)
	qps := l.pair(0, 1, nil)
	var told []netip.Addr
	l.hosts[0].cfg.PeerPortsChanged = func(peer netip.Addr) { told = append(told, peer) }
	if got := l.hosts[0].PeerPorts(testAddr(1)); !got.Has(1) || !got.Has(31) {
		t.Errorf("ports of a peer that has said nothing: %#x", got)
	}
	if err := l.hosts[1].SetPort(2, false); err != nil {
		t.Fatal(err)
	}
	id, err := l.hosts[1].SendPortStatus(l.Now(), testAddr(0), Path{EV: 5, Port: 3})
	if err != nil {
		t.Fatal(err)
	}
	ports := map[int]int{}
	l.tap = func(_ time.Duration, from, port int, frame []byte) bool {
		if p, _, _ := packet.ParseMRC(frame, packet.DefaultMRCSettings()); from == 0 &&
			p.Headers.Is(packet.ExtMETH) {
			ports[port]++
		}
		return false
	}
	l.run(time.Second, func() bool { return false })
	if got := l.hosts[0].PeerPorts(testAddr(1)); got != packet.PortMask(0).With(1).With(3) {
		t.Errorf("peer's ports %#x", got)
	}
	if !slices.Equal(told, []netip.Addr{testAddr(1)}) {
		t.Errorf("ports of %v are said to have changed, want those of the peer, once", told)
	}
	if r, ok := l.hosts[1].PollEndpoint(); !ok || r.ID != id || !r.Answered ||
		r.Op != packet.EndpointPortStatus {
		t.Errorf("result %+v", r)
	}
	memory := l.region(1, 1<<16)
	data := pattern(1<<16, 1)
	l.post(qps[0], verbs.WorkRequest{Op: verbs.OpWrite, Data: data})
	l.run(l.Now()+time.Second, func() bool { return qps[0].SendQueueLen() == 0 })
	if !bytes.Equal(memory, data) || ports[2] != 0 || ports[1] == 0 || ports[3] == 0 {
		t.Errorf("packets by port: %v", ports)
	}
}

// TestEndpointClasses: a Port Status Update, its answer, and the answer to an EV probe travel in
// the control class, an EV probe in any ("May be transmitted on Data or Control Traffic Classes
// depending on the type of operation", OCP MRC 1.0, section 7.3; 7.4.7, 7.4.8). None takes a PSN of
// a queue pair.
func TestEndpointClasses(t *testing.T) {
	s, _ := newResponding(t, nil)
	control := s.wire.DSCP.Control
	expect := func(what string, out []sentPacket, opcode packet.Opcode, dscp uint8) {
		t.Helper()
		if len(out) != 1 || out[0].BTH.Opcode != opcode || packet.DSCP(out[0].IPv6.TrafficClass) != dscp {
			t.Errorf("%s: %v, want one %v with DSCP %d", what, opcodes(out), opcode, dscp)
		}
	}
	path := Path{EV: testEV, Port: 1}
	if _, err := s.host.SendPortStatus(s.now, testAddr(1), path); err != nil {
		t.Fatal(err)
	}
	expect("Port Status Update", s.take(), packet.OpMRCEndpointRequest, control)
	for _, dscp := range []uint8{s.wire.DSCP.Trimmable, control, 0} {
		if _, err := s.host.SendEVProbe(s.now,
			EVProbe{Peer: testAddr(1), Path: path, DSCP: dscp}); err != nil {
			t.Fatal(err)
		}
		expect("EV probe", s.take(), packet.OpMRCEndpointRequest, dscp)
	}
	for _, op := range []packet.EndpointOp{packet.EndpointPortStatus, packet.EndpointEVProbe} {
		p := endpointRequest(op)(s)
		p.IPv6.TrafficClass = packet.TrafficClass(s.wire.DSCP.NoTrim, packet.NotECT)
		expect("answer", s.give(p), packet.OpMRCEndpointResponse, control)
	}
	if s.qp.NextPSN() != 100 || s.qp.CackPSN() != 499 {
		t.Errorf("next PSN %d, cack_psn %d: endpoint operations take none", s.qp.NextPSN(),
			s.qp.CackPSN())
	}
}

// TestDeniedPorts: a denied port sends no data, answers or endpoint operations (§9.3.2.1), but
// still receives. Packets waiting for the port leave when the port is allowed again.
func TestDeniedPorts(t *testing.T) {
	s := newSolo(t, nil)
	s.host.DenyPorts(packet.PortMask(0).With(1))
	s.write(4)
	for _, p := range s.settle(time.Microsecond) {
		if p.port != 2 {
			t.Errorf("%v by port %d", p.BTH.Opcode, p.port)
		}
	}
	r := request(500, nil)
	r.BTH.AckReq = true
	if out := s.give(r); len(out) != 2 || out[0].port != 2 || out[1].port != 2 {
		t.Errorf("%d answers to what came by a denied port, want 2 by the other", len(out))
	}
	if _, err := s.host.SendEVProbe(s.now,
		EVProbe{Peer: testAddr(1), Path: Path{Port: 1}}); !errors.Is(err, verbs.ErrConfig) {
		t.Error(err)
	}
	s.host.DenyPorts(packet.PortMask(0).With(1).With(2))
	s.write(1)
	if out := s.settle(time.Millisecond); len(out) != 0 {
		t.Errorf("%d packets with all ports denied", len(out))
	}
	s.host.DenyPorts(0)
	if out := s.settle(time.Microsecond); len(out) == 0 {
		t.Error("nothing is sent when ports are allowed again")
	}
}

// TestEndpointPaths: the owner chooses where answers to endpoint requests go, or that there is no
// way; probes have timeouts of their own.
func TestEndpointPaths(t *testing.T) {
	l := newBed(t, 1, 2, 2)
	ok := true
	l.hosts[1].cfg.EndpointPath = func(_ time.Duration, peer netip.Addr, back Path,
		ports packet.PortMask) (Path, bool) {
		if peer != testAddr(0) || back.Port != 1 || back.EV != 77 || !ports.Has(2) {
			t.Errorf("asked for a way to %v, %+v, %#x", peer, back, ports)
		}
		return Path{EV: 99, Port: 2}, ok
	}
	var answers []int
	l.tap = func(_ time.Duration, from, port int, frame []byte) bool {
		p, _, _ := packet.ParseMRC(frame, packet.DefaultMRCSettings())
		if from == 1 {
			answers = append(answers, port)
			if p.EV() != 99 {
				t.Errorf("answer with %v", p.EV())
			}
		}
		return false
	}
	send := func(timeout time.Duration) uint16 {
		id, err := l.hosts[0].SendEVProbe(l.Now(), EVProbe{Peer: testAddr(1), Path: Path{EV: 77, Port: 1},
			Timeout: timeout})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	first := send(0)
	l.run(l.Now()+time.Second, func() bool { return false })
	if r, got := l.hosts[0].PollEndpoint(); !got || r.ID != first || !r.Answered || r.Port != 2 {
		t.Errorf("%+v", r)
	}
	ok = false
	late, soon := send(50*time.Millisecond), send(time.Millisecond)
	l.run(l.Now()+10*time.Millisecond, func() bool { return false })
	if r, got := l.hosts[0].PollEndpoint(); !got || r.ID != soon || r.Answered {
		t.Errorf("%+v, want that of the shorter timeout", r)
	}
	if r, got := l.hosts[0].PollEndpoint(); got {
		t.Errorf("%+v before its time", r)
	}
	l.run(l.Now()+time.Second, func() bool { return false })
	if r, got := l.hosts[0].PollEndpoint(); !got || r.ID != late || r.Answered {
		t.Errorf("%+v", r)
	}
	if r := l.hosts[1].Counters().Refused; r.Total() != 0 {
		t.Errorf("refused is what had no path back: %v", r.Map())
	}
	if n := l.hosts[1].Counters().NoPath; n != 2 || len(answers) != 1 || answers[0] != 2 {
		t.Errorf("%d answers without a path, answers by %v", n, answers)
	}
	if _, err := l.hosts[0].SendEVProbe(l.Now(), EVProbe{Peer: testAddr(1), Path: Path{Port: 1},
		Timeout: -1}); !errors.Is(err, verbs.ErrConfig) {
		t.Error(err)
	}
	for range maxWaiting {
		send(time.Second)
	}
	if _, err := l.hosts[0].SendEVProbe(l.Now(),
		EVProbe{Peer: testAddr(1), Path: Path{Port: 1}}); !errors.Is(err, verbs.ErrQueueFull) {
		t.Error(err)
	}
}

// TestServiceTimeAdjusted: the result of an operation says that the peer has adjusted the timestamp
// if the answer has another timestamp than the request had, whenever the host sent the request: a
// timestamp has 16 bits (table 7-23).
func TestServiceTimeAdjusted(t *testing.T) {
	const unit = packet.TimestampUnit
	for _, at := range []time.Duration{0, 77 * unit, 1 << 16 * unit, (1<<16+5)*unit + 1} {
		for _, adjusted := range []bool{false, true} {
			s := newSolo(t, nil)
			s.now = at
			probe := EVProbe{Peer: testAddr(1), Path: Path{Port: 1}}
			if _, err := s.host.SendEVProbe(at, probe); err != nil {
				t.Fatal(err)
			}
			p := s.endpointResponse(0, packet.EndpointEVProbe)
			p.EETH.Timestamp = uint16(at / unit)
			if adjusted {
				p.EETH.Timestamp++
			}
			s.now += 10 * unit
			s.give(p)
			r, ok := s.host.PollEndpoint()
			if !ok || !r.Answered || r.ServiceTimeAdjusted != adjusted {
				t.Errorf("sent at %v, adjusted %v: %+v, %v", at, adjusted, r, ok)
			}
		}
	}
}
