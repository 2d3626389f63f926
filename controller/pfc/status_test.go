package pfc

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/pfc/tunnel"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/southbound/entry"
)

// carried is a desk whose SRv6 policy p carries tenant a losslessly, by PFC policy r.
func carried(t *testing.T) (*Feature, *sample.Net, reconcile.Events) {
	t.Helper()
	f, net, events := newDesk(t)
	makeCapable(f, net)
	policy, tenant := specs(net)
	always := resource.Precondition{}
	_, _, err := f.SRv6Policies().Put("p", policy, always)
	if err == nil {
		_, _, err = f.Tenants().Put("a", tenant, always)
	}
	if err == nil {
		_, _, err = f.PFCPolicies().Put("r", api.PFCPolicySpec{SRv6Policy: "p", Tenant: "a"}, always)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.core.Assume()
	return f, net, events
}

// TestProgrammed: an SRv6 policy is programmed when every managed switch on the path holds the
// policy. The controller waits for a disconnected switch, but not for a node that the controller
// does not program.
func TestProgrammed(t *testing.T) {
	f, _, events := carried(t)
	for _, c := range []struct {
		what string
		do   func()
		want string
	}{
		{"no switches", func() {}, "Programmed=yes (Installed) Degraded=no (Healthy)"},
		{"one of another path",
			func() { events.SetSwitches(map[string]bool{"n3": true}, reconcile.Intervals{}) },
			"Programmed=yes (Installed) Degraded=no (Healthy)"},
		{"one of its own",
			func() { events.SetSwitches(map[string]bool{"n4": true}, reconcile.Intervals{}) },
			"Programmed=no (Disconnected) Degraded=yes (Disconnected)"},
		{"it is connected", func() { events.Connect("n4", entry.Contents{}) },
			"Programmed=yes (Installed) Degraded=no (Healthy)"},
	} {
		c.do()
		f.stale = true
		f.Report()
		p, err := f.SRv6Policies().Get("p")
		if got := feature.Summary(p.Status.Conditions); err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, %v; want %s", c.what, got, err, c.want)
		}
	}
}

// TestInstalling: an SRv6 policy is not programmed while any switch on the path still waits for a
// write.
func TestInstalling(t *testing.T) {
	names := []string{"n1", "n4", "n6"}
	for _, busy := range append([]string{""}, names...) {
		f, _, events := carried(t)
		events.SetSwitches(map[string]bool{"n1": true, "n4": true, "n6": true}, reconcile.Intervals{})
		for _, sw := range names {
			events.Connect(sw, entry.Contents{})
		}
		want := "Programmed=yes (Installed) Degraded=no (Healthy)"
		if busy != "" {
			f.env.Want.Set(busy, owner, entities(f.env.Net, f.env.Inventory().Switch(busy),
				f.core.Node(f.env.Net.Node(busy).ID)), nil)
			want = "Programmed=no (Installing) Degraded=no (Healthy)"
		}
		f.stale = true
		f.Report()
		p, err := f.SRv6Policies().Get("p")
		if got := feature.Summary(p.Status.Conditions); err != nil || !strings.Contains(got, want) {
			t.Errorf("%q is to be written: %s, %v; want %s", busy, got, err, want)
		}
	}
}

// TestStatusWaits: stored resources are not accepted until the topology contains their switches.
func TestStatusWaits(t *testing.T) {
	f, net := newFeature(t)
	makeCapable(f, net)
	now := time.Unix(1e9, 0)
	policy, tenant := specs(net)
	f.srv6Policies.Put("p", policy, now)
	f.tenants.Put("a", tenant, now).Decided.VRF = 1
	f.pfcPolicies.Put("r", api.PFCPolicySpec{SRv6Policy: "p", Tenant: "a", Scenario: 1,
		Buffer: 1 << 20}, now)
	for _, want := range []string{"Accepted=no (NotPlannable)", "Accepted=yes (Planned)"} {
		f.stale = true
		f.Report()
		p, err1 := f.SRv6Policies().Get("p")
		a, err2 := f.Tenants().Get("a")
		r, err3 := f.PFCPolicies().Get("r")
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		for what, cs := range map[string]api.Conditions{"SRv6 policy": p.Status.Conditions,
			"tenant": a.Status.Conditions, "PFC policy": r.Status.Conditions} {
			if got := feature.Summary(cs); !strings.Contains(got, want) {
				t.Errorf("%s: %s, want %s", what, got, want)
			}
		}
		f.putWaiting()
	}
}

