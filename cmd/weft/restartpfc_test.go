package main

import (
	"maps"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/lab"
)

// lossless waits until a PFC policy is in the switches and the controller has nothing left to
// write, and returns the policy with its tenant.
func (p *process) lossless(name, tenant string, switches int) (*api.PFCPolicy, *api.Tenant) {
	p.t.Helper()
	var policy *api.PFCPolicy
	p.until("PFC policy programmed, all switches synced and settled", func() bool {
		var err error
		policy, err = p.rest.PFCPolicies().Get(p.t.Context(), name)
		return err == nil && policy.Status.Conditions.Is(api.Programmed) && p.settled(switches)
	})
	t, err := p.rest.Tenants().Get(p.t.Context(), tenant)
	if err != nil {
		p.t.Fatal(err)
	}
	return policy, t
}

// TestRestartPFC: a killed controller continues with its SRv6 policies, tenants and PFC policies:
// VRF and tunnels stay, the controller writes to no switch, all packets of the tenant arrive, and
// no orphans appear. Deleted resources stay deleted.
func TestRestartPFC(t *testing.T) {
	d := deployNetwork(t, lab.PFCNetwork(200*time.Microsecond, 1e9), nil)
	site := func(sw, host string) api.TenantSite {
		for _, h := range d.inventory.Hosts {
			if h.Name == host {
				return api.TenantSite{Switch: sw, Port: h.AllPorts()[0]}
			}
		}
		t.Fatalf("no host %s", host)
		return api.TenantSite{}
	}
	first := d.start()
	first.ready()
	if _, err := first.rest.SRv6Policies().Put(t.Context(), "wan", api.SRv6PolicySpec{Headend: "R1",
		Endpoint: "R3", Segments: []api.PolicySegment{{Node: "R2"}}}, client.Write{}); err != nil {
		t.Fatal(err)
	}
	tenant := api.TenantSpec{Slice: 1, Priority: 3, Policies: []string{"wan"},
		Sites: []api.TenantSite{site("R1", "DC1"), site("R3", "DC2")}}
	if _, err := first.rest.Tenants().Put(t.Context(), "a", tenant, client.Write{}); err != nil {
		t.Fatal(err)
	}
	// With thresholds of its own: others follow the measured round trip, which may differ after the
	// restart.
	policy := api.PFCPolicySpec{SRv6Policy: "wan", Tenant: "a", XOFF: 1 << 20, XON: 1 << 19}
	if _, err := first.rest.PFCPolicies().Put(t.Context(), "p", policy, client.Write{}); err != nil {
		t.Fatal(err)
	}
	was, tenantWas := first.lossless("p", "a", 5)
	traffic := d.run(d.newTenantStream("DC1", "DC2"))
	traffic.more("before the kill")
	first.kill()
	traffic.more("without a controller")
	written := d.network.Written()
	if written["R1 updates"] == 0 || written["R3 updates"] == 0 {
		t.Fatalf("the switches count no writes: %v", written)
	}

	second := d.start()
	second.ready()
	is, tenantIs := second.lossless("p", "a", 5)
	traffic.more("after the restart")
	traffic.end()
	if is.Version != was.Version || tenantIs.Version != tenantWas.Version ||
		tenantIs.Status.VRF != tenantWas.Status.VRF ||
		len(is.Status.Tunnels) != len(was.Status.Tunnels) || len(is.Status.Tunnels) == 0 {
		t.Errorf("%+v %+v, were %+v %+v", is, tenantIs, was, tenantWas)
	}
	if again := d.network.Written(); !maps.Equal(again, written) {
		t.Errorf("the second controller wrote to switches that agree: %v, were %v", again, written)
	}
	orphans, err := second.rest.Orphans().List(t.Context(), nil)
	if err != nil || len(orphans) > 0 {
		t.Errorf("orphans %+v, %v", orphans, err)
	}

	if err := second.rest.PFCPolicies().Delete(t.Context(), "p", client.Write{}); err != nil {
		t.Fatal(err)
	}
	second.kill() // perhaps before the switches have heard of it
	third := d.start()
	third.ready()
	if left, err := third.rest.PFCPolicies().List(t.Context(), nil); err != nil || len(left) > 0 {
		t.Errorf("PFC policies %+v, %v", left, err)
	}
	orphans, err = third.rest.Orphans().List(t.Context(), nil)
	if err != nil || len(orphans) > 0 {
		t.Errorf("orphans %+v, %v", orphans, err)
	}
	third.kill()
}
