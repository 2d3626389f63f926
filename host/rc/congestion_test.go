package rc

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/internal/ibta"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

func TestCNP(t *testing.T) {
	h := newSolo(t, func(c *QPConfig) { c.CNPDSCP = 46 })
	if _, err := h.host.RegisterMR(0, 1, make([]byte, 64), verbs.AccessRemoteWrite); err != nil {
		t.Fatal(err)
	}
	give := func(psn uint32, ecn uint8) []packet.RoCE {
		p := h.write(psn, []byte{1})
		p.IPv6.TrafficClass = packet.TrafficClass(26, ecn)
		return h.give(p)
	}
	for i, ecn := range []uint8{packet.NotECT, packet.ECT0, packet.ECT1} {
		wantNone(t, "not marked", give(uint32(i), ecn))
	}
	got := give(3, packet.CE)
	if len(got) != 1 || got[0].BTH.Opcode != packet.OpCongestionNotification {
		t.Fatalf("marked request: %d answers", len(got))
	}
	cnp := got[0]
	if b := cnp.BTH; b.DestQPN != testQPN1 || b.PSN != 0 || b.AckReq || !b.BECN || b.FECN ||
		b.PKey != 0xFFFF {
		t.Errorf("BTH %+v", b)
	}
	if cnp.IPv6.TrafficClass != packet.TrafficClass(46, packet.NotECT) ||
		cnp.IPv6.Dst != testAddr[1] || cnp.UDP.Length != packet.UDPLen+packet.BTHLen+packet.CNPLen+
		packet.ICRCLen {
		t.Errorf("CNP %+v %+v", cnp.IPv6, cnp.UDP)
	}
	h.now = 50*time.Microsecond - 1
	wantNone(t, "within the interval", give(4, packet.CE))
	h.now++
	got = give(3, packet.CE) // a duplicate that was marked counts too
	if len(got) != 2 || got[0].BTH.Opcode != packet.OpCongestionNotification ||
		got[1].BTH.Opcode != packet.OpAcknowledge {
		t.Errorf("after the interval: %d answers, want CNP and acknowledgement", len(got))
	}
	if c := h.qp.Counters(); c.CEReceived != 3 || c.CNPsSent != 2 {
		t.Errorf("counters %+v", c)
	}
}

func TestCNPReceived(t *testing.T) {
	h := newSolo(t, func(c *QPConfig) { c.PMTU = 4096 })
	line := h.qp.Rate(0)
	if line != 100e9 {
		t.Fatalf("rate %v before any CNP", line)
	}
	p := h.from(packet.OpCongestionNotification, 0)
	wantNone(t, "CNP", h.give(p))
	if r := h.qp.Rate(0); r != line/2 { // alpha starts at 1
		t.Errorf("rate %v after a CNP, want half", r)
	}
	p.BTH.DestQPN++
	h.give(p)
	if c := h.qp.Counters(); c.CNPsReceived != 1 || h.host.Counters().Refused[RefusedQPN] != 1 {
		t.Errorf("CNP for another queue pair: %+v", c)
	}
	// Packets leave at the rate.
	mustPost(t, h.qp, verbs.WorkRequest{Op: verbs.OpWrite, Data: make([]byte, 3*4096)})
	next, _ := h.host.Advance(0)
	got := h.taken()
	if want := ibta.Serialization(got[0].Len(), line/2); len(got) != 1 || next != want {
		t.Errorf("%d packets, next at %v, want one and %v", len(got), next, want)
	}

	h = newSolo(t, func(c *QPConfig) { c.Rate.Enabled = false })
	h.give(h.from(packet.OpCongestionNotification, 0))
	if h.qp.Rate(0) != line || h.qp.Counters().CNPsReceived != 1 {
		t.Errorf("rate %v, %d CNPs counted with rate control off", h.qp.Rate(0),
			h.qp.Counters().CNPsReceived)
	}
}

// TestRateRecovery follows the equations of the paper by hand.
func TestRateRecovery(t *testing.T) {
	cfg := DefaultRateConfig()
	r := newRateControl(cfg, 40e9)
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > want*1e-9 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	at := time.Millisecond
	r.cnp(at)
	near("first CNP", r.bitsPerSecond(at), 20e9)
	r.cnp(at) // alpha stays 1: (1-g) + g
	near("second CNP", r.bitsPerSecond(at), 10e9)
	// Four steps of fast recovery half way to 20, then the target itself is raised.
	want := 10e9
	for i := 1; i <= 4; i++ {
		want = (want + 20e9) / 2
		near("just before the interval", r.bitsPerSecond(at+time.Duration(i)*cfg.IncreaseInterval-1),
			(want-10e9)*2)
		near("fast recovery", r.bitsPerSecond(at+time.Duration(i)*cfg.IncreaseInterval), want)
	}
	want = (want + 20.04e9) / 2
	near("additive increase", r.bitsPerSecond(at+5*cfg.IncreaseInterval), want)
	want = (want + 20.08e9) / 2
	near("additive increase", r.bitsPerSecond(at+6*cfg.IncreaseInterval), want)
	// Alpha has decayed six times.
	alpha := math.Pow(255.0/256, 6)
	r.cnp(at + 6*cfg.IncreaseInterval)
	want *= 1 - alpha/2
	near("third CNP", r.bitsPerSecond(at+6*cfg.IncreaseInterval), want)
	near("alpha", r.alpha, alpha*255/256+1.0/256)
	// Hyper increase needs more than five raises by time and by octets.
	at += 6 * cfg.IncreaseInterval
	r.sent(7 * int(cfg.IncreaseOctets))
	r.bitsPerSecond(at + 4*cfg.IncreaseInterval)
	target := r.target
	r.bitsPerSecond(at + 5*cfg.IncreaseInterval)
	near("still additive increase", r.target, target+40e6)
	target = r.target
	r.bitsPerSecond(at + 6*cfg.IncreaseInterval)
	near("hyper increase", r.target, target+400e6)
	// It ends at the line rate.
	near("end", r.bitsPerSecond(at+time.Second), 40e9)
	if r.limited {
		t.Error("still limited")
	}
	// Never below the least rate.
	for range 100 {
		r.cnp(at + time.Second)
	}
	near("floor", r.bitsPerSecond(at+time.Second), 40e6)
}

