package mrc

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// FuzzReceive: whatever frames arrive, a host neither panics nor spins, and its queue pair's counts
// stay true.
func FuzzReceive(f *testing.F) {
	seed := newSolo(f, nil)
	for _, p := range []packet.MRC{
		request(500, []byte("abcd")), part(501, 1, 900), immediateRequest(502, 3),
		ackPacket(100, plainACK), ackPacket(101, packet.NAKSyndrome(packet.NAKRemoteAccess)),
		sackPacket(100, 101, 0xC0000000, 600, 103, 104), nackPacket(102, 0xC0010001, packet.NACKTrimmed),
		nackPacket(102, 0xC0010001, packet.NACKUnexpectedEvent),
		{BTH: packet.MRCBTH{Opcode: packet.OpMRCProbe}},
		{BTH: packet.EndpointHeader(packet.OpMRCEndpointRequest, 1)},
		{BTH: packet.EndpointHeader(packet.OpMRCEndpointResponse, 1)},
	} {
		f.Add(seed.frame(p), uint8(0), uint32(0))
		f.Add(seed.frame(p), uint8(p.BTH.Opcode), uint32(0x10000))
	}
	f.Fuzz(func(t *testing.T, frame []byte, flip uint8, psn uint32) {
		s, _ := newResponding(t, nil)
		s.write(20)
		if err := s.qp.PostRecv(verbs.RecvRequest{}); err != nil {
			t.Fatal(err)
		}
		s.settle(2 * time.Microsecond)
		for i := range 4 {
			s.host.Receive(s.now, 1+i%2, frame)
			s.take()
			// The same with other contents, and a right ICRC.
			if p, _, err := packet.ParseMRC(frame, s.wire); err == nil && p.Trim == packet.NotTrimmed {
				p.BTH.PSN = (p.BTH.PSN + psn) & packet.PSNMask
				p.SETH.CackPSN = (p.SETH.CackPSN + psn*3) & packet.PSNMask
				p.NETH.PSN = (p.NETH.PSN + psn) & packet.PSNMask
				p.BTH.Retransmission = flip&1 != 0
				p.SETH.SACKBitmap ^= uint64(psn) << (flip & 31)
				s.host.Receive(s.now, 1, p.Append(nil))
			}
			s.settle(3 * time.Microsecond)
			check(t, s.qp)
		}
	})
}

// check compares what a queue pair counts with what it holds.
func check(t testing.TB, q *QP) {
	t.Helper()
	if q.state != qpReady {
		return
	}
	under, missing, octets := 0, 0, 0
	for psn := packet.PSNAdd(q.unack, 1); q.outstanding(psn); psn = packet.PSNAdd(psn, 1) {
		rec := q.record(psn)
		if rec.psn != psn {
			t.Fatalf("PSN %#x has the record of %#x", psn, rec.psn)
		}
		octets += int(rec.size)
		switch rec.state {
		case flying:
			under++
		case lost:
			missing++
		}
	}
	if under != q.flying || missing != q.lost || octets != q.waiting {
		t.Fatalf("flying %d, lost %d, %d octets; counted %d, %d, %d", under, missing, octets, q.flying,
			q.lost, q.waiting)
	}
	probing := 0
	for i := range q.probes.out {
		if q.probes.out[i].used {
			probing++
		}
	}
	if probing != q.probes.waiting {
		t.Fatalf("%d probes under way, counted %d", probing, q.probes.waiting)
	}
	above := 0
	for i := 1; i <= q.tracker.size; i++ {
		if q.received.get(packet.PSNAdd(q.cack, i)) {
			above++
		}
	}
	if above != q.ooo || len(q.stash) > q.cfg.Local.MaxWIMM {
		t.Fatalf("%d received above cack_psn, counted %d; %d stashed", above, q.ooo, len(q.stash))
	}
}