// TestSitePrefixes: the prefixes behind a site come from the tenant, otherwise from the hosts at
// the port of the site.
func TestSitePrefixes(t *testing.T) {
	f, net := newFeature(t)
	h := net.Inventory.Hosts[0]
	own := netip.PrefixFrom(h.Address, h.Address.BitLen())
	one, two := netip.MustParsePrefix("2001:db8:7::/48"), netip.MustParsePrefix("10.7.0.0/16")
	for _, c := range []struct{ says, want []netip.Prefix }{
		{nil, []netip.Prefix{own}},
		{[]netip.Prefix{one}, []netip.Prefix{one}},
		{[]netip.Prefix{one, two}, []netip.Prefix{one, two}},
	} {
		s := api.TenantSite{Switch: h.Switch, Port: h.Port, Prefixes: c.says}
		if got := f.sitePrefixes(&s); !slices.Equal(got, c.want) {
			t.Errorf("the tenant says %v: %v, want %v", c.says, got, c.want)
		}
	}
}

// TestStatusOfPFCPolicy: a waiting PFC policy is not programmed, even if the SRv6 policy is. A
// deployed PFC policy shows which node each queue stops, and whether a downstream node stops the
// queue.
func TestStatusOfPFCPolicy(t *testing.T) {
	f, _, _ := carried(t)
	f.pfcPolicies.Put("waits", api.PFCPolicySpec{SRv6Policy: "p", Tenant: "none"}, time.Unix(1e9, 0))
	f.stale = true
	f.Report()
	for name, want := range map[string]string{
		"waits": "Accepted=no (NotPlannable) Programmed=no (Installing)",
		"r":     "Accepted=yes (Planned) Programmed=yes (Installed)",
	} {
		r, err := f.PFCPolicies().Get(name)
		if got := feature.Summary(r.Status.Conditions); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %s, %v; want %s", name, got, err, want)
		}
	}
	r, err := f.PFCPolicies().Get("r")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range r.Status.Nodes {
		got = append(got, fmt.Sprintf("%s stops %q, is stopped: %v", n.Switch, n.Upstream,
			n.SID.IsValid()))
	}
	if text, want := strings.Join(got, "; "), `n6 stops "", is stopped: true; n1 stops "n6", `+
		`is stopped: false`; text != want {
		t.Errorf("%s; want %s", text, want)
	}
}

// TestProbesCount: a probe that returns to the sending switch shows that the tunnel is up. The
// controller ignores a probe for another address, or from a switch outside the topology.
func TestProbesCount(t *testing.T) {
	f, _, _ := carried(t)
	state := func() (out []api.TunnelState) {
		for _, x := range f.pfcTunnels(f.pfcPolicies.Get("r")) {
			out = append(out, x.State)
		}
		return out
	}
	f.env.Now = time.Second
	f.Tick()
	probes := f.core.Ready().Probes
	if len(probes) != 2 {
		t.Fatalf("probes %+v, want two", probes)
	}
	f.env.Now += time.Millisecond
	back := func(sw string, p tunnel.Probe) {
		t.Helper()
		_, _, out, ok := probeFrame(f.env.Net, p, time.Second)
		if !ok {
			t.Fatalf("no frame of %+v", p)
		}
		f.SwitchEvent(sw, feature.SwitchEvent{Kind: feature.GotPacket, PacketIn: &entry.PacketIn{
			Reason: entry.Routed,
			Payload: append(packet.Ethernet{EtherType: packet.EtherTypeIPv6}.Append(nil),
				out[len(out)-packet.IPv6Len-packet.UDPLen-probeLen:]...)}})
	}
	for _, p := range probes {
		sw, _ := f.env.Net.SwitchOf(p.From)
		other := p
		other.Source = netip.MustParseAddr("2001:db8::99")
		back(sw, other)
		back("unknown", p)
	}
	for _, got := range state() {
		if got != api.TunnelUnknown {
			t.Errorf("tunnels are %v, want them unknown", state())
		}
	}
	for _, p := range probes {
		sw, _ := f.env.Net.SwitchOf(p.From)
		back(sw, p)
	}
	for _, got := range state() {
		if got != api.TunnelUp {
			t.Errorf("tunnels are %v, want them up", state())
		}
	}
}

