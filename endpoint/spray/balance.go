package spray

import (
	"time"

	"github.com/weft-sdn/weft/packet"
)

// A Balance is how well the ports of a host (planes) carry what is sent by them to some
// destinations, compared with each other. Queue pairs that use the same paths share one, as each by
// itself sends too little to learn it in time.
type Balance struct {
	weight [packet.MaxPort + 1]float64 // leastWeight to 1
	// What became of packets since weights were changed last: how many there were, and the marks on
	// them.
	packets, marks [packet.MaxPort + 1]int
	await          int // packets to hear of until weights change
	flying         int // packets sent of which nothing was heard
	// average times of packets by each port, in nanoseconds; 0: none is known
	time [packet.MaxPort + 1]float64
	told [packet.MaxPort + 1]bool // by marks: switches by that port mark, or trim
}

// Weights change once a round trip, when something was heard of as many packets as were under way
// and some more, so that they follow the share m of packets that are marked: weight grows by raise
// x (1 - m) and shrinks by cut x m of itself. It stays near raise x (1 - m) / (cut x m), so a port
// with a third of its packets marked or fewer has weight 1.
const (
	raise       = 0.25
	cut         = 0.5
	trimmed     = 2       // marks that a trimmed packet counts for
	comparison  = 16      // packets to compare ports by, beside those under way
	leastWeight = 1. / 16 // so that a port is tried, and found to be better again
	// of the greatest weight: with more than that a port is used as if it had that
	tolerated = 1. / 4
	whole     = 1 - 1e-9 // 1, but for rounding
	// A packet is late that takes so many times as long as those of the quickest port on average.
	late       = 2
	timeWeight = 1. / 16 // of a packet in the average
)

// NewBalance returns a Balance in which all ports are alike.
func NewBalance() *Balance {
	b := &Balance{await: comparison}
	for i := range b.weight {
		b.weight[i] = 1
	}
	return b
}

// sent notes a packet that was sent by a set.
func (b *Balance) sent(s *Set) {
	s.flying++
	b.flying++
}

// heard notes what became of a packet sent by a set: the marks on it.
func (b *Balance) heard(s *Set, port, marks int) {
	if s.flying > 0 { // of one that was thought lost is heard twice
		s.flying--
		b.flying--
	}
	b.packets[port]++
	b.marks[port] += marks
	b.told[port] = b.told[port] || marks > 0
	if b.await--; b.await > 0 {
		return
	}
	for p, n := range b.packets {
		if n == 0 {
			continue
		}
		m := float64(b.marks[p]) / float64(n)
		b.weight[p] = min(1, max(leastWeight, b.weight[p]*(1-cut*m)+raise*max(0, 1-m)))
		b.packets[p], b.marks[p] = 0, 0
	}
	b.await = b.flying + comparison
}

// took notes how long a packet took. By a port whose packets were never marked, a late one counts
// as one that was trimmed: switches that neither mark nor trim, as kernels, have no other sign.
func (b *Balance) took(port int, d time.Duration) {
	t := &b.time[port]
	if *t == 0 {
		*t = float64(d)
	}
	*t += timeWeight * (float64(d) - *t)
	if b.told[port] {
		return
	}
	for _, other := range b.time {
		if other > 0 && float64(d) > late*other {
			b.marks[port] += trimmed
			return
		}
	}
}

// Take is the free ports that a data packet may go by now. The best port may always be taken. One
// with less than half of its weight may be taken as often as twice its weight is contained in that,
// so that the queue pair waits for a better one that is busy, and leaves this one to others: ports
// take turns to have room where a host has more to send than they carry, and each would get the
// same otherwise, whatever the network behind them carries. Without a better port that is free or
// busy all may be taken.
func (s *Set) Take(free, busy packet.PortMask) (take packet.PortMask) {
	best := 0.0
	for p := 1; p < len(s.alive); p++ {
		if s.usablePort(p) && (free | busy).Has(p) {
			best = max(best, s.balance.weight[p])
		}
	}
	for p := 1; p < len(s.alive); p++ {
		if !s.usablePort(p) || !free.Has(p) {
			continue
		}
		s.turn[p] = min(1, s.turn[p]+s.balance.weight[p]/(tolerated*best))
		if s.turn[p] >= whole {
			take = take.With(p)
		}
	}
	return take
}

// usablePort reports whether there are values to use by a port that is up.
func (s *Set) usablePort(port int) bool { return s.alive[port] > 0 && s.ports.Has(port) }

// Balance returns the weights that the set learns.
func (s *Set) Balance() *Balance { return s.balance }

// Share has the set learn how ports compare together with others; nil: by itself, from the
// beginning.
func (s *Set) Share(b *Balance) {
	if b == nil {
		b = NewBalance()
	}
	if s.balance != nil {
		s.balance.flying -= s.flying
	}
	b.flying += s.flying
	s.balance = b
}
