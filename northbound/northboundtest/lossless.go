package northboundtest

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/resource"
)

// lossless keeps SRv6 policies, tenants and PFC policies under the rules of their
// specs, for switches n1 and n6 with hosts at port 11, and plans nothing.
type lossless struct {
	mu       sync.Mutex
	version  uint64
	networks map[string]api.Network
	policies map[string]api.SRv6Policy
	tenants  map[string]api.Tenant
	requests map[string]api.PFCPolicy
	projects map[string]api.Project
	members  *access.Projects // of them; nil: they have changed
}

func newLossless() *lossless {
	return &lossless{networks: make(map[string]api.Network), policies: make(map[string]api.SRv6Policy), tenants: make(map[string]api.Tenant), requests: make(map[string]api.PFCPolicy), projects: make(map[string]api.Project)}
}

// SRv6Policies returns the resources of the kind.
func (l *lossless) SRv6Policies() resource.Handle[api.SRv6PolicySpec, api.SRv6Policy] {
	return &Kind[api.SRv6PolicySpec, api.SRv6Policy]{All: l.listSRv6Policies, One: l.srv6Policy, Write: l.putSRv6Policy, Remove: l.deleteSRv6Policy}
}

// Tenants returns the resources of the kind.
func (l *lossless) Tenants() resource.Handle[api.TenantSpec, api.Tenant] {
	return &Kind[api.TenantSpec, api.Tenant]{All: l.listTenants, One: l.tenant, Write: l.putTenant, Remove: l.deleteTenant}
}

// PFCPolicies returns the resources of the kind.
func (l *lossless) PFCPolicies() resource.Handle[api.PFCPolicySpec, api.PFCPolicy] {
	return &Kind[api.PFCPolicySpec, api.PFCPolicy]{All: l.listPFCPolicies, One: l.pfcPolicy, Write: l.putPFCPolicy, Remove: l.deletePFCPolicy}
}

// Networks returns the resources of the kind.
func (l *lossless) Networks() resource.Handle[api.NetworkSpec, api.Network] {
	return &Kind[api.NetworkSpec, api.Network]{All: l.listNetworks, One: l.network, Write: l.putNetwork, Remove: l.deleteNetwork}
}

func networkVersion(n api.Network) uint64 { return n.Version }

func (l *lossless) listNetworks(context.Context) ([]api.Network, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.networks)), nil
}

func (l *lossless) network(_ context.Context, name string) (api.Network, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return one(l.networks, "network", name)
}

// putNetwork creates or replaces a network. All of it is in force.
func (l *lossless) putNetwork(_ context.Context, name string, spec api.NetworkSpec, pre resource.Precondition) (api.Network, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, known, err := find(l.networks, "network", name, networkVersion, pre)
	if err == nil {
		err = api.ValidateNetwork(&spec)
	}
	if err != nil || known && n.Spec.Equal(&spec) {
		return n, false, err
	}
	n = api.Network{Name: name, Version: l.version + 1, Created: Began, Spec: spec}
	n.Status.Links, n.Status.InForce = 2*len(spec.Links), 2*len(spec.Links)
	if pre.Trial == nil {
		l.version++
		l.networks[name] = n
	}
	return n, !known, nil
}

func (l *lossless) deleteNetwork(_ context.Context, name string, pre resource.Precondition) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return remove(l.networks, "network", name, networkVersion, pre)
}

func (l *lossless) env(except string) api.PFCEnv {
	return api.PFCEnv{
		MaxSlice: 255,
		Switch: func(name string) (managed, known bool) {
			return name == "n1" || name == "n6", name == "n1" || name == "n6" || name == "n9"
		},
		SID: func(netip.Addr) bool { return false },
		Attached: func(_ string, port uint32) ([]netip.Prefix, bool) {
			return []netip.Prefix{netip.MustParsePrefix("2001:db8::/32")}, port == 11
		},
		SRv6Policy: func(name string) (api.SRv6PolicySpec, bool) { p, ok := l.policies[name]; return p.Spec, ok },
		Tenant:     func(name string) (api.TenantSpec, bool) { t, ok := l.tenants[name]; return t.Spec, ok },
		OtherSlice: func(slice uint32) (string, bool) {
			for _, t := range l.tenants {
				if t.Name != except && t.Spec.Slice == slice {
					return t.Name, true
				}
			}
			return "", false
		},
		OtherSite: func(string, uint32) (string, bool) { return "", false },
		OtherPFC:  func(string, string) (string, bool) { return "", false },
	}
}

// find returns the resource of a name that may be written.
func find[R any](kept map[string]R, noun, name string, version func(R) uint64, pre resource.Precondition) (r R, known bool, err error) {
	r, known = kept[name]
	v := uint64(0)
	if known {
		v = version(r)
	}
	if err = pre.Check(fmt.Sprintf("%s %q", noun, name), v); err == nil && !known {
		err = api.ValidateName(name)
	}
	return r, known, err
}

// remove deletes a resource that exists.
func remove[R any](kept map[string]R, noun, name string, version func(R) uint64, pre resource.Precondition) error {
	r, known := kept[name]
	v := uint64(0)
	if known {
		v = version(r)
	}
	err := pre.CheckExisting(fmt.Sprintf("%s %q", noun, name), v)
	if err == nil && pre.Trial == nil {
		delete(kept, name)
	}
	return err
}

