package lab

import (
	"time"

	"github.com/weft-sdn/weft/packet"
)

// Spread counts the octets of MRC requests on the uplinks of a fabric: the wires from a switch to
// one farther from the hosts.
type Spread struct {
	octets, packets map[*Wire]uint64
	stage           map[*Wire]Stage
}

// A Stage is the uplinks of one tier of a plane.
type Stage struct {
	Plane int // from 1, in the order of the network's switches
	Tier  int // the lower one: 0 is the switches with hosts
}

// NewSpread returns a tap that has counted nothing. It knows tiers and planes from the links.
func (w *World) NewSpread() *Spread {
	s := &Spread{octets: map[*Wire]uint64{}, packets: map[*Wire]uint64{}, stage: map[*Wire]Stage{}}
	tiers, planes := w.Network.Tiers(), w.Network.planes()
	for _, x := range w.wires {
		from, up := tiers[x.From]
		to, ok := tiers[x.To]
		if up && ok && to > from {
			s.stage[x] = Stage{planes[x.From], from}
		}
	}
	return s
}

// Sent implements Tap.
func (s *Spread) Sent(_ time.Duration, w *Wire, frame []byte) {
	if _, up := s.stage[w]; !up {
		return
	}
	p, _, err := packet.ParseMRC(frame, packet.DefaultMRCSettings())
	if err == nil && p.BTH.Opcode <= packet.OpMRCWriteOnlyImmediate {
		s.octets[w] += uint64(len(frame))
		s.packets[w]++
	}
}

// Arrived implements Tap.
func (s *Spread) Arrived(time.Duration, *Wire, []byte) {}

// Jain is Jain's index of the octets of each stage's uplinks: 1 when all carry the same, 1/n when
// one of n carries all. Stages that carried nothing are left out.
func (s *Spread) Jain() map[Stage]float64 {
	octets, index := map[Stage][]float64{}, map[Stage]float64{}
	for w, stage := range s.stage {
		octets[stage] = append(octets[stage], float64(s.octets[w]))
	}
	for stage, amounts := range octets {
		if j := Jain(amounts); j > 0 {
			index[stage] = j
		}
	}
	return index
}

// Fewest returns, for each stage, the packets on the uplink with the fewest packets.
func (s *Spread) Fewest() map[Stage]uint64 {
	fewest := map[Stage]uint64{}
	for w, stage := range s.stage {
		if n, ok := fewest[stage]; !ok || s.packets[w] < n {
			fewest[stage] = s.packets[w]
		}
	}
	return fewest
}

// Jain is Jain's fairness index of some amounts: 1 when all are the same, 1/n when one has
// everything; 0 for none.
func Jain(amounts []float64) float64 {
	var sum, squares float64
	for _, x := range amounts {
		sum += x
		squares += x * x
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(amounts)) * squares)
}

// neighbors returns the switches that the links of each node lead to.
func (n *Network) neighbors() map[string][]string {
	of, host := map[string][]string{}, map[string]bool{}
	for _, h := range n.Hosts {
		host[h.Name] = true
	}
	for _, l := range n.Links {
		if !host[l.B] {
			of[l.A] = append(of[l.A], l.B)
		}
		if !host[l.A] {
			of[l.B] = append(of[l.B], l.A)
		}
	}
	return of
}

// Tiers returns the distance of each switch from the nearest host, 0 for a switch with a host.
func (n *Network) Tiers() map[string]int {
	of := n.neighbors()
	tier := map[string]int{}
	var reached []string
	reach := func(name string, at int) {
		if _, ok := tier[name]; !ok {
			tier[name] = at
			reached = append(reached, name)
		}
	}
	for _, h := range n.Hosts {
		for _, sw := range of[h.Name] {
			reach(sw, 0)
		}
	}
	for i := 0; i < len(reached); i++ {
		for _, sw := range of[reached[i]] {
			reach(sw, tier[reached[i]]+1)
		}
	}
	return tier
}

// planes number the switches by the parts of the network that only hosts join.
func (n *Network) planes() map[string]int {
	of := n.neighbors()
	plane := map[string]int{}
	count := 0
	for _, s := range n.Switches {
		if plane[s.Name] != 0 {
			continue
		}
		count++
		plane[s.Name] = count
		for reached := []string{s.Name}; len(reached) > 0; reached = reached[1:] {
			for _, sw := range of[reached[0]] {
				if plane[sw] == 0 {
					plane[sw] = count
					reached = append(reached, sw)
				}
			}
		}
	}
	return plane
}
