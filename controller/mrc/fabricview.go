package mrc

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/job/lease"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/mrc/flows"
	"github.com/weft-sdn/weft/topology"
)

// viewer makes the views of the fabric that a core publishes.
type viewer struct {
	last *fabricview.View // nil: none so far
	from viewSource       // of last
	// links and paths are those of the fabric in from; nil: to be made.
	links func() map[topology.LinkID]lease.Link
	paths *leasePaths
	at    map[string]ev.Attachment // of all hosts; nil: to be read again
	moved bool                     // links, hosts or their ports have changed since last
	// losses of the fabric in from, by the attachments in at; nil: not computed yet.
	losses *losses
	// fluid is the network for simulations, of losses.
	fluid func() *flows.Network
	held  []fabricview.Held
	other bool // what does not follow from the fabric has changed since last
	// nodes are the nodes of the last view, and wired counts how often they or the racks have changed.
	nodes []*topology.Node
	wired uint64
}

// viewSource is what a view follows from, apart from links, hosts and their ports.
type viewSource struct {
	fabric     *fabric.Fabric
	advertised *topology.Snapshot
	// why there are no leases, and no losses; "": there are.
	why, noLosses string
}

// note notes what has changed in the fabric.
func (v *viewer) note(c *fabric.Changes) {
	v.moved = v.moved || len(c.Links) > 0 || c.Peers || c.Racks
	if c.Racks {
		v.at, v.losses = nil, nil
		v.wired++
	}
}

// setHeld has views say how far the drains of held parts are.
func (v *viewer) setHeld(states []fabricview.Held) {
	v.other = v.other || !slices.Equal(v.held, states)
	v.held = states
}

// View returns what is known of the fabric: the same as before if nothing has changed.
func (c *Core) View() *fabricview.View {
	c.settle()
	v, from := &c.viewer, viewSource{c.state.Fabric(), c.state.Advertised(), c.unleasable(),
		c.unlosable()}
	same := v.last != nil && v.from == from && !v.moved
	if same && !v.other && !c.reader.news {
		return v.last
	}
	next := &fabricview.View{}
	if v.last != nil {
		*next = *v.last
	}
	next.Revision++
	next.Held, next.Jobs = v.held, c.reader.done
	if !same {
		c.lookAtFabric(next, from)
	}
	v.last, v.from, v.moved, v.other, c.reader.news = next, from, false, false, false
	return next
}

// lookAtFabric gives a view what follows from the fabric, its links and its hosts.
func (c *Core) lookAtFabric(next *fabricview.View, from viewSource) {
	v := &c.viewer
	if v.from.advertised != from.advertised {
		v.links = nil
	}
	next.Why, next.Leases = from.why, nil
	next.NoLosses, next.Losses, next.Fluid = from.noLosses, nil, nil
	next.Wiring = c.wiring()
	if v.at == nil {
		v.at = make(map[string]ev.Attachment, c.state.HostCount())
		for h := range c.state.Hosts() {
			v.at[h.Name] = h.Rack().At()
		}
	}
	if from.why == "" {
		next.Leases = c.leases(from)
	}
	if from.noLosses == "" {
		if v.losses == nil || v.losses.fabric != from.fabric {
			of := &losses{fabric: from.fabric, at: v.at}
			v.losses, v.fluid = of, sync.OnceValue(func() *flows.Network {
				return flows.Of(of.fabric, of.at, &c.cfg.MRC)
			})
		}
		network, lost := v.fluid, c.lostNow()
		next.Losses, next.Fluid = v.losses, func() (*flows.Network, *flows.State) {
			return network(), lost.Clone()
		}
	}
}

// lostNow returns what hosts must not use now.
func (c *Core) lostNow() *flows.State {
	s := &flows.State{Ports: make(map[string]hostapi.PortMask)}
	s.Directed = slices.Collect(maps.Keys(c.state.Links().Denied()))
	s.Planes = slices.Clone(c.drains.Planes())
	for _, p := range c.state.Peers() {
		if h := c.state.HostAt(p.Peer); h != nil {
			s.Ports[h.Name] = ^p.Ports
		}
	}
	return s
}

// unleasable returns why no paths can be leased; "": they can.
func (c *Core) unleasable() string {
	switch {
	case c.mode == ev.ModeECMP:
		return "in mode ecmp nobody knows the paths of packets"
	case !c.state.Synced():
		return "the topology is not in sync"
	case c.state.Failure() != nil:
		return c.state.Failure().Error()
	case c.state.Fabric() == nil:
		return "no fabric was found yet"
	}
	return ""
}

