package mrc

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/internal/ibta"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// TestRefusedFrames: what is wrong with a frame counts under its reason, and nothing else happens.
func TestRefusedFrames(t *testing.T) {
	edit := func(f func(*packet.MRC)) func(*solo) []byte {
		return func(s *solo) []byte {
			p := request(500, []byte("x"))
			f(&p)
			return s.frame(p)
		}
	}
	octets := func(f func([]byte) []byte) func(*solo) []byte {
		return func(s *solo) []byte { return f(s.frame(request(500, []byte("x")))) }
	}
	for _, c := range []struct {
		name  string
		frame func(*solo) []byte
		want  Refusal
	}{
		{"MAC", octets(func(f []byte) []byte { f[5] ^= 8; return f }), RefusedMAC},
		{"EtherType", octets(func(f []byte) []byte { f[13] = 0; return f }), RefusedProtocol},
		{"empty", func(*solo) []byte { return nil }, RefusedMalformed},
		{"truncated", octets(func(f []byte) []byte { return f[:len(f)-1] }), RefusedMalformed},
		{"address", func(s *solo) []byte {
			p := request(500, nil)
			f := s.frame(p)
			f[packet.EthernetLen+39]++
			return f
		}, RefusedDestination},
		{"UDP port", octets(func(f []byte) []byte { f[packet.EthernetLen+packet.IPv6Len+3]++; return f }),
			RefusedProtocol},
		{"ICRC", octets(func(f []byte) []byte { f[len(f)-1]++; return f }), RefusedICRC},
		{"payload", octets(func(f []byte) []byte { f[len(f)-8]++; return f }), RefusedICRC},
		{"transport version", edit(func(p *packet.MRC) { p.BTH.TVer = 1 }), RefusedTVer},
		{"partition", edit(func(p *packet.MRC) { p.BTH.PKey = 0x8001 }), RefusedPKey},
		{"RC opcode", edit(func(p *packet.MRC) { p.BTH.Opcode = packet.OpWriteOnly }), RefusedProtocol},
		{"QPN", edit(func(p *packet.MRC) { p.BTH.DestQPN = 77 }), RefusedQPN},
		{"endpoint QPN", edit(func(p *packet.MRC) { p.BTH.DestQPN = packet.EndpointQPN }), RefusedQPN},
		{"peer", func(s *solo) []byte {
			p := request(500, nil)
			s.qp.cfg.RemoteAddr = testAddr(5)
			defer func() { s.qp.cfg.RemoteAddr = testAddr(1) }()
			f := s.frame(p)
			g, _, _ := packet.ParseMRC(f, s.wire)
			g.IPv6.Src = testAddr(3)
			return g.Append(nil)
		}, RefusedAddressPair},
		{"endpoint request to a queue pair", func(s *solo) []byte {
			return s.frame(packet.MRC{BTH: packet.MRCBTH{Opcode: packet.OpMRCEndpointRequest}})
		}, RefusedQPN},
		{"endpoint response nobody waits for", func(s *solo) []byte {
			return s.frame(packet.MRC{BTH: packet.EndpointHeader(packet.OpMRCEndpointResponse, 3)})
		}, RefusedEndpoint},
		{"reserved endpoint operation", func(s *solo) []byte {
			return s.frame(packet.MRC{BTH: packet.EndpointHeader(packet.OpMRCEndpointRequest, 3),
				ERTH: packet.ERTH{Op: 2}})
		}, RefusedEndpoint},
	} {
		s, memory := newResponding(t, nil)
		s.host.Receive(0, 1, c.frame(s))
		if got := s.host.Counters(); got.Refused[c.want] != 1 || got.Refused.Total() != 1 ||
			got.FramesReceived != 1 {
			t.Errorf("%s: refused %v, want %v", c.name, got.Refused.Map(), c.want)
		}
		if len(s.take()) != 0 || memory[0] != 0 || s.qp.CackPSN() != 499 {
			t.Errorf("%s: it was taken", c.name)
		}
	}
	names := map[string]bool{}
	for r := range refusals {
		names[r.String()] = true
	}
	if len(names) != int(refusals) || names[""] {
		t.Errorf("reasons without a name of their own: %v", slices.Sorted(maps.Keys(names)))
	}
}

