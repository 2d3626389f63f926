package nic_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/nic"
	"github.com/weft-sdn/weft/host/nic/nictest"
	"github.com/weft-sdn/weft/host/nscc"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// TestIntake: a host that takes over less than its peers could send slows them down as its intake
// says, and loses nothing: by rcv_cwnd_pen (OCP MRC 1.0, section 7.5.1), by a max_psn_range that
// follows the free buffer (section 7.5.4), and by NACKs NO_PKT_BUFFER for what finds no room (table
// 7-3).
func TestIntake(t *testing.T) {
	const (
		// bits per second, of 200e9 that the ports could carry; a packet a round trip is 8e9
		rate   = 20_000_000_000
		buffer = 1 << 20
		octets = 4 << 20
	)
	type seen struct {
		penalty         uint8
		leastMPR        uint8
		buffer          int // NACKs NO_PKT_BUFFER
		took            time.Duration
		sender, sinking mrc.QPCounters
	}
	run := func(i nic.Intake) seen {
		f := nictest.New(t, 2, 2, 1, func(n int, c *nic.Config) {
			if n == 1 {
				c.Intake = i
			}
		})
		qp, sink := f.Pair(0, 1, 100)
		s := seen{leastMPR: 255}
		f.Drop = func(_ time.Duration, from int, p *packet.MRC, _ int) bool {
			switch {
			case from == 1 && p.Headers.Is(packet.ExtSETH):
				cc, _ := p.SETH.NSCC()
				s.penalty, s.leastMPR = max(s.penalty, cc.RcvCwndPenalty), min(s.leastMPR, p.SETH.MPR)
			case from == 1 && p.Headers.Is(packet.ExtNETH) && p.NETH.Reason == 0x07:
				s.buffer++
			}
			return false
		}
		began := f.Now()
		write(t, f, 0, 1, qp, octets).finish(t)
		s.took, s.sender, s.sinking = f.Now()-began, qp.Counters(), sink.Counters()
		if w := f.NICs[1].Waits(f.Now()); w > buffer {
			t.Errorf("%d octets wait, more than the buffer has", w)
		}
		return s
	}
	const (
		ideal = octets * 8 * time.Second / rate // and less, as the last of it waits at the end
		least = ideal - buffer*8*time.Second/rate
	)

	s := run(nic.Intake{})
	if s.penalty != 0 || s.leastMPR != 8 || s.buffer != 0 || s.took > least/2 {
		t.Errorf("all at once: %+v", s)
	}
	s = run(nic.Intake{Rate: rate, Buffer: buffer})
	if s.buffer == 0 || s.penalty != 0 || s.leastMPR != 8 || s.took < least {
		t.Errorf("a buffer alone: %+v, want NACKs NO_PKT_BUFFER and at least %v", s, least)
	}
	if s.sinking.ResourceNACKsSent != uint64(s.buffer) ||
		s.sender.ResourceNACKsReceived != uint64(s.buffer) {
		t.Errorf("%d NACKs, counted %d and %d", s.buffer, s.sinking.ResourceNACKsSent,
			s.sender.ResourceNACKsReceived)
	}
	alone := s.buffer
	s = run(nic.Intake{Rate: rate, Buffer: buffer, FlowControl: nscc.FlowControl{Enabled: true,
		Low: buffer / 8, High: buffer / 2}})
	if s.penalty == 0 || s.buffer >= alone/4 || s.leastMPR != 8 || s.took < least || s.took > 3*ideal {
		t.Errorf("with flow control: %+v, want penalties, and less than a quarter of %d NACKs", s, alone)
	}
	if s.sinking.PenaltiesSent == 0 || s.sender.PenaltiesReceived != s.sinking.PenaltiesSent {
		t.Errorf("%d SACKs with a penalty sent, %d received", s.sinking.PenaltiesSent,
			s.sender.PenaltiesReceived)
	}
	s = run(nic.Intake{Rate: rate, Buffer: buffer, AdaptMPR: true})
	if s.leastMPR > 2 || s.leastMPR == 0 || s.took < least || s.penalty != 0 {
		t.Errorf("with a max_psn_range that follows: %+v, want down to 2 units or less of 8", s)
	}

	for want, i := range map[string]nic.Intake{
		"Intake: bitmap -1": {Bitmap: -1}, "Intake: packets -1": {Rate: 1, Buffer: 4096, Packets: -1},
		"Intake: buffer 4095": {Rate: 1, Buffer: 4095}, "Intake: flow control: High 0": {Rate: 1,
			Buffer: 4096, FlowControl: nscc.FlowControl{Enabled: true}},
	} {
		cfg := nic.DefaultConfig()
		cfg.Host = nictest.New(t, 1, 1, 1, nil).NICs[0].Config()
		cfg.Intake = i
		if _, err := nic.New(cfg); !errors.Is(err, verbs.ErrConfig) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestOwnAdmit: the intake does not limit a queue pair whose owner sets Admit and Penalty, and
// limits the other queue pairs.
func TestOwnAdmit(t *testing.T) {
	f := nictest.New(t, 2, 2, 1, func(_ int, c *nic.Config) {
		c.Intake = nic.Intake{Rate: 1, Buffer: 4096, Bitmap: 1, // a bit a second
			FlowControl: nscc.FlowControl{Enabled: true, Low: 1, High: 2}}
	})
	both(f, 8, 2)
	c := nic.DefaultQPConfig()
	c.QPN, c.RemoteQPN, c.RemoteAddr = 100, 100, nictest.Address(1)
	qp, err := f.NICs[0].CreateQP(c)
	if err != nil {
		t.Fatal(err)
	}
	asked, penalties := 0, 0
	c.RemoteAddr = nictest.Address(0)
	c.Admit = func(time.Duration, uint32, int) (packet.NACKReason, bool) {
		asked++
		return 0, true
	}
	c.Penalty = func(time.Duration) (uint8, bool) {
		penalties++
		return 0, false
	}
	sink, err := f.NICs[1].CreateQP(c)
	if err != nil {
		t.Fatal(err)
	}
	write(t, f, 0, 1, qp, 100_000).finish(t)
	if n := sink.Counters(); asked < 25 || penalties == 0 || n.ResourceNACKsSent+n.PenaltiesSent != 0 {
		t.Errorf("the owner was asked for room %d times, for a penalty %d times; %d packets were "+
			"refused, %d penalties sent", asked, penalties, n.ResourceNACKsSent, n.PenaltiesSent)
	}
}

// TestIntakePackets: a packet holds a descriptor until the host takes the packet over, and the host
// refuses a packet without a descriptor (OCP MRC 1.0, table 7-3, NO_RESOURCE).
func TestIntakePackets(t *testing.T) {
	const packets, octets = 100, 4096
	f := nictest.New(t, 2, 2, 1, func(n int, c *nic.Config) {
		c.Intake = nic.Intake{Rate: 8e9, Buffer: 1 << 30, Packets: packets} // an octet a nanosecond
	})
	qp, sink := f.Pair(0, 1, 100)
	for range 3 {
		write(t, f, 0, 1, qp, packets*octets).finish(t)
		if n := sink.Counters().ResourceNACKsSent; n != 0 {
			t.Fatalf("%d packets were refused, as many as there are descriptors wait", n)
		}
		f.Run(f.Now()+packets*octets*time.Nanosecond, nil)
	}
	write(t, f, 0, 1, qp, 3*packets*octets).finish(t)
	if n := sink.Counters().ResourceNACKsSent; n == 0 {
		t.Error("no packet was refused, three times as many as there are descriptors were sent at once")
	}
}

// TestIntakeDrains: what waits goes at the intake's rate, and with it penalty and max_psn_range go
// back.
func TestIntakeDrains(t *testing.T) {
	f := nictest.New(t, 2, 2, 1, func(n int, c *nic.Config) {
		c.Intake = nic.Intake{Rate: 8e9, Buffer: 1 << 20, AdaptMPR: true} // an octet a nanosecond
	})
	qp, sink := f.Pair(0, 1, 100)
	write(t, f, 0, 1, qp, 800_000).finish(t)
	waits := f.NICs[1].Waits(f.Now())
	if waits < 600_000 || sink.MPR() > 4 {
		t.Fatalf("%d octets wait, mpr %d: the WRITE was to be faster than the intake", waits, sink.MPR())
	}
	half := f.NICs[1].Waits(f.Now() + time.Duration(waits/2))
	if half < waits/2-1 || half > waits/2+1 {
		t.Errorf("%d octets wait after the time for a half of %d", half, waits)
	}
	f.Run(f.Now()+2*time.Millisecond, nil)
	said := uint8(0)
	f.Drop = func(_ time.Duration, from int, p *packet.MRC, _ int) bool {
		if from == 1 && p.Headers.Is(packet.ExtSETH) {
			said = p.SETH.MPR
		}
		return false
	}
	write(t, f, 0, 1, qp, 5000).finish(t)
	if sink.MPR() != 8 || said != 8 {
		t.Errorf("after a pause mpr %d, SACK with %d: want 8", sink.MPR(), said)
	}
	// A host that takes everything over at once has no buffer that max_psn_range could follow.
	f = nictest.New(t, 2, 2, 1, func(n int, c *nic.Config) { c.Intake = nic.Intake{AdaptMPR: true} })
	qp, sink = f.Pair(0, 1, 100)
	write(t, f, 0, 1, qp, 100_000).finish(t)
	if waits := f.NICs[1].Waits(f.Now()); sink.MPR() != 8 || waits != 0 {
		t.Errorf("without a rate mpr %d, and %d octets wait: want 8 and none", sink.MPR(), waits)
	}
}

// TestBitmap: all queue pairs together have as many packets out of order as the bitmap holds and no
// more: the one beyond is refused with NACK NO_BITMAP, and nothing is lost.
func TestBitmap(t *testing.T) {
	const most = 4
	f := nictest.New(t, 2, 2, 1, func(_ int, c *nic.Config) { c.Intake = nic.Intake{Bitmap: most} })
	both(f, 8, 2)
	one, sink := f.Pair(0, 1, 100)
	two, sunk := f.Pair(0, 1, 101)
	greatest, refused, until := 0, 0, 50*time.Microsecond
	f.Drop = func(now time.Duration, from int, p *packet.MRC, _ int) bool {
		if together := sink.OutOfOrder() + sunk.OutOfOrder(); together > greatest {
			greatest = together
		}
		if p.Headers.Is(packet.ExtNETH) {
			refused++
			if p.NETH.Reason != packet.NACKNoBitmap {
				t.Errorf("NACK %v", p.NETH.Reason)
			}
		}
		return now < until && from == 0 && p.Headers.Is(packet.ExtMETH) && p.BTH.PSN == 0xffffe0
	}
	x, y := write(t, f, 0, 1, one, 4096*3), write(t, f, 0, 1, two, 4096*20)
	x.finish(t)
	y.finish(t)
	if greatest != most || refused == 0 || uint64(refused) != sink.Counters().ResourceNACKsSent+
		sunk.Counters().ResourceNACKsSent {
		t.Errorf("%d packets out of order, %d NACKs; want %d, and some", greatest, refused, most)
	}
}
