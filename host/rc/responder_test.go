package rc

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

var (
	sequenceNAK = packet.NAKSyndrome(packet.NAKSequence)
	plainACK    = packet.ACKSyndrome(packet.CreditInvalid)
)

func newResponder(t testing.TB, expected uint32) (*solo, *verbs.Region) {
	h := newSolo(t, func(c *QPConfig) { c.RQPSN, c.MinRNRTimer = expected, 3 })
	r, err := h.host.RegisterMR(0, 1, make([]byte, 1024), verbs.AccessRemoteWrite)
	if err != nil {
		t.Fatal(err)
	}
	return h, r
}

func TestAcknowledgements(t *testing.T) {
	const base = packet.PSNMask
	h, r := newResponder(t, base)
	send := func(i int, b byte, ackReq bool) []packet.RoCE {
		p := h.write(packet.PSNAdd(base, i), []byte{b})
		p.BTH.AckReq = ackReq
		return h.give(p)
	}
	wantNone(t, "no acknowledgement asked for", send(0, 1, false))
	wantReply(t, "in order", send(1, 2, true), 0, plainACK, 2)
	wantReply(t, "gap", send(3, 9, false), 1, sequenceNAK, 2)
	wantNone(t, "same gap", send(4, 9, true))
	wantNone(t, "same gap, same packet", send(3, 9, true))
	// Duplicates are acknowledged whether they ask or not, and not executed; the gap stays
	// reported.
	wantReply(t, "duplicate", send(0, 9, false), 0, plainACK, 2)
	wantReply(t, "duplicate that asks", send(1, 9, true), 0, plainACK, 2)
	wantReply(t, "duplicate from half a circle ago", send(2+1<<23, 9, false), 0, plainACK, 2)
	wantNone(t, "still the same gap", send(5, 9, true))
	if r.Buf()[0] != 2 {
		t.Errorf("memory holds %d, want 2", r.Buf()[0])
	}
	wantReply(t, "gap filled", send(2, 3, true), 1, plainACK, 3)
	wantReply(t, "next gap", send(4, 9, true), 2, sequenceNAK, 3)
	if h.qp.ExpectedPSN() != 2 || h.qp.MSN() != 3 || r.Buf()[0] != 3 {
		t.Errorf("expected PSN %#x, MSN %d, memory %d", h.qp.ExpectedPSN(), h.qp.MSN(), r.Buf()[0])
	}
	c := h.qp.Counters()
	if c.Duplicates != 3 || c.OutOfOrder != 5 || c.NAKsSent != 2 || c.AcksSent != 5 ||
		c.RequestsReceived != 3 {
		t.Errorf("counters %+v", c)
	}
}

func TestAcknowledgementPacket(t *testing.T) {
	h, _ := newResponder(t, 0)
	p := h.write(0, []byte{1})
	p.BTH.AckReq = true
	got := h.give(p)
	wantReply(t, "write", got, 0, plainACK, 1)
	a := got[0]
	if a.IPv6.Src != testAddr[0] || a.IPv6.Dst != testAddr[1] ||
		packet.ECN(a.IPv6.TrafficClass) != packet.NotECT || a.BTH.DestQPN != testQPN1 || a.BTH.AckReq ||
		len(a.Payload) != 0 || a.Ethernet.Dst != testMAC[1] || a.Len() != packet.EthernetLen+
		packet.IPv6Len+packet.UDPLen+packet.BTHLen+packet.AETHLen+packet.ICRCLen {
		t.Errorf("acknowledgement %+v", a)
	}
}

