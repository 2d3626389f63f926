package rc

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// TestTransferUnderFaults sends random messages over links that lose, duplicate, reorder, corrupt
// and mark: the receiver's memory is right, and each request completes once, in order.
func TestTransferUnderFaults(t *testing.T) {
	happened := make(map[string]uint64)
	for seed := range uint64(150) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { transferUnderFaults(t, seed, happened) })
	}
	for _, what := range []string{"timeout", "nak", "rnr", "rewind", "cnp", "stale", "duplicate",
		"gap", "icrc", "wrap"} {
		if happened[what] == 0 {
			t.Errorf("no %s in any run: the test tests little", what)
		}
	}
	t.Logf("%v", happened)
}

// transferUnderFaults is one run; it adds to happened what it met.
func transferUnderFaults(t *testing.T, seed uint64, happened map[string]uint64) {
	l := newBed(t, seed)
	pmtu := 256 << l.rng.IntN(5)
	psn := [2]uint32{l.rng.Uint32() & packet.PSNMask,
		packet.PSNAdd(0, -1-l.rng.IntN(40))}[l.rng.IntN(2)]
	for i := range l.links {
		k := &l.links[i]
		k.jitter = time.Duration(l.rng.IntN(5000) + 1)
		k.reorder = l.rng.IntN(2) == 0
		k.loss, k.dup = l.rng.Float64()*0.05, l.rng.Float64()*0.05
		k.corrupt, k.mark = l.rng.Float64()*0.01, l.rng.Float64()*0.02
	}
	window, every := 1+l.rng.IntN(64), l.rng.IntN(9)
	qps := l.pair(func(side int, c *QPConfig) {
		c.PMTU, c.Window, c.AckEvery = pmtu, window, every
		c.SQPSN, c.RQPSN = psn, psn
		c.LocalAckTimeout = 5 // 131 us
		c.MinRNRTimer = 1     // 10 us
	})
	const rkey, va = 0x1234, 0x7000_0000_0000
	target := l.region(1, va, rkey, 1<<20, verbs.AccessRemoteWrite)
	want := make([]byte, 1<<20)

	type sent struct {
		wr   verbs.WorkRequest
		recv bool
	}
	var all []sent
	offset := 0
	for id := range uint64(20 + l.rng.IntN(30)) {
		n := [3]int{l.rng.IntN(3 * pmtu), l.rng.IntN(12 * pmtu), l.rng.IntN(5)}[l.rng.IntN(3)]
		n = min(n, 20000)
		wr := verbs.WorkRequest{ID: id, Op: verbs.OpWrite + verbs.Op(l.rng.IntN(4)), Data: l.bytes(n),
			Immediate: l.rng.Uint32(), Solicited: l.rng.IntN(2) == 0, RKey: rkey}
		if wr.Op.Write() {
			wr.RemoteVA = va + uint64(offset)
			offset += copy(want[offset:], wr.Data)
		}
		mustPost(t, qps[0], wr)
		all = append(all, sent{wr, wr.Op != verbs.OpWrite})
	}
	buffers := make(map[uint64][]byte)
	var recvs uint64
	var gotSend, gotRecv []verbs.Completion
	done := func() bool {
		gotSend = append(gotSend, completions(qps[0])...)
		gotRecv = append(gotRecv, completions(qps[1])...)
		if l.rng.IntN(8) == 0 && recvs < 60 { // receive buffers come late: RNR NAKs
			buffers[recvs] = make([]byte, 20000)
			mustRecv(t, qps[1], verbs.RecvRequest{ID: recvs, Buf: buffers[recvs]})
			recvs++
		}
		return len(gotSend) == len(all)
	}
	if !l.run(10*time.Second, done) {
		t.Fatalf("not done: %d of %d, requester %+v, responder %+v", len(gotSend), len(all),
			qps[0].Counters(), qps[1].Counters())
	}
	// Nothing more may come: late duplicates complete nothing.
	end := l.Now() + time.Second
	l.run(end, nil)
	gotSend = append(gotSend, completions(qps[0])...)
	gotRecv = append(gotRecv, completions(qps[1])...)

	if !bytes.Equal(target.Buf(), want) {
		t.Error("memory differs")
	}
	if len(gotSend) != len(all) {
		t.Fatalf("%d send completions, want %d", len(gotSend), len(all))
	}
	var nRecv int
	for i, s := range all {
		c := gotSend[i]
		if c.ID != s.wr.ID || c.Op != s.wr.Op || c.Status != verbs.StatusOK ||
			c.Octets != len(s.wr.Data) || c.Recv {
			t.Errorf("send completion %d: %+v, want that of %v, %d octets", i, c, s.wr.Op, len(s.wr.Data))
		}
		if !s.recv {
			continue
		}
		if nRecv >= len(gotRecv) {
			t.Fatalf("%d receive completions, want more", len(gotRecv))
		}
		c = gotRecv[nRecv]
		if c.ID != uint64(nRecv) || c.Op != s.wr.Op || c.Status != verbs.StatusOK ||
			c.Octets != len(s.wr.Data) || !c.Recv || c.Solicited != s.wr.Solicited {
			t.Errorf("receive completion %d: %+v, want that of %v, %d octets", nRecv, c, s.wr.Op,
				len(s.wr.Data))
		}
		if c.HasImmediate != s.wr.Op.Immediate() || c.HasImmediate && c.Immediate != s.wr.Immediate {
			t.Errorf("receive completion %d: immediate %#x (%v), want %#x", nRecv, c.Immediate,
				c.HasImmediate, s.wr.Immediate)
		}
		if !s.wr.Op.Write() && !bytes.Equal(buffers[c.ID][:c.Octets], s.wr.Data) {
			t.Errorf("receive buffer %d differs", c.ID)
		}
		nRecv++
	}
	if nRecv != len(gotRecv) {
		t.Errorf("%d receive completions, want %d", len(gotRecv), nRecv)
	}
	if msn := qps[1].MSN(); msn != uint32(len(all)) || qps[0].MessagesSent() != msn {
		t.Errorf("MSN %d, messages sent %d, want %d", msn, qps[0].MessagesSent(), len(all))
	}
	if e := qps[1].ExpectedPSN(); e != qps[0].UnackedPSN() || e != qps[0].HighestPSN() ||
		e != qps[0].NextMessagePSN() {
		t.Errorf("expected PSN %#x, unacknowledged %#x, highest %#x, next %#x: want the same", e,
			qps[0].UnackedPSN(), qps[0].HighestPSN(), qps[0].NextMessagePSN())
	}
	if _, pending := l.hosts[0].Advance(l.Now()); pending {
		t.Error("something is pending on an idle host")
	}
	rq, rs := qps[0].Counters(), qps[1].Counters()
	happened["timeout"] += rq.Timeouts
	happened["nak"] += rq.NAKsReceived
	happened["rnr"] += rq.RNRsReceived
	happened["rewind"] += rq.Rewinds
	happened["cnp"] += rq.CNPsReceived
	happened["stale"] += rq.StaleAcks
	happened["duplicate"] += rs.Duplicates
	happened["gap"] += rs.OutOfOrder
	happened["icrc"] += l.hosts[1].Counters().Refused[RefusedICRC]
	if qps[0].UnackedPSN() < psn {
		happened["wrap"]++
	}
	if rq.GhostAcks != 0 || rq.MaxRetryRun == 0 && rq.Rewinds > rq.RNRsReceived {
		t.Errorf("ghost acknowledgements or uncounted retries: %+v", rq)
	}
	if rs.RequestsReceived != rq.RequestsSent-rq.RequestsResent {
		t.Errorf("%d requests executed, %d sent for the first time", rs.RequestsReceived,
			rq.RequestsSent-rq.RequestsResent)
	}
}

// TestDeterministic: the same seed gives the same packets at the same times.
func TestDeterministic(t *testing.T) {
	trace := func() []byte {
		var b bytes.Buffer
		l := newBed(t, 7)
		for i := range l.links {
			l.links[i].loss, l.links[i].jitter, l.links[i].reorder = 0.05, 2000, true
			l.links[i].tap = func(now time.Duration, frame []byte) bool {
				fmt.Fprintf(&b, "%d %d %x\n", i, now, frame)
				return false
			}
		}
		q := l.pair(func(_ int, c *QPConfig) { c.PMTU, c.LocalAckTimeout = 256, 5 })
		l.region(1, 0, 1, 1<<16, verbs.AccessRemoteWrite)
		mustPost(t, q[0], verbs.WorkRequest{Op: verbs.OpWrite, Data: l.bytes(1 << 16), RKey: 1})
		if !l.run(time.Second, func() bool { return q[0].SendQueueLen() == 0 }) {
			t.Fatal("not done")
		}
		return b.Bytes()
	}
	if a, b := trace(), trace(); !bytes.Equal(a, b) {
		t.Error("two runs differ")
	}
}
