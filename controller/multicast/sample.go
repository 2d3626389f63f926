package multicast

import "time"

// Sample holds the counters of the root of a group's tree, the switch of the source.
type Sample struct {
	Group string
	// Switch and Port are where the packets of the source come in.
	Switch string
	Port   uint32
	// At is the time of the switch's answer within the state timeout. Zero: the switch did not answer,
	// and the three fields below do not count.
	At time.Time
	// PSN: in this epoch, all packets before PSN were acknowledged to the source, modulo 2^24. -1: no
	// packet was acknowledged yet.
	PSN   int64
	Epoch uint32
	// CNPs are those sent to the source, modulo 2^32.
	CNPs uint32
	// Stalled receivers hold the group up, as far as is known.
	Stalled int
}

// Samples asks the roots of the groups that are established. The answer, a []Sample by index of the
// group, comes under the id, when all have answered or after the state timeout.
func (f *Feature) Samples() (id uint64) {
	id = f.env.Question()
	samples := []Sample{}
	open := 1
	done := func() {
		if open--; open == 0 {
			f.env.Answer(id, samples)
		}
	}
	for _, g := range f.ordered() {
		if g.item == nil || g.phase != steady || g.resp == nil || len(g.resp.Nodes) == 0 {
			continue
		}
		root, at := &g.resp.Nodes[0], len(samples)
		samples = append(samples, Sample{Group: g.name, Switch: root.Switch, Port: root.UpstreamPort,
			PSN: -1, Epoch: g.resp.Epoch, Stalled: len(g.probe.stalled())})
		open++
		f.ask(g, 1, func(q *query) {
			if n := &q.report.Nodes[0]; n.Answered {
				s := &samples[at]
				s.At, s.PSN, s.CNPs = f.env.Wall(), n.LastPSN, n.CNPTotal
			}
			done()
		})
	}
	done()
	return id
}
