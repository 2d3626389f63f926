package rc

import (
	"bytes"
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

func TestConfigs(t *testing.T) {
	good := DefaultConfig()
	good.Addr, good.MAC, good.Output = testAddr[0], testMAC[0], func(time.Duration, []byte) {}
	if _, err := NewHost(good); err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(*Config){
		"Addr":        func(c *Config) { c.Addr = netip.Addr{} },
		"IPv4":        func(c *Config) { c.Addr = netip.MustParseAddr("224.0.0.1") },
		"mapped":      func(c *Config) { c.Addr = netip.MustParseAddr("::ffff:192.0.2.1") },
		"multicast":   func(c *Config) { c.Addr = netip.MustParseAddr("ff02::1") },
		"zone":        func(c *Config) { c.Addr = netip.MustParseAddr("fe80::1%eth0") },
		"MAC":         func(c *Config) { c.MAC = packet.MAC{} },
		"group MAC":   func(c *Config) { c.MAC[0] = 1 },
		"PKey":        func(c *Config) { c.PKey = 0x8000 },
		"HopLimit":    func(c *Config) { c.HopLimit = 0 },
		"LineRate":    func(c *Config) { c.LineRate = 0 },
		"PacingSlack": func(c *Config) { c.PacingSlack = -1 },
		"Output":      func(c *Config) { c.Output = nil },
	} {
		c := good
		edit(&c)
		if _, err := NewHost(c); !errors.Is(err, verbs.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestQPConfigs(t *testing.T) {
	h := newSolo(t, nil).host
	good := DefaultQPConfig()
	good.QPN, good.RemoteQPN, good.RemoteAddr = 2, 0xFFFFFE, testAddr[1]
	for name, edit := range map[string]func(*QPConfig){
		"QPN 0":           func(c *QPConfig) { c.QPN = 0 },
		"QPN 1":           func(c *QPConfig) { c.QPN = 1 },
		"QPN multicast":   func(c *QPConfig) { c.QPN = 0xFFFFFF },
		"QPN over":        func(c *QPConfig) { c.QPN = 1 << 24 },
		"RemoteQPN":       func(c *QPConfig) { c.RemoteQPN = 1 },
		"RemoteAddr":      func(c *QPConfig) { c.RemoteAddr = netip.IPv6Unspecified() },
		"Peer":            func(c *QPConfig) { c.Peer = netip.MustParseAddr("ff02::1") },
		"SQPSN":           func(c *QPConfig) { c.SQPSN = 1 << 24 },
		"RQPSN":           func(c *QPConfig) { c.RQPSN = 1 << 24 },
		"PMTU small":      func(c *QPConfig) { c.PMTU = 128 },
		"PMTU odd":        func(c *QPConfig) { c.PMTU = 1500 },
		"PMTU big":        func(c *QPConfig) { c.PMTU = 8192 },
		"RetryCnt":        func(c *QPConfig) { c.RetryCnt = 8 },
		"RNRRetry":        func(c *QPConfig) { c.RNRRetry = 8 },
		"LocalAckTimeout": func(c *QPConfig) { c.LocalAckTimeout = 32 },
		"MinRNRTimer":     func(c *QPConfig) { c.MinRNRTimer = 32 },
		"AckEvery":        func(c *QPConfig) { c.AckEvery = -1 },
		"Window 0":        func(c *QPConfig) { c.Window = 0 },
		"Window over":     func(c *QPConfig) { c.Window = 1 << 23 },
		"SendDepth":       func(c *QPConfig) { c.SendDepth = 0 },
		"RecvDepth":       func(c *QPConfig) { c.RecvDepth = -1 },
		"DSCP":            func(c *QPConfig) { c.DSCP = 64 },
		"CNPDSCP":         func(c *QPConfig) { c.CNPDSCP = 64 },
		"FlowLabel":       func(c *QPConfig) { c.FlowLabel = 1 << 20 },
		"CNPInterval":     func(c *QPConfig) { c.CNPInterval = -1 },
		"Rate":            func(c *QPConfig) { c.Rate.G = 2 },
		"Encapsulation":   func(c *QPConfig) { c.Encapsulation = &Encapsulation{} },
	} {
		c := good
		edit(&c)
		if _, err := h.CreateQP(c); !errors.Is(err, verbs.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := h.CreateQP(good); err != nil {
		t.Fatal(err)
	}
	if _, err := h.CreateQP(good); !errors.Is(err, verbs.ErrExists) {
		t.Errorf("same number again: %v", err)
	}
	if q, err := h.QP(2); err != nil || q.Config().FlowLabel == 0 || q.Config().SourcePort < 0xC000 {
		t.Errorf("QP 2: %v", err)
	}
	if _, err := h.QP(3); !errors.Is(err, verbs.ErrNotFound) {
		t.Errorf("QP 3: %v", err)
	}
}

// TestQPConfigBounds: the least and the most of each field are taken.
func TestQPConfigBounds(t *testing.T) {
	good := DefaultQPConfig()
	good.QPN, good.RemoteQPN, good.RemoteAddr = 2, 0xFFFFFE, testAddr[1]
	for name, edit := range map[string]func(*QPConfig){
		"QPNs":                 func(c *QPConfig) { c.QPN, c.RemoteQPN = 0xFFFFFE, 2 },
		"Peer":                 func(c *QPConfig) { c.Peer = testAddr[0] },
		"PSNs":                 func(c *QPConfig) { c.SQPSN, c.RQPSN = packet.PSNMask, packet.PSNMask },
		"PMTU 256":             func(c *QPConfig) { c.PMTU = 256 },
		"retries 0":            func(c *QPConfig) { c.RetryCnt, c.RNRRetry = 0, 0 },
		"retries 7":            func(c *QPConfig) { c.RetryCnt, c.RNRRetry = 7, 7 },
		"timers 0":             func(c *QPConfig) { c.LocalAckTimeout, c.MinRNRTimer = 0, 0 },
		"timers 31":            func(c *QPConfig) { c.LocalAckTimeout, c.MinRNRTimer = 31, 31 },
		"AckEvery 0":           func(c *QPConfig) { c.AckEvery = 0 },
		"Window 1":             func(c *QPConfig) { c.Window = 1 },
		"Window 2^23-1":        func(c *QPConfig) { c.Window = 1<<23 - 1 },
		"SendDepth 1":          func(c *QPConfig) { c.SendDepth = 1 },
		"RecvDepth 0":          func(c *QPConfig) { c.RecvDepth = 0 },
		"DSCPs 0":              func(c *QPConfig) { c.DSCP, c.CNPDSCP = 0, 0 },
		"DSCPs 63":             func(c *QPConfig) { c.DSCP, c.CNPDSCP = 63, 63 },
		"FlowLabel of 20 bits": func(c *QPConfig) { c.FlowLabel = 1<<20 - 1 },
		"CNPInterval 0":        func(c *QPConfig) { c.CNPInterval = 0 },
	} {
		c := good
		edit(&c)
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEntropy: queue pair numbers that differ in their highest bits alone get flow labels of their
// own, which ECMP hashes.
func TestEntropy(t *testing.T) {
	labels := map[uint32]bool{}
	for high := range uint32(16) {
		labels[entropy(high<<20|2, 17)&packet.MaxFlowLabel] = true
		labels[entropy(17, high<<20|2)&packet.MaxFlowLabel] = true
	}
	if len(labels) < 30 {
		t.Errorf("32 pairs of queue pairs have %d flow labels", len(labels))
	}
}

// TestSourcePorts: without one of its own a queue pair sends from a UDP port from 0xC000 to 0xFFFF
// (QPConfig.SourcePort), and every bit of it depends on the queue pair numbers.
func TestSourcePorts(t *testing.T) {
	always, ever := uint16(0xFFFF), uint16(0)
	for qpn := range uint32(1000) {
		p := newQP(&Host{}, QPConfig{QPN: qpn + 2, RemoteQPN: 17}).cfg.SourcePort
		always, ever = always&p, ever|p
	}
	if always != 0xC000 || ever != 0xFFFF {
		t.Errorf("bits %#x are always set, %#x ever; want 0xc000, 0xffff", always, ever)
	}
	if p := newQP(&Host{}, QPConfig{QPN: 2, RemoteQPN: 17, SourcePort: 5}).cfg.SourcePort; p != 5 {
		t.Errorf("source port %d, configured as 5", p)
	}
}

// TestDefaults: the defaults that the documentation of the fields names.
func TestDefaults(t *testing.T) {
	want := QPConfig{PMTU: 4096, RetryCnt: 7, RNRRetry: 7, LocalAckTimeout: 14, MinRNRTimer: 12,
		Window: 64, SendDepth: 1024, RecvDepth: 1024, DSCP: 26, CNPDSCP: 48,
		CNPInterval: 50 * time.Microsecond, Rate: DefaultRateConfig()}
	if got := DefaultQPConfig(); !reflect.DeepEqual(got, want) {
		t.Errorf("queue pairs: %+v, want %+v", got, want)
	}
	if got, want := DefaultConfig(), (Config{PKey: 0xFFFF, HopLimit: 64,
		LineRate: 100_000_000_000}); !reflect.DeepEqual(got, want) {
		t.Errorf("hosts: %+v, want %+v", got, want)
	}
}

func TestRegions(t *testing.T) {
	h := newSolo(t, nil).host
	if _, err := h.RegisterMR(^uint64(0)-9, 1, make([]byte, 10), verbs.AccessRemoteWrite); err != nil {
		t.Errorf("up to the end of the address space: %v", err)
	}
	if _, err := h.RegisterMR(^uint64(0)-9, 2, make([]byte, 11),
		verbs.AccessRemoteWrite); !errors.Is(err, verbs.ErrConfig) {
		t.Errorf("past the end of the address space: %v", err)
	}
	if _, err := h.RegisterMR(0, 1, nil, 0); !errors.Is(err, verbs.ErrExists) {
		t.Errorf("key in use: %v", err)
	}
	h.DeregisterMR(1)
	if _, err := h.RegisterMR(0, 1, nil, 0); err != nil {
		t.Errorf("key free again: %v", err)
	}
}

func TestReset(t *testing.T) {
	h, _ := newResponder(t, 0)
	mustPost(t, h.qp, verbs.WorkRequest{ID: 1, Op: verbs.OpWrite, Data: make([]byte, 600)})
	mustRecv(t, h.qp, verbs.RecvRequest{ID: 2})
	h.settle(time.Microsecond)
	wantReply(t, "bad request", h.give(h.from(packet.OpWriteMiddle, 0)), 0,
		packet.NAKSyndrome(packet.NAKInvalidRequest), 0)
	if got := completions(h.qp); len(got) != 2 {
		t.Fatalf("completions %+v", got)
	}
	if err := h.qp.Reset(1<<24, 0); !errors.Is(err, verbs.ErrConfig) {
		t.Errorf("PSN over 24 bits: %v", err)
	}
	if err := h.qp.Reset(0x70, 0x80); err != nil {
		t.Fatal(err)
	}
	if h.qp.Failed() || h.qp.ExpectedPSN() != 0x80 || h.qp.NextMessagePSN() != 0x70 {
		t.Error("not as new")
	}
	wantNone(t, "after the reset", h.settle(h.now+time.Second))
	mustPost(t, h.qp, verbs.WorkRequest{ID: 3, Op: verbs.OpSend})
	wantPSNs(t, "new work", h.settle(h.now+time.Microsecond), 0x70)
	p := h.write(0x80, []byte{1})
	p.BTH.AckReq = true
	wantReply(t, "new request", h.give(p), 0x80, plainACK, 1)
	h.ack(0x70)
	if got := completions(h.qp); len(got) != 1 || got[0].ID != 3 {
		t.Errorf("completions %+v", got)
	}
	// A reset drops work without completions; destroying does too, and ends all use.
	mustPost(t, h.qp, verbs.WorkRequest{Op: verbs.OpSend})
	if err := h.qp.Reset(0, 0); err != nil || h.qp.SendQueueLen() != 0 {
		t.Error("reset keeps work")
	}
	mustPost(t, h.qp, verbs.WorkRequest{Op: verbs.OpSend})
	h.host.DestroyQP(testQPN0)
	wantNone(t, "after destroying", h.settle(h.now+time.Second))
	if got := completions(h.qp); len(got) != 0 {
		t.Errorf("completions %+v", got)
	}
	if err := h.qp.Reset(0, 0); !errors.Is(err, verbs.ErrNotFound) {
		t.Errorf("reset after destroying: %v", err)
	}
	if err := h.qp.PostSend(verbs.WorkRequest{Op: verbs.OpSend}); !errors.Is(err, verbs.ErrNotFound) {
		t.Errorf("PostSend after destroying: %v", err)
	}
}

func TestEncapsulation(t *testing.T) {
	proxy, sid, outer := testAddr[1], netip.MustParseAddr("fc00:0:6::1"),
		netip.MustParseAddr("2001:db8:5::1")
	edges := []packet.EdgeReceivers{
		{Edge: netip.MustParseAddr("2001:db8:e::1"),
			Receivers: []packet.Receiver{{Addr: netip.MustParseAddr("2001:db8::a"), QPN: 0xA},
				{Addr: netip.MustParseAddr("2001:db8::b"), QPN: 0xB}}},
		{Edge: netip.MustParseAddr("2001:db8:e::2"),
			Receivers: []packet.Receiver{{Addr: netip.MustParseAddr("2001:db8::c"), QPN: 0xC}}},
	}
	e := &Encapsulation{Source: outer, SID: sid, Edges: edges}
	send := func(e *Encapsulation) [][]byte {
		h := newSolo(t, func(c *QPConfig) { c.Encapsulation = e })
		mustPost(t, h.qp, verbs.WorkRequest{Op: verbs.OpWriteImmediate, Data: make([]byte, 600), RKey: 1})
		for next, pending := h.host.Advance(0); pending && next < time.Millisecond; next,
			pending = h.host.Advance(next) {
		}
		frames := h.out
		h.out = nil
		for _, a := range h.give(h.from(packet.OpWriteMiddle, 0)) {
			if a.Encapsulated {
				t.Error("an answer is encapsulated")
			}
		}
		return frames
	}
	plain, wrapped := send(nil), send(e)
	if len(plain) != 3 || len(wrapped) != 3 {
		t.Fatalf("%d and %d packets", len(plain), len(wrapped))
	}
	for i, f := range wrapped {
		p := parse(t, f)
		if !p.Encapsulated || !p.Routed || p.SRH.SegmentsLeft != 1 || p.SRH.LastEntry != 1 ||
			p.SRH.NextHeader != packet.NextHeaderIPv6 ||
			p.SRH.Segment(1) != sid || p.SRH.Segment(0) != proxy {
			t.Errorf("packet %d: SRH %+v", i, p.SRH)
		}
		if o := p.Outer; o.Src != outer || o.Dst != sid || o.TrafficClass != p.IPv6.TrafficClass ||
			o.HopLimit != 64 || o.FlowLabel != p.IPv6.FlowLabel {
			t.Errorf("packet %d: outer %+v", i, o)
		}
		for _, edge := range edges {
			got, found, err := p.SRH.EndMTReceivers(nil, packet.TLVEndMTDefault, edge.Edge)
			if err != nil || !found || !slices.Equal(got, edge.Receivers) {
				t.Errorf("packet %d: receivers of %v: %v, %v", i, edge.Edge, got, err)
			}
		}
		if !bytes.Equal(p.Datagram, parse(t, plain[i]).Datagram) {
			t.Errorf("packet %d: the inner packet differs from the plain one", i)
		}
	}
	listed := *e
	listed.EdgeSIDs = []netip.Addr{netip.MustParseAddr("fc00:0:1::e"),
		netip.MustParseAddr("fc00:0:2::e")}
	for i, f := range send(&listed) {
		p := parse(t, f)
		var got []netip.Addr
		for j := range p.SRH.NumSegments() {
			got = append(got, p.SRH.Segment(j))
		}
		if want := []netip.Addr{proxy, listed.EdgeSIDs[1], listed.EdgeSIDs[0], sid}; !slices.Equal(got,
			want) || p.SRH.SegmentsLeft != 3 || p.Outer.Dst != sid {
			t.Errorf("packet %d with the SIDs of edges: to %v, Segment List %v, Segments Left %d; want to "+
				"%v, %v, 3", i, p.Outer.Dst, got, p.SRH.SegmentsLeft, sid, want)
		}
	}
	for name, edit := range map[string]func(e *Encapsulation){
		"source": func(e *Encapsulation) { e.Source = netip.Addr{} },
		"SID":    func(e *Encapsulation) { e.SID = netip.MustParseAddr("ff02::1") },
		"QPN": func(e *Encapsulation) {
			e.Edges = []packet.EdgeReceivers{{Edge: sid,
				Receivers: []packet.Receiver{{Addr: sid, QPN: 1 << 24}}}}
		},
		"edge SID": func(e *Encapsulation) {
			e.EdgeSIDs = []netip.Addr{netip.MustParseAddr("192.0.2.1")}
		},
		"too long": func(e *Encapsulation) {
			e.Edges = []packet.EdgeReceivers{{Edge: sid, Receivers: make([]packet.Receiver, 200)}}
		},
	} {
		bad := *e
		edit(&bad)
		h := newSolo(t, nil)
		if err := h.qp.SetEncapsulation(&bad); !errors.Is(err, verbs.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	h := newSolo(t, func(c *QPConfig) { c.Encapsulation = e })
	if err := h.qp.SetEncapsulation(nil); err != nil {
		t.Fatal(err)
	}
	mustPost(t, h.qp, verbs.WorkRequest{Op: verbs.OpSend})
	if got := h.settle(0); len(got) != 1 || got[0].Encapsulated {
		t.Error("still encapsulated")
	}
}

func TestUDPChecksum(t *testing.T) {
	h := newSolo(t, nil)
	h.host.cfg.UDPChecksum = true
	mustPost(t, h.qp, verbs.WorkRequest{Op: verbs.OpSend, Data: []byte{1}})
	p := h.settle(0)[0]
	if err := packet.CheckUDPChecksum(p.IPv6.Src, p.IPv6.Dst,
		p.Datagram[packet.IPv6Len:]); err != nil || p.UDP.Checksum == 0 {
		t.Errorf("checksum %#x: %v", p.UDP.Checksum, err)
	}
}

func TestNames(t *testing.T) {
	seen := make(map[string]bool)
	for r := range refusals {
		if s := r.String(); s == "" || seen[s] {
			t.Errorf("reason %d has the name %q", r, s)
		}
		seen[r.String()] = true
	}
	for s := verbs.StatusOK; s <= verbs.StatusFlushed; s++ {
		if name := s.String(); name == "" || seen[name] {
			t.Errorf("status %d has the name %q", s, name)
		}
		seen[s.String()] = true
	}
	for _, got := range []string{refusals.String(), (verbs.StatusFlushed + 1).String(),
		verbs.Op(0).String(), (verbs.OpSendImmediate + 1).String()} {
		if !bytes.ContainsAny([]byte(got), "0123456789") {
			t.Errorf("%q does not show the number", got)
		}
	}
	if verbs.OpWriteImmediate.String() != "WRITE with Immediate" {
		t.Error(verbs.OpWriteImmediate)
	}
}

// TestIPv4: two hosts with IPv4 addresses, on a link that loses and corrupts; a host takes no frame
// and no peer of the other family.
func TestIPv4(t *testing.T) {
	const seed = 44
	t.Logf("seed %d", seed)
	l := newBedAt(t, seed, [2]netip.Addr{netip.MustParseAddr("10.0.0.1"),
		netip.MustParseAddr("10.0.0.2")})
	l.links[0].loss, l.links[0].corrupt, l.links[1].loss = 0.02, 0.02, 0.02
	q := l.pair(func(_ int, c *QPConfig) { c.PMTU = 256 })
	l.region(1, 0, 1, 1<<16, verbs.AccessRemoteWrite)
	data := l.bytes(1 << 15)
	mustPost(t, q[0], verbs.WorkRequest{Op: verbs.OpWrite, Data: data, RKey: 1})
	var frame []byte
	l.links[0].tap = func(_ time.Duration, f []byte) bool { frame = bytes.Clone(f); return false }
	l.run(10*time.Second, func() bool { return q[0].SendQueueLen() == 0 })
	if p := parse(t, frame); !p.IPv6.IsIPv4() || p.Ethernet.EtherType != packet.EtherTypeIPv4 {
		t.Errorf("sent %+v", p)
	}
	c := q[0].Config()
	c.QPN, c.RemoteAddr = 0x77, testAddr[1]
	if _, err := l.hosts[0].CreateQP(c); !errors.Is(err, verbs.ErrConfig) {
		t.Errorf("an IPv6 peer: %v", err)
	}
	before := l.hosts[1].Counters().Refused[RefusedEtherType]
	frame[12], frame[13] = 0x86, 0xdd
	l.hosts[1].Receive(l.Now(), frame)
	if got := l.hosts[1].Counters().Refused[RefusedEtherType]; got != before+1 {
		t.Errorf("%d refused for their EtherType, want %d", got, before+1)
	}
	e := &Encapsulation{Source: testAddr[0], SID: netip.MustParseAddr("fc00::1"),
		Edges: []packet.EdgeReceivers{{Edge: testAddr[1],
			Receivers: []packet.Receiver{{Addr: netip.MustParseAddr("10.0.0.2"), QPN: 5}}}}}
	if err := q[0].SetEncapsulation(e); err != nil {
		t.Fatal(err)
	}
	mustPost(t, q[0], verbs.WorkRequest{Op: verbs.OpWrite, Data: []byte{1}, RKey: 1})
	l.hosts[0].Advance(l.Now())
	p := parse(t, frame)
	if p.SRH.NextHeader != packet.NextHeaderIPv4 ||
		p.SRH.Segment(0) != netip.MustParseAddr("::ffff:10.0.0.2") || !p.IPv6.IsIPv4() {
		t.Errorf("encapsulated: %+v", p)
	}
}
