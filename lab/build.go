package lab

import (
	"math/rand/v2"
	"time"

	"github.com/weft-sdn/weft/dataplane/p4rt"
)

// Options of a world.
type Options struct {
	// Seed of everything random in the world: the same seed, the same run.
	Seed uint64
	// Cache shares compiled programs with other worlds; nil: the default cache of all worlds.
	Cache *p4rt.Cache
	// Managed makes MRC hosts wait for a controller that configures their sending (nic.Config).
	Managed bool
	// PacingSlack is how far hosts may fall behind their line rate and still catch up in a burst:
	// for worlds in real time, which run late. In virtual time nothing does, and a pause is one.
	PacingSlack time.Duration
	// Carrier makes the ports of switches go down with their links, and with the node at the far end,
	// like the ports of real switches: the switch drops frames to such a port. Otherwise a switch
	// sends into a dead link, and the link counts the loss.
	Carrier bool
	// PauseBuffer is how many octets a paused queue of a switch may hold where no PFC policy says
	// so; 0: the switches' default.
	PauseBuffer int
}

// programs caches the programs of worlds without a cache of their own. All worlds of a process run
// the fabric's program, and compiling it takes longer than the rest of a lab's start.
var programs p4rt.Cache

// NewWorld builds the nodes and wires of a network, which it completes. The switches are empty:
// whoever has the world programs them.
func NewWorld(network Network, o Options) (*World, error) {
	if err := network.Complete(); err != nil {
		return nil, err
	}
	if o.Cache == nil {
		o.Cache = &programs
	}
	w := &World{
		Network:   network,
		described: network.Topology(),
		carrier:   o.Carrier,
		rng:       rand.New(rand.NewPCG(o.Seed, 0x77656674)),
		switches:  map[string]*SwitchNode{},
		hosts:     map[string]*HostNode{},
		mrc:       map[string]*MRCNode{},
	}
	for _, s := range network.Switches {
		n, err := newSwitchNode(w, s, o)
		if err != nil {
			return nil, err
		}
		w.switches[s.Name] = n
	}
	rtt := network.RoundTrip()
	for _, h := range network.Hosts {
		if h.Transport == MRC {
			n, err := newMRCNode(w, h, rtt, o)
			if err != nil {
				return nil, err
			}
			w.mrc[h.Name] = n
			continue
		}
		gateway, port := network.Uplink(h.Name)
		rate := network.linkAt(gateway, port).Rate
		n, err := newHostNode(w, h, w.switches[gateway].Switch, rate, o)
		if err != nil {
			return nil, err
		}
		w.hosts[h.Name] = n
	}
	for _, l := range network.Links {
		w.connect(l.A, l.PortA, l.B, l.PortB, l)
		w.connect(l.B, l.PortB, l.A, l.PortA, l)
	}
	return w, nil
}

func (w *World) connect(from string, fromPort uint32, to string, toPort uint32, l Link) {
	wire := &Wire{From: from, To: to, FromPort: fromPort, ToPort: toPort, Delay: l.Delay, Rate: l.Rate,
		carrier: carrier{most: l.Rate}, world: w}
	switch {
	case w.hosts[from] != nil:
		w.hosts[from].uplink = wire
	case w.mrc[from] != nil:
		w.mrc[from].ports[fromPort-1] = wire
	default:
		w.switches[from].attach(fromPort, wire)
	}
	switch {
	case w.hosts[to] != nil:
		wire.to = w.hosts[to]
	case w.mrc[to] != nil:
		wire.to = w.mrc[to]
	default:
		wire.to = w.switches[to]
	}
	w.wires = append(w.wires, wire)
}
