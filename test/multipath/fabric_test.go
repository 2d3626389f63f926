package multipath

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/entry"
	"github.com/weft-sdn/weft/controller/ev"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/endpoint/nscc"
	"github.com/weft-sdn/weft/endpoint/spray"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/topology"
)

const pmtu = 4096

// The octets that a packet takes on a link: a WRITE's of PMTU 4096 with a timestamp, in a tunnel with
// an SRH, and a SACK's.
const (
	dataOctets = packet.EthernetLen + packet.IPv6Len + packet.UDPLen + packet.BTHLen + packet.METHLen + packet.TSETHLen + packet.RETHLen + pmtu + packet.ICRCLen + overhead
	ackOctets  = packet.EthernetLen + packet.IPv6Len + packet.UDPLen + packet.BTHLen + packet.SETHLen + packet.ICRCLen + overhead
	overhead   = 8 + 4 + 12 // preamble, check sequence and gap
)

// links is what the links of a fabric are, and what follows from it.
type links struct {
	rate  uint64
	delay time.Duration
}

// fast is the links that the figures of the congestion control are stated for.
var fast = links{400e9, time.Microsecond}

// rtt is the round trip of a full packet and its SACK between hosts of different leaves, all queues
// empty.
func (l links) rtt() time.Duration {
	const hops = 4
	out := func(octets float64) time.Duration { return time.Duration(octets * 8e9 / float64(l.rate)) }
	return hops * (2*l.delay + out(dataOctets) + out(ackOctets))
}

// classes are queues of one bandwidth-delay product, marked from 0.2 to 0.8 of it.
func (l links) classes() inventory.Classes {
	m := inventory.DefaultClasses()
	bdp := uint32(float64(l.rate) / 8 * l.rtt().Seconds() / dataOctets)
	m.DataPackets, m.ControlPackets, m.ECNMin, m.ECNMax = bdp, 1<<16, bdp/5, bdp*4/5
	return m
}

// fabric is a Clos that holds what is planned for a mode.
type fabric struct {
	*lab.World
	links
	planes int
	assign *ev.Assignment
	clos   *topology.Clos
	nodes  map[string]topology.NodeID // by switch
}

var cache = new(p4rt.Cache)

func newFabric(t testing.TB, c lab.ClosConfig, format ev.Format, l links, seed uint64) *fabric {
	t.Helper()
	c.Rate, c.Delay = l.rate, l.delay
	w, err := lab.NewWorld(lab.Clos(c), lab.Options{Seed: seed, Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	f := &fabric{World: w, links: l, nodes: map[string]topology.NodeID{}}
	snap := w.Learned(topology.NewBuilder())
	for _, s := range w.Network.Switches {
		f.nodes[s.Name] = lab.NodeID(s)
	}
	if f.clos, err = snap.Graph().Clos(topology.ClosRequest{Leaves: snap.Leaves()}); err != nil {
		t.Fatal(err)
	}
	if f.assign, err = ev.Assign(f.clos, format, ev.Numbers{}); err != nil {
		t.Fatal(err)
	}
	for range w.Network.Uplinks(w.Network.Hosts[0].Name) {
		f.planes++
	}
	f.program(t, snap)
	return f
}

// program gives the switches what is planned for them.
func (f *fabric) program(t testing.TB, snap *topology.Snapshot) {
	t.Helper()
	pipeline, err := southbound.NewPipeline(p4.P4Info(), p4.JSON())
	if err != nil {
		t.Fatal(err)
	}
	codec := entry.NewCodec(pipeline.Schema())
	inv := f.Network.Inventory(nil)
	network := plan.NewNetwork(snap, &inv)
	for i := range inv.Switches {
		sw := &inv.Switches[i]
		node, err := f.Switch(sw.Name)
		if err != nil {
			t.Fatal(err)
		}
		direct := &southbound.Direct{Target: node.Device(), DeviceID: node.Device().ID(), Pipeline: pipeline}
		if err := direct.Install(0); err != nil {
			t.Fatal(err)
		}
		var updates []southbound.Update
		for _, e := range f.planned(network, sw) {
			kind := southbound.Insert
			if table, ok := e.(entry.Table); ok && table.Default {
				kind = southbound.Modify
			}
			u, err := codec.EncodeUpdate(entry.Update{Type: kind, Entity: e})
			if err != nil {
				t.Fatal(err)
			}
			updates = append(updates, u)
		}
		if err := direct.Write(0, updates); err != nil {
			t.Fatalf("%s: %v", sw.Name, err)
		}
	}
}

func (f *fabric) planned(n *plan.Network, sw *inventory.Switch) []entry.Entity {
	all := n.Links(sw)
	all = append(all, n.EVRoutes(sw, f.assign)...)
	all = append(all, n.EVs(sw, f.assign)...)
	return append(all, n.Classes(sw, f.classes())...)
}

// attachment is the leaves of a host by port.
func (f *fabric) attachment(host string) (at ev.Attachment) {
	for sw := range f.Network.Uplinks(host) {
		at = append(at, f.nodes[sw])
	}
	return at
}

// received is every path between two hosts, as a host gets it from a controller: the profile, and
// its EVs as they lie in packets.
func (f *fabric) received(t testing.TB, from, to string) (spray.Profile, []hostapi.EV) {
	t.Helper()
	built, err := f.assign.Build(ev.Request{Name: from + "-" + to, Pair: ev.Pair{Source: f.attachment(from), Destination: f.attachment(to)}})
	if err != nil {
		t.Fatal(err)
	}
	p, evs, err := spray.Received(built.Profile, f.ports())
	if err != nil {
		t.Fatal(err)
	}
	wire := make([]hostapi.EV, len(evs))
	for i, v := range evs {
		if wire[i], err = built.Profile.Expand(v); err != nil {
			t.Fatal(err)
		}
	}
	return p, wire
}

// profile is what a host sprays over: every path, or in mode ecmp values that switches hash.
func (f *fabric) profile(t testing.TB, from, to string, seed uint64) spray.Profile {
	t.Helper()
	if f.assign.Format().Mode == ev.ModeECMP {
		return spray.Auto(seed, 16, f.planes)
	}
	p, _ := f.received(t, from, to)
	return p
}

// ports are those of a host.
func (f *fabric) ports() (m hostapi.PortMask) {
	for p := range f.planes {
		m |= hostapi.Ports(p + 1)
	}
	return m
}

// network is what congestion control is told.
func (f *fabric) network() nscc.Network {
	return nscc.Network{Rate: uint64(f.planes) * f.rate, RTT: f.rtt(), MTU: pmtu, Trimming: true}
}