func TestRNRAtResponder(t *testing.T) {
	rnr := packet.RNRSyndrome(3)
	h, r := newResponder(t, 0)
	opcode := func(op packet.Opcode, psn uint32, payload []byte) []packet.RoCE {
		p := h.from(op, psn)
		p.BTH.AckReq = op != packet.OpSendFirst
		p.RETH = packet.RETH{RKey: 1, DMALength: uint32(len(payload))}
		p.Payload = payload
		return h.give(p)
	}
	wantReply(t, "SEND First without buffer", opcode(packet.OpSendFirst, 0, make([]byte, 256)), 0, rnr,
		0)
	wantNone(t, "what follows", opcode(packet.OpSendLast, 1, []byte{1}))
	wantReply(t, "tried again too early", opcode(packet.OpSendFirst, 0, make([]byte, 256)), 0, rnr, 0)
	buf := make([]byte, 300)
	mustRecv(t, h.qp, verbs.RecvRequest{ID: 5, Buf: buf})
	wantNone(t, "SEND First", opcode(packet.OpSendFirst, 0, bytes.Repeat([]byte{7}, 256)))
	wantReply(t, "SEND Last with Immediate needs no second buffer",
		opcode(packet.OpSendLastImmediate, 1, []byte{8}), 1, plainACK, 1)
	wantReply(t, "WRITE Only with Immediate without receive request",
		opcode(packet.OpWriteOnlyImmediate, 2, []byte{9}), 2, rnr, 1)
	if r.Buf()[0] != 0 {
		t.Error("memory written by a request that was not ready")
	}
	mustRecv(t, h.qp, verbs.RecvRequest{ID: 6})
	wantReply(t, "WRITE Only with Immediate", opcode(packet.OpWriteOnlyImmediate, 2, []byte{9}), 2,
		plainACK, 2)
	want := []verbs.Completion{
		{ID: 5, Recv: true, Op: verbs.OpSendImmediate, Octets: 257, HasImmediate: true},
		{ID: 6, Recv: true, Op: verbs.OpWriteImmediate, Octets: 1, HasImmediate: true},
	}
	if got := completions(h.qp); !slices.Equal(got, want) {
		t.Errorf("completions %+v, want %+v", got, want)
	}
	if buf[255] != 7 || buf[256] != 8 || r.Buf()[0] != 9 {
		t.Error("wrong octets")
	}
	if c := h.qp.Counters(); c.RNRsSent != 3 || c.OutOfOrder != 1 || c.NAKsSent != 0 {
		t.Errorf("counters %+v", c)
	}
}

