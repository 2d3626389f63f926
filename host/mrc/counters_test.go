package mrc

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/internal/countstest"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// trimmedFrame returns a packet of the peer, trimmed by a switch.
func (s *solo) trimmedFrame(p packet.MRC) []byte {
	f := s.frame(p)
	f[packet.EthernetLen] = 6<<4 | s.wire.DSCP.Trimmed>>2
	f[packet.EthernetLen+1] = s.wire.DSCP.Trimmed << 6
	return f
}

// TestCounters: every event of a queue pair raises the counters of this event, by the right amount,
// and no other counter.
func TestCounters(t *testing.T) {
	type counts = map[string]int
	sack := counts{"SACKsReceived": 1, "MPRUnset": 1} // its window is not said
	var first sentPacket                              // PSN 100
	for _, c := range []struct {
		name string
		do   func(s *solo)
		want counts
	}{
		{"a request", func(s *solo) { s.give(request(500, make([]byte, 7))) },
			counts{"RequestsReceived": 1, "PayloadReceived": 7, "MaxOOO": 1}},
		{"a request that asks", func(s *solo) {
			p := request(500, make([]byte, 7))
			p.BTH.AckReq = true
			s.give(p)
		}, counts{"RequestsReceived": 1, "PayloadReceived": 7, "MaxOOO": 1, "SACKsSent": 1, "AcksSent": 1,
			"PenaltiesSent": 1}},
		{"requests out of order", func(s *solo) {
			for _, psn := range []uint32{503, 501, 502} {
				s.give(request(psn, nil))
			}
		}, counts{"RequestsReceived": 3, "MaxOOO": 3}},
		{"a duplicate", func(s *solo) { s.give(request(499, nil)) },
			counts{"Duplicates": 1, "SACKsSent": 1, "AcksSent": 1, "PenaltiesSent": 1}},
		{"a marked request", func(s *solo) {
			p := request(500, nil)
			p.IPv6.TrafficClass |= packet.CE
			s.give(p)
		}, counts{"RequestsReceived": 1, "MaxOOO": 1, "CEReceived": 1, "SACKsSent": 1,
			"PenaltiesSent": 1}},
		{"a trimmed request", func(s *solo) {
			s.host.Receive(s.now, 1, s.trimmedFrame(request(500, nil)))
		}, counts{"Trimmed": 1, "NACKsSent": 1}},
		{"a request without room", func(s *solo) { s.give(request(777, nil)) },
			counts{"ResourceNACKsSent": 1, "NACKsSent": 1}},
		{"a request that cannot be executed", func(s *solo) {
			p := request(500, []byte{1})
			p.RETH.RKey++
			s.give(p)
		}, counts{"NAKsSent": 1, "MaxOOO": 1}},
		{"answers without a path", func(s *solo) {
			s.host.DenyPorts(^packet.PortMask(0))
			s.give(request(499, nil))
			s.host.DenyPorts(0)
		}, counts{"Duplicates": 1, "NoPath": 2, "AcksSent": 1}},
		{"a probe", func(s *solo) { s.give(packet.MRC{BTH: packet.MRCBTH{Opcode: packet.OpMRCProbe}}) },
			counts{"SACKsSent": 1, "PenaltiesSent": 1}},
		{"a transport ACK", func(s *solo) { s.give(ackPacket(102, plainACK)) },
			counts{"AcksReceived": 1}},
		{"a stale transport ACK", func(s *solo) { s.give(ackPacket(99, plainACK)) }, counts{}},
		{"a NAK", func(s *solo) { s.give(ackPacket(101, packet.NAKSyndrome(packet.NAKRemoteAccess))) },
			counts{"NAKsReceived": 1}},
		{"a SACK", func(s *solo) { s.give(sackPacket(100, 100, first.EV(), 0)) }, sack},
		{"a SACK of another path", func(s *solo) { s.give(sackPacket(100, 100, first.EV()^1, 0)) },
			counts{"SACKsReceived": 1, "MPRUnset": 1, "EVMismatch": 1}},
		{"a SACK with a penalty", func(s *solo) {
			p := sackPacket(100, 100, first.EV(), 0)
			p.SETH.SetNSCC(packet.NSCC{RcvCwndPenalty: 1})
			s.give(p)
		}, counts{"SACKsReceived": 1, "MPRUnset": 1, "PenaltiesReceived": 1}},
		{"a SACK for a probe that is unknown", func(s *solo) {
			p := sackPacket(99, 100, first.EV(), 0)
			p.SETH.Probe = true
			s.give(p)
		}, counts{"SACKsReceived": 1, "MPRUnset": 1, "ProbesUnknown": 1}},
		{"a NACK", func(s *solo) { s.give(nackPacket(100, first.EV(), packet.NACKTrimmed)) },
			counts{"NACKsReceived": 1}},
		{"a NACK for lack of something", func(s *solo) {
			s.give(nackPacket(100, first.EV(), packet.NACKNoBitmap))
		}, counts{"NACKsReceived": 1, "ResourceNACKsReceived": 1}},
		{"a packet sent again", func(s *solo) {
			s.give(nackPacket(100, first.EV(), packet.NACKTrimmed))
			s.settle(time.Microsecond)
		}, counts{"NACKsReceived": 1, "RequestsSent": 1, "RequestsResent": 1, "PayloadSent": 256}},
		{"one that has arrived before that", func(s *solo) {
			s.give(nackPacket(100, first.EV(), packet.NACKTrimmed))
			s.give(ackPacket(102, plainACK))
		}, counts{"NACKsReceived": 1, "ResendsSaved": 1, "AcksReceived": 1}},
		{"a message", func(s *solo) {
			s.post(verbs.WorkRequest{Data: make([]byte, 300)})
			s.settle(time.Microsecond)
		}, counts{"RequestsSent": 2, "PayloadSent": 300}},
		{"a timeout", func(s *solo) { s.settle(s.qp.cfg.ackTimeout(1)) },
			counts{"Timeouts": 3, "RequestsSent": 3, "RequestsResent": 3, "PayloadSent": 3 * 256}},
		{"a transport ACK that does not come", func(s *solo) {
			s.give(sackPacket(102, 102, first.EV(), 0))
			s.settle(s.qp.cfg.ackTimeout(1))
		}, counts{"SACKsReceived": 1, "MPRUnset": 1, "EVMismatch": 1, "Timeouts": 1, "AckProbes": 1,
			"RequestsSent": 1, "RequestsResent": 1, "PayloadSent": 256}},
	} {
		s, _ := newResponding(t, func(q *QPConfig) {
			q.Penalty = func(time.Duration) (uint8, bool) { return 1, false }
			q.Admit = func(_ time.Duration, psn uint32, _ int) (packet.NACKReason, bool) {
				return packet.NACKNoResource, psn != 777
			}
		})
		s.write(3)
		first = s.settle(time.Microsecond)[0]
		before, host := s.qp.Counters(), s.host.Counters()
		octets := 0
		s.host.cfg.Output = func(_ time.Duration, _ int, frame []byte) { octets += len(frame) }
		c.do(s)
		if got := countstest.Grown(before, s.qp.Counters()); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if n := s.host.Counters().OctetsSent - host.OctetsSent; n != uint64(octets) {
			t.Errorf("%s: %d octets sent, counted %d", c.name, octets, n)
		}
		check(t, s.qp)
	}
}