func one[R any](kept map[string]R, noun, name string) (R, error) {
	r, ok := kept[name]
	if !ok {
		return r, missing("there is no %s %q", noun, name)
	}
	return r, nil
}

func accepted(version uint64) (api.Conditions, uint64) {
	var c api.Conditions
	c.Set(api.Accepted, true, api.ReasonPlanned, "", Began)
	return c, version
}

func policyVersion(p api.SRv6Policy) uint64 { return p.Version }
func tenantVersion(t api.Tenant) uint64     { return t.Version }
func requestVersion(p api.PFCPolicy) uint64 { return p.Version }

func (l *lossless) listSRv6Policies(context.Context) ([]api.SRv6Policy, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.policies)), nil
}

func (l *lossless) srv6Policy(_ context.Context, name string) (api.SRv6Policy, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return one(l.policies, "SRv6 policy", name)
}

// putSRv6Policy creates or replaces an SRv6 policy.
func (l *lossless) putSRv6Policy(_ context.Context, name string, spec api.SRv6PolicySpec, pre resource.Precondition) (api.SRv6Policy, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, known, err := find(l.policies, "SRv6 policy", name, policyVersion, pre)
	spec = spec.Complete()
	if err == nil {
		err = spec.Validate(l.env(name))
	}
	if err != nil || known && p.Spec.Equal(&spec) {
		return p, false, err
	}
	l.version++
	p = api.SRv6Policy{Name: name, Version: l.version, Created: Began, Spec: spec}
	p.Status.Conditions, p.Status.ObservedVersion = accepted(l.version)
	p.Status.Path = []string{spec.Headend, spec.Endpoint}
	if pre.Trial != nil {
		l.version--
		return p, !known, nil
	}
	l.policies[name] = p
	return p, !known, nil
}

func (l *lossless) deleteSRv6Policy(_ context.Context, name string, pre resource.Precondition) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return remove(l.policies, "SRv6 policy", name, policyVersion, pre)
}

func (l *lossless) listTenants(context.Context) ([]api.Tenant, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.tenants)), nil
}

func (l *lossless) tenant(_ context.Context, name string) (api.Tenant, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return one(l.tenants, "tenant", name)
}

// putTenant creates or replaces a tenant.
func (l *lossless) putTenant(_ context.Context, name string, spec api.TenantSpec, pre resource.Precondition) (api.Tenant, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, known, err := find(l.tenants, "tenant", name, tenantVersion, pre)
	spec = spec.Complete()
	if err == nil {
		err = spec.Validate(l.env(name))
	}
	if err != nil || known && t.Spec.Equal(&spec) {
		return t, false, err
	}
	l.version++
	t = api.Tenant{Name: name, Version: l.version, Created: Began, Spec: spec}
	t.Status.Conditions, t.Status.ObservedVersion = accepted(l.version)
	t.Status.VRF = 1
	if pre.Trial != nil {
		l.version--
		return t, !known, nil
	}
	l.tenants[name] = t
	return t, !known, nil
}

func (l *lossless) deleteTenant(_ context.Context, name string, pre resource.Precondition) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return remove(l.tenants, "tenant", name, tenantVersion, pre)
}

func (l *lossless) listPFCPolicies(context.Context) ([]api.PFCPolicy, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.requests)), nil
}

func (l *lossless) pfcPolicy(_ context.Context, name string) (api.PFCPolicy, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return one(l.requests, "PFC policy", name)
}

// putPFCPolicy creates or replaces a PFC policy, which has a node with a pause in
// force and a tunnel.
func (l *lossless) putPFCPolicy(_ context.Context, name string, spec api.PFCPolicySpec, pre resource.Precondition) (api.PFCPolicy, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, known, err := find(l.requests, "PFC policy", name, requestVersion, pre)
	spec = api.StandardPFCDefaults().Complete(spec)
	if err == nil {
		err = spec.Validate(l.env(name))
	}
	if err != nil || known && p.Spec == spec {
		return p, false, err
	}
	l.version++
	p = api.PFCPolicy{Name: name, Version: l.version, Created: Began, Spec: spec}
	p.Status.Conditions, p.Status.ObservedVersion = accepted(l.version)
	p.Status.Nodes = []api.PFCNode{{
		Switch: "n6", Port: 2, Priority: 3, Watermarks: api.Watermarks{Buffer: spec.Buffer, Headroom: 4096, XOFF: 65536, XON: 32768, RTT: api.Duration(20_000_000), Rate: 100_000_000_000, Measured: true},
		Queue: &api.PFCQueue{Paused: true, PausedFor: api.Duration(1_000_000), Held: 4096, MaxHeld: 8192, PausesReceived: 2, XOFFSent: 1, LastXOFF: Began, At: Began},
	}}
	p.Status.Tunnels = []api.PFCTunnel{{ID: 1, From: "n1", To: "n6", Segments: []api.SegmentStatus{}, Mode: spec.Tunnel, State: api.TunnelUp, RTT: api.Duration(20_000_000), Sent: 10}}
	if pre.Trial != nil {
		l.version--
		return p, !known, nil
	}
	l.requests[name] = p
	return p, !known, nil
}

func (l *lossless) deletePFCPolicy(_ context.Context, name string, pre resource.Precondition) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return remove(l.requests, "PFC policy", name, requestVersion, pre)
}