// TestSourceRouted: packets come with their outer header or without it (OCP MRC 1.0, §9.3.5.1), and
// marks on the outer one count.
func TestSourceRouted(t *testing.T) {
	for _, c := range []struct {
		name           string
		encap, routed  bool
		outer          uint8
		mark           packet.SACKMark
		reason         packet.NACKReason
		notECT, refuse bool
	}{
		{name: "decapsulated"},
		{name: "outer header", encap: true, outer: packet.ECT0},
		{name: "outer header and SRH", encap: true, routed: true, outer: packet.ECT0},
		{name: "marked outside", encap: true, outer: packet.CE, mark: packet.MarkSkipOnce},
		{name: "marked outside, inside not capable", encap: true, outer: packet.CE, notECT: true,
			refuse: true},
		{name: "trimmed outside", encap: true, outer: packet.ECT0, reason: packet.NACKTrimmed},
	} {
		s, memory := newResponding(t, nil)
		p := request(500, []byte("x"))
		p.BTH.AckReq = true
		if c.notECT {
			p.IPv6.TrafficClass &^= 3
		}
		p.Encapsulated, p.Routed = c.encap, c.routed
		p.Outer = packet.IPv6{TrafficClass: packet.TrafficClass(s.wire.DSCP.Trimmable, c.outer),
			HopLimit: 3, Src: testAddr(1), Dst: netip.MustParseAddr("fcbb:bb00:7::")}
		if c.routed {
			srh, err := packet.NewSRH(packet.NextHeaderIPv6,
				[]netip.Addr{netip.MustParseAddr("fcbb:bb00:7::")}, nil)
			if err != nil {
				t.Fatal(err)
			}
			p.SRH = srh
		}
		f := s.frame(p)
		if c.reason != 0 {
			var err error
			if f, err = (packet.Trimmer{DSCP: s.wire.DSCP, Size: packet.MinTrimLen + packet.IPv6Len}).Trim(f,
				false); err != nil {
				t.Fatal(err)
			}
		}
		s.host.Receive(0, 1, f)
		out := s.take()
		switch {
		case c.refuse:
			if len(out) != 0 || s.refused(RefusedECN) != 1 {
				t.Errorf("%s: answered with %v", c.name, opcodes(out))
			}
		case c.reason != 0:
			if len(out) != 1 || out[0].NETH.Reason != c.reason || memory[0] != 0 {
				t.Errorf("%s: answered with %v", c.name, opcodes(out))
			}
		default:
			if len(out) != 2 || out[0].SETH.Mark != c.mark || out[0].SETH.Entropy != testEV ||
				memory[0] != 'x' {
				t.Errorf("%s: answered with %v, %+v", c.name, opcodes(out), out[0].SETH)
			}
		}
	}
}