// TestFault: what moved a queue pair to the error state is a NAK of its own where a request was
// answered with one, and nothing where its owner or its peer did.
func TestFault(t *testing.T) {
	bad := func(psn uint32) packet.MRC {
		p := request(psn, []byte{1})
		p.RETH.RKey++
		return p
	}
	for _, c := range []struct {
		name string
		do   func(s *solo)
		ok   bool
	}{
		{"nothing", func(*solo) {}, false},
		{"its owner", func(s *solo) { _ = s.qp.Abort(s.now) }, false},
		{"its peer", func(s *solo) { s.give(ackPacket(100, packet.NAKSyndrome(packet.NAKRemoteAccess))) },
			false},
		{"a request", func(s *solo) { s.give(bad(500)) }, true},
		{"a request whose turn has not come", func(s *solo) { s.give(bad(501)) }, false},
		{"its owner, before that", func(s *solo) { s.give(bad(501)); _ = s.qp.Abort(s.now) }, false},
		{"a request in its turn", func(s *solo) { s.give(bad(501)); s.give(request(500, nil)) }, true},
	} {
		s, _ := newResponding(t, nil)
		s.write(1)
		s.settle(time.Microsecond)
		c.do(s)
		if code, ok := s.qp.Fault(); ok != c.ok || ok && code != packet.NAKRemoteAccess {
			t.Errorf("%s: %v, %v", c.name, code, ok)
		}
	}
}

