package nic

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/endpoint/mrc"
	"github.com/weft-sdn/weft/packet"
)

// TestAdmit: what finds no room among the octets and packets that may wait is refused with its
// reason (OCP MRC 1.0, table 7-3), and time makes room, at the rate of the intake.
func TestAdmit(t *testing.T) {
	const rate = 8e9 // an octet a nanosecond
	type offer struct {
		at     time.Duration
		octets int
		want   packet.NACKReason // 0: it is taken
	}
	none, buffer := packet.NACKNoResource, packet.NACKNoPacketBuffer
	for name, c := range map[string]struct {
		intake Intake
		offers []offer
	}{
		"no rate": {Intake{Packets: 1, Buffer: 1}, []offer{{0, 4096, 0}, {0, 4096, 0}}},
		"any number": {Intake{Rate: rate, Buffer: 8192},
			[]offer{{0, 1, 0}, {0, 1, 0}, {0, 8190, 0}}},
		"a packet": {Intake{Rate: rate, Buffer: 8192, Packets: 1},
			[]offer{{0, 100, 0}, {0, 100, none}}},
		"empty ones": {Intake{Rate: rate, Buffer: 8192, Packets: 1},
			[]offer{{0, 0, 0}, {0, 100, 0}}},
		"two packets": {Intake{Rate: rate, Buffer: 8192, Packets: 2},
			[]offer{{0, 9, 0}, {0, 9, 0}, {0, 0, none}}},
		"full": {Intake{Rate: rate, Buffer: 8192},
			[]offer{{0, 4096, 0}, {0, 4096, 0}, {0, 1, buffer}}},
		"almost": {Intake{Rate: rate, Buffer: 8192},
			[]offer{{0, 4096, 0}, {0, 4097, buffer}, {0, 4096, 0}}},
		"packet, then": {Intake{Rate: rate, Buffer: 8192, Packets: 1},
			[]offer{{0, 100, 0}, {99, 1, none}, {100, 1, 0}}},
		"octet, then": {Intake{Rate: rate, Buffer: 4096},
			[]offer{{0, 4096, 0}, {0, 1, buffer}, {1, 1, 0}}},
	} {
		i := intake{Intake: c.intake}
		for n, o := range c.offers {
			reason, ok := i.admit(o.at, o.octets)
			if reason != o.want || ok != (o.want == 0) {
				t.Errorf("%s: packet %d, of %d octets at %v: taken %v, %v; want %v", name, n, o.octets, o.at,
					ok, reason, o.want)
			}
		}
	}
}

// TestUpdatedInAnyOrder: when an update that was sent earlier ends after the newest was answered,
// it may have come last: the peer is told again. While one of them is under way it is not.
func TestUpdatedInAnyOrder(t *testing.T) {
	const a, b, c = 1, 2, 3
	for name, r := range map[string]struct {
		ends []uint16
		more bool // the peer is told again
	}{
		"in order":          {[]uint16{a, b, c}, false},
		"one late":          {[]uint16{a, c, b}, true},
		"both late":         {[]uint16{c, a, b}, true},
		"one late, one due": {[]uint16{c, a}, false},
		"none but the last": {[]uint16{c}, false},
	} {
		u := &update{open: []uint16{a, b, c}, newest: c, waiting: true, sent: 3, due: time.Second}
		n := &NIC{updates: []*update{u}}
		for i, id := range r.ends {
			if !n.updated(mrc.EndpointResult{ID: id, Op: packet.EndpointPortStatus, Answered: true}) {
				t.Errorf("%s: the result of update %d is of none", name, id)
			}
			if more := u.ready(); more != (r.more && i == len(r.ends)-1) {
				t.Errorf("%s: after %d results it is to be sent again: %v", name, i+1, more)
			}
		}
		if left := len(n.updates) > 0; left != (len(r.ends) < 3 || r.more) {
			t.Errorf("%s: it is kept: %v", name, left)
		}
		if r.more && (u.due != 0 || u.sent != 0) {
			t.Errorf("%s: it is sent at %v, as number %d; want at once, as the first", name, u.due, u.sent)
		}
	}
}

// TestNextUpdate: the NIC is woken for the update that is due first, of those that are to be sent.
func TestNextUpdate(t *testing.T) {
	n := &NIC{updates: []*update{{due: 3}, {due: 5, waiting: true}, {due: 9}, {due: 7}, {due: 8},
		{due: 6, answered: true}, {due: 6, sent: maxPortUpdates}}}
	for now, want := range []time.Duration{0: 3, 2: 3, 3: 7, 6: 7, 7: 8, 8: 9} {
		if want == 0 {
			continue
		}
		if at, ok := n.nextUpdate(time.Duration(now)); !ok || at != want {
			t.Errorf("at %d: %v, %v; want %v", now, at, ok, want)
		}
	}
	if at, ok := n.nextUpdate(9); ok {
		t.Errorf("after the last: %v", at)
	}
}

// TestWaits: what waits is what was taken less what the rate has let go, however small the rate is.
func TestWaits(t *testing.T) {
	for rate, want := range map[uint64]int{0: 0, 1: 100, 8e8: 99, 8e10: 0} {
		n := &NIC{intake: intake{Intake: Intake{Rate: rate, Buffer: 4096}}}
		n.intake.admit(0, 100)
		if got := n.Waits(10); got != want {
			t.Errorf("%d octets wait at %d bits a second, want %d", got, rate, want)
		}
	}
}
