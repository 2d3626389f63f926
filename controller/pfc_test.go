package controller

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/topology"
)

// pfcNetwork is R1 - R2 - R3 with hosts at both ends, R1 and R3 PFC-capable, and a router X that is
// not programmed.
func pfcNetwork() (*topology.Snapshot, inventory.Inventory) {
	inv := inventory.Default()
	b := topology.NewBuilder()
	behaviors := topology.DefaultPFCBehaviors()
	sid := func(n, function int) netip.Addr {
		return netip.MustParseAddr(fmt.Sprintf("5f00:0:%x:%x::", n, function))
	}
	names := []string{"R1", "R2", "R3", "X"}
	for i, name := range names {
		n := i + 1
		node := topology.Node{
			ID: topology.NodeID("64512:" + name), Name: name,
			Loopback: netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", n)),
			Locators: []topology.Locator{{Prefix: netip.MustParsePrefix(fmt.Sprintf("5f00:0:%x::/48", n))}},
			SIDs:     []topology.SID{{Address: sid(n, 1), Behavior: topology.BehaviorEnd}},
		}
		if name == "R1" || name == "R3" {
			node.SIDs = append(node.SIDs, topology.SID{Address: sid(n, 3), Behavior: behaviors.End})
		}
		b.SetNode(node)
		sw := inventory.Switch{Name: name, Address: name + ":9559", DeviceID: 1,
			MAC: inventory.MAC{2, 0, 0, 0, 0, byte(n)}}
		if name == "X" {
			sw.Address = ""
		}
		inv.Switches = append(inv.Switches, sw)
	}
	link := func(from, to, out, in int) {
		l := topology.Link{
			Local: topology.NodeID("64512:" + names[from]), Remote: topology.NodeID("64512:" + names[to]),
			LocalID: uint32(out), RemoteID: uint32(in), IGPMetric: 10, MaxBandwidth: 1e9,
			EndX: []topology.EndX{{SID: topology.SID{Address: sid(from+1, 0x100+out),
				Behavior: topology.BehaviorEndX}}},
		}
		if from != 1 {
			l.EndX = append(l.EndX, topology.EndX{SID: topology.SID{Address: sid(from+1, 0x300+out),
				Behavior: behaviors.EndX}})
		}
		b.SetLink(l)
	}
	link(0, 1, 1, 1)
	link(1, 0, 1, 1)
	link(1, 2, 2, 1)
	link(2, 1, 1, 2)
	for i, h := range []struct {
		name, sw string
		port     uint32
	}{{"a1", "R1", 11}, {"a2", "R3", 11}, {"b1", "R1", 12}, {"b2", "R3", 12}} {
		inv.Hosts = append(inv.Hosts, inventory.Host{
			Name: h.name, Switch: h.sw, Port: h.port,
			Address: netip.MustParseAddr(fmt.Sprintf("2001:db8:1:%d::1", i+1)),
			MAC:     inventory.MAC{2, 0, 0, 1, 0, byte(i)},
		})
	}
	return b.Build(), inv
}

// pfcCore is a core on that network without any switch.
func pfcCore(t *testing.T, records []store.Record) *Core {
	t.Helper()
	snap, inv := pfcNetwork()
	inv.Intervals.Settle = 0
	c, err := NewCore(Config{Inventory: inv, Start: time.Unix(1e9, 0)}, records)
	if err != nil {
		t.Fatal(err)
	}
	c.SetTopology(snap)
	return c
}

func wanSpec() api.SRv6PolicySpec {
	return api.SRv6PolicySpec{Headend: "R1", Endpoint: "R3",
		Segments: []api.PolicySegment{{Node: "R2"}}}
}

func tenantSpec(slice uint32, priority uint8, port uint32) api.TenantSpec {
	return api.TenantSpec{Slice: slice, Priority: priority, Policies: []string{"wan"},
		Sites: []api.TenantSite{{Switch: "R1", Port: port}, {Switch: "R3", Port: port}}}
}

func figure3Core(t *testing.T) *Core {
	t.Helper()
	c := pfcCore(t, nil)
	putPFC(t, c)
	c.Ready(0)
	return c
}