// TestNotify: the owner is notified of each completion, and of the error state.
func TestNotify(t *testing.T) {
	told := 0
	s, _ := newResponding(t, func(c *QPConfig) { c.Notify = func() { told++ } })
	is := func(what string, want int) {
		t.Helper()
		if told != want {
			t.Errorf("%s: told %d times, want %d", what, told, want)
		}
		told = 0
	}
	s.write(1)
	s.write(1)
	s.settle(time.Microsecond)
	for range 3 {
		if err := s.qp.PostRecv(verbs.RecvRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	is("posting", 0)
	s.give(ackPacket(100, plainACK))
	is("a completion", 1)
	s.give(immediateRequest(500, 1))
	is("a receive completion", 1)
	if err := s.qp.Abort(s.now); err != nil {
		t.Fatal(err)
	}
	is("an end with a request and two receive requests", 4)
}

// TestDestroyed: destroying a queue pair drops its receive requests, without completions.
func TestDestroyed(t *testing.T) {
	s := newSolo(t, nil)
	for range 3 {
		if err := s.qp.PostRecv(verbs.RecvRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.host.DestroyQP(s.qp.cfg.QPN); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.qp.Poll(); ok || s.qp.ReceiveQueueLen() != 0 || s.qp.Schedule() != Idle {
		t.Errorf("%d receive requests, a completion %v", s.qp.ReceiveQueueLen(), ok)
	}
}

// TestConfigBounds: the least and the greatest value of each field can be used. Defaults are as
// documented.
func TestConfigBounds(t *testing.T) {
	h := newTestHost(t, 0, 1, func(time.Duration, int, []byte) {})
	for name, edit := range map[string]func(*QPConfig){
		"least": func(c *QPConfig) {
			c.QPN, c.RemoteQPN, c.SQPSN, c.RQPSN, c.PMTU = 3, 3, 0, 0, 256
			c.AckTimeout, c.LinearRetries, c.ExponentialRetries, c.ProbeTimeout = 1, 0, 0, 0
			c.SendDepth, c.RecvDepth, c.SACKThreshold, c.MinAckPacket, c.TimestampUnit = 1, 0, 0, 0, 0
			c.Local, c.Remote = Attributes{MaxMPR: 1}, Attributes{MaxMPR: 1}
		},
		"greatest": func(c *QPConfig) {
			c.QPN, c.RemoteQPN, c.SQPSN, c.RQPSN, c.PMTU = 0xFFFFFE, 0xFFFFFE, 0xFFFFFF, 0xFFFFFF, 4096
			c.AckTimeout, c.LinearRetries, c.ExponentialRetries = 24, 7, 25
			c.Local = Attributes{MaxMPR: 255, MaxWIMM: 4096}
			c.Remote = c.Local
		},
		"a unit with a peer without service time": func(c *QPConfig) {
			c.Remote.ServiceTime, c.TimestampUnit = false, 1
		},
	} {
		c := testQPConfig(0, 1, 1)
		edit(&c)
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, edit := range map[string]func(*Config) bool{ // whether it can be used
		"a port":    func(c *Config) bool { c.Ports = c.Ports[:1]; return true },
		"no port":   func(c *Config) bool { c.Ports = nil; return false },
		"all ports": func(c *Config) bool { c.Ports = fill(c.Ports[0], 31); return true },
		"too many":  func(c *Config) bool { c.Ports = fill(c.Ports[0], 32); return false },
		"no MAC":    func(c *Config) bool { c.Ports = []Port{{}}; return false },
		"a group":   func(c *Config) bool { c.Ports = []Port{{MAC: packet.MAC{3}}}; return false },
		"the least": func(c *Config) bool {
			c.HopLimit, c.PacingSlack, c.EndpointTimeout, c.PKey, c.ControlPKey = 1, 0, 1, 1, 1
			return true
		},
		"no time": func(c *Config) bool { c.EndpointTimeout = 0; return false },
	} {
		c := h.Config()
		want := edit(&c)
		if err := c.Validate(); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	d := DefaultConfig()
	if d.PKey != 0xFFFF || d.ControlPKey != 0xFFFF || d.HopLimit != 64 || !d.EndpointServiceTime ||
		d.EndpointTimeout != 100*time.Millisecond || d.PacingSlack != 0 || d.Wire.Port != 4791 {
		t.Errorf("%+v", d)
	}
	q := DefaultQPConfig()
	is := fmt.Sprint(q.PMTU, q.AckTimeout, q.LinearRetries, q.ExponentialRetries, q.ProbeTimeout,
		q.SendDepth, q.RecvDepth, q.Trimmable, q.NotECT, q.SACKThreshold, q.MinAckPacket, q.TimestampUnit)
	if want := "4096 10 7 25 262.144µs 1024 1024 true false 16384 1024 128ns"; is != want {
		t.Errorf("%s, want %s", is, want)
	}
	for _, n := range []int{-1, 0, 2} {
		if err := h.SetPort(n, false); err == nil {
			t.Errorf("port %d of 1 is set", n)
		}
	}
	wire := h.cfg.Wire
	wire.Port = 0
	if err := h.SetWire(wire); err == nil || h.cfg.Wire.Port == 0 {
		t.Errorf("%v, port %d", err, h.cfg.Wire.Port)
	}
	if wire.Port = 7; h.SetWire(wire) != nil || h.cfg.Wire != wire {
		t.Errorf("%+v, want %+v", h.cfg.Wire, wire)
	}
}

func fill(p Port, n int) (ports []Port) {
	for range n {
		ports = append(ports, p)
	}
	return ports
}

// TestEndpointRefusals: an invalid endpoint request gets no identifier, and the host sends nothing.
func TestEndpointRefusals(t *testing.T) {
	s := newSolo(t, nil)
	path := Path{Port: 1}
	for name, p := range map[string]EVProbe{
		"DSCP": {Peer: testAddr(1), Path: path, DSCP: 64}, "Timeout": {Peer: testAddr(1), Path: path,
			Timeout: -1}, "Peer": {Path: path}, "Path.Port": {Peer: testAddr(1), Path: Path{Port: 3}},
	} {
		if id, err := s.host.SendEVProbe(0, p); err == nil || id != 0 || len(s.take()) != 0 {
			t.Errorf("%s: %d, %v", name, id, err)
		}
	}
	good := EVProbe{Peer: testAddr(1), Path: path, DSCP: 63}
	if id, err := s.host.SendEVProbe(0, good); err != nil || id != 1 {
		t.Errorf("%d, %v", id, err)
	}
}

// TestNextFree: the host waits for the busy port that becomes free first, among ports that may
// send.
func TestNextFree(t *testing.T) {
	h := newTestHost(t, 0, 4, func(time.Duration, int, []byte) {})
	if at, ok := h.nextFree(0); ok {
		t.Errorf("%v, with no port busy", at)
	}
	for i, free := range []time.Duration{9, 7, 5, 8} {
		h.ports[i].free = free
	}
	h.DenyPorts(packet.PortMask(0).With(3))
	for now, want := range map[time.Duration]time.Duration{0: 7, 6: 7, 7: 8, 8: 9} {
		if at, ok := h.nextFree(now); !ok || at != want {
			t.Errorf("at %d: %v, %v, want %v", now, at, ok, want)
		}
	}
	if at, ok := h.nextFree(9); ok {
		t.Errorf("%v when all are free", at)
	}
}

// takes is a Sprayer that notes the ports passed to Take.
type takes struct {
	*RoundRobin
	free, busy packet.PortMask
}

func (s *takes) Take(free, busy packet.PortMask) packet.PortMask {
	s.free, s.busy = free, busy
	return free
}

// TestTake: the queue pair passes Take the ports with a path to the peer, free ports and busy ports
// apart.
func TestTake(t *testing.T) {
	sprayer := &takes{RoundRobin: NewRoundRobin(testPaths(4, 2)...)}
	s := newSolo(t, func(c *QPConfig) { c.Sprayer = sprayer })
	s.write(1)
	s.host.ports[0].free = time.Second
	if s.settle(0); sprayer.free != 1<<2 || sprayer.busy != 1<<1 {
		t.Errorf("free %#x, busy %#x", sprayer.free, sprayer.busy)
	}
	s.host.peers[testAddr(1)] = 1 << 2
	s.write(1)
	if s.settle(time.Millisecond); sprayer.free != 1<<2 || sprayer.busy != 0 {
		t.Errorf("of a peer without port 1: free %#x, busy %#x", sprayer.free, sprayer.busy)
	}
}

// TestFramesAreCounted: whatever comes is counted, with its octets.
func TestFramesAreCounted(t *testing.T) {
	s := newSolo(t, nil)
	for _, n := range []int{7, 0, 100} {
		s.host.Receive(s.now, 1, make([]byte, n))
	}
	if c := s.host.Counters(); c.FramesReceived != 3 || c.OctetsReceived != 107 {
		t.Errorf("%d frames of %d octets, want 3 of 107", c.FramesReceived, c.OctetsReceived)
	}
}
