package pfc

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/pfc/tunnel"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/topology"
)

// pfcEnv is what validation has to know; name is the resource's own.
func (f *Feature) pfcEnv(name string, pre resource.Precondition) api.PFCEnv {
	return api.PFCEnv{
		MaxSlice: f.env.Inventory().PFC.MaxSlice(),
		Switch: func(sw string) (managed, known bool) {
			s := f.env.Inventory().Switch(sw)
			return s != nil && s.ProgramsP4(), s != nil
		},
		SID:      f.advertises,
		Attached: f.env.Net.Attached,
		SRv6Policy: func(name string) (api.SRv6PolicySpec, bool) {
			if p := f.srv6Policies.Get(name); p != nil {
				return p.Spec, true
			}
			return api.SRv6PolicySpec{}, false
		},
		Tenant: func(name string) (api.TenantSpec, bool) {
			if t := f.tenants.Get(name); t != nil {
				return t.Spec, true
			}
			return api.TenantSpec{}, false
		},
		OtherSlice: func(slice uint32) (string, bool) {
			return f.otherTenant(name, pre, func(s *api.TenantSpec) bool { return s.Slice == slice })
		},
		OtherSite: func(sw string, port uint32) (string, bool) {
			return f.otherTenant(name, pre, func(s *api.TenantSpec) bool {
				return slices.ContainsFunc(s.Sites,
					func(x api.TenantSite) bool { return x.Switch == sw && x.Port == port })
			})
		},
		OtherPFC: func(policy, tenant string) (string, bool) {
			for _, r := range f.pfcPolicies.All() {
				if r.Name != name && r.Spec.SRv6Policy == policy && r.Spec.Tenant == tenant {
					return pre.Visible(r.Name), true
				}
			}
			return "", false
		},
	}
}

func (f *Feature) otherTenant(
	name string, pre resource.Precondition, is func(*api.TenantSpec) bool,
) (string, bool) {
	for _, t := range f.tenants.All() {
		if t.Name != name && is(&t.Spec) {
			return pre.Visible(t.Name), true
		}
	}
	return "", false
}

// advertises reports whether a node of the topology has a SID.
func (f *Feature) advertises(sid netip.Addr) bool {
	for _, n := range f.env.Net.Snapshot.Nodes {
		if slices.ContainsFunc(n.SIDs, func(s topology.SID) bool { return s.Address == sid }) {
			return true
		}
	}
	for _, l := range f.env.Net.Snapshot.Links {
		if slices.ContainsFunc(l.EndX, func(x topology.EndX) bool { return x.Address == sid }) {
			return true
		}
	}
	return false
}

// nodeOf returns the node that a switch is.
func (f *Feature) nodeOf(sw string) (*topology.Node, error) {
	if n := f.env.Net.Node(sw); n != nil {
		return n, nil
	}
	return nil, fmt.Errorf("switch %s %w", sw, tunnel.ErrNoNode)
}

// policyOf returns an SRv6 policy with nodes for switches.
func (f *Feature) tunnelSRv6Policy(name string, s *api.SRv6PolicySpec) (tunnel.SRv6Policy, error) {
	p := tunnel.SRv6Policy{Name: name, BestEffort: s.Mode == api.PolicyModeBestEffort}
	if s.Metric == api.MetricDelay {
		p.Metric = topology.MetricDelay
	}
	for _, end := range []struct {
		sw string
		id *topology.NodeID
	}{{s.Headend, &p.Headend}, {s.Endpoint, &p.Endpoint}} {
		n, err := f.nodeOf(end.sw)
		if err != nil {
			return p, err
		}
		*end.id = n.ID
	}
	for _, g := range s.Segments {
		v := tunnel.Via{SID: g.SID}
		if g.Node != "" {
			n, err := f.nodeOf(g.Node)
			if err != nil {
				return p, err
			}
			v.Node = n.ID
		}
		p.Via = append(p.Via, v)
	}
	return p, nil
}

