package tunnel

import (
	"math"
	"math/bits"
	"time"

	"github.com/weft-sdn/weft/packet"
)

// octets returns what a rate in bit/s carries in some time, rounded up.
func octets(rate uint64, d time.Duration) uint64 {
	if d <= 0 {
		return 0
	}
	const divisor = 8 * uint64(time.Second)
	hi, lo := bits.Mul64(rate, uint64(d))
	if hi >= divisor {
		return math.MaxUint64
	}
	n, rest := bits.Div64(hi, lo, divisor)
	if rest > 0 {
		n++
	}
	return n
}

// emptied returns how long a rate in bit/s takes for some octets.
func emptied(octets, rate uint64) time.Duration {
	hi, lo := bits.Mul64(octets, 8*uint64(time.Second))
	if hi >= rate {
		return math.MaxInt64
	}
	n, _ := bits.Div64(hi, lo, rate)
	return time.Duration(min(n, math.MaxInt64))
}

// slowdown is the factor by which a queue may drain its buffer slower than its rate, between
// pauses, and still count as alive for the upstreams.
const slowdown = 8

// MaxPause returns how long the queue of a stage may stay paused without sending before the pause
// counts as a storm. MaxPause is the limit of the policy, plus two times for each downstream stage:
// the time for which the downstream stage may stop the upstream while it still sends slowly, and
// the rest of the pause if the XON is lost. So a legal pause downstream stays legal upstream, and a
// storm ends at its origin.
func (s *Sizing) MaxPause(d *Deployment, stage int, r *PFCPolicy) time.Duration {
	most := r.MaxPause
	for i := stage + 1; i < len(d.Stages); i++ {
		x := &d.Stages[i]
		after := emptied(r.Buffer, max(1, rateOr(x.Rate, s.Rate)/slowdown)) + packet.PauseTime(s.Quanta,
			rateOr(x.Speed, s.Rate))
		if most += after; after < 0 || most < 0 {
			return math.MaxInt64
		}
	}
	return most
}

// A Feed is what fills a queue: an upstream that the queue can stop.
type Feed struct {
	// RTT to the upstream and back; Measured is false while it is an assumption.
	RTT      time.Duration
	Measured bool
	// Refresh is the time between two XOFFs: that many octets more arrive when one
	// is lost.
	Refresh time.Duration
	// Rate at which it sends, in bit/s.
	Rate uint64
	// Nodes are those between that may hold packets.
	Nodes int
}

// Headroom returns the worst-case octets that arrive after the first XOFF, with one XOFF lost: a
// round trip and a refresh interval at the rate of the feed, the queues in the network between, and
// one packet in each direction that started before the XOFF.
func (s *Sizing) Headroom(f Feed) uint64 {
	return sum(octets(f.Rate, f.RTT), octets(f.Rate, f.Refresh), uint64(f.Nodes)*s.WANQueue, 2*s.MTU)
}

func sum(n ...uint64) (total uint64) {
	for _, v := range n {
		if total+v < total {
			return math.MaxUint64
		}
		total += v
	}
	return total
}

// Marks are the watermarks of a queue, in octets.
type Marks struct {
	Buffer   uint64 `json:"buffer"`
	Headroom uint64 `json:"headroom"`
	XOFF     uint64 `json:"xoff"`
	XON      uint64 `json:"xon"`
}

// Fits reports whether everything that arrives after XOFF has room.
func (m Marks) Fits() bool { return sum(m.XOFF, m.Headroom) <= m.Buffer }

// Marks returns the watermarks of a queue; xoff and xon of 0 are computed: as
// much as leaves the headroom free, but no more than the share of the buffer,
// and three quarters of it. A buffer that is too small stops its upstream at
// once.
func (s *Sizing) Marks(buffer, headroom, xoff, xon uint64) Marks {
	m := Marks{Buffer: buffer, Headroom: headroom, XOFF: xoff, XON: xon}
	if m.XOFF == 0 {
		m.XOFF = min(2*s.MTU, buffer)
		if headroom < buffer {
			m.XOFF = max(m.XOFF, min(buffer-headroom, buffer/100*s.Share))
		}
	}
	if m.XON == 0 || m.XON >= m.XOFF {
		m.XON = m.XOFF - m.XOFF/4
	}
	return m
}
