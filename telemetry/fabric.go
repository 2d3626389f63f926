package telemetry

import (
	"fmt"
	"maps"
	"math"
	"time"

	"github.com/weft-sdn/weft/southbound/gnmi"
)

// JobName returns the name of the object of kind [Fabric] for the NICs of a job.
func JobName(job string) string { return "job/" + job }

// WholeFabric is the name of the object of kind [Fabric] for all switches together. PlaneName
// returns the names for planes.
const WholeFabric = "all"

// PlaneName returns the name of the object of kind [Fabric] for a plane.
func PlaneName(plane int) string { return fmt.Sprintf("plane/%d", plane) }

// Samples come late by about an interval: sums are of the seconds before that.
const (
	sumsLate = time.Second
	sumsOver = 3 * time.Second
)

// Sums adds up the ports of a fabric, and stores the sums in a [Store] as objects of kind [Fabric].
// A single goroutine calls its methods.
type Sums struct {
	store  *Store
	counts map[string]*sum
	at     time.Time
}

// sum has the total counters of ports.
type sum struct {
	octets [2]float64 // offered and delivered
	lost   float64
	known  [3]bool // whether the last rates are, by metric
}

// NewSums returns sums that begin at 0.
func NewSums(st *Store) *Sums { return &Sums{store: st, counts: make(map[string]*sum)} }

// Take adds the traffic and losses since the last call. inner reports whether a port leads to
// another switch. Any other port offers its incoming traffic to the fabric, and delivers its
// outgoing traffic. Packets that any port discards or finds damaged are lost. Planes get the
// traffic of their uplinks: up is offered, down is delivered. Jobs get the traffic of the ports of
// their NICs, by switch and port.
func (s *Sums) Take(switches []string, inner func(sw string, port uint32) bool, uplinks []Uplink,
	jobs map[string]map[uint32][]string, now time.Time) {
	past := now.Sub(s.at).Seconds()
	if s.at.IsZero() || past > 10 {
		past = 0 // nobody knows what lies between
	}
	s.at = now
	for _, x := range s.counts {
		x.known = [3]bool{}
	}
	planes := make(map[string]map[uint32]int)
	for _, l := range uplinks {
		if planes[l.From] == nil {
			planes[l.From] = make(map[uint32]int)
		}
		planes[l.From][l.Port] = l.Plane
	}
	for _, sw := range switches {
		s.store.rates(sw, sumsOver, now.Add(-sumsLate), func(port uint32, in, out, lost float64) {
			if !inner(sw, port) {
				s.add(WholeFabric, in, out, past)
			}
			s.lose(WholeFabric, lost, past)
			for _, job := range jobs[sw][port] {
				s.add(JobName(job), in, out, past)
				s.lose(JobName(job), lost, past)
			}
			if plane, ok := planes[sw][port]; ok {
				s.add(PlaneName(plane), out, in, past)
			}
		})
	}
	all := make([]Reading, 0, len(s.counts))
	for name, x := range s.counts {
		all = append(all, Reading{Name: name, At: now, Values: []gnmi.Count{
			FabricOffered:   {Value: uint64(x.octets[0]), OK: x.known[FabricOffered]},
			FabricDelivered: {Value: uint64(x.octets[1]), OK: x.known[FabricDelivered]},
			FabricLost:      {Value: uint64(x.lost), OK: x.known[FabricLost]},
		}})
	}
	s.store.TakeReadings(Fabric, time.Second, all)
	maps.DeleteFunc(s.counts, func(name string, x *sum) bool { return x.known == [3]bool{} })
}

func (s *Sums) of(name string) *sum {
	x := s.counts[name]
	if x == nil {
		x = &sum{}
		s.counts[name] = x
	}
	return x
}

// add adds rates in bit/s over a time in seconds.
func (s *Sums) add(name string, offered, delivered, past float64) {
	x := s.of(name)
	for i, rate := range [2]float64{offered, delivered} {
		if !math.IsNaN(rate) {
			x.octets[i] += rate / 8 * past
			x.known[i] = true
		}
	}
}

// lose adds losses in packets a second over a time in seconds.
func (s *Sums) lose(name string, lost, past float64) {
	if !math.IsNaN(lost) {
		x := s.of(name)
		x.lost, x.known[FabricLost] = x.lost+lost*past, true
	}
}

// losses are the metrics of packets that a port discards or finds damaged.
var losses = [...]int{InErrors, OutErrors, InDiscards, OutDiscards}

// rates calls visit for each port of a switch with a rate, with means over a time: bit/s in and
// out, and lost packets per second; NaN where unknown.
func (st *Store) rates(name string, over time.Duration, now time.Time,
	visit func(port uint32, in, out, lost float64)) {
	s := st.find(name)
	if s == nil {
		return
	}
	m := mask(1<<InBits | 1<<OutBits)
	for _, i := range losses {
		m |= 1 << i
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.means(Port, m, over, now, func(o *object, x *mean) {
		rate := func(m int) float64 {
			if !x.known.has(m) {
				return math.NaN()
			}
			return x.value(Port, m)
		}
		lost, known := 0.0, false
		for _, i := range losses {
			if v := rate(i); !math.IsNaN(v) {
				lost, known = lost+v, true
			}
		}
		if !known {
			lost = math.NaN()
		}
		visit(o.port, rate(InBits), rate(OutBits), lost)
	})
}
