package pfc

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/packet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cache has the compiled program, for all worlds of the tests.
var cache = new(p4rt.Cache)

// bed is the draft's network with a controller.
type bed struct {
	t       testing.TB
	w       *lab.World
	control *lab.Control
	events  []api.Event
}

func newBed(t testing.TB, n lab.Network, seed uint64, set ...func(*lab.Control)) *bed {
	t.Helper()
	w, err := lab.NewWorld(n, lab.Options{Seed: seed, Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{t: t, w: w}
	if b.control, err = lab.NewControl(w, lab.DefaultLatencies()); err != nil {
		t.Fatal(err)
	}
	for _, f := range set {
		f(b.control)
	}
	b.control.Events = func(e api.Event) { b.events = append(b.events, e) }
	b.must(b.control.Start())
	b.run(3 * time.Second)
	return b
}

func (b *bed) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) run(d time.Duration) {
	b.t.Helper()
	b.w.Run(b.w.Now()+d, nil)
	b.must(b.control.Err())
}

func (b *bed) change(f func(c *controller.Core) error) {
	b.t.Helper()
	b.must(b.control.Change(f))
}

func (b *bed) core() *controller.Core { return b.control.Core() }

func (b *bed) port(host string) uint32 {
	_, port := b.w.Network.Uplink(host)
	return port
}

// tenants makes the SRv6 policy and two tenants on it.
func (b *bed) tenants() {
	b.t.Helper()
	b.change(func(c *controller.Core) error {
		_, _, err := c.SRv6Policies().Put("wan", api.SRv6PolicySpec{Headend: "R1", Endpoint: "R3",
			Segments: []api.PolicySegment{{Node: "R2"}}}, resource.Precondition{})
		return err
	})
	b.tenantsOn()
}

// tenantsOn makes the two tenants on the existing SRv6 policy.
func (b *bed) tenantsOn() {
	b.t.Helper()
	for i, hosts := range [][2]string{{"DC1", "DC2"}, {"B1", "B2"}} {
		b.change(func(c *controller.Core) error {
			_, _, err := c.Tenants().Put(string(rune('a'+i)), api.TenantSpec{
				Slice: uint32(i + 1), Priority: uint8(3 - i), Policies: []string{"wan"},
				Sites: []api.TenantSite{{Switch: "R1", Port: b.port(hosts[0])},
					{Switch: "R3", Port: b.port(hosts[1])}},
			}, resource.Precondition{})
			return err
		})
	}
}

func (b *bed) lossless(edit func(*api.PFCPolicySpec)) {
	b.t.Helper()
	spec := api.PFCPolicySpec{SRv6Policy: "wan", Tenant: "a"}
	if edit != nil {
		edit(&spec)
	}
	b.change(func(c *controller.Core) error {
		_, _, err := c.PFCPolicies().Put("lossless", spec, resource.Precondition{})
		return err
	})
}

func (b *bed) policy() api.PFCPolicy {
	b.t.Helper()
	p, err := b.core().PFCPolicies().Get("lossless")
	b.must(err)
	return p
}

func (b *bed) programmed() {
	b.t.Helper()
	b.run(time.Second)
	if p := b.policy(); !p.Status.Conditions.Is(api.Programmed) ||
		p.Status.Conditions.Is(api.Degraded) {
		b.t.Fatalf("%+v", p.Status)
	}
}

// datagram is a packet of a stream between two hosts, with a number in its payload.
func (b *bed) datagram(from, to string, number uint32, size int) []byte {
	src, dst := b.address(from), b.address(to)
	payload := make([]byte, size)
	binary.BigEndian.PutUint32(payload, number)
	u := packet.UDP{SrcPort: 1000, DstPort: 2000, Length: uint16(packet.UDPLen + size)}
	d := append(u.Append(nil), payload...)
	u.Checksum = packet.UDPChecksum(src, dst, d)
	copy(d, u.Append(nil))
	ip := packet.IPv6{NextHeader: packet.NextHeaderUDP, HopLimit: 64, PayloadLength: uint16(len(d)),
		Src: src, Dst: dst}
	sw, _ := b.w.Network.Uplink(from)
	gateway, err := b.w.Switch(sw)
	b.must(err)
	frame := packet.Ethernet{Dst: gateway.Switch.MAC, Src: b.mac(from),
		EtherType: packet.EtherTypeIPv6}.Append(nil)
	return append(ip.Append(frame), d...)
}

func (b *bed) host(name string) *lab.Host {
	for i := range b.w.Network.Hosts {
		if h := &b.w.Network.Hosts[i]; h.Name == name {
			return h
		}
	}
	b.t.Fatalf("no host %s", name)
	return nil
}

func (b *bed) address(host string) netip.Addr { return b.host(host).Address }
func (b *bed) mac(host string) packet.MAC     { return b.host(host).MAC }
