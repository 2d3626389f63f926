package spray

import (
	"math/bits"
	"time"

	"github.com/weft-sdn/weft/packet"
)

// A Balance compares how well the ports (planes) of a host carry packets to some destinations.
// Queue pairs with the same paths share a Balance, because a single queue pair sends too few
// packets to learn the comparison in time.
type Balance struct {
	weight [packet.MaxPort + 1]float64 // leastWeight to 1
	// 0 to 1: how far the number of a port's values limits the port's share
	bound [packet.MaxPort + 1]float64
	// 0 to 1, for a port with fewer values than another port: how far the port carries only its share
	// of the values
	trust [packet.MaxPort + 1]float64
	// Feedback since the last change of weights: the number of packets, and the marks on these
	// packets.
	packets, marks [packet.MaxPort + 1]int
	await          int // packets that need feedback before weights change
	flying         int // packets sent without feedback yet
	// average packet time by port, in nanoseconds; 0: unknown
	time [packet.MaxPort + 1]float64
	told [packet.MaxPort + 1]bool // switches behind the port mark or trim packets
}

// Weights change once a round trip: after feedback on as many packets as were in flight, plus
// comparison. Weights so follow m, the marked share of the packets: a weight grows by raise x (1 -
// m) and shrinks by cut x m of itself. The weight settles near raise x (1 - m) / (cut x m), so a
// port with at most a third of its packets marked has weight 1.
const (
	raise       = 0.25
	cut         = 0.5
	trimmed     = 2       // marks counted for a trimmed packet
	comparison  = 16      // packets to compare ports by, beyond packets in flight
	leastWeight = 1. / 16 // low, but the host still tries the port and notices when it improves
	// of the greatest weight: a port above this fraction counts like a port with the greatest weight
	tolerated = 1. / 4
	whole     = 1 - 1e-9 // 1, but for rounding
	// A packet is late if its time exceeds the average of the quickest port this many times.
	late       = 2
	timeWeight = 1. / 16 // of a packet in the average
	// binding is the marked share of packets at which the values of a port limit the port fully;
	// loosening is the part of the difference by which the limit relaxes each round trip after fewer
	// marks. A port without marks carries everything that the host sends by the port.
	binding, loosening = 1. / 8, 1. / 4
	learning           = 1. / 2 // of trust, of how much more is marked than by the mean port
	mostTurns          = 2      // turns that a port may save up
)

// NewBalance returns a Balance with equal ports.
func NewBalance() *Balance {
	b := &Balance{await: comparison}
	for i := range b.weight {
		b.weight[i], b.trust[i] = 1, 1
	}
	return b
}

// sent notes a packet sent by a set.
func (b *Balance) sent(s *Set) {
	s.flying++
	b.flying++
}

// heard notes feedback on a packet sent by a set: the marks on the packet.
func (b *Balance) heard(s *Set, port, marks int) {
	if s.flying > 0 { // a packet taken for lost gets feedback twice
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

// meanShare returns the marked share of packets, averaged over the ports that sent any packets;
// each port counts the same.
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

// took notes the time of a packet. On a port whose packets were never marked, a late packet counts
// like a trimmed packet: lateness is the only sign of congestion from switches that neither mark
// nor trim, such as kernels.
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

// Take returns the free ports that a data packet may use now. The packet may always use the best
// port, and any other port with a turn (see used). Without such a port, the queue pair waits for a
// better, busy port and leaves the free ports to other queue pairs. When a host has more to send
// than its ports carry, ports become free in turn, and without Take each port would get the same
// load, whatever the network behind the port carries. If no port is better, free or busy, the
// packet may use every free port.
func (s *Set) Take(free, busy packet.PortMask) (take packet.PortMask) {
	parts, best, _ := s.parts(free | busy)
	for p, part := range parts {
		if part > 0 && free.Has(p) && (part >= best*whole || s.turn[p] >= whole) {
			take = take.With(p)
		}
	}
	return take
}

// most returns the number of usable values on the port with the most usable values.
func (s *Set) most() (most int) {
	for p, n := range s.alive {
		if s.ports.Has(p) {
			most = max(most, n)
		}
	}
	return most
}

// parts returns the proportions in which ports get packets, the greatest proportion, and the sum.
// The part of a port is the product of two factors. The first factor is the weight of the port
// divided by a quarter of the best weight, at most 1. The second factor falls from 1, as far as
// marks bind the port, to its usable values divided by the most usable values of any port, because
// only these paths are left. A port without usable values gets 0.
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

// used notes a packet sent by a port. The packet costs the port one turn. Every other port gains a
// fraction of a turn: its part divided by the sum of the parts of all ports but itself.
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

// Balance returns the weights learned by the set.
func (s *Set) Balance() *Balance { return s.balance }

// Share makes the set learn weights in b, together with other sets; nil: the set starts a Balance
// of its own.
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
