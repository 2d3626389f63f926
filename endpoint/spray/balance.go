package spray

import (
	"math/bits"
	"time"

	"github.com/weft-sdn/weft/packet"
)

// A Balance is how well the ports of a host (planes) carry what is sent by them to some
// destinations, compared with each other. Queue pairs that use the same paths share one, as each by
// itself sends too little to learn it in time.
type Balance struct {
	weight [packet.MaxPort + 1]float64 // leastWeight to 1
	// 0 to 1: how far what a port gets is bound to its part of the values
	bound [packet.MaxPort + 1]float64
	// 0 to 1, of a port with fewer values than another: how far its part of them is what it carries
	trust [packet.MaxPort + 1]float64
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
	// Share of the packets marked at which a port is bound to its part of the values, and what of
	// the difference a port with fewer marks is let go a round trip. A port without marks carries
	// all that the host sends by it.
	binding, loosening = 1. / 8, 1. / 4
	learning           = 1. / 2 // of trust, of how much more is marked than by the mean port
	mostTurns          = 2      // that a port may have saved up
)

// NewBalance returns a Balance in which all ports are alike.
func NewBalance() *Balance {
	b := &Balance{await: comparison}
	for i := range b.weight {
		b.weight[i], b.trust[i] = 1, 1
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
	mean, most := b.meanShare(), s.most()
	for p, n := range b.packets {
		if n == 0 {
			continue
		}
		m := float64(b.marks[p]) / float64(n)
		if s.alive[p] < most {
			b.trust[p] = min(1, max(0, b.trust[p]+learning*(min(1, m)-mean)))
		} else {
			b.trust[p] = 1
		}
		b.weight[p] = min(1, max(leastWeight, b.weight[p]*(1-cut*m)+raise*max(0, 1-m)))
		bound := min(1, m/binding)
		b.bound[p] = max(bound, b.bound[p]+loosening*(bound-b.bound[p]))
		b.packets[p], b.marks[p] = 0, 0
	}
	b.await = b.flying + comparison
}

// meanShare is the share of packets that are marked, of the ports alike by which there were any.
func (b *Balance) meanShare() float64 {
	sum, ports := 0., 0
	for p, n := range b.packets {
		if n > 0 {
			sum += min(1, float64(b.marks[p])/float64(n))
			ports++
		}
	}
	return sum / float64(max(1, ports))
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

// Take is the free ports that a data packet may go by now. The best port may always be taken, any
// other one when it has a turn (used): else the queue pair waits for a better one that is busy, and
// leaves this one to others. Ports take turns to have room where a host has more to send than they
// carry, and each would get the same otherwise, whatever the network behind them carries. Without
// a better port that is free or busy all may be taken.
func (s *Set) Take(free, busy packet.PortMask) (take packet.PortMask) {
	parts, best, _ := s.parts(free | busy)
	for p, part := range parts {
		if part > 0 && free.Has(p) && (part >= best*whole || s.turn[p] >= whole) {
			take = take.With(p)
		}
	}
	return take
}

// most is how many usable values there are by the port with most.
func (s *Set) most() (most int) {
	for p, n := range s.alive {
		if s.ports.Has(p) {
			most = max(most, n)
		}
	}
	return most
}

// parts is what ports are to get of the packets, in proportion to each other, the greatest of these
// and their sum. The part of a port is its share of the usable values as far as marks bind it, as
// these are the paths that are left; and what its weight is of a quarter of the best, if that is
// less than 1. A port without usable values has none.
func (s *Set) parts(ports packet.PortMask) (parts [packet.MaxPort + 1]float64, best, sum float64) {
	heaviest, most := 0.0, 0
	ports &= s.ports
	for rest := ports; rest != 0; rest &= rest - 1 {
		if p := bits.TrailingZeros32(uint32(rest)); s.alive[p] > 0 {
			heaviest, most = max(heaviest, s.balance.weight[p]), max(most, s.alive[p])
		}
	}
	for ; ports != 0; ports &= ports - 1 {
		p := bits.TrailingZeros32(uint32(ports))
		if s.alive[p] == 0 {
			continue
		}
		parts[p] = min(1, s.balance.weight[p]/(tolerated*heaviest)) *
			(1 - s.balance.trust[p]*s.balance.bound[p]*(1-float64(s.alive[p])/float64(most)))
		best, sum = max(best, parts[p]), sum+parts[p]
	}
	return parts, best, sum
}

// used notes a packet by a port: the others get of a turn what their part is of that of all but
// them.
func (s *Set) used(port int) {
	parts, _, sum := s.parts(s.ports)
	for p, part := range parts {
		switch {
		case p == port:
			s.turn[p] = max(0, s.turn[p]-1)
		case part > 0:
			s.turn[p] = min(mostTurns, s.turn[p]+part/(sum-part))
		}
	}
}

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