// TestLearnedPolicyStays: a PFC policy of scenario 2 gets tunnels after the first packet of the
// tenant. A changed policy keeps the tunnels, unless the tenant changes.
func TestLearnedPolicyStays(t *testing.T) {
	f, net, _ := carried(t)
	net.Hosts("n6", "s2")
	f.env.Net = plan.NewNetwork(net.Topology.Build(), &net.Inventory)
	_, other := specs(net)
	other.Slice, other.Sites[0].Port, other.Sites[1].Port = 2, 102, 102
	if _, _, err := f.Tenants().Put("b", other, resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	if err := f.PFCPolicies().Delete("r", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	present, _ := f.core.Present("p")
	head := present.Path.Hops[0]
	for _, c := range []struct {
		what    string
		seen    bool // a packet, after the change
		change  func(*api.PFCPolicySpec)
		tunnels int
	}{
		{"new", false, func(*api.PFCPolicySpec) {}, 0},
		{"a packet", true, func(*api.PFCPolicySpec) {}, 2},
		{"another buffer", false, func(s *api.PFCPolicySpec) { s.Buffer = 8 << 20 }, 2},
		{"another tenant", false, func(s *api.PFCPolicySpec) { s.Tenant = "b" }, 0},
	} {
		spec := api.PFCPolicySpec{SRv6Policy: "p", Tenant: "a", Scenario: 2}
		c.change(&spec)
		if _, _, err := f.PFCPolicies().Put("r", spec, resource.Precondition{}); err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		if c.seen {
			f.SwitchEvent("n1", feature.SwitchEvent{Kind: feature.GotDigest, Digest: &entry.Digest{
				Name: p4.DigestPfcPolicyT, Reports: [][]entry.Value{{entry.Addr(head.Address),
					entry.Addr(head.Address), entry.Uint(1), entry.Uint(0), entry.Uint(0), entry.Uint(0),
					entry.Addr(head.PFC)}}}})
		}
		r, err := f.PFCPolicies().Get("r")
		if err != nil || len(r.Status.Tunnels) != c.tunnels {
			t.Errorf("%s: tunnels %+v, %v; want %d", c.what, r.Status.Tunnels, err, c.tunnels)
		}
	}
}

// TestOtherSettings: the controller plans a PFC policy again when the settings of the inventory
// change.
func TestOtherSettings(t *testing.T) {
	f, net, _ := carried(t)
	rtt := func() time.Duration {
		r, err := f.PFCPolicies().Get("r")
		if err != nil || len(r.Status.Nodes) != 2 {
			t.Fatalf("%+v, %v", r.Status, err)
		}
		return r.Status.Nodes[1].Watermarks.RTT.D()
	}
	if got, want := rtt(), net.Inventory.PFC.RTT.D(); got != want {
		t.Errorf("planned for %v, want %v", got, want)
	}
	other := net.Inventory
	other.PFC.RTT *= 2
	f.env.Net = plan.NewNetwork(net.Topology.Build(), &other)
	f.SetNetwork()
	if got, want := rtt(), other.PFC.RTT.D(); got != want || f.waiting() {
		t.Errorf("planned for %v, want %v; something waits: %v", got, want, f.waiting())
	}
}

// TestReasonOfRemoval: what leaves switches does so for what was deleted since the last time, or
// else for a change.
func TestReasonOfRemoval(t *testing.T) {
	f, _, _ := carried(t)
	const changed = "their paths or specifications have changed"
	if got := f.Removal(owner); got != changed {
		t.Errorf("%q, want %q", got, changed)
	}
	always := resource.Precondition{}
	err := f.PFCPolicies().Delete("r", always)
	if err == nil {
		err = f.Tenants().Delete("a", always)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Removal(owner + 1); got != "" {
		t.Errorf("of another owner: %q", got)
	}
	for _, want := range []string{"PFC policy r, tenant a deleted", changed} {
		if got := f.Removal(owner); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestTenantIsItsOwn: what its maker does with a specification after it was put changes no tenant.
func TestTenantIsItsOwn(t *testing.T) {
	f, net := newFeature(t)
	makeCapable(f, net)
	policy, tenant := specs(net)
	always := resource.Precondition{}
	_, _, err := f.SRv6Policies().Put("p", policy, always)
	if err == nil {
		_, _, err = f.Tenants().Put("a", tenant, always)
	}
	before, err1 := f.Tenants().Get("a")
	if err != nil || err1 != nil {
		t.Fatal(err, err1)
	}
	tenant.Policies[0], tenant.Sites[1].Port = "q", 9
	if after, err := f.Tenants().Get("a"); err != nil || !after.Spec.Equal(&before.Spec) {
		t.Errorf("%+v, %v; want %+v", after.Spec, err, before.Spec)
	}
}

// TestChangesAreTold: each change to the state of a resource sends an event for the kind. No change
// sends no event.
func TestChangesAreTold(t *testing.T) {
	f, _, _ := carried(t)
	for _, want := range [][]string{
		{"srv6-policy.changed p", "tenant.changed a", "pfc-policy.changed r"}, nil,
	} {
		f.env.Take()
		f.stale = true
		f.Report()
		events, _ := f.env.Take()
		var got []string
		for _, e := range events {
			got = append(got, string(e.Type)+" "+e.Object)
		}
		if !slices.Equal(got, want) {
			t.Errorf("events %q, want %q", got, want)
		}
	}
}

// TestQueueReported: the controller keeps the queue reports of a switch by the node and the port of
// the link. A queue with a pause of 0 s is not paused now.
func TestQueueReported(t *testing.T) {
	f, net, _ := carried(t)
	net.Inventory.Switches[0].Ports = map[uint32]uint32{7: 3}
	f.env.Net = plan.NewNetwork(net.Topology.Build(), &net.Inventory)
	sw := net.Inventory.Switches[0].Name
	q := tunnel.Queue{Node: f.env.Net.Node(sw).ID, Port: 7, Priority: 2}
	for _, paused := range []time.Duration{0, time.Nanosecond, time.Second} {
		r := p4.QueueReport{Paused: paused, Octets: 5}
		frame := p4.TargetFrame{Op: p4.TargetOpState, Direction: p4.PfcDirectionEgress, Port: 3,
			Priority: 2}
		f.queueReported(sw, entry.PacketIn{Payload: r.Append(frame.Append(nil))})
		s := f.queueStatus(q)
		if s == nil || s.Paused != (paused > 0) || s.Held != 5 {
			t.Errorf("paused for %v: %+v", paused, s)
		}
	}
	other := p4.TargetFrame{Op: p4.TargetOpState, Direction: p4.PfcDirectionIngress, Port: 3,
		Priority: 4}
	f.queueReported(sw, entry.PacketIn{Payload: p4.QueueReport{}.Append(other.Append(nil))})
	q.Priority = 4
	if s := f.queueStatus(q); s != nil {
		t.Errorf("a queue of ingress is reported as one of egress: %+v", s)
	}
}

// TestQueueStatus: clients see the queue reports of a switch, with wall-clock times, and the length
// of a pause while the queue is paused.
func TestQueueStatus(t *testing.T) {
	f, _, _ := carried(t)
	q := tunnel.Queue{Node: "n", Port: 1, Priority: 3}
	if s := f.queueStatus(q); s != nil {
		t.Errorf("not reported: %+v", s)
	}
	f.core.Tick(time.Minute)
	at := f.env.Start.Add(time.Minute).UTC()
	for _, paused := range []bool{true, false} {
		f.core.Report(q, tunnel.Report{Paused: paused, PausedFor: time.Second, Held: 1, MaxHeld: 2,
			XOFFReceived: 3, XOFFSent: 4, XONSent: 5, Dropped: 6, Storms: 7,
			XOFFSentAge: 8 * time.Second, XONSentAge: -1})
		want := api.PFCQueue{Paused: paused, Held: 1, MaxHeld: 2, PausesReceived: 3, XOFFSent: 4,
			XONSent: 5, Dropped: 6, Storms: 7, LastXOFF: at.Add(-8 * time.Second), At: at}
		if paused {
			want.PausedFor = api.Duration(time.Second)
		}
		if s := f.queueStatus(q); s == nil || *s != want {
			t.Errorf("%+v, want %+v", s, want)
		}
	}
}
