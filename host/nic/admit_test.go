package nic

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/nscc"
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

// TestUpdatedInAnyOrder: if an earlier update ends after the answer to the newest update, the
// earlier update may have arrived last, so the NIC updates the peer again. The NIC waits while any
// update is in progress.
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

// TestNextUpdate: the NIC wakes for the earliest update among the updates still to send.
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

// TestWaits: the waiting octets are the accepted octets minus the octets drained at the rate, even
// at the smallest rate.
func TestWaits(t *testing.T) {
	for rate, want := range map[uint64]int{0: 0, 1: 100, 8e8: 99, 8e10: 0} {
		n := &NIC{intake: intake{Intake: Intake{Rate: rate, Buffer: 4096}}}
		n.intake.admit(0, 100)
		if got := n.Waits(10); got != want {
			t.Errorf("%d octets wait at %d bits a second, want %d", got, rate, want)
		}
	}
}

// TestIntakeAnswers: the intake answers for a queue pair where it limits something and the owner
// does not answer; it limits packets out of order of all queue pairs, but not the packet by which a
// queue pair goes on.
func TestIntakeAnswers(t *testing.T) {
	fc := nscc.FlowControl{Enabled: true, Low: 1, High: 2}
	own := func(time.Duration, uint32, int) (packet.NACKReason, bool) { return 9, false }
	for _, c := range []struct {
		name           string
		i              Intake
		admit, penalty bool
	}{
		{"nothing", Intake{}, false, false}, {"bitmap", Intake{Bitmap: 1}, true, false},
		{"rate", Intake{Rate: 1, Buffer: 4096}, true, false},
		{"flow control", Intake{Rate: 1, Buffer: 4096, FlowControl: fc}, true, true},
		{"flow control, without a rate", Intake{FlowControl: fc}, false, false},
	} {
		n := alone(t, 2, func(cfg *Config) { cfg.Intake = c.i })
		cfg := mrc.QPConfig{}
		n.serveIntake(&flow{}, &cfg)
		if (cfg.Admit != nil) != c.admit || (cfg.Penalty != nil) != c.penalty {
			t.Errorf("%s: admit %v, penalty %v", c.name, cfg.Admit != nil, cfg.Penalty != nil)
		}
		cfg.Admit, cfg.Penalty = own, func(time.Duration) (uint8, bool) { return 77, true }
		n.serveIntake(&flow{}, &cfg)
		if r, ok := cfg.Admit(0, 0, 0); r != 9 || ok {
			t.Errorf("%s: the owner is not asked for room", c.name)
		}
		if p, _ := cfg.Penalty(0); p != 77 {
			t.Errorf("%s: the owner is not asked for a penalty", c.name)
		}
	}
	// A packet beyond the bitmap.
	n := alone(t, 2, func(cfg *Config) { cfg.Intake.Bitmap = 1 })
	var admit func(time.Duration, uint32, int) (packet.NACKReason, bool)
	f := flowOf(t, n, 100, peer(0), nil, Choice{})
	cfg := mrc.QPConfig{}
	n.serveIntake(f, &cfg)
	admit = cfg.Admit
	next := packet.PSNAdd(f.qp.CackPSN(), 1)
	for _, psn := range []uint32{next, packet.PSNAdd(next, 1)} {
		if r, ok := admit(0, psn, 5); !ok || r != 0 {
			t.Errorf("packet %d with nothing out of order: %v", psn, r)
		}
	}
}

// TestPenaltyAndMPR: the waiting octets shrink with time, and the penalty and max_psn_range follow:
// max_psn_range shrinks to the free share of the buffer, rounded up, between one unit and all
// units.
func TestPenaltyAndMPR(t *testing.T) {
	i := &intake{Intake: Intake{Rate: 8e9, Buffer: 1000, FlowControl: nscc.FlowControl{Enabled: true,
		High: 1000, Restore: true}}}
	i.admit(0, 1000)
	for _, c := range []struct {
		at      time.Duration
		most    int
		mpr     int
		penalty uint8
	}{{0, 8, 1, 127}, {0, 1, 1, 127}, {124, 8, 1, 111}, {126, 8, 2, 111}, {500, 8, 4, 64},
		{501, 8, 5, 63}, {999, 8, 8, 1}, {1000, 8, 8, 0}, {2000, 3, 3, 0}} {
		p, restore := i.penalty(c.at)
		if got := i.mpr(c.most); got != c.mpr || p != c.penalty || !restore {
			t.Errorf("at %d: max_psn_range %d of %d, penalty %d, %v; want %d, %d", c.at, got, c.most, p,
				restore, c.mpr, c.penalty)
		}
	}
}

// TestSizesAreKept: the intake stores the sizes of waiting packets with payload if the intake
// limits the number of packets, until the host takes the packets over.
func TestSizesAreKept(t *testing.T) {
	for packets, want := range []int{0, 1, 2, 2} {
		i := &intake{Intake: Intake{Rate: 8e9, Buffer: 1000, Packets: packets}}
		for _, octets := range []int{1, 0, 100, 0} {
			i.admit(0, octets)
		}
		if i.sizes.Len() != want || want == 2 && i.total != 101 {
			t.Errorf("at most %d packets: %d sizes, %d octets", packets, i.sizes.Len(), i.total)
		}
		i.drain(time.Second)
		if i.sizes.Len() != 0 || i.total != 0 {
			t.Errorf("taken over: %d sizes, %d octets", i.sizes.Len(), i.total)
		}
	}
}

// TestAdapt: max_psn_range follows what waits now, of queue pairs with dynamic MPR at both ends.
func TestAdapt(t *testing.T) {
	n := alone(t, 2, func(c *Config) {
		c.Intake = Intake{Rate: 8e9, Buffer: 8000, AdaptMPR: true}
	})
	var flows []*flow
	for i := range 4 {
		flows = append(flows, flowOf(t, n, uint32(100+i), peer(0), func(c *mrc.QPConfig) {
			c.Local.DynamicMPR, c.Remote.DynamicMPR = i&1 == 0, i&2 == 0
		}, Choice{}))
	}
	n.intake.admit(0, 8000)
	for _, c := range []struct {
		at  time.Duration
		mpr int
	}{{4000, 4}, {4000, 4}, {6000, 6}, {9000, 8}} {
		n.adapt(c.at)
		for i, f := range flows {
			want := 8
			if i == 0 {
				want = c.mpr
			}
			if got := f.qp.MPR(); got != want {
				t.Errorf("at %d, queue pair %d: %d, want %d", c.at, i, got, want)
			}
		}
	}
}
