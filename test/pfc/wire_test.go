package pfc

import (
	"net/netip"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/topology"
)

// adjacency looks at what comes to R1 by an SID of its link to R2, and at what leaves R1 by that
// link.
type adjacency struct {
	sid, prober netip.Addr
	inner       []byte // of a packet in a packet

	pauses              int // PFC frames that came in a tunnel to the SID
	withSRH, withoutSRH int // probes of the prober's that R1 sends on
	crossed             int // packets that are inner and nothing else
}

func (a *adjacency) Arrived(_ time.Duration, w *lab.Wire, frame []byte) {
	if _, ok := lab.TunnelledPFC(frame); w.Name() != "R2-R1" || !ok {
		return
	}
	if p, _, err := packet.ParseSRv6Frame(frame); err == nil && p.IPv6.Dst == a.sid {
		a.pauses++
	}
}

func (a *adjacency) Sent(_ time.Duration, w *lab.Wire, frame []byte) {
	ip, n, err := packet.ParseIPv6(frame[packet.EthernetLen:])
	if w.Name() != "R1-R2" || err != nil || len(a.inner) == 0 {
		return
	}
	switch {
	case string(frame[packet.EthernetLen+n:]) == string(a.inner[packet.IPv6Len:]):
		a.crossed++
	case ip.Src == a.prober && ip.NextHeader == packet.NextHeaderRouting:
		a.withSRH++
	case ip.Src == a.prober && ip.NextHeader == packet.NextHeaderIPv6:
		a.withoutSRH++
	}
}

// TestFlavorsOnTheWire: the controller learns the End.X.PFC SIDs of the switches from BGP-LS, with
// every flavor. A policy with such a SID has tunnels that end there, and the switch handles
// arriving packets according to the flavor (RFC 8986 section 4.16).
func TestFlavorsOnTheWire(t *testing.T) {
	b := newBed(t, lab.PFCNetwork(2*time.Millisecond, 1e9), 1, func(c *lab.Control) { c.Wire = true })
	r1, err := b.w.Switch("R1")
	b.must(err)
	r3, err := b.w.Switch("R3")
	b.must(err)
	out, err := b.w.Wire("R1", "R2")
	b.must(err)
	in, err := b.w.Wire("R2", "R1")
	b.must(err)
	behaviors := topology.DefaultPFCBehaviors()
	see := &adjacency{prober: r3.Switch.Loopback}
	b.w.AddTap(see)
	all := []topology.Flavors{topology.FlavorPSP, topology.FlavorUSD, 0, topology.FlavorUSP,
		topology.FlavorPSP | topology.FlavorUSP}
	if testing.Short() {
		all = all[:2]
	}
	for i, flavors := range all {
		sid, ok := lab.EndXPFC(r1.Switch, out.FromPort, flavors)
		if !ok {
			t.Fatalf("no End.X.PFC with %v", flavors)
		}
		name := behaviors.Name(sid.Behavior)
		b.change(func(c *controller.Core) error {
			spec := api.SRv6PolicySpec{Headend: "R1", Endpoint: "R3",
				Segments: []api.PolicySegment{{SID: sid.Address}, {Node: "R2"}}}
			_, _, err := c.SRv6Policies().Put("wan", spec, resource.Precondition{})
			return err
		})
		if i == 0 {
			b.tenantsOn()
			b.lossless(func(s *api.PFCPolicySpec) { s.XOFF = 64 << 10 })
		}
		b.programmed()
		policy, err := b.core().SRv6Policies().Get("wan")
		b.must(err)
		if first := policy.Status.SegmentList[0]; first.SID != sid.Address || first.Behavior != name {
			t.Errorf("%s: the policy begins with %+v", name, first)
		}
		for _, x := range b.policy().Status.Tunnels {
			if last := x.Segments[len(x.Segments)-1]; x.To == "R1" &&
				(last.SID != sid.Address || last.Behavior != name || x.State != api.TunnelUp) {
				t.Errorf("%s: tunnel %+v", name, x)
			}
		}

		inner := b.datagram("DC2", "DC1", uint32(i), 100)[packet.EthernetLen:]
		*see = adjacency{sid: sid.Address, prober: see.prober, inner: inner}
		before := b.pausesAt("R1")
		stream, err := b.w.NewStream(lab.StreamConfig{From: "DC1", To: "DC2", QPN: uint32(1 + i),
			Payload: 4096, Rate: 200e6, Priority: 3})
		b.must(err)
		stream.Start()
		b.pause("DC2", 3, 20*time.Millisecond, true)
		b.run(60 * time.Millisecond)
		stream.Stop()
		outer := packet.IPv6{NextHeader: packet.NextHeaderIPv6, HopLimit: 64,
			PayloadLength: uint16(len(inner)), Src: see.prober, Dst: sid.Address}
		frame := packet.Ethernet{Dst: r1.Switch.MAC, EtherType: packet.EtherTypeIPv6}.Append(nil)
		in.Inject(append(outer.Append(frame), inner...))
		b.run(1200 * time.Millisecond) // and the controller has asked for the queues' state

		if see.pauses == 0 || b.pausesAt("R1") == before || stream.Lost() > 0 {
			t.Errorf("%s: %d PFC frames came to the SID, R1 counts %d after %d; %d packets are lost", name,
				see.pauses, b.pausesAt("R1"), before, stream.Lost())
		}
		if pops := flavors.Has(topology.FlavorPSP); pops != (see.withoutSRH > 0) ||
			pops == (see.withSRH > 0) {
			t.Errorf("%s: R1 has sent on %d probes with an SRH, %d without", name, see.withSRH,
				see.withoutSRH)
		}
		want := 0
		if flavors.Has(topology.FlavorUSD) {
			want = 1
		}
		if see.crossed != want {
			t.Errorf("%s: of the packet in a packet R1 has sent on %d, want %d", name, see.crossed, want)
		}
	}
}

// pausesAt returns the number of pauses in a switch's queues, as far as the controller knows.
func (b *bed) pausesAt(sw string) (n uint64) {
	for _, x := range b.policy().Status.Nodes {
		if x.Switch == sw && x.Queue != nil {
			n += x.Queue.PausesReceived
		}
	}
	return n
}
