package rc

import (
	"maps"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/internal/countstest"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// TestCounters: every event of a queue pair raises the counters of this event, by the right amount,
// and no other counter; an accepted packet does not count as refused.
func TestCounters(t *testing.T) {
	type counts = map[string]int
	sequence := packet.NAKSyndrome(packet.NAKSequence)
	for _, c := range []struct {
		name    string
		do      func(h *solo)
		want    counts
		refused Refusal // of one packet; refusals: of none
	}{
		{"a request", func(h *solo) { h.give(h.write(500, []byte{1, 2})) },
			counts{"RequestsReceived": 1, "PayloadReceived": 2}, refusals},
		{"a request that asks", func(h *solo) {
			p := h.write(500, []byte{1, 2})
			p.BTH.AckReq = true
			h.give(p)
		}, counts{"RequestsReceived": 1, "PayloadReceived": 2, "AcksSent": 1}, refusals},
		{"a duplicate", func(h *solo) { h.give(h.write(499, nil)) },
			counts{"Duplicates": 1, "AcksSent": 1}, RefusedDuplicate},
		{"a gap", func(h *solo) { h.give(h.write(501, nil)) },
			counts{"OutOfOrder": 1, "NAKsSent": 1}, RefusedGap},
		{"a marked request", func(h *solo) {
			p := h.write(500, nil)
			p.IPv6.TrafficClass |= packet.CE
			h.give(p)
		}, counts{"RequestsReceived": 1, "CEReceived": 1, "CNPsSent": 1}, refusals},
		{"a SEND without a receive request", func(h *solo) {
			h.give(h.from(packet.OpSendOnly, 500))
		}, counts{"RNRsSent": 1}, RefusedNotReady},
		{"an ACK", func(h *solo) { h.ack(1) }, counts{"AcksReceived": 1}, refusals},
		{"an ACK of all", func(h *solo) { h.ack(3) }, counts{"AcksReceived": 1}, refusals},
		{"a stale ACK", func(h *solo) { h.ack(packet.PSNMask) }, counts{"StaleAcks": 1}, RefusedStale},
		{"an ACK of what was not sent", func(h *solo) { h.ack(4) }, counts{"GhostAcks": 1},
			RefusedGhost},
		{"a NAK", func(h *solo) { h.respond(1, sequence) },
			counts{"NAKsReceived": 1, "Rewinds": 1, "MaxRetryRun": 1}, refusals},
		{"a NAK after all that was sent", func(h *solo) { h.respond(4, sequence) },
			counts{"AcksReceived": 1}, refusals},
		{"a fatal NAK", func(h *solo) { h.respond(0, packet.NAKSyndrome(packet.NAKRemoteAccess)) },
			counts{"NAKsReceived": 1}, refusals},
		{"an RNR NAK", func(h *solo) { h.respond(0, packet.RNRSyndrome(1)) },
			counts{"RNRsReceived": 1, "Rewinds": 1, "MaxRNRRun": 1}, refusals},
		{"a CNP", func(h *solo) { h.give(h.from(packet.OpCongestionNotification, 0)) },
			counts{"CNPsReceived": 1}, refusals},
		{"a timeout", func(h *solo) { h.settle(h.qp.cfg.ackTimeout() + time.Microsecond) },
			counts{"Timeouts": 1, "Rewinds": 1, "MaxRetryRun": 1, "RequestsSent": 4, "RequestsResent": 4,
				"PayloadSent": 1000}, refusals},
		{"work", func(h *solo) {
			for range 3 {
				mustPost(t, h.qp, verbs.WorkRequest{Op: verbs.OpSend, Data: []byte{1}})
			}
			h.settle(2 * time.Microsecond)
		}, counts{"RequestsSent": 3, "PayloadSent": 3}, refusals},
	} {
		h := newSolo(t, func(c *QPConfig) { c.RQPSN = 500 })
		if _, err := h.host.RegisterMR(0, 1, make([]byte, 64), verbs.AccessRemoteWrite); err != nil {
			t.Fatal(err)
		}
		mustPost(t, h.qp, verbs.WorkRequest{Op: verbs.OpWrite, Data: make([]byte, 1000)})
		h.settle(time.Microsecond)
		before, host := h.qp.Counters(), h.host.Counters()
		frames, octets := 0, 0
		h.host.cfg.Output = func(_ time.Duration, f []byte) { frames, octets = frames+1, octets+len(f) }
		c.do(h)
		if got := countstest.Grown(before, h.qp.Counters()); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		after := h.host.Counters()
		if after.FramesSent-host.FramesSent != uint64(frames) ||
			after.OctetsSent-host.OctetsSent != uint64(octets) {
			t.Errorf("%s: %d frames of %d octets sent: %+v after %+v", c.name, frames, octets, after, host)
		}
		for r := range refusals {
			want := uint64(0)
			if r == c.refused {
				want = 1
			}
			if got := after.Refused[r] - host.Refused[r]; got != want {
				t.Errorf("%s: %d refused for %v, want %d", c.name, got, r, want)
			}
		}
		if len(h.host.active) > 1 {
			t.Errorf("%s: the queue pair has %d turns", c.name, len(h.host.active))
		}
	}
}