// downNow returns the denied links, and the links of dead ports of hosts. Nobody knows whether an
// unconnected host's ports are dead.
func (c *Core) downNow() map[topology.LinkID]bool {
	down := c.state.Links().Denied()
	for _, p := range c.state.Peers() {
		h := c.state.HostAt(p.Peer)
		for i := range h.At {
			if h.At[i] != "" && !p.Ports.Has(i+1) {
				down[hostPortID(h.Name, uint8(i+1))] = true
			}
		}
	}
	return down
}

// leases returns the links and the paths for leases.
func (c *Core) leases(from viewSource) *lease.Network {
	v := &c.viewer
	if v.paths == nil || v.paths.fabric != from.fabric {
		v.paths = &leasePaths{fabric: from.fabric, known: make(map[leasePathsKey][]lease.Path)}
		v.links = nil
	}
	if v.links == nil {
		v.links = sync.OnceValue(func() map[topology.LinkID]lease.Link { return leaseLinks(from) })
	}
	paths, at := v.paths, v.at
	return &lease.Network{Links: v.links, Down: c.downNow(),
		Paths: func(from, to string) []lease.Path { return paths.of(from, to, at[from], at[to]) }}
}

// leaseLinks returns the links of a fabric, with the capacities that are advertised now.
func leaseLinks(from viewSource) map[topology.LinkID]lease.Link {
	links := make(map[topology.LinkID]lease.Link, from.fabric.Len())
	for i := range int32(from.fabric.Len()) {
		e := from.fabric.Edge(i)
		capacity := e.MaxBandwidth
		if now := from.advertised.Link(e.ID); now != nil {
			capacity = now.MaxBandwidth
		}
		links[e.ID] = lease.Link{Capacity: capacity, Up: true}
	}
	return links
}

// leasePaths keeps the paths of a fabric between attachments.
type leasePaths struct {
	fabric *fabric.Fabric
	mu     sync.Mutex
	known  map[leasePathsKey][]lease.Path
}

type leasePathsKey struct {
	from, to string
	port     uint8
}

// mostLeasePaths bounds the pairs of attachments whose paths are kept.
const mostLeasePaths = 4096

// of returns the paths between two NICs by all ports.
func (p *leasePaths) of(from, to string, src, dst ev.Attachment) (out []lease.Path) {
	for i := range min(len(src), len(dst)) {
		port := uint8(i + 1)
		ends := leaseEnds(from, to, port)
		for _, path := range p.between(src, dst, port) {
			path.Ends = ends
			out = append(out, path)
		}
	}
	return out
}

func (p *leasePaths) between(src, dst ev.Attachment, port uint8) []lease.Path {
	key := leasePathsKey{fabric.AttachmentKey(src), fabric.AttachmentKey(dst), port}
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.known[key]
	if !ok {
		if len(p.known) >= mostLeasePaths {
			clear(p.known)
		}
		known = leasePathsBy(p.fabric, src, dst, port)
		p.known[key] = known
	}
	return known
}

// hostPortID names the link of a NIC in leases.
func hostPortID(host string, port uint8) topology.LinkID {
	return topology.LinkID(fmt.Sprintf("%s/%d", host, port))
}

// leasePathsBy returns the paths that packets of one port may take from an attachment to another,
// without their ends.
func leasePathsBy(f *fabric.Fabric, from, to ev.Attachment, port uint8) []lease.Path {
	set, ok := f.PathSet(from, to, port)
	if !ok {
		return nil
	}
	choices, err := f.Assignment().Choices(set)
	if err != nil {
		return nil
	}
	out := make([]lease.Path, len(choices))
	for i := range choices {
		c := &choices[i]
		p := lease.Path{Plane: set.Plane(), EV: leaseEV(f, c.Value, port)}
		for _, ref := range c.Paths {
			places := f.PlacesOf(set, ref)
			for j, place := range places {
				e := f.Edge(place)
				if !slices.Contains(p.Links, e.ID) {
					p.Links = append(p.Links, e.ID)
				}
				if j < len(places)-1 && !slices.Contains(p.Nodes, e.Remote) {
					p.Nodes = append(p.Nodes, e.Remote)
				}
			}
		}
		out[i] = p
	}
	return out
}

// leaseEV describes an EV.
func leaseEV(f *fabric.Fabric, v ev.Value, port uint8) api.LeaseEV {
	r := &ev.Route{Mode: f.Assignment().Format().Mode, Last: ev.TableUSID}
	return api.LeaseEV{Value: hostapi.EV{Value: v, Port: port}.String(), Port: port,
		Packet: viewPacket(r, v)}
}

// leaseEnds returns the ends of a path of a port between two hosts.
func leaseEnds(from, to string, port uint8) []topology.LinkID {
	return []topology.LinkID{hostPortID(from, port), hostPortID(to, port)}
}
