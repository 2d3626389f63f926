package rc

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/internal/ibta"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// TestRequestPackets: every operation at the lengths where its packets change.
func TestRequestPackets(t *testing.T) {
	type pkt = packet.Opcode
	w, wi := verbs.OpWrite, verbs.OpWriteImmediate
	s, si := verbs.OpSend, verbs.OpSendImmediate
	tests := []struct {
		op   verbs.Op
		n    int
		want []pkt
	}{
		{w, 0, []pkt{packet.OpWriteOnly}},
		{w, 1, []pkt{packet.OpWriteOnly}},
		{w, 256, []pkt{packet.OpWriteOnly}},
		{w, 257, []pkt{packet.OpWriteFirst, packet.OpWriteLast}},
		{w, 770, []pkt{packet.OpWriteFirst, packet.OpWriteMiddle, packet.OpWriteMiddle,
			packet.OpWriteLast}},
		{wi, 0, []pkt{packet.OpWriteOnlyImmediate}},
		{wi, 256, []pkt{packet.OpWriteOnlyImmediate}},
		{wi, 768, []pkt{packet.OpWriteFirst, packet.OpWriteMiddle, packet.OpWriteLastImmediate}},
		{s, 0, []pkt{packet.OpSendOnly}},
		{s, 255, []pkt{packet.OpSendOnly}},
		{s, 512, []pkt{packet.OpSendFirst, packet.OpSendLast}},
		{s, 513, []pkt{packet.OpSendFirst, packet.OpSendMiddle, packet.OpSendLast}},
		{si, 3, []pkt{packet.OpSendOnlyImmediate}},
		{si, 600, []pkt{packet.OpSendFirst, packet.OpSendMiddle, packet.OpSendLastImmediate}},
	}
	for _, tt := range tests {
		const psn = packet.PSNMask - 1 // wraps in messages of three packets and more
		h := newSolo(t, func(c *QPConfig) { c.SQPSN, c.DSCP = psn, 10 })
		data := make([]byte, tt.n)
		for i := range data {
			data[i] = byte(i * 7)
		}
		mustPost(t, h.qp, verbs.WorkRequest{Op: tt.op, Data: data, RemoteVA: 0x1000, RKey: 9,
			Immediate: 0xABCD, Solicited: true})
		got := h.settle(0)
		got = append(got, h.settle(time.Millisecond)...)
		var all []byte
		for i, p := range got {
			last := i == len(got)-1
			if i >= len(tt.want) || p.BTH.Opcode != tt.want[i] {
				t.Fatalf("%v of %d octets: packet %d is %v, want %v", tt.op, tt.n, i, p.BTH.Opcode, tt.want)
			}
			b := p.BTH
			if b.PSN != packet.PSNAdd(psn, i) || b.AckReq != last || b.Solicited != last ||
				b.DestQPN != testQPN1 || b.PKey != 0xFFFF || b.TVer != 0 {
				t.Errorf("%v of %d octets: packet %d has BTH %+v", tt.op, tt.n, i, b)
			}
			ext, _ := b.Opcode.Extensions()
			if ext.Is(packet.ExtRETH) &&
				(p.RETH != packet.RETH{VA: 0x1000, RKey: 9, DMALength: uint32(tt.n)}) {
				t.Errorf("%v of %d octets: RETH %+v", tt.op, tt.n, p.RETH)
			}
			if ext.Is(packet.ExtImmDt) && p.ImmDt != 0xABCD {
				t.Errorf("%v of %d octets: immediate %#x", tt.op, tt.n, p.ImmDt)
			}
			if p.IPv6.Src != testAddr[0] || p.IPv6.Dst != testAddr[1] ||
				p.IPv6.TrafficClass != packet.TrafficClass(10, packet.ECT0) || p.IPv6.HopLimit != 64 ||
				p.UDP.DstPort != packet.RoCEPort || p.UDP.SrcPort < 0xC000 || p.UDP.Checksum != 0 ||
				p.Ethernet.Dst != testMAC[1] || p.Ethernet.Src != testMAC[0] {
				t.Errorf("%v of %d octets: packet %d has %+v %+v %+v", tt.op, tt.n, i, p.Ethernet, p.IPv6,
					p.UDP)
			}
			all = append(all, p.Payload...)
		}
		if len(got) != len(tt.want) || !bytes.Equal(all, data) {
			t.Errorf("%v of %d octets: %d packets with %d octets, want %d", tt.op, tt.n, len(got), len(all),
				len(tt.want))
		}
	}
}