// TestRefusedRequests: requests answered with a fatal NAK, after which the queue pair is in the
// error state.
func TestRefusedRequests(t *testing.T) {
	invalid, access, operational := packet.NAKInvalidRequest, packet.NAKRemoteAccess,
		packet.NAKRemoteOperational
	full := make([]byte, 256)
	type step struct {
		op      packet.Opcode
		payload []byte
		va      uint64
		rkey    uint32
		length  int
	}
	write := func(op packet.Opcode, n int, length int) step {
		return step{op, make([]byte, n), 0, 1, length}
	}
	send := func(op packet.Opcode, n int) step { return step{op: op, payload: make([]byte, n)} }
	tests := []struct {
		name   string
		before []step // accepted
		bad    step
		code   packet.NAKCode
		recv   verbs.Status // of the first receive request, of 300 octets
	}{
		{"SEND Middle first", nil, send(packet.OpSendMiddle, 256), invalid, verbs.StatusFlushed},
		{"SEND Last first", nil, send(packet.OpSendLast, 9), invalid, verbs.StatusFlushed},
		{"WRITE Middle first", nil, send(packet.OpWriteMiddle, 256), invalid, verbs.StatusFlushed},
		{"WRITE Last with Immediate first", nil, send(packet.OpWriteLastImmediate, 9), invalid,
			verbs.StatusFlushed},
		{"SEND Only inside a SEND", []step{send(packet.OpSendFirst, 256)}, send(packet.OpSendOnly, 9),
			invalid, verbs.StatusRemoteInvalidRequestIn},
		{"SEND First inside a WRITE", []step{write(packet.OpWriteFirst, 256, 600)},
			send(packet.OpSendFirst, 256), invalid, verbs.StatusFlushed},
		{"WRITE Middle inside a SEND", []step{send(packet.OpSendFirst, 256)},
			send(packet.OpWriteMiddle, 256), invalid, verbs.StatusRemoteInvalidRequestIn},
		{"SEND Last inside a WRITE", []step{write(packet.OpWriteFirst, 256, 600)},
			send(packet.OpSendLast, 9), invalid, verbs.StatusFlushed},
		{"READ", nil, write(packet.OpReadRequest, 0, 9), invalid, verbs.StatusFlushed},
		{"SEND First shorter than the PMTU", nil, send(packet.OpSendFirst, 252), invalid,
			verbs.StatusFlushed},
		{"SEND Only longer than the PMTU", nil, send(packet.OpSendOnly, 260), invalid,
			verbs.StatusFlushed},
		{"SEND Last of nothing", []step{send(packet.OpSendFirst, 256)}, send(packet.OpSendLast, 0),
			invalid, verbs.StatusRemoteInvalidRequestIn},
		{"SEND beyond its buffer", []step{send(packet.OpSendFirst, 256)}, send(packet.OpSendLast, 45),
			invalid, verbs.StatusLocalLength},
		{"WRITE Only shorter than its length", nil, write(packet.OpWriteOnly, 9, 10), invalid,
			verbs.StatusFlushed},
		{"WRITE Only longer than its length", nil, write(packet.OpWriteOnly, 10, 9), invalid,
			verbs.StatusFlushed},
		{"WRITE First with all of its length", nil, write(packet.OpWriteFirst, 256, 256), invalid,
			verbs.StatusFlushed},
		{"WRITE Middle with the rest of its length", []step{write(packet.OpWriteFirst, 256, 512)},
			send(packet.OpWriteMiddle, 256), invalid, verbs.StatusFlushed},
		{"WRITE Last short of its length", []step{write(packet.OpWriteFirst, 256, 300)},
			send(packet.OpWriteLast, 43), invalid, verbs.StatusFlushed},
		{"WRITE over 2^31 octets", nil, write(packet.OpWriteFirst, 256, 1<<31+1), invalid,
			verbs.StatusFlushed},
		{"unknown R_Key", nil, step{packet.OpWriteOnly, full, 0, 2, 256}, access, verbs.StatusFlushed},
		{"region without the right", nil, step{packet.OpWriteOnly, full, 0, 3, 256}, access,
			verbs.StatusFlushed},
		{"below the region", nil, step{packet.OpWriteOnly, full, 0xFFF, 4, 256}, access,
			verbs.StatusFlushed},
		{"beyond the region", nil, step{packet.OpWriteOnly, full, 0x1001, 4, 256}, access,
			verbs.StatusFlushed},
		{"from past the region", nil, step{packet.OpWriteOnly, []byte{1}, 0x2000, 4, 1}, access,
			verbs.StatusFlushed},
		{"message beyond the region, first packet inside", nil, step{packet.OpWriteFirst, full, 0x1000, 4,
			257}, access, verbs.StatusFlushed},
		{"address past the end", nil, step{packet.OpWriteOnly, full, ^uint64(0), 4, 256}, access,
			verbs.StatusFlushed},
	}
	for _, tt := range tests {
		h, _ := newResponder(t, 0x100)
		for rkey, r := range map[uint32]struct {
			va     uint64
			access verbs.Access
		}{3: {0, 0}, 4: {0x1000, verbs.AccessRemoteWrite}} {
			if _, err := h.host.RegisterMR(r.va, rkey, make([]byte, 256), r.access); err != nil {
				t.Fatal(err)
			}
		}
		mustRecv(t, h.qp, verbs.RecvRequest{ID: 1, Buf: make([]byte, 300)})
		mustRecv(t, h.qp, verbs.RecvRequest{ID: 2})
		mustPost(t, h.qp, verbs.WorkRequest{ID: 3, Op: verbs.OpSend})
		give := func(i int, s step) []packet.RoCE {
			p := h.from(s.op, 0x100+uint32(i))
			p.RETH = packet.RETH{VA: s.va, RKey: s.rkey, DMALength: uint32(s.length)}
			p.Payload = s.payload
			return h.give(p)
		}
		for i, s := range tt.before {
			wantNone(t, tt.name+": before", give(i, s))
		}
		n := len(tt.before)
		before := h.host.Counters().Refused
		wantReply(t, tt.name, give(n, tt.bad), 0x100+uint32(n), packet.NAKSyndrome(tt.code), 0)
		after := h.host.Counters().Refused
		reason := RefusedInvalidRequest
		if tt.code == access {
			reason = RefusedRemoteAccess
		}
		if after[reason] != before[reason]+1 || after.Total() != before.Total()+1 {
			t.Errorf("%s: refused %v", tt.name, after.Map())
		}
		var got []verbs.Status
		for _, c := range completions(h.qp) {
			if c.Recv {
				got = append(got, c.Status)
			}
		}
		if want := []verbs.Status{tt.recv, verbs.StatusFlushed}; !slices.Equal(got, want) ||
			!h.qp.Failed() {
			t.Errorf("%s: failed %v, receive requests ended with %v, want %v", tt.name, h.qp.Failed(), got,
				want)
		}
		wantNone(t, tt.name+": after", give(n, tt.bad)) // in the error state
		if r := h.host.Counters().Refused[RefusedQPState]; r != 1 {
			t.Errorf("%s: %d refused for the state, want 1", tt.name, r)
		}
	}

	// A buffer whose region was withdrawn.
	h, _ := newResponder(t, 0)
	r, err := h.host.RegisterMR(0, 8, make([]byte, 64), 0)
	if err != nil {
		t.Fatal(err)
	}
	mustRecv(t, h.qp, verbs.RecvRequest{ID: 1, Buf: r.Buf(), Region: r})
	h.host.DeregisterMR(8)
	p := h.from(packet.OpSendOnly, 0)
	p.Payload = []byte{1}
	wantReply(t, "buffer withdrawn", h.give(p), 0, packet.NAKSyndrome(operational), 0)
	if got := completions(h.qp); len(got) != 1 || got[0].Status != verbs.StatusLocalProtection ||
		h.host.Counters().Refused[RefusedOperational] != 1 || r.Buf()[0] != 0 {
		t.Errorf("buffer withdrawn: completions %+v, refused %v", got, h.host.Counters().Refused.Map())
	}

	// A region withdrawn in the middle of a WRITE.
	h, _ = newResponder(t, 0)
	p = h.from(packet.OpWriteFirst, 0)
	p.RETH, p.Payload = packet.RETH{RKey: 1, DMALength: 300}, full
	wantNone(t, "WRITE First", h.give(p))
	h.host.DeregisterMR(1)
	h.host.DeregisterMR(1)
	p = h.from(packet.OpWriteLast, 1)
	p.Payload = make([]byte, 44)
	wantReply(t, "region withdrawn", h.give(p), 1, packet.NAKSyndrome(access), 0)

	// Requests whose headers are not decoded.
	for _, op := range []packet.Opcode{packet.OpCompareSwap, packet.OpFetchAdd,
		packet.OpSendLastInvalidate, packet.OpSendOnlyInvalidate} {
		h, _ = newResponder(t, 0)
		p = h.from(op, 0)
		p.Payload = make([]byte, 28)
		wantReply(t, op.String(), h.give(p), 0, packet.NAKSyndrome(invalid), 0)
	}
}

