package fabric

import (
	"slices"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/topology"
)

// A Denial says which EVs and ports hosts must not use under some losses. The deciding controller
// and a follower both build every state for hosts from a Denial. Its methods answer the questions
// that depend on losses:
//
//	Built    what a profile that this controller has built comes to: EVs denied, or replaced
//	Decided  a state that another controller decided, with what is lost besides denied in it
//	Own      a state without the ports by which one host must not send
//	PortsLeft  the ports that still have a path between two racks
//
// Built and Decided are two questions. The controller that builds a profile can choose again: spare
// EVs may replace lost EVs. A follower has no profile to choose from, only the EVs that hosts hold,
// and must not give hosts any EVs that the decider does not expect.
//
// A Denial is valid until the next input of its State.
type Denial struct {
	state *State
	more  []topology.Losses
	lost  *topology.LostPaths // nil: not asked for yet
	down  *topology.LostPaths // likewise
}

// denied reports whether EVs over a link, and those of a leaf, are denied.
func (l *leaf) denied() bool { return l.gone || l.drained || l.until > 0 }

// Denied reports whether EVs over the link are denied: packets cross a link that is up and not
// drained.
func (l *Link) Denied() bool { return l.phase != Up || l.drained }

// denied reports whether the host itself must not send by the port: what it cannot see by itself.
func (p *port) denied() bool { return p.attached && (p.linkDown || p.drained) }

// usable reports whether peers of the host may send to the port.
func (p *port) usable() bool {
	return p.attached && !p.linkDown && !p.agentDown && !p.drained && !p.held
}

// Denial returns what hosts must not use now, and if links in one direction, nodes and planes were
// lost besides. There must be a fabric.
func (s *State) Denial(more ...topology.Losses) *Denial { return &Denial{state: s, more: more} }

// Lost returns the paths that are lost. It looks at all links at its first call.
func (d *Denial) Lost() *topology.LostPaths {
	if d.lost == nil {
		s := d.state
		l := topology.Losses{
			Directed: s.links.lost((*Link).Denied), Nodes: s.leaves.lost((*leaf).denied),
			Planes: s.outside.Drains.Planes(),
		}
		for _, m := range d.more {
			l.Directed = append(l.Directed, m.Directed...)
			l.Nodes = append(l.Nodes, m.Nodes...)
			l.Planes = append(l.Planes, m.Planes...)
		}
		d.lost = s.fabric.clos.Lost(l)
	}
	return d.lost
}

// Down returns the lost paths across elements that are down. Paths across a held, tried or drained
// link or leaf do not count, because packets would still get through.
func (d *Denial) Down() *topology.LostPaths {
	if d.down == nil {
		s := d.state
		d.down = s.fabric.clos.Lost(topology.Losses{
			Directed: s.links.lost((*Link).isDown), Nodes: s.leaves.lost((*leaf).isDown),
		})
	}
	return d.down
}

// Built returns what a profile comes to that was built of the present fabric.
func (d *Denial) Built(b *ev.Built) (ev.Outcome, error) { return b.Under(d.Lost()) }

// Decided returns a state for the hosts of a rack with EVs over lost elements denied and ports of
// peers removed that are down. Without further losses it returns s itself. EVs denied in s remain
// denied. If all EVs of a profile cross lost elements, it denies only EVs over elements that are
// down: a link that would carry packets is better than nothing.
func (d *Denial) Decided(s *hostapi.State, from *Rack) *hostapi.State {
	next := *s
	next.Peers = fewerPorts(s.Peers, d.state.hosts.peers)
	same := slices.Equal(next.Peers, s.Peers)
	cloned := false
	for i, p := range s.Profiles {
		to := d.state.hosts.reachedBy(p)
		if to == nil {
			continue // it leads to nothing that is attached
		}
		pair := ev.Pair{Source: from.at, Destination: to.at}
		q, last, err := d.state.fabric.assign.Deny(p, pair, d.Lost())
		if last {
			q, _, err = d.state.fabric.assign.Deny(p, pair, d.Down())
		}
		if err != nil || q == p {
			continue // the decider knows paths that this fabric does not have yet
		}
		if !cloned {
			next.Profiles, cloned, same = slices.Clone(s.Profiles), true, false
		}
		next.Profiles[i] = q
	}
	if same {
		return s
	}
	return &next
}

// Own returns a state that denies the ports by which its host must not send, or s itself if s
// denies these ports already.
func Own(s *hostapi.State, denied hostapi.PortMask) *hostapi.State {
	if denied&^s.DeniedPorts == 0 {
		return s
	}
	own := *s
	own.DeniedPorts |= denied
	return &own
}

// PortsLeft returns the ports that have a path from one rack to another. In mode ecmp all have.
func (d *Denial) PortsLeft(from, to *Rack) (ports hostapi.PortMask) {
	lost := d.Lost()
	for i := range from.at {
		set, ok := d.state.fabric.PathSet(from.at, to.at, uint8(i+1))
		if !ok {
			continue
		}
		if !lost.Touches(set) {
			ports |= hostapi.Ports(i + 1)
			continue
		}
		for ref := range set.All() {
			if !lost.Path(set, ref) {
				ports |= hostapi.Ports(i + 1)
				break
			}
		}
	}
	return ports
}

// reachedBy returns the destination rack of a profile, nil without such a rack.
func (s *hostSet) reachedBy(p *hostapi.Profile) *Rack {
	for _, d := range p.Destinations {
		if h := s.byAddress[d.Addr()]; h != nil && d.IsSingleIP() {
			return h.rack
		}
	}
	return nil
}

// fewerPorts returns the ports of peers that are in two lists, each ordered by peer. A peer that is
// missing from a list has all ports there.
func fewerPorts(a, b []hostapi.PeerPorts) []hostapi.PeerPorts {
	if len(b) == 0 {
		return a
	}
	out := make([]hostapi.PeerPorts, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch order := a[0].Peer.Compare(b[0].Peer); {
		case order < 0:
			out, a = append(out, a[0]), a[1:]
		case order > 0:
			out, b = append(out, b[0]), b[1:]
		default:
			out = append(out, hostapi.PeerPorts{Peer: a[0].Peer, Ports: a[0].Ports & b[0].Ports})
			a, b = a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}