func TestAckRequests(t *testing.T) {
	ackReqs := func(all []packet.RoCE) []uint32 {
		var p []uint32
		for _, r := range all {
			if r.BTH.AckReq {
				p = append(p, r.BTH.PSN)
			}
		}
		return p
	}
	h := newSolo(t, func(c *QPConfig) { c.AckEvery, c.Window, c.LocalAckTimeout = 4, 10, 0 })
	mustPost(t, h.qp, verbs.WorkRequest{Op: verbs.OpWrite, Data: make([]byte, 256*14)})
	got := h.settle(time.Millisecond)
	wantPSNs(t, "first window", got, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	if want := []uint32{3, 7, 9}; !slices.Equal(ackReqs(got), want) { // 9 fills the window
		t.Errorf("acknowledgements asked for at %v, want %v", ackReqs(got), want)
	}
	h.ack(3)
	got = h.settle(2 * time.Millisecond)
	wantPSNs(t, "rest", got, 10, 11, 12, 13)
	// 13 is the last of the message and fills the window too
	if want := []uint32{11, 13}; !slices.Equal(ackReqs(got), want) {
		t.Errorf("acknowledgements asked for at %v, want %v", ackReqs(got), want)
	}
}

func TestPacing(t *testing.T) {
	h := newSolo(t, func(c *QPConfig) { c.PMTU = 4096 })
	h.host.cfg.LineRate = 1e9
	h.qp.rate = newRateControl(h.qp.cfg.Rate, 1e9)
	mustPost(t, h.qp, verbs.WorkRequest{Op: verbs.OpWrite, Data: make([]byte, 4096*10)})
	n := 0
	for range 5 { // one packet an Advance, each when its time has come
		next, pending := h.host.Advance(h.now)
		got := h.taken()
		n++
		if len(got) != 1 || !pending {
			t.Fatalf("packet %d: %d sent, pending %v", n, len(got), pending)
		}
		if want := h.now + ibta.Serialization(got[0].Len(), 1e9); next != want {
			t.Fatalf("packet %d: next at %v, want %v", n, next, want)
		}
		h.now = next
	}
	// With slack, the host makes up for a late Advance, but no further back than that.
	h.host.cfg.PacingSlack = 70 * time.Microsecond
	h.now += time.Millisecond
	h.host.Advance(h.now)
	if got := len(h.taken()); got != 3 { // at 33 us each: those of 70, 37 and 4 us ago
		t.Errorf("%d packets after a late Advance, want 3", got)
	}
}

func TestRetryExhausted(t *testing.T) {
	const timeout = 4096 * time.Nanosecond << 6
	for _, retries := range []uint8{0, 1, 6} {
		h := newSolo(t, func(c *QPConfig) { c.RetryCnt, c.LocalAckTimeout = retries, 6 })
		for id := range uint64(3) {
			mustPost(t, h.qp, verbs.WorkRequest{ID: id, Op: verbs.OpSend, Data: make([]byte, 10)})
		}
		mustRecv(t, h.qp, verbs.RecvRequest{ID: 9})
		for i := range int(retries) + 1 {
			wantPSNs(t, "try", h.settle(h.now+timeout-1), 0, 1, 2)
			if h.qp.Failed() {
				t.Fatalf("retry count %d: failed after %d tries", retries, i+1)
			}
			h.settle(h.now) // the timeout is one nanosecond away
			h.now++
		}
		if _, pending := h.host.Advance(h.now); pending || !h.qp.Failed() {
			t.Errorf("retry count %d: failed %v, pending %v", retries, h.qp.Failed(), pending)
		}
		wantPSNs(t, "after the last", h.taken())
		if !h.qp.Failed() {
			t.Fatalf("retry count %d: not failed", retries)
		}
		want := []verbs.Completion{
			{At: h.now, ID: 0, Op: verbs.OpSend, Status: verbs.StatusRetryExceeded, Octets: 10},
			{At: h.now, ID: 1, Op: verbs.OpSend, Status: verbs.StatusFlushed, Octets: 10},
			{At: h.now, ID: 2, Op: verbs.OpSend, Status: verbs.StatusFlushed, Octets: 10},
			{At: h.now, ID: 9, Recv: true, Status: verbs.StatusFlushed},
		}
		if got := completions(h.qp); !slices.Equal(got, want) {
			t.Errorf("retry count %d: completions %+v, want %+v", retries, got, want)
		}
		if c := h.qp.Counters(); c.MaxRetryRun != uint64(retries)+1 || c.Timeouts != uint64(retries)+1 {
			t.Errorf("retry count %d: counters %+v", retries, c)
		}
		if err := h.qp.PostSend(verbs.WorkRequest{Op: verbs.OpSend}); !errors.Is(err, verbs.ErrQPState) {
			t.Errorf("PostSend after failure: %v", err)
		}
		if err := h.qp.PostRecv(verbs.RecvRequest{}); !errors.Is(err, verbs.ErrQPState) {
			t.Errorf("PostRecv after failure: %v", err)
		}
		if _, pending := h.host.Advance(h.now + time.Hour); pending {
			t.Error("a failed queue pair has something pending")
		}
	}
}

// TestRetriesCountNAKs: sequence NAKs and timeouts share one count, progress resets it, and 7 never
// runs out.
func TestRetriesCountNAKs(t *testing.T) {
	post := func(retries uint8) *solo {
		h := newSolo(t, func(c *QPConfig) { c.RetryCnt, c.LocalAckTimeout = retries, 6 })
		mustPost(t, h.qp, verbs.WorkRequest{Op: verbs.OpWrite, Data: make([]byte, 256*4)})
		wantPSNs(t, "first", h.settle(time.Microsecond), 0, 1, 2, 3)
		return h
	}
	nak := packet.NAKSyndrome(packet.NAKSequence)

	h := post(2)
	h.respond(0, nak)
	wantPSNs(t, "after a NAK", h.settle(h.now+time.Microsecond), 0, 1, 2, 3)
	h.settle(h.now + 4096*time.Nanosecond<<6)
	if h.qp.Failed() || h.qp.retries != 2 {
		t.Fatalf("%d retries", h.qp.retries)
	}
	h.respond(1, nak) // acknowledges 0: progress, then one retry
	wantPSNs(t, "after a NAK with progress", h.settle(h.now+time.Microsecond), 1, 2, 3)
	if h.qp.Failed() || h.qp.retries != 1 {
		t.Fatalf("%d retries after progress", h.qp.retries)
	}
	h.respond(1, nak)
	h.respond(1, nak)
	if !h.qp.Failed() || h.qp.Counters().MaxRetryRun != 3 {
		t.Errorf("failed %v after a third retry, longest run %d", h.qp.Failed(),
			h.qp.Counters().MaxRetryRun)
	}

	h = post(InfiniteRetries)
	for range 1000 {
		h.respond(0, nak)
	}
	if c := h.qp.Counters(); h.qp.Failed() || c.MaxRetryRun != 1000 || c.NAKsReceived != 1000 ||
		c.Rewinds != 1000 {
		t.Errorf("failed %v, counters %+v", h.qp.Failed(), c)
	}
}

func TestRNRAtRequester(t *testing.T) {
	rnr := packet.RNRSyndrome(4) // 40 us
	h := newSolo(t, func(c *QPConfig) { c.RNRRetry, c.LocalAckTimeout = 2, 1 })
	mustPost(t, h.qp, verbs.WorkRequest{Op: verbs.OpSend, Data: make([]byte, 256*3)})
	wantPSNs(t, "first", h.settle(time.Microsecond), 0, 1, 2)
	h.respond(1, rnr) // acknowledges 0
	start := h.now
	wantPSNs(t, "while waiting", h.settle(start+40*time.Microsecond-1))
	if h.qp.Counters().Timeouts != 0 {
		t.Error("a timeout, though the wait is longer than the Local ACK Timeout")
	}
	wantPSNs(t, "after the wait", h.settle(start+41*time.Microsecond), 1, 2)
	h.respond(1, rnr)
	h.settle(h.now + 41*time.Microsecond)
	if h.qp.Failed() || h.qp.retries != 0 {
		t.Fatalf("failed %v, %d retries: RNR NAKs have their own count", h.qp.Failed(), h.qp.retries)
	}
	h.respond(1, rnr)
	if got := completions(h.qp); !h.qp.Failed() || len(got) != 1 ||
		got[0].Status != verbs.StatusRNRRetryExceeded {
		t.Errorf("failed %v, completions %+v", h.qp.Failed(), got)
	}

	// The later end of two timers counts.
	h = newSolo(t, nil)
	mustPost(t, h.qp, verbs.WorkRequest{Op: verbs.OpSend})
	h.settle(time.Microsecond)
	h.respond(0, rnr)
	h.respond(0, packet.RNRSyndrome(1))
	wantPSNs(t, "after the shorter timer", h.settle(h.now+30*time.Microsecond))

	h = newSolo(t, nil) // 7 never runs out, and progress resets the count
	mustPost(t, h.qp, verbs.WorkRequest{Op: verbs.OpSend, Data: make([]byte, 256*2)})
	h.settle(time.Microsecond)
	for range 100 {
		h.respond(0, rnr)
		h.settle(h.now + 50*time.Microsecond)
	}
	h.ack(0)
	h.respond(1, rnr)
	if c := h.qp.Counters(); h.qp.Failed() || c.MaxRNRRun != 100 || h.qp.rnrRetries != 1 {
		t.Errorf("failed %v, longest run %d, run %d", h.qp.Failed(), c.MaxRNRRun, h.qp.rnrRetries)
	}
}

func TestFatalNAKs(t *testing.T) {
	// A receive request half used goes with the rest.
	h := newSolo(t, nil)
	mustRecv(t, h.qp, verbs.RecvRequest{ID: 7, Buf: make([]byte, 300)})
	mustPost(t, h.qp, verbs.WorkRequest{Op: verbs.OpSend})
	h.settle(time.Microsecond)
	p := h.from(packet.OpSendFirst, 0)
	p.Payload = make([]byte, 256)
	wantNone(t, "SEND First", h.give(p))
	h.respond(0, packet.NAKSyndrome(packet.NAKInvalidRequest))
	if got := completions(h.qp); len(got) != 2 || got[1].ID != 7 ||
		got[1].Status != verbs.StatusFlushed || got[1].Octets != 256 {
		t.Errorf("completions %+v", got)
	}

	for code, want := range map[packet.NAKCode]verbs.Status{
		packet.NAKInvalidRequest:    verbs.StatusRemoteInvalidRequest,
		packet.NAKRemoteAccess:      verbs.StatusRemoteAccess,
		packet.NAKRemoteOperational: verbs.StatusRemoteOperational,
	} {
		h := newSolo(t, nil)
		for id := range uint64(3) {
			mustPost(t, h.qp, verbs.WorkRequest{ID: id, Op: verbs.OpSend})
		}
		h.settle(time.Microsecond)
		h.respond(1, packet.NAKSyndrome(code)) // acknowledges 0
		var got []verbs.Status
		for _, c := range completions(h.qp) {
			got = append(got, c.Status)
		}
		if want := []verbs.Status{verbs.StatusOK, want, verbs.StatusFlushed}; !slices.Equal(got, want) ||
			!h.qp.Failed() {
			t.Errorf("%v: failed %v, statuses %v, want %v", code, h.qp.Failed(), got, want)
		}
	}
}

// TestResponsesIgnored: responses outside the PSNs outstanding change nothing.
func TestResponsesIgnored(t *testing.T) {
	seqNAK, rnr, fatal := packet.NAKSyndrome(packet.NAKSequence), packet.RNRSyndrome(1),
		packet.NAKSyndrome(packet.NAKRemoteAccess)
	ok := packet.ACKSyndrome(31)
	const base = packet.PSNMask - 2
	at := func(i int) uint32 { return packet.PSNAdd(base, i) }
	tests := []struct {
		name     string
		psn      uint32
		syndrome packet.Syndrome
		want     Refusal
	}{
		{"acknowledgement of the last one again", at(1), ok, RefusedStale},
		{"acknowledgement of an old one", at(0), ok, RefusedStale},
		{"acknowledgement of one not sent", at(8), ok, RefusedGhost},
		{"acknowledgement half a circle away", at(2 + 1<<23), ok, RefusedGhost},
		{"NAK of an old one", at(1), seqNAK, RefusedStale},
		{"NAK of one not sent", at(9), seqNAK, RefusedGhost},
		{"RNR of an old one", at(0), rnr, RefusedStale},
		{"RNR of one not sent", at(10), rnr, RefusedGhost},
		{"fatal NAK of an old one", at(1), fatal, RefusedStale},
		{"fatal NAK of one not sent", at(9), fatal, RefusedGhost},
		{"invalid RD request", at(2), packet.NAKSyndrome(packet.NAKInvalidRD), RefusedSyndrome},
		{"reserved NAK code", at(2), packet.NAKSyndrome(9), RefusedSyndrome},
		{"reserved syndrome", at(2), 0x40, RefusedSyndrome},
		{"syndrome with the high bit", at(2), 0x80, RefusedSyndrome},
	}
	for _, tt := range tests {
		h := newSolo(t, func(c *QPConfig) { c.SQPSN, c.Window = base, 8 })
		mustPost(t, h.qp, verbs.WorkRequest{Op: verbs.OpWrite, Data: make([]byte, 256*20)})
		h.settle(time.Microsecond)
		h.ack(at(1))
		h.qp.cfg.Window = 6 // 2..7 are outstanding, 8 is not sent
		before, beforeQP := h.host.Counters(), h.qp.requester
		h.respond(tt.psn, tt.syndrome)
		q := h.qp.requester
		if q.una != beforeQP.una || q.nxt != beforeQP.nxt || q.retries != beforeQP.retries ||
			q.rnrUntil != beforeQP.rnrUntil || q.deadline != beforeQP.deadline || h.qp.Failed() {
			t.Errorf("%s: changed the requester", tt.name)
		}
		after := h.host.Counters()
		if after.Refused[tt.want] != before.Refused[tt.want]+1 ||
			after.Refused.Total() != before.Refused.Total()+1 {
			t.Errorf("%s: refused %v, want one %v", tt.name, after.Refused.Map(), tt.want)
		}
	}
	// A NAK right after the highest PSN sent acknowledges all of it and asks for nothing.
	h := newSolo(t, nil)
	mustPost(t, h.qp, verbs.WorkRequest{Op: verbs.OpWrite, Data: make([]byte, 256*3)})
	h.settle(time.Microsecond)
	h.respond(3, seqNAK)
	if got := completions(h.qp); len(got) != 1 || h.qp.Counters().Rewinds != 0 {
		t.Errorf("NAK after the highest PSN: %d completions, %d rewinds", len(got),
			h.qp.Counters().Rewinds)
	}
}

func TestHold(t *testing.T) {
	h := newSolo(t, func(c *QPConfig) { c.SQPSN = packet.PSNMask; c.LocalAckTimeout = 5 })
	message := func(packets int) {
		mustPost(t, h.qp, verbs.WorkRequest{Op: verbs.OpWrite, Data: make([]byte, 256*packets)})
	}
	if h.qp.NextMessagePSN() != packet.PSNMask || h.qp.MessagesSent() != 0 {
		t.Fatal("nothing posted: the first PSN is the next")
	}
	message(3) // FFFFFF..1
	message(2) // 2..3
	message(1) // 4
	if err := h.qp.HoldAt(2); err != nil {
		t.Fatal(err)
	}
	wantPSNs(t, "held", h.settle(100*time.Microsecond), packet.PSNMask, 0, 1)
	if h.qp.NextMessagePSN() != 2 || h.qp.MessagesSent() != 1 {
		t.Fatalf("next message at %#x, %d sent", h.qp.NextMessagePSN(), h.qp.MessagesSent())
	}
	if err := h.qp.HoldAt(1); !errors.Is(err, ErrHoldTooLate) {
		t.Errorf("hold before a PSN that was sent: %v", err)
	}
	// Begun requests are still retransmitted.
	wantPSNs(t, "timeout while held", h.settle(200*time.Microsecond), packet.PSNMask, 0, 1)
	h.ack(1)
	wantPSNs(t, "held, all acknowledged", h.settle(time.Millisecond))
	if _, pending := h.host.Advance(h.now); pending {
		t.Error("pending while held with all acknowledged")
	}
	// A hold inside a message keeps all of it.
	if err := h.qp.HoldAt(3); err != nil {
		t.Fatal(err)
	}
	wantPSNs(t, "held inside", h.settle(2*time.Millisecond))
	if err := h.qp.HoldAt(4); err != nil {
		t.Fatal(err)
	}
	wantPSNs(t, "held before the third", h.settle(h.now+time.Microsecond), 2, 3)
	h.qp.Release()
	wantPSNs(t, "released", h.settle(h.now+time.Microsecond), 4)
	if h.qp.NextMessagePSN() != 5 || h.qp.MessagesSent() != 3 {
		t.Errorf("next message at %#x, %d sent", h.qp.NextMessagePSN(), h.qp.MessagesSent())
	}
}

// TestTurns: queue pairs with work share the port.
func TestTurns(t *testing.T) {
	h := newSolo(t, nil)
	for i := range uint32(2) {
		c := h.qp.Config()
		c.QPN += i + 1
		q, err := h.host.CreateQP(c)
		if err != nil {
			t.Fatal(err)
		}
		mustPost(t, q, verbs.WorkRequest{Op: verbs.OpWrite, Data: make([]byte, 256*4),
			RemoteVA: uint64(q.cfg.QPN), RKey: 1})
	}
	mustPost(t, h.qp, verbs.WorkRequest{Op: verbs.OpWrite, Data: make([]byte, 256*4)})
	wantPSNs(t, "three queue pairs", h.settle(10*time.Microsecond), 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3)
}

// TestLineRate: all queue pairs together send no faster than the port.
func TestLineRate(t *testing.T) {
	h := newSolo(t, func(c *QPConfig) { c.PMTU = 4096 })
	c := h.qp.Config()
	c.QPN++
	other, err := h.host.CreateQP(c)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 20*4096)
	mustPost(t, h.qp, verbs.WorkRequest{Op: verbs.OpWrite, Data: data})
	mustPost(t, other, verbs.WorkRequest{Op: verbs.OpWrite, Data: data})
	for i := range 10 {
		next, pending := h.host.Advance(h.now)
		got := h.taken()
		if len(got) != 1 || !pending {
			t.Fatalf("packet %d: %d at once, pending %v", i, len(got), pending)
		}
		if want := h.now + ibta.Serialization(got[0].Len(), 100e9); next != want {
			t.Fatalf("packet %d: next at %v, want %v", i, next, want)
		}
		h.now = next
	}
}

