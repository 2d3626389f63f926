package flows

import (
	"fmt"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/host/nscc"
	"github.com/weft-sdn/weft/host/spray"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/topology"
)

const pmtu = 4096

// The octets that a packet takes on a link: a WRITE's of PMTU 4096 with a timestamp, in a tunnel
// with an SRH, and a SACK's.
const (
	dataOctets = packet.EthernetLen + packet.IPv6Len + packet.UDPLen + packet.BTHLen + packet.METHLen +
		packet.TSETHLen + packet.RETHLen + pmtu + packet.ICRCLen + overhead
	ackOctets = packet.EthernetLen + packet.IPv6Len + packet.UDPLen + packet.BTHLen + packet.SETHLen +
		packet.ICRCLen + overhead
	overhead = 8 + 4 + 12 // preamble, check sequence and gap
)

// links sets the rate and delay of a fabric's links; methods derive further values.
type links struct {
	rate  uint64
	delay time.Duration
}

// fast describes the links that the congestion control figures assume.
var fast = links{400e9, time.Microsecond}

// rtt is the round trip of a full packet and its SACK between hosts of different leaves, all queues
// empty.
func (l links) rtt() time.Duration {
	const hops = 4
	out := func(octets float64) time.Duration { return time.Duration(octets * 8e9 / float64(l.rate)) }
	return hops * (2*l.delay + out(dataOctets) + out(ackOctets))
}

// classes returns queues with a depth of one bandwidth-delay product (BDP) and ECN marking from 0.2
// to 0.8 BDP.
func (l links) classes() inventory.Classes {
	m := inventory.DefaultClasses()
	bdp := uint32(float64(l.rate) / 8 * l.rtt().Seconds() / dataOctets)
	m.DataPackets, m.ControlPackets, m.ECNMin, m.ECNMax = bdp, 1<<16, bdp/5, bdp*4/5
	return m
}

// fabric is a Clos that holds what a controller plans for a mode.
type fabric struct {
	*lab.World
	links
	planes int
	forget bool // receivers keep no octets
	assign *ev.Assignment
	nodes  map[string]topology.NodeID // by switch
}

var cache = new(p4rt.Cache)

// newFabric starts a fabric, and a controller programs the switches. Afterwards the controller is
// gone: hosts send with states given by the test, and no controller sees the results.
func newFabric(t testing.TB, c lab.ClosConfig, mode ev.Mode, l links, seed uint64) *fabric {
	t.Helper()
	w, control, err := start(c, mode, l, false, seed, func(m *inventory.MRC, _ *lab.Network) {
		m.Classes, m.Probes.Rate = l.classes(), 0 // no packet but those of the test
	})
	if err != nil {
		t.Fatal(err)
	}
	f := &fabric{World: w, links: l, assign: control.Paths.Core().Assignment(),
		nodes: map[string]topology.NodeID{}}
	control.Stop()
	for _, s := range w.Network.Switches {
		f.nodes[s.Name] = lab.NodeID(s)
	}
	for range w.Network.Uplinks(w.Network.Hosts[0].Name) {
		f.planes++
	}
	return f
}

// start starts a fabric and its controller, and waits until every switch is programmed and, when
// they are managed, every host knows its paths. edit may change how the controller runs the fabric.
func start(c lab.ClosConfig, mode ev.Mode, l links, managed bool, seed uint64,
	edit func(*inventory.MRC, *lab.Network)) (*lab.World, *lab.Control, error) {
	c.Rate, c.Delay = l.rate, l.delay
	w, err := lab.NewWorld(lab.Clos(c), lab.Options{Seed: seed, Cache: cache, Managed: managed})
	if err != nil {
		return nil, nil, err
	}
	control, err := lab.NewControl(w, lab.DefaultLatencies())
	if err != nil {
		return nil, nil, err
	}
	mrc := inventory.Default().MRC
	mrc.Mode = mode.String()
	mrc.Probes.Self = lab.MRCSettings(&w.Network, mode).Probes.Self
	mrc.Probes.SelfTimeout = lab.MRCSettings(&w.Network, mode).Probes.SelfTimeout
	edit(&mrc, &w.Network)
	control.MRC = &mrc
	if err := control.Start(); err != nil {
		return nil, nil, err
	}
	if !w.Run(w.Now()+10*time.Second, func() bool {
		return control.Programmed() && (!managed || control.Instructed())
	}) {
		return nil, nil, fmt.Errorf("the fabric is not ready within 10 s: %v, %v", control.Err(),
			control.Paths.Core().Failure())
	}
	return w, control, control.Err()
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
	built, err := f.assign.Build(ev.Request{Name: from + "-" + to,
		Pair: ev.Pair{Source: f.attachment(from), Destination: f.attachment(to)}})
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

// ports are the ports of a host.
func (f *fabric) ports() hostapi.PortMask { return hostapi.FirstPorts(f.planes) }

// network returns the network that congestion control knows.
func (f *fabric) network() nscc.Network {
	return nscc.Network{Rate: uint64(f.planes) * f.rate, RTT: f.rtt(), MTU: pmtu, Trimming: true}
}