// putPFC makes an SRv6 policy, a tenant and a PFC policy.
func putPFC(t *testing.T, c *Core) {
	t.Helper()
	if _, _, err := c.SRv6Policies().Put("wan", wanSpec(), resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Tenants().Put("a", tenantSpec(1, 3, 11), resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.PFCPolicies().Put("p", api.PFCPolicySpec{SRv6Policy: "wan", Tenant: "a"},
		resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
}

// TestPFCRefusals: bad input has a code and names the field, and changes nothing.
func TestPFCRefusals(t *testing.T) {
	c := figure3Core(t)
	before := c.pfcState()
	put := func(f func(*api.TenantSpec)) error {
		s := tenantSpec(2, 2, 12)
		f(&s)
		_, _, err := c.Tenants().Put("b", s, resource.Precondition{})
		return err
	}
	policy := func(f func(*api.SRv6PolicySpec)) error {
		s := wanSpec()
		f(&s)
		_, _, err := c.SRv6Policies().Put("other", s, resource.Precondition{})
		return err
	}
	pfc := func(f func(*api.PFCPolicySpec)) error {
		s := api.PFCPolicySpec{SRv6Policy: "wan", Tenant: "a"}
		f(&s)
		_, _, err := c.PFCPolicies().Put("p", s, resource.Precondition{})
		return err
	}
	for _, x := range []struct {
		name string
		err  error
		code api.Code
		text string
	}{
		{"unknown headend", policy(func(s *api.SRv6PolicySpec) { s.Headend = "R9" }), api.CodeInvalid,
			`spec.headend is "R9"`},
		{"unmanaged endpoint", policy(func(s *api.SRv6PolicySpec) { s.Endpoint = "X" }), api.CodeInvalid,
			"spec.endpoint"},
		{"both ends", policy(func(s *api.SRv6PolicySpec) { s.Endpoint = "R1" }), api.CodeInvalid,
			"another switch than the headend"},
		{"unknown segment", policy(func(s *api.SRv6PolicySpec) { s.Segments[0].Node = "R9" }),
			api.CodeInvalid, "spec.segments[0].node"},
		{"unknown SID",
			policy(func(s *api.SRv6PolicySpec) {
				s.Segments[0] = api.PolicySegment{SID: netip.MustParseAddr("::1")}
			}), api.CodeInvalid, "spec.segments[0].sid"},
		{"node and SID",
			policy(func(s *api.SRv6PolicySpec) { s.Segments[0].SID = netip.MustParseAddr("::1") }),
			api.CodeInvalid, "spec.segments[0]"},
		{"metric", policy(func(s *api.SRv6PolicySpec) { s.Metric = "fun" }), api.CodeInvalid,
			"spec.metric"},
		{"mode", policy(func(s *api.SRv6PolicySpec) { s.Mode = "fun" }), api.CodeInvalid, "spec.mode"},
		{"loop",
			policy(func(s *api.SRv6PolicySpec) {
				s.Segments = []api.PolicySegment{{Node: "R3"}, {Node: "R2"}}
			}), api.CodeInvalid, "twice"},
		{"unreachable",
			policy(func(s *api.SRv6PolicySpec) { s.Segments = []api.PolicySegment{{Node: "X"}} }),
			api.CodeUnreachable, "no path"},
		{"priority", put(func(s *api.TenantSpec) { s.Priority = 8 }), api.CodeInvalid,
			"spec.priority is 8: want a priority from 0 to 7 (limit 7)"},
		{"slice of another", put(func(s *api.TenantSpec) { s.Slice = 1 }), api.CodeConflict, "tenant a"},
		{"slice 0", put(func(s *api.TenantSpec) { s.Slice = 0 }), api.CodeInvalid, "spec.slice"},
		{"slice too high", put(func(s *api.TenantSpec) { s.Slice = 4096 }), api.CodeInvalid,
			"limit 4095"},
		{"port of another", put(func(s *api.TenantSpec) { s.Sites[0].Port = 11 }), api.CodeConflict,
			"spec.sites[0].port"},
		{"port without host", put(func(s *api.TenantSpec) { s.Sites[0].Port = 40 }), api.CodeInvalid,
			"spec.sites[0].port is 40"},
		{"port twice", put(func(s *api.TenantSpec) { s.Sites = append(s.Sites, s.Sites[0]) }),
			api.CodeInvalid, "spec.sites[2].port"},
		{"foreign prefix", put(func(s *api.TenantSpec) {
			s.Sites[0].Prefixes = []netip.Prefix{netip.MustParsePrefix("2001:db8:9::/64")}
		}), api.CodeInvalid, "spec.sites[0].prefixes[0]"},
		{"unknown site", put(func(s *api.TenantSpec) { s.Sites[0].Switch = "R9" }), api.CodeInvalid,
			"spec.sites[0].switch"},
		{"no sites", put(func(s *api.TenantSpec) { s.Sites = nil }), api.CodeInvalid, "spec.sites"},
		{"unknown policy", put(func(s *api.TenantSpec) { s.Policies = []string{"none"} }),
			api.CodeInvalid, "spec.policies[0]"},
		{"no packet in the buffer", pfc(func(s *api.PFCPolicySpec) { s.Buffer = 4095 }),
			api.CodeInvalid, "spec.buffer is 4095: want at least 4096 octets"},
		{"XOFF above the buffer", pfc(func(s *api.PFCPolicySpec) { s.Buffer, s.XOFF = 4096, 4097 }),
			api.CodeInvalid, "spec.xoff is 4097: want at most the buffer of 4096 octets (limit 4096)"},
		{"XON above XOFF", pfc(func(s *api.PFCPolicySpec) { s.XOFF, s.XON = 1000, 1000 }),
			api.CodeInvalid, "spec.xon"},
		{"XON above the buffer", pfc(func(s *api.PFCPolicySpec) { s.XON = 1 << 30 }), api.CodeInvalid,
			"spec.xon"},
		{"scenario", pfc(func(s *api.PFCPolicySpec) { s.Scenario = 3 }), api.CodeInvalid,
			"spec.scenario"},
		{"tunnel", pfc(func(s *api.PFCPolicySpec) { s.Tunnel = "gre" }), api.CodeInvalid, "spec.tunnel"},
		{"unknown tenant", pfc(func(s *api.PFCPolicySpec) { s.Tenant = "none" }), api.CodeInvalid,
			"spec.tenant"},
		{"unknown SRv6 policy", pfc(func(s *api.PFCPolicySpec) { s.SRv6Policy = "none" }),
			api.CodeInvalid, "spec.srv6Policy"},
		{"pause too long", pfc(func(s *api.PFCPolicySpec) { s.MaxPause = api.Duration(2 * time.Hour) }),
			api.CodeInvalid, "spec.maxPause"},
		{"policy in use", c.SRv6Policies().Delete("wan", resource.Precondition{}), api.CodeConflict,
			"tenants/a, pfc-policies/p"},
		{"tenant in use", c.Tenants().Delete("a", resource.Precondition{}), api.CodeConflict,
			"pfc-policies/p"},
		{"none such", c.PFCPolicies().Delete("q", resource.Precondition{}), api.CodeNotFound, `"q"`},
		{"another version", c.PFCPolicies().Delete("p", resource.Precondition{Version: 99}),
			api.CodeVersion, "99"},
	} {
		var e *api.Error
		if !errors.As(x.err, &e) || e.Code != x.code || !strings.Contains(e.Error(), x.text) {
			t.Errorf("%s: %v, want %s with %q", x.name, x.err, x.code, x.text)
		}
	}
	if after := c.pfcState(); !reflect.DeepEqual(after, before) {
		t.Errorf("something has changed:\n%v\n%v", before, after)
	}
	if r := c.Ready(0); len(r.Saves) > 0 {
		t.Errorf("something was saved: %v", r.Saves)
	}
}

// pfcState is everything that PFC policies make of the network.
func (c *Core) pfcState() []string {
	var out []string
	for _, sw := range []string{"R1", "R2", "R3"} {
		for _, e := range c.Wanted(sw) {
			out = append(out, fmt.Sprint(sw, " ", e))
		}
	}
	return append(out, fmt.Sprintf("%+v %+v %+v", c.SRv6Policies().List(), c.Tenants().List(),
		c.PFCPolicies().List()))
}

// TestPFCUpstreamNotCapable: a policy whose upstream advertises no End.X.PFC has no PFC policy.
func TestPFCUpstreamNotCapable(t *testing.T) {
	c := figure3Core(t)
	s := api.SRv6PolicySpec{Headend: "R2", Endpoint: "R3"}
	if _, _, err := c.SRv6Policies().Put("short", s, resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	inv := *c.Inventory()
	inv.Hosts = append(inv.Hosts, inventory.Host{Name: "c1", Switch: "R2", Port: 13,
		Address: netip.MustParseAddr("2001:db8:1:9::1"), MAC: inventory.MAC{2, 9}},
		inventory.Host{Name: "c2", Switch: "R3", Port: 13,
			Address: netip.MustParseAddr("2001:db8:1:a::1"), MAC: inventory.MAC{2, 10}})
	if err := c.SetInventory(inv); err != nil {
		t.Fatal(err)
	}
	tenant := api.TenantSpec{Slice: 3, Priority: 1, Policies: []string{"short"},
		Sites: []api.TenantSite{{Switch: "R2", Port: 13}, {Switch: "R3", Port: 13}}}
	if _, _, err := c.Tenants().Put("c", tenant, resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	_, _, err := c.PFCPolicies().Put("q", api.PFCPolicySpec{SRv6Policy: "short", Tenant: "c"},
		resource.Precondition{})
	var e *api.Error
	if !errors.As(err, &e) || e.Code != api.CodeInvalid ||
		!strings.Contains(e.Error(), "upstream R2 is not PFC-capable") {
		t.Errorf("%v", err)
	}
	if _, err := c.PFCPolicies().Get("q"); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("it is there: %v", err)
	}
}

// TestPFCRestart: a controller that starts again wants of switches what the one before did, and
// nothing less meanwhile.
func TestPFCRestart(t *testing.T) {
	var records []store.Record
	c := pfcCore(t, nil)
	kept := make(map[string][]byte)
	for _, f := range []func() error{
		func() error {
			_, _, err := c.SRv6Policies().Put("wan", wanSpec(), resource.Precondition{})
			return err
		},
		func() error {
			_, _, err := c.Tenants().Put("a", tenantSpec(1, 3, 11), resource.Precondition{})
			return err
		},
		func() error {
			_, _, err := c.Tenants().Put("b", tenantSpec(2, 2, 12), resource.Precondition{})
			return err
		},
		func() error { return c.Tenants().Delete("b", resource.Precondition{}) },
		func() error {
			_, _, err := c.PFCPolicies().Put("p", api.PFCPolicySpec{SRv6Policy: "wan", Tenant: "a"},
				resource.Precondition{})
			return err
		},
	} {
		if err := f(); err != nil {
			t.Fatal(err)
		}
		for _, op := range c.Ready(0).Saves {
			if kept[op.Key] = op.Value; op.Value == nil {
				delete(kept, op.Key)
			}
		}
	}
	for range 5 {
		c.Tick(c.Now() + 100*time.Millisecond)
	}
	for key, value := range kept {
		records = append(records, store.Record{Key: key, Value: value})
	}
	again := pfcCore(t, records)
	if a, b := c.pfcState(), again.pfcState(); !reflect.DeepEqual(a[:len(a)-1], b[:len(b)-1]) {
		t.Errorf("%d wanted before, %d after:\n%s\n\n%s", len(a), len(b), strings.Join(a, "\n"),
			strings.Join(b, "\n"))
	}
	p, err := again.PFCPolicies().Get("p")
	if err != nil || !p.Status.Conditions.Is(api.Accepted) || p.Version == 0 ||
		len(p.Status.Tunnels) != 2 {
		t.Errorf("%+v, %v", p, err)
	}
	if _, created, err := again.PFCPolicies().Put("p",
		api.PFCPolicySpec{SRv6Policy: "wan", Tenant: "a"}, resource.Precondition{}); created ||
		err != nil {
		t.Errorf("the same again: created %v, %v", created, err)
	}
}

// TestPFCPriority: no PFC policy pauses the priority of the PFC frames.
func TestPFCPriority(t *testing.T) {
	c := figure3Core(t)
	if _, _, err := c.Tenants().Put("b", tenantSpec(2, 7, 12), resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	_, _, err := c.PFCPolicies().Put("q", api.PFCPolicySpec{SRv6Policy: "wan", Tenant: "b"},
		resource.Precondition{})
	var e *api.Error
	if !errors.As(err, &e) || e.Code != api.CodeInvalid ||
		!strings.Contains(e.Error(), "another priority than 7") {
		t.Errorf("%v", err)
	}
}

// TestPathLeavesPort checks that an SRv6 policy with a computed path, and so the tunnels over the
// policy, leave a link with a port down while BGP-LS still advertises the link, and return after
// the hold.
func TestPathLeavesPort(t *testing.T) {
	snap, inv := pfcNetwork()
	inv.Intervals.Settle = 0
	b := snap.Builder()
	join := func(from, to topology.NodeID, out, in uint32) { // a longer way, by X
		end := netip.MustParseAddr(fmt.Sprintf("5f00:0:9:%x::", out))
		b.SetLink(topology.Link{Local: from, Remote: to, LocalID: out, RemoteID: in, IGPMetric: 20,
			MaxBandwidth: 1e9,
			EndX:         []topology.EndX{{SID: topology.SID{Address: end, Behavior: topology.BehaviorEndX}}}})
	}
	join("64512:R1", "64512:X", 21, 1)
	join("64512:X", "64512:R1", 1, 21)
	join("64512:X", "64512:R3", 2, 21)
	join("64512:R3", "64512:X", 21, 2)
	c, err := NewCore(Config{Inventory: inv, Start: time.Unix(1e9, 0)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.SetTopology(b.Build())
	computed := api.SRv6PolicySpec{Headend: "R1", Endpoint: "R3"}
	if _, _, err := c.SRv6Policies().Put("wan", computed, resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	c.Ready(0)
	path := func(want string) {
		t.Helper()
		p, err := c.SRv6Policies().Get("wan")
		if got := strings.Join(p.Status.Path, " "); err != nil || got != want {
			t.Errorf("path %s, %v; want %s", got, err, want)
		}
	}
	path("R1 R2 R3")
	c.SetPorts("R1", PortStates{Up: map[uint32]bool{1: false, 21: true}})
	c.Tick(time.Millisecond)
	path("R1 X R3")
	c.SetPorts("R1", PortStates{Up: map[uint32]bool{1: true, 21: true}})
	c.Tick(2 * time.Millisecond)
	path("R1 X R3") // the port is held
	c.Tick(2 * time.Second)
	path("R1 R2 R3")
}

// TestLinkOfPolicyReturns: a switch that was programmed anew while the link of an SRv6 policy was
// away gets the segment list of the policy when the link is back.
func TestLinkOfPolicyReturns(t *testing.T) {
	two := func() *Core {
		c, _ := programmedPFC(t)
		if _, _, err := c.Tenants().Put("b", tenantSpec(2, 2, 12), resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
		c.obey()
		return c
	}
	leave := func(c *Core) {
		if err := c.Tenants().Delete("b", resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
		c.obey()
	}
	c, always := two(), two()
	leave(always)
	whole := c.Topology()
	b := whole.Builder()
	for _, l := range whole.Links {
		if l.Local == "64512:R1" || l.Remote == "64512:R1" {
			b.RemoveLink(l.ID)
		}
	}
	c.SetTopology(b.Build())
	c.obey()
	leave(c)
	for _, l := range whole.Links {
		b.SetLink(*l)
	}
	c.SetTopology(b.Build())
	for at := time.Duration(1); at < 20; at++ {
		c.Tick(at * time.Second)
		c.obey()
	}
	if all := c.written(always.held(), c.held()); len(all) > 0 {
		t.Errorf("after the link has come back switches hold others: %q", all)
	}
}