// TestAlphaDecays: alpha decays by 1-g in each whole AlphaInterval without a CNP (equation 2 of the
// paper), and not before the first CNP.
func TestAlphaDecays(t *testing.T) {
	cfg := DefaultRateConfig()
	for n := range 4 {
		for _, more := range []time.Duration{0, cfg.AlphaInterval - 1} {
			r := newRateControl(cfg, 40e9)
			r.cnp(time.Second) // long after the start
			if r.alpha != 1 {
				t.Fatalf("alpha %v after the first CNP", r.alpha)
			}
			r.cnp(time.Second + time.Duration(n)*cfg.AlphaInterval + more)
			want := math.Pow(255.0/256, float64(n))*255/256 + 1.0/256
			if math.Abs(r.alpha-want) > 1e-12 {
				t.Errorf("alpha %v after %d intervals and %v, want %v", r.alpha, n, more, want)
			}
		}
	}
}

// TestCongestionLoop: marks on the way make the sender slow down, and it recovers when they end.
func TestCongestionLoop(t *testing.T) {
	l := newBed(t, 3)
	q := l.pair(nil)
	l.region(1, 0, 1, 1<<20, verbs.AccessRemoteWrite)
	l.links[0].mark = 1
	data := l.bytes(1 << 20)
	post := func() {
		mustPost(t, q[0], verbs.WorkRequest{Op: verbs.OpWrite, Data: data, RKey: 1})
		if !l.run(l.Now()+time.Second, func() bool { return q[0].SendQueueLen() == 0 }) {
			t.Fatal("not done")
		}
	}
	for range 4 {
		post()
	}
	slow := q[0].Rate(l.Now())
	if c := q[1].Counters(); c.CNPsSent < 2 || c.CNPsSent != q[0].Counters().CNPsReceived ||
		slow > 30e9 {
		t.Errorf("%d CNPs sent, %d received, rate %v", c.CNPsSent, q[0].Counters().CNPsReceived, slow)
	}
	l.links[0].mark = 0
	post()
	l.run(l.Now()+time.Second, nil)
	if r := q[0].Rate(l.Now()); r != 100e9 {
		t.Errorf("rate %v after a quiet second", r)
	}
}

func TestRateConfig(t *testing.T) {
	for _, edit := range []func(*RateConfig){
		func(c *RateConfig) { c.MinRate = 0 }, func(c *RateConfig) { c.G = 0 }, func(c *RateConfig) {
			c.G = 1
		}, func(c *RateConfig) { c.G = math.NaN() },
		func(c *RateConfig) { c.AlphaInterval = 0 }, func(c *RateConfig) {
			c.IncreaseInterval = -1
		}, func(c *RateConfig) { c.IncreaseInterval = 0 }, func(c *RateConfig) { c.IncreaseOctets = 0 },
		func(c *RateConfig) { c.FastRecovery = 0 }, func(c *RateConfig) { c.AdditiveIncrease = 0 },
	} {
		c := DefaultRateConfig()
		edit(&c)
		if err := c.Validate(); !errors.Is(err, verbs.ErrConfig) {
			t.Errorf("%+v: %v", c, err)
		}
		c.Enabled = false
		if err := c.Validate(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestRateCountsFromTheCNP: the counts toward increases, by time and by octets, begin anew with
// each CNP (section 5.1 of the paper).
func TestRateCountsFromTheCNP(t *testing.T) {
	cfg := DefaultRateConfig()
	r := newRateControl(cfg, 40e9)
	at := time.Millisecond
	r.cnp(at)
	// four steps of fast recovery, and nearly a fifth
	r.sent(4*int(cfg.IncreaseOctets) + int(cfg.IncreaseOctets) - 1)
	r.bitsPerSecond(at + 3*cfg.IncreaseInterval)
	at += 3 * cfg.IncreaseInterval
	r.cnp(at)
	target, current := r.target, r.current
	r.sent(1)
	if r.current != current {
		t.Error("octets sent before the CNP count toward an increase after it")
	}
	r.sent(4*int(cfg.IncreaseOctets) - 1)
	r.bitsPerSecond(at + 4*cfg.IncreaseInterval)
	if r.target != target {
		t.Errorf("the target moved from %v to %v within fast recovery", target, r.target)
	}
	r.sent(int(cfg.IncreaseOctets))
	if want := target + float64(cfg.AdditiveIncrease); r.target != want {
		t.Errorf("target %v after fast recovery, want %v", r.target, want)
	}
}