// TestEmptyWrite: a WRITE of nothing needs no region.
func TestEmptyWrite(t *testing.T) {
	h, _ := newResponder(t, 0)
	p := h.write(0, nil)
	p.RETH.RKey, p.BTH.AckReq = 99, true
	wantReply(t, "empty WRITE", h.give(p), 0, plainACK, 1)
}

// TestJoin: a queue pair with the first PSN of a message as RQPSN receives this message and all
// later messages; a queue pair with an RQPSN inside a message does not.
func TestJoin(t *testing.T) {
	l := newBed(t, 1)
	q := l.pair(func(_ int, c *QPConfig) { c.PMTU, c.SQPSN, c.RQPSN = 256, 0x50, 0x50 })
	l.region(1, 0, 1, 2048, verbs.AccessRemoteWrite)
	mustPost(t, q[0], verbs.WorkRequest{Op: verbs.OpWrite, Data: l.bytes(600), RKey: 1})
	l.run(time.Millisecond, func() bool { return q[0].SendQueueLen() == 0 })
	join := q[0].NextMessagePSN()
	if err := q[0].HoldAt(join); err != nil {
		t.Fatal(err)
	}
	data := l.bytes(700)
	mustPost(t, q[0], verbs.WorkRequest{Op: verbs.OpWrite, Data: data, RKey: 1})
	// The receiver's queue pair is made anew, expecting the message that is held.
	l.hosts[1].DestroyQP(testQPN1)
	l.hosts[1].DestroyQP(testQPN1)
	c := q[1].Config()
	c.RQPSN = join
	fresh, err := l.hosts[1].CreateQP(c)
	if err != nil {
		t.Fatal(err)
	}
	l.run(2*time.Millisecond, nil)
	if fresh.ExpectedPSN() != join {
		t.Fatal("a message passed the hold")
	}
	q[0].Release()
	if !l.run(3*time.Millisecond, func() bool { return q[0].SendQueueLen() == 0 }) {
		t.Fatal("not done")
	}
	if got := l.hosts[1].regions.Region(1).Buf()[:700]; !bytes.Equal(got, data) || fresh.MSN() != 1 {
		t.Errorf("memory differs, or MSN %d is not 1", fresh.MSN())
	}
	if err := q[1].PostRecv(verbs.RecvRequest{}); err == nil {
		t.Error("a destroyed queue pair takes work")
	}
}
