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
	"github.com/weft-sdn/weft/topology"
)

func newFeature(t *testing.T) (*Feature, *sample.Net) {
	t.Helper()
	f, net, _ := newDesk(t)
	return f, net
}

// newDesk returns a feature without switches, its network, and what happens to switches.
func newDesk(t *testing.T) (*Feature, *sample.Net, reconcile.Events) {
	t.Helper()
	net := sample.Figure1()
	want, switches, events, err := reconcile.New(reconcile.Config{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := New(&feature.Env{Versions: resource.NewVersions("versions"), Want: want,
		Switches: switches, Underlay: deaf{},
		Net: plan.NewNetwork(net.Topology.Build(), &net.Inventory)})
	if err != nil {
		t.Fatal(err)
	}
	return f, net, events
}

// TestOnePFCPolicyOfATenant: a tenant has one PFC policy on an SRv6 policy; whoever may not know of
// the other does not learn its name.
func TestOnePFCPolicyOfATenant(t *testing.T) {
	f, _ := newFeature(t)
	now := time.Unix(1e9, 0)
	f.pfcPolicies.Put("theirs", api.PFCPolicySpec{SRv6Policy: "p", Tenant: "a"}, now)
	blind := resource.Precondition{Sees: func(string) bool { return false }}
	for _, c := range []struct {
		pre                  resource.Precondition
		name, policy, tenant string
		other                string
		taken                bool
	}{
		{resource.Precondition{}, "mine", "p", "a", "theirs", true},
		{blind, "mine", "p", "a", "", true},
		{resource.Precondition{}, "mine", "p", "b", "", false},
		{resource.Precondition{}, "mine", "q", "a", "", false},
		{resource.Precondition{}, "theirs", "p", "a", "", false},
	} {
		other, taken := f.pfcEnv(c.name, c.pre).OtherPFC(c.policy, c.tenant)
		if other != c.other || taken != c.taken {
			t.Errorf("%s of tenant %s on %s: %q, %v; want %q, %v", c.name, c.tenant, c.policy, other, taken,
				c.other, c.taken)
		}
	}
}

// TestRefusals: each error of package tunnel has a code. Only clients that may see the queues of a
// circle get their names.
func TestRefusals(t *testing.T) {
	f, net := newFeature(t)
	circle := &tunnel.CycleError{Cycle: []tunnel.Queue{{Node: net.Node("n1"), Port: 2, Priority: 3},
		{Node: "elsewhere", Port: 4, Priority: 5}}}
	known := &api.Error{Code: api.CodeInvalid, Message: "known"}
	blind := resource.Precondition{Sees: func(string) bool { return false }}
	for _, c := range []struct {
		err  error
		code api.Code
		want string
	}{
		{circle, api.CodeConflict, ": n1/2/3 -> elsewhere/4/5 -> n1/2/3"},
		{known, api.CodeInvalid, "known"},
		{tunnel.ErrUnreachable, api.CodeUnreachable, "spec.sites: "},
		{tunnel.ErrTooLong, api.CodeLimit, "spec.sites: "},
		{tunnel.ErrNoRoom, api.CodeLimit, "spec.sites: "},
		{tunnel.ErrInUse, api.CodeConflict, "spec.sites: "},
		{tunnel.ErrNotCapable, api.CodeInvalid, "spec.sites: "},
		{tunnel.ErrLoop, api.CodeInvalid, "spec.sites: "},
		{tunnel.ErrNoSID, api.CodeInvalid, "spec.sites: "},
		{errors.New("else"), api.CodeNotPlannable, "spec.sites: so: else"},
	} {
		for _, pre := range []resource.Precondition{{}, blind} {
			var got *api.Error
			err := f.refusalFor(pre, "spec.sites", fmt.Errorf("so: %w", c.err))
			if c.err == known || !strings.HasPrefix(c.want, "spec") {
				err = f.refusalFor(pre, "spec.sites", c.err)
			}
			want := c.want
			if pre.Sees != nil && c.err == error(circle) {
				want = "could stop for ever"
			}
			if !errors.As(err, &got) || got.Code != c.code || !strings.Contains(got.Message, want) ||
				pre.Sees != nil && strings.Contains(got.Message, "n1") {
				t.Errorf("%v, to one who sees all: %v: %+v; want %s, %q", c.err, pre.Sees == nil, err, c.code,
					want)
			}
		}
	}
	for _, pre := range []resource.Precondition{{}, blind} {
		if err := f.refusalFor(pre, "spec.sites", nil); err != nil {
			t.Errorf("what is no error: %v", err)
		}
	}
}

// makeCapable makes all switches PFC-capable.
func makeCapable(f *Feature, net *sample.Net) {
	behaviors := topology.DefaultPFCBehaviors()
	for i, n := range net.Topology.Build().Nodes {
		able := *n
		able.SIDs = append(slices.Clone(n.SIDs), topology.SID{Behavior: behaviors.End,
			Address: netip.AddrFrom16([16]byte{0x5f, 2, 5: byte(i + 1)})})
		net.Topology.SetNode(able)
	}
	for i, l := range net.Topology.Build().Links {
		able := *l
		able.EndX = append(slices.Clone(l.EndX), topology.EndX{SID: topology.SID{
			Behavior: behaviors.EndX, Address: netip.AddrFrom16([16]byte{0x5f, 3, 5: byte(i + 1)})}})
		net.Topology.SetLink(able)
	}
	f.env.Net = plan.NewNetwork(net.Topology.Build(), &net.Inventory)
	f.core.SetTopology(f.env.Net.Snapshot)
}

// TestAdvertises: SIDs of nodes and of links are advertised, and no other address.
func TestAdvertises(t *testing.T) {
	f, net := newFeature(t)
	makeCapable(f, net)
	for address, want := range map[string]bool{"5f02::": false, "5f02:0:1::": true, "5f03:0:1::": true,
		"5f04:0:1::": false} {
		if got := f.advertises(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s is advertised: %v", address, got)
		}
	}
}

// TestStatusIsStale: the feature renews the statuses after a read of a switch, a disconnect, or a
// write for this feature.
func TestStatusIsStale(t *testing.T) {
	f, _ := newFeature(t)
	for what, c := range map[string]struct {
		event feature.SwitchEvent
		want  bool
	}{
		"read":               {feature.SwitchEvent{Kind: feature.ReadBack}, true},
		"gone":               {feature.SwitchEvent{Kind: feature.Disconnected}, true},
		"written":            {feature.SwitchEvent{Kind: feature.Progress, Owner: owner}, true},
		"written of another": {feature.SwitchEvent{Kind: feature.Progress, Owner: owner + 1}, false},
	} {
		f.stale = false
		if f.SwitchEvent("n1", c.event); f.stale != c.want {
			t.Errorf("%s: stale %v, want %v", what, f.stale, c.want)
		}
	}
}

// TestPutOnce: what the store had is given to the core once, when the topology has its switches,
// and is not phased in: switches hold it already.
func TestPutOnce(t *testing.T) {
	f, net := newFeature(t)
	now := time.Unix(1e9, 0)
	makeCapable(f, net)
	policy, tenant := specs(net)
	p := f.srv6Policies.Put("p", policy, now)
	a := f.tenants.Put("a", tenant, now)
	a.Decided.VRF = 1
	r := f.pfcPolicies.Put("r", api.PFCPolicySpec{SRv6Policy: "of nobody", Tenant: "a", Scenario: 1,
		Buffer: 1 << 20}, now)
	settled := func() bool {
		present, _ := f.core.Present("p")
		return present.Settled
	}
	f.putWaiting()
	if !p.Decided.put || !a.Decided.put || r.Decided.put || !f.waiting() || !settled() {
		t.Errorf("put: %v, %v, %v; settled: %v; want the PFC policy alone to wait, for its SRv6 policy",
			p.Decided.put, a.Decided.put, r.Decided.put, settled())
	}
	r.Spec.SRv6Policy = "p"
	f.putWaiting()
	if !r.Decided.put || f.waiting() || !settled() || f.deploymentOf(r) == nil {
		t.Errorf("put: %v, something waits: %v, settled: %v, deployment %+v, %v", r.Decided.put,
			f.waiting(), settled(), f.deploymentOf(r), f.core.PFCPolicyError("r"))
	}
}

// TestWaitsForTopology: the feature puts no stored resource, not even a single one, before the
// controller takes the topology for the whole network.
func TestWaitsForTopology(t *testing.T) {
	now := time.Unix(1e9, 0)
	for what, load := range map[string]func(*Feature, *sample.Net){
		"an SRv6 policy": func(f *Feature, net *sample.Net) {
			policy, _ := specs(net)
			f.srv6Policies.Put("p", policy, now)
		},
		"a tenant": func(f *Feature, net *sample.Net) {
			_, tenant := specs(net)
			f.tenants.Put("a", tenant, now).Decided.VRF = 1
		},
	} {
		f, net := newFeature(t)
		makeCapable(f, net)
		load(f, net)
		f.env.Underlay = unsettled{}
		if f.SetNetwork(); !f.waiting() {
			t.Errorf("%s does not wait", what)
		}
		f.env.Underlay = deaf{}
		if f.SetNetwork(); f.waiting() {
			t.Errorf("%s waits still", what)
		}
	}
}

type unsettled struct{ deaf }

func (unsettled) Settled() bool { return false }

// specs returns the specs of an SRv6 policy from n6 over n4 to n1, and of a tenant on the policy,
// which the test must name p.
func specs(net *sample.Net) (api.SRv6PolicySpec, api.TenantSpec) {
	source, sink := net.Inventory.Hosts[0], net.Inventory.Hosts[1]
	return api.SRv6PolicySpec{Headend: source.Switch, Endpoint: sink.Switch},
		api.TenantSpec{Slice: 1, Priority: 3, Policies: []string{"p"},
			Sites: []api.TenantSite{{Switch: source.Switch, Port: source.Port},
				{Switch: sink.Switch, Port: sink.Port}}}
}

// deaf is an underlay that has settled, to which edges mean nothing.
type deaf struct{ feature.Underlay }

func (deaf) SetEdges(plan.Edges) {}
func (deaf) Settled() bool       { return true }

// TestPutByClients: the core has what a client puts at once, it does not wait for a topology; the
// status of resources is made anew after each change, and after none else.
func TestPutByClients(t *testing.T) {
	f, net := newFeature(t)
	makeCapable(f, net)
	always := resource.Precondition{}
	policy, tenant := specs(net)
	pfc := api.PFCPolicySpec{SRv6Policy: "p", Tenant: "a"}
	putPolicy := func() error { _, _, err := f.SRv6Policies().Put("p", policy, always); return err }
	putTenant := func() error { _, _, err := f.Tenants().Put("a", tenant, always); return err }
	putPFC := func() error { _, _, err := f.PFCPolicies().Put("r", pfc, always); return err }
	for _, c := range []struct {
		what  string
		do    func() error
		stale bool
	}{
		{"an SRv6 policy", putPolicy, true},
		{"the same SRv6 policy", putPolicy, false},
		{"a tenant", putTenant, true},
		{"the same tenant", putTenant, false},
		{"a PFC policy", putPFC, true},
		{"the same PFC policy", putPFC, false},
		{"without the PFC policy", func() error { return f.PFCPolicies().Delete("r", always) }, true},
		{"without the tenant", func() error { return f.Tenants().Delete("a", always) }, true},
		{"without the SRv6 policy", func() error { return f.SRv6Policies().Delete("p", always) }, true},
	} {
		f.stale = false
		if err := c.do(); err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		if f.waiting() || f.stale != c.stale {
			t.Errorf("%s: something waits: %v; status is made anew: %v, want %v", c.what, f.waiting(),
				f.stale, c.stale)
		}
	}
}

// TestHideCycle: clients without access to all resources do not see the queues of a circle, even of
// a single queue. The fact of a circle stays visible.
func TestHideCycle(t *testing.T) {
	for n := range 3 {
		told := api.Condition{Type: api.Degraded, Reason: api.ReasonDeadlock, Message: "n1, port 2"}
		r := &api.PFCPolicy{}
		r.Status.Cycle = make([]string, n)
		r.Status.Conditions = []api.Condition{told, {Message: "another"}}
		shared := r.Status.Conditions
		hideCycle(r)
		c := r.Status.Conditions
		hidden := !strings.Contains(c[0].Message, "n1")
		if hidden != (n > 0) || len(r.Status.Cycle) != 0 || c[0].Reason != told.Reason ||
			c[1].Message != "another" || shared[0] != told {
			t.Errorf("of a circle of %d is told %+v, %+v", n, r.Status.Cycle, c)
		}
	}
}