// SRv6Policies returns the SRv6 policies.
func (f *Feature) SRv6Policies() resource.Resources[api.SRv6PolicySpec, api.SRv6Policy] {
	return srv6Resources{f}
}

// srv6Resources implements resource.Resources.
type srv6Resources struct{ *Feature }

// List returns the SRv6 policies, by name.
func (f srv6Resources) List() []api.SRv6Policy {
	return resource.Views(f.srv6Policies, viewSRv6Policy)
}

func viewSRv6Policy(p *srv6Policy) api.SRv6Policy {
	v := api.SRv6Policy{Name: p.Name, Version: p.Version, Created: p.Created, Spec: p.Spec.Complete(),
		Status: p.Decided.status}
	v.Status.Conditions = slices.Clone(p.Decided.status.Conditions)
	return v
}

// Get implements resource.Resources.
func (f srv6Resources) Get(name string) (api.SRv6Policy, error) {
	return resource.View(f.srv6Policies, name, viewSRv6Policy)
}

// Put implements resource.Resources.
func (f srv6Resources) Put(
	name string, spec api.SRv6PolicySpec, pre resource.Precondition,
) (api.SRv6Policy, bool, error) {
	p, err := f.srv6Policies.CheckPut(name, pre)
	if err != nil {
		return api.SRv6Policy{}, false, err
	}
	spec = spec.Complete()
	if p != nil && p.Spec.Equal(&spec) {
		return viewSRv6Policy(p), false, nil
	}
	if err := spec.Validate(f.pfcEnv(name, pre)); err != nil {
		return api.SRv6Policy{}, false, err
	}
	if p != nil && (p.Spec.Headend != spec.Headend || p.Spec.Endpoint != spec.Endpoint) {
		return api.SRv6Policy{}, false,
			&api.Error{Code: api.CodeConflict,
				Message: fmt.Sprintf("%s %s leads from %s to %s, which cannot be changed", SRv6Kind.Noun, name,
					p.Spec.Headend, p.Spec.Endpoint)}
	}
	request, err := f.tunnelSRv6Policy(name, &spec)
	if err == nil {
		err = f.core.PutSRv6Policy(request)
	}
	if err != nil {
		return api.SRv6Policy{}, false, f.refusal("spec.segments", err)
	}
	created := p == nil
	p = f.srv6Policies.Put(name, spec, f.env.Wall())
	p.Decided.put, p.Decided.err, f.stale = true, nil, true
	return viewSRv6Policy(p), created, nil
}

// Delete implements resource.Resources.
func (f srv6Resources) Delete(name string, pre resource.Precondition) error {
	if _, err := f.srv6Policies.CheckDelete(name, pre); err != nil {
		return err
	}
	if used := f.policyUsers(name); len(used) > 0 {
		return inUse(SRv6Kind.Record, name, used)
	}
	if err := f.core.DeleteSRv6Policy(name); err != nil {
		return f.refusal("name", err)
	}
	f.srv6Policies.Delete(name)
	f.deleted = append(f.deleted, "SRv6 policy "+name)
	f.stale = true
	f.env.Event(api.EventSRv6PolicyDeleted, name, "", nil)
	return nil
}

func inUse(kind resource.Kind, name string, used []string) error {
	return &api.Error{Code: api.CodeConflict, Message: fmt.Sprintf("%s %s is in use by %s", kind.Name,
		name, feature.Names(used))}
}

// policyUsers returns what refers to an SRv6 policy.
func (f *Feature) policyUsers(name string) (out []string) {
	for _, t := range f.tenants.All() {
		if slices.Contains(t.Spec.Policies, name) {
			out = append(out, TenantKind.Prefix+t.Name)
		}
	}
	for _, r := range f.pfcPolicies.All() {
		if r.Spec.SRv6Policy == name {
			out = append(out, PFCKind.Prefix+r.Name)
		}
	}
	return out
}
