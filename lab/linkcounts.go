package lab

import (
	"time"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/topology"
)

// countLinks has the core told what both ends of links have counted, repeatedly.
func (p *PathControl) countLinks(every time.Duration) {
	p.control.after(every, func() {
		// The sent packets of all ports are read before the received packets of any port, so that no
		// packet in between looks lost.
		sent := p.ports(p4.CounterPortTx)
		p.control.after(p.control.Latencies.Write, func() {
			received := p.ports(p4.CounterPortRx)
			name := map[topology.NodeID]string{}
			for sw, n := range p.nodes {
				name[n.ID] = sw
			}
			p.do(func() error {
				for _, l := range p.control.core.Topology().Links {
					from, to := name[l.Local], name[l.Remote]
					if sent[from] != nil && received[to] != nil {
						// it may be new
						_ = p.core.LinkCounts(l.ID, sent[from][uint32(l.LocalID)], received[to][uint32(l.RemoteID)])
					}
				}
				return nil
			})
			p.countLinks(every)
		})
	})
}

// ports reads a counter of the ports of all switches that are on.
func (p *PathControl) ports(counter string) map[string]map[uint32]uint64 {
	all := map[string]map[uint32]uint64{}
	for _, s := range p.control.World.Network.Switches {
		n := p.control.World.switches[s.Name]
		if n.Down() || n.Device().Switch().Program() == nil {
			continue
		}
		counts := map[uint32]uint64{}
		for port := range n.ports {
			counts[port] = n.Counted(counter, int64(port))
		}
		all[s.Name] = counts
	}
	return all
}