// TestRoutes: a path with a route gets an outer header, with or without SRH, that carries the inner
// DSCP and ECN (OCP MRC 1.0, §9.2, table 7-2).
func TestRoutes(t *testing.T) {
	container := netip.MustParseAddr("fcbb:bb00:1:2:3::")
	srh, err := packet.NewSRH(packet.NextHeaderIPv6,
		[]netip.Addr{netip.MustParseAddr("fcbb:bb00:4:5::")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	paths := []Path{
		{EV: packet.NewEV(0, 0), Port: 1},
		{EV: packet.NewEV(1, 0), Port: 1, Route: &Route{Dst: container}},
		{EV: packet.NewEV(2, 0), Port: 1, Route: &Route{Dst: container, SRH: &srh}},
	}
	s := newSolo(t, func(c *QPConfig) { c.Sprayer = NewRoundRobin(paths...) })
	s.write(3)
	sizes := map[int]bool{}
	for _, p := range s.settle(time.Microsecond) {
		i := int(p.UDP.SrcPort)
		if p.Encapsulated != (i > 0) || p.Routed != (i == 2) || p.IPv6.Dst != testAddr(1) {
			t.Errorf("path %d: encapsulated %v, routed %v, to %v", i, p.Encapsulated, p.Routed, p.IPv6.Dst)
		}
		if i > 0 && (p.Outer.Dst != container || p.Outer.TrafficClass != p.IPv6.TrafficClass ||
			p.Outer.Src != testAddr(0)) {
			t.Errorf("path %d: outer header %+v", i, p.Outer)
		}
		if i == 2 && !bytes.Equal(p.SRH.SegmentList, srh.SegmentList) {
			t.Errorf("path %d: SRH %+v", i, p.SRH)
		}
		sizes[int(s.qp.record(p.BTH.PSN).size)] = true
	}
	if len(sizes) != 1 || !sizes[8+12+4+4+16+256+4+40] {
		t.Errorf("nominal_pktsize %v: the outer header should not count", sizes)
	}
}

// TestPorts: packets leave by the port of their path, with its MAC address and the host's one IP
// address, and only when the port is free (§9.3.2, §11.5).
func TestPorts(t *testing.T) {
	s := newSolo(t, nil)
	s.write(20)
	out := s.settle(time.Millisecond / 2)
	counts := map[int]int{}
	busy := map[int]time.Duration{}
	for _, p := range out {
		counts[p.port]++
		if p.Ethernet.Src != testMAC(0, p.port) || p.IPv6.Src != testAddr(0) {
			t.Errorf("port %d: %+v from %v", p.port, p.Ethernet, p.IPv6.Src)
		}
		if int(p.EV()&0xFFFF)%2+1 != p.port {
			t.Errorf("EV %#x by port %d", p.EV(), p.port)
		}
		if p.at < busy[p.port] {
			t.Errorf("port %d: sent at %v, busy until %v", p.port, p.at, busy[p.port])
		}
		busy[p.port] = p.at + time.Duration(p.Len()+24)*8*time.Second/100e9
	}
	if counts[1] != 10 || counts[2] != 10 {
		t.Errorf("packets by port: %v", counts)
	}
	for _, by := range []int{2, 1, 2} { // answers go back by the plane of the request
		p := request(500, nil)
		p.BTH.AckReq = true
		f := s.frame(p)
		mac := testMAC(0, by)
		copy(f, mac[:])
		s.host.Receive(s.now, by, f)
		if out := s.take(); len(out) != 2 || out[0].port != by || out[1].port != by {
			t.Errorf("a request by port %d has %d answers, not all by it", by, len(out))
		}
	}
	for name, down := range map[string]func(s *solo){
		"own port":    func(s *solo) { _ = s.host.SetPort(2, false) },
		"peer's port": func(s *solo) { s.host.peers[testAddr(1)] = packet.PortMask(0).With(1) },
	} {
		s = newSolo(t, nil)
		down(s)
		s.write(10)
		p := request(500, nil)
		p.BTH.AckReq = true
		out = append(s.settle(time.Millisecond/2), s.give(p)...)
		if len(out) != 12 {
			t.Errorf("%s down: %d packets", name, len(out))
		}
		for _, p := range out {
			if p.port != 1 {
				t.Errorf("%s down: %v by port %d", name, p.BTH.Opcode, p.port)
			}
		}
	}
	s = newSolo(t, nil)
	for n := range 2 {
		if err := s.host.SetPort(n+1, false); err != nil {
			t.Fatal(err)
		}
	}
	s.write(1)
	if next, pending := s.host.Advance(0); pending || len(s.take()) != 0 {
		t.Errorf("without a port: something to do at %v", next)
	}
	s.host.Receive(0, 1, s.frame(request(500, nil)))
	s.host.Receive(0, 9, s.frame(request(500, nil)))
	if s.refused(RefusedPort) != 2 {
		t.Errorf("refused %v", s.host.Counters().Refused.Map())
	}
	if err := s.host.SetPort(1, true); err != nil {
		t.Fatal(err)
	}
	if out := s.settle(time.Microsecond); len(out) != 1 {
		t.Errorf("%d packets when the port is back", len(out))
	}
	if err := s.host.SetPort(3, true); !errors.Is(err, verbs.ErrNotFound) {
		t.Errorf("port 3 of 2: %v", err)
	}
}

// TestConfigs: every field that cannot be used is named.
func TestConfigs(t *testing.T) {
	for field, edit := range map[string]func(*QPConfig){
		"QPN":       func(c *QPConfig) { c.QPN = packet.EndpointQPN },
		"RemoteQPN": func(c *QPConfig) { c.RemoteQPN = 1 << 24 },
		"RemoteAddr": func(c *QPConfig) {
			c.RemoteAddr = netip.MustParseAddr("ff02::1")
		},
		"SQPSN":              func(c *QPConfig) { c.SQPSN = 1 << 24 },
		"RQPSN":              func(c *QPConfig) { c.RQPSN = 1 << 24 },
		"PMTU":               func(c *QPConfig) { c.PMTU = 1500 },
		"AckTimeout":         func(c *QPConfig) { c.AckTimeout = 25 },
		"LinearRetries":      func(c *QPConfig) { c.LinearRetries = 8 },
		"ExponentialRetries": func(c *QPConfig) { c.ExponentialRetries = 26 },
		"ProbeTimeout":       func(c *QPConfig) { c.ProbeTimeout = -1 },
		"SendDepth":          func(c *QPConfig) { c.SendDepth = 0 },
		"RecvDepth":          func(c *QPConfig) { c.RecvDepth = -1 },
		"SACKThreshold":      func(c *QPConfig) { c.SACKThreshold = -1 },
		"MinAckPacket":       func(c *QPConfig) { c.MinAckPacket = -1 },
		"TimestampUnit": func(c *QPConfig) {
			c.TimestampUnit = time.Microsecond
		},
		"Congestion":                             func(c *QPConfig) { c.Congestion = nil },
		"Sprayer":                                func(c *QPConfig) { c.Sprayer = nil },
		"Local: MaxWIMM (MRC_QP_MAX_WIMM_DEST)":  func(c *QPConfig) { c.Local.MaxWIMM = -1 },
		"Remote: MaxWIMM (MRC_QP_MAX_WIMM_DEST)": func(c *QPConfig) { c.Remote.MaxWIMM = MaxWIMM + 1 },
		"Local: MaxMPR (MRC_QP_MAX_MPR_DEST)":    func(c *QPConfig) { c.Local.MaxMPR = 0 },
		"Remote: MaxMPR (MRC_QP_MAX_MPR_DEST)":   func(c *QPConfig) { c.Remote.MaxMPR = 256 },
	} {
		h := newTestHost(t, 0, 1, func(time.Duration, int, []byte) {})
		c := testQPConfig(0, 1, 1)
		edit(&c)
		if _, err := h.CreateQP(c); !errors.Is(err, verbs.ErrConfig) ||
			!strings.Contains(err.Error(), ": "+field+" ") {
			t.Errorf("%s: %v", field, err)
		}
		if _, err := h.CreateQP(testQPConfig(0, 1, 1)); err != nil {
			t.Errorf("%s: the next one: %v", field, err)
		}
		if _, err := h.CreateQP(testQPConfig(0, 1, 1)); !errors.Is(err, verbs.ErrExists) {
			t.Errorf("the same number again: %v", err)
		}
	}
	for field, edit := range map[string]func(*Config){
		"Addr":            func(c *Config) { c.Addr = netip.Addr{} },
		"Ports":           func(c *Config) { c.Ports = make([]Port, 32) },
		"PKey":            func(c *Config) { c.PKey = 0x8000 },
		"ControlPKey":     func(c *Config) { c.ControlPKey = 0 },
		"HopLimit":        func(c *Config) { c.HopLimit = 0 },
		"PacingSlack":     func(c *Config) { c.PacingSlack = -1 },
		"EndpointTimeout": func(c *Config) { c.EndpointTimeout = 0 },
		"Output":          func(c *Config) { c.Output = nil },
		"Ports[1].MAC":    func(c *Config) { c.Ports = append(c.Ports, Port{MAC: packet.MAC{1}}) },
		"Wire":            func(c *Config) { c.Wire.Port = 0 },
	} {
		c := newTestHost(t, 0, 1, func(time.Duration, int, []byte) {}).Config()
		edit(&c)
		if _, err := NewHost(c); !errors.Is(err, verbs.ErrConfig) ||
			!strings.Contains(err.Error(), ": "+field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// TestAttributes: the connection attributes of table 10-1, one by one.
func TestAttributes(t *testing.T) {
	if err := DefaultAttributes().Validate(); err != nil {
		t.Error(err)
	}
	for _, ok := range []Attributes{{MaxMPR: 1}, {MaxMPR: 32, MaxWIMM: 32},
		{MaxMPR: MaxMPR, MaxWIMM: MaxWIMM}} { // table 11-1 has 1..32 and 0..32
		if err := ok.Validate(); err != nil {
			t.Error(err)
		}
	}
	h := newTestHost(t, 0, 1, func(time.Duration, int, []byte) {})
	for i := range 16 { // §11.1: 16 queue pairs with mpr 8 and 32 WRITEs with Immediate
		c := testQPConfig(0, 1, 1)
		c.QPN = uint32(3 + i)
		q, err := h.CreateQP(c)
		if err != nil {
			t.Fatal(err)
		}
		if q.SendWindow() != 8*128 || q.MPR() != 8 || q.Config().Local.MaxWIMM != 32 {
			t.Errorf("window %d, mpr %d", q.SendWindow(), q.MPR())
		}
	}
}

// TestPSNsOfWork: the queue pair refuses work that, together with posted work, needs more PSNs than
// the PSN space can distinguish, and refuses a message longer than the limit of IBTA.
func TestPSNsOfWork(t *testing.T) {
	for _, c := range []struct {
		octets []int // of the requests; the last is refused
		want   error
	}{
		{[]int{ibta.MaxWindow * 256, 1}, verbs.ErrQueueFull},
		{[]int{(ibta.MaxWindow - 1) * 256, 0, 1}, verbs.ErrQueueFull},
		{[]int{256, 512, (ibta.MaxWindow - 3) * 256, 0}, verbs.ErrQueueFull},
		{[]int{256, 512, (ibta.MaxWindow-3)*256 + 1}, verbs.ErrQueueFull},
		{[]int{ibta.MaxWindow*256 + 1}, verbs.ErrQueueFull},
		{[]int{ibta.MaxMessage}, verbs.ErrQueueFull},
		{[]int{ibta.MaxMessage + 1}, verbs.ErrWorkRequest},
	} {
		s := newSolo(t, nil)
		for i, octets := range c.octets {
			err := s.qp.PostSend(0, verbs.WorkRequest{Op: verbs.OpWrite, From: bytes.NewReader(nil),
				Length: octets})
			if last := i == len(c.octets)-1; !last && err != nil || last && !errors.Is(err, c.want) {
				t.Errorf("%v octets, request %d: %v; want the last refused: %v", c.octets, i, err, c.want)
			}
		}
	}
}

// TestWorkRequests: what cannot be posted is refused, and changes nothing.
func TestWorkRequests(t *testing.T) {
	s := newSolo(t, func(c *QPConfig) { c.SendDepth, c.RecvDepth = 2, 1 })
	for _, op := range []verbs.Op{0, verbs.OpSend, verbs.OpSendImmediate} {
		if err := s.qp.PostSend(0, verbs.WorkRequest{Op: op}); !errors.Is(err, verbs.ErrWorkRequest) {
			t.Errorf("%v: %v", op, err)
		}
	}
	s.write(1)
	s.write(1)
	if err := s.qp.PostSend(0, verbs.WorkRequest{Op: verbs.OpWrite}); !errors.Is(err,
		verbs.ErrQueueFull) {
		t.Errorf("third: %v", err)
	}
	if err := s.qp.PostRecv(verbs.RecvRequest{}); err != nil {
		t.Error(err)
	}
	if err := s.qp.PostRecv(verbs.RecvRequest{}); !errors.Is(err, verbs.ErrQueueFull) {
		t.Errorf("second: %v", err)
	}
	if q, err := s.host.QP(s.qp.cfg.QPN); q != s.qp || err != nil {
		t.Error(err)
	}
	if err := s.qp.Abort(0); err != nil {
		t.Fatal(err)
	}
	if err := s.host.DestroyQP(s.qp.cfg.QPN); err != nil {
		t.Fatal(err)
	}
	if err := s.qp.PostSend(0, verbs.WorkRequest{Op: verbs.OpWrite}); !errors.Is(err,
		verbs.ErrNotFound) {
		t.Errorf("destroyed: %v", err)
	}
	if _, pending := s.host.Advance(0); pending || len(s.take()) != 0 {
		t.Error("a destroyed queue pair sends")
	}
	if _, err := s.host.QP(s.qp.cfg.QPN); !errors.Is(err, verbs.ErrNotFound) {
		t.Error(err)
	}
}

// TestRemoval: a queue pair is removed in IDLE and in the error state, and in no other ("QP state
// MUST NOT be removed except when in IDLE state, unless the QP has transitioned to ERROR state",
// OCP MRC 1.0, section 8.3, MRC-121). A refused request changes nothing.
func TestRemoval(t *testing.T) {
	w := &valve{}
	start := func() *solo {
		return newSolo(t, func(c *QPConfig) {
			c.Congestion, c.LinearRetries, c.ExponentialRetries = w, 0, 0
		})
	}
	s := start()
	qpn := s.qp.cfg.QPN
	refused := func(s *solo, state string) {
		t.Helper()
		err := s.host.DestroyQP(qpn)
		if !errors.Is(err, verbs.ErrBusy) || !strings.Contains(err.Error(), "QP "+fmt.Sprintf("%#x", qpn)+
			" is "+state+" with 1 work requests not complete: want IDLE") {
			t.Errorf("%s: %v", state, err)
		}
		if q, err := s.host.QP(qpn); q != s.qp || err != nil {
			t.Errorf("%s: the queue pair has gone: %v", state, err)
		}
	}
	removed := func(s *solo, state string) {
		t.Helper()
		if err := s.host.DestroyQP(qpn); err != nil {
			t.Errorf("%s: %v", state, err)
		}
		if _, err := s.host.QP(qpn); !errors.Is(err, verbs.ErrNotFound) {
			t.Errorf("%s: the queue pair is there: %v", state, err)
		}
		if err := s.host.DestroyQP(qpn); err != nil {
			t.Errorf("%s: a second time: %v", state, err)
		}
	}
	w.open = false
	s.write(2)
	refused(s, "ACTIVE")
	w.open = true
	refused(s, "READY")
	out := s.settle(time.Microsecond)
	refused(s, "PENDING")
	s.give(sackPacket(101, 101, out[1].EV(), 0)) // arrived, and not acknowledged by the transport
	refused(s, "PENDING")
	s.give(ackPacket(101, plainACK))
	if c, ok := s.qp.Poll(); !ok || c.Status != verbs.StatusOK {
		t.Errorf("completion %+v, %v after removals that were refused", c, ok)
	}
	removed(s, "IDLE")

	removed(start(), "new")

	s = start() // by a fault
	s.write(1)
	s.settle(5 * time.Millisecond)
	if !s.qp.Failed() {
		t.Fatal("no retries left, and it goes on")
	}
	removed(s, "ERROR")

	s = start() // by its owner
	if err := s.qp.PostRecv(verbs.RecvRequest{ID: 9}); err != nil {
		t.Fatal(err)
	}
	s.write(1)
	s.settle(time.Microsecond)
	if err := s.qp.Abort(s.now); err != nil || !s.qp.Failed() {
		t.Errorf("%v, failed %v", err, s.qp.Failed())
	}
	for range 2 {
		if c, ok := s.qp.Poll(); !ok || c.Status != verbs.StatusFlushed {
			t.Errorf("completion %+v, %v, want a flushed one", c, ok)
		}
	}
	if err := s.qp.Abort(s.now); !errors.Is(err, verbs.ErrQPState) {
		t.Errorf("a second time: %v", err)
	}
	if out := s.give(request(500, nil)); len(out) != 1 ||
		out[0].NETH.Reason != packet.NACKUnexpectedEvent {
		t.Errorf("the peer's next request is answered with %v, want NACK UNEXP_EVENT", opcodes(out))
	}
	removed(s, "aborted")
	if err := s.qp.Abort(s.now); !errors.Is(err, verbs.ErrNotFound) {
		t.Errorf("after its removal: %v", err)
	}
}

// TestSetTimers: new timers apply to packets sent later; invalid timers change nothing.
func TestSetTimers(t *testing.T) {
	s := newSolo(t, func(c *QPConfig) { c.AckTimeout = 1 })
	if err := s.qp.SetTimers(25, 0); !errors.Is(err, verbs.ErrConfig) ||
		s.qp.Config().AckTimeout != 1 {
		t.Error(err)
	}
	if err := s.qp.SetTimers(20, time.Millisecond); err != nil {
		t.Fatal(err)
	}
	s.write(1)
	s.settle(10 * time.Millisecond)
	if c := s.qp.Counters(); c.Timeouts != 0 || c.ProbesSent == 0 {
		t.Errorf("%+v", c)
	}
}