func TestSendQueueLimits(t *testing.T) {
	h := newSolo(t, func(c *QPConfig) { c.SendDepth, c.RecvDepth = 2, 1 })
	for _, wr := range []verbs.WorkRequest{{}, {Op: verbs.OpSendImmediate + 1}} {
		if err := h.qp.PostSend(wr); !errors.Is(err, verbs.ErrWorkRequest) {
			t.Errorf("PostSend of %v: %v", wr.Op, err)
		}
	}
	mustPost(t, h.qp, verbs.WorkRequest{Op: verbs.OpSend})
	mustPost(t, h.qp, verbs.WorkRequest{Op: verbs.OpSend})
	if err := h.qp.PostSend(verbs.WorkRequest{Op: verbs.OpSend}); !errors.Is(err, verbs.ErrQueueFull) {
		t.Errorf("third PostSend: %v", err)
	}
	mustRecv(t, h.qp, verbs.RecvRequest{})
	if err := h.qp.PostRecv(verbs.RecvRequest{}); !errors.Is(err, verbs.ErrQueueFull) {
		t.Errorf("second PostRecv: %v", err)
	}
}

// TestCountsAcks: acknowledgements are counted by whether they say something new, something old, or
// something of what was not sent yet.
func TestCountsAcks(t *testing.T) {
	h := newSolo(t, nil)
	mustPost(t, h.qp, verbs.WorkRequest{Op: verbs.OpWrite, Data: make([]byte, 256*4)})
	wantPSNs(t, "all", h.settle(time.Microsecond), 0, 1, 2, 3)
	for _, c := range []struct {
		what               string
		respond            func()
		acks, stale, ghost uint64
	}{
		{"new", func() { h.ack(1) }, 1, 0, 0},
		{"the same again", func() { h.ack(1) }, 1, 1, 0},
		{"not sent yet", func() { h.ack(9) }, 1, 1, 1},
		{"a NAK right after the last packet, which acknowledges all",
			func() { h.respond(4, packet.NAKSyndrome(packet.NAKSequence)) }, 2, 1, 1},
	} {
		c.respond()
		got := h.qp.Counters()
		if got.AcksReceived != c.acks || got.StaleAcks != c.stale || got.GhostAcks != c.ghost ||
			got.NAKsReceived != 0 {
			t.Errorf("%s: %+v, want %d acknowledgements, %d stale, %d of what was not sent, no NAK",
				c.what, got, c.acks, c.stale, c.ghost)
		}
	}
}

// TestTimerRestarts: an acknowledgement of some packets begins the Local ACK Timeout of the others
// anew (IBTA 1.4, section 9.7.6.1.3).
func TestTimerRestarts(t *testing.T) {
	const timeout = 4096 * time.Nanosecond << 6
	h := newSolo(t, func(c *QPConfig) { c.LocalAckTimeout = 6 })
	for id := range uint64(2) {
		mustPost(t, h.qp, verbs.WorkRequest{ID: id, Op: verbs.OpSend, Data: make([]byte, 10)})
	}
	wantPSNs(t, "first", h.settle(timeout-1), 0, 1)
	h.now = timeout - 1
	h.ack(0)
	wantPSNs(t, "before the timeout", h.settle(2*timeout-2))
	wantPSNs(t, "after it", h.settle(2*timeout-1), 1)
}
