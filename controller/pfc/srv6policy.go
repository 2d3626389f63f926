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

// pfcEnv returns the facts for the validation of the resource with a name.
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
	return resource.Written[api.SRv6PolicySpec, decided[api.SRv6PolicyStatus], api.SRv6Policy]{
		All: f.srv6Policies, Env: f.env, Decide: f.decideSRv6, View: viewSRv6Policy, Gone: f.goneSRv6}
}

func viewSRv6Policy(p *srv6Policy) api.SRv6Policy {
	v := api.SRv6Policy{Name: p.Name, Version: p.Version, Created: p.Created, Spec: p.Spec.Complete(),
		Status: p.Decided.status}
	v.Status.Conditions = slices.Clone(p.Decided.status.Conditions)
	return v
}

func (f *Feature) decideSRv6(old, p *srv6Policy, pre resource.Precondition) error {
	p.Spec = p.Spec.Complete()
	if old != nil && old.Spec.Equal(&p.Spec) {
		return resource.ErrUnchanged
	}
	if err := p.Spec.Validate(f.pfcEnv(p.Name, pre)); err != nil {
		return err
	}
	if old != nil && (old.Spec.Headend != p.Spec.Headend || old.Spec.Endpoint != p.Spec.Endpoint) {
		return &api.Error{Code: api.CodeConflict,
			Message: fmt.Sprintf("%s %s leads from %s to %s, which cannot be changed", SRv6Kind.Noun, p.Name,
				old.Spec.Headend, old.Spec.Endpoint)}
	}
	request, err := f.tunnelSRv6Policy(p.Name, &p.Spec)
	if err == nil {
		err = f.core.PutSRv6Policy(request)
	}
	if err != nil {
		return f.refusal("spec.segments", err)
	}
	p.Decided.put, p.Decided.err, f.stale = true, nil, true
	return nil
}

func (f *Feature) goneSRv6(p *srv6Policy, _ resource.Precondition) error {
	if used := f.policyUsers(p.Name); len(used) > 0 {
		return inUse(SRv6Kind.Record, p.Name, used)
	}
	if err := f.core.DeleteSRv6Policy(p.Name); err != nil {
		return f.refusal("name", err)
	}
	f.left("SRv6 policy "+p.Name, api.EventSRv6PolicyDeleted, p.Name)
	return nil
}

// left notes that a client has deleted a resource, whose entries leave switches.
func (f *Feature) left(object string, t api.EventType, name string) {
	f.deleted, f.stale = append(f.deleted, object), true
	f.env.Event(t, name, "", nil)
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
