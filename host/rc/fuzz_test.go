package rc

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// FuzzReceive feeds a host frames cut from the input: each is a 2-octet length with a flag bit, and
// the frame; with the flag the ICRC is made right, so that the input reaches the state machines.
// Whatever comes: no panic, every frame counted once, no octet outside the region written, all that
// is sent is well formed, and the queues stay consistent.
func FuzzReceive(f *testing.F) {
	h, _ := newResponder(f, 0)
	seed := func(all ...*packet.RoCE) {
		var b []byte
		for _, p := range all {
			frame := p.Append(nil)
			b = binary.BigEndian.AppendUint16(b, uint16(len(frame))|0x8000)
			b = append(b, frame...)
		}
		f.Add(b)
	}
	first := h.from(packet.OpWriteFirst, 0)
	first.RETH, first.Payload = packet.RETH{RKey: 1, DMALength: 300}, make([]byte, 256)
	last := h.from(packet.OpWriteLastImmediate, 1)
	last.Payload, last.BTH.AckReq = make([]byte, 44), true
	sendFirst := h.from(packet.OpSendFirst, 0)
	sendFirst.Payload = make([]byte, 256)
	sendLast := h.from(packet.OpSendLast, 1)
	sendLast.Payload = make([]byte, 5)
	marked := h.write(2, make([]byte, 7))
	marked.IPv6.TrafficClass = packet.CE
	ack := h.from(packet.OpAcknowledge, 1)
	ack.AETH.Syndrome = plainACK
	nak := h.from(packet.OpAcknowledge, 2)
	nak.AETH.Syndrome = sequenceNAK
	rnr := h.from(packet.OpAcknowledge, 0)
	rnr.AETH.Syndrome = packet.RNRSyndrome(1)
	fatal := h.from(packet.OpAcknowledge, 0)
	fatal.AETH.Syndrome = packet.NAKSyndrome(packet.NAKRemoteAccess)
	seed(first, last, marked)
	seed(sendFirst, sendLast, ack, nak)
	seed(ack, rnr, nak, h.from(packet.OpCongestionNotification, 0))
	seed(fatal, h.from(packet.OpReadRequest, 0), h.from(packet.OpCompareSwap, 0))
	f.Add([]byte{0, 3, 1, 2, 3})

	f.Fuzz(func(t *testing.T, input []byte) {
		h := newSolo(t, nil)
		memory := bytes.Repeat([]byte{0xEE}, 64+1024+64)
		if _, err := h.host.RegisterMR(0, 1, memory[64:64+1024:64+1024],
			verbs.AccessRemoteWrite); err != nil {
			t.Fatal(err)
		}
		for id := range uint64(4) {
			mustPost(t, h.qp, verbs.WorkRequest{ID: id, Op: verbs.OpWrite + verbs.Op(id),
				Data: make([]byte, 600)})
			mustRecv(t, h.qp, verbs.RecvRequest{ID: id, Buf: make([]byte, 300)})
		}
		h.settle(time.Microsecond)
		frames := uint64(0)
		var last [2]uint64 // the next ID to complete, by queue
		for len(input) >= 2 {
			n := int(binary.BigEndian.Uint16(input))
			mend := n&0x8000 != 0
			n = min(n&0x7FFF, len(input)-2)
			frame := bytes.Clone(input[2 : 2+n])
			input = input[2+n:]
			if mend {
				frame = mendICRC(frame)
			}
			before := h.host.Counters().Refused.Total()
			h.host.Receive(h.now, frame)
			frames++
			if d := h.host.Counters().Refused.Total() - before; d > 1 {
				t.Fatalf("one frame refused %d times", d)
			}
			h.settle(h.now + time.Microsecond) // parses what was sent
			for _, c := range completions(h.qp) {
				k := 0
				if c.Recv {
					k = 1
				}
				if c.ID != last[k] {
					t.Fatalf("completion of %d, want %d: %+v", c.ID, last[k], c)
				}
				last[k]++
			}
		}
		if c := h.host.Counters(); c.FramesReceived != frames {
			t.Fatalf("%d frames counted, want %d", c.FramesReceived, frames)
		}
		if q := h.qp; !q.Failed() && (packet.PSNBefore(q.nxt, q.una) || packet.PSNBefore(q.sent, q.nxt) ||
			q.cur > q.sq.Len() || q.begun > q.sq.Len()) {
			t.Fatalf("requester una %#x nxt %#x sent %#x cur %d begun %d of %d", q.una, q.nxt, q.sent, q.cur,
				q.begun, q.sq.Len())
		}
		if !bytes.Equal(memory[:64], bytes.Repeat([]byte{0xEE}, 64)) ||
			!bytes.Equal(memory[64+1024:], bytes.Repeat([]byte{0xEE}, 64)) {
			t.Fatal("memory outside the region written")
		}
	})
}
