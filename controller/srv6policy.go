package controller

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/pfc"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/topology"
)

// pfcEnv is what validation has to know; name is the resource's own.
func (c *Core) pfcEnv(name string) api.PFCEnv {
	l := &c.lossless
	return api.PFCEnv{
		MaxSlice: c.inv.PFC.MaxSlice(),
		Switch: func(sw string) (managed, known bool) {
			s := c.inv.Switch(sw)
			return s != nil && s.Managed(), s != nil
		},
		SID:      c.advertises,
		Attached: c.net.Attached,
		SRv6Policy: func(name string) (api.SRv6PolicySpec, bool) {
			if p := l.policies.Get(name); p != nil {
				return p.Spec, true
			}
			return api.SRv6PolicySpec{}, false
		},
		Tenant: func(name string) (api.TenantSpec, bool) {
			if t := l.tenants.Get(name); t != nil {
				return t.Spec, true
			}
			return api.TenantSpec{}, false
		},
		OtherSlice: func(slice uint32) (string, bool) {
			return l.otherTenant(name, func(s *api.TenantSpec) bool { return s.Slice == slice })
		},
		OtherSite: func(sw string, port uint32) (string, bool) {
			return l.otherTenant(name, func(s *api.TenantSpec) bool {
				return slices.ContainsFunc(s.Sites, func(x api.TenantSite) bool { return x.Switch == sw && x.Port == port })
			})
		},
		OtherPFC: func(policy, tenant string) (string, bool) {
			for _, r := range l.requests.All() {
				if r.Name != name && r.Spec.SRv6Policy == policy && r.Spec.Tenant == tenant {
					return r.Name, true
				}
			}
			return "", false
		},
	}
}

func (l *lossless) otherTenant(name string, is func(*api.TenantSpec) bool) (string, bool) {
	for _, t := range l.tenants.All() {
		if t.Name != name && is(&t.Spec) {
			return t.Name, true
		}
	}
	return "", false
}

// advertises reports whether a node of the topology has a SID.
func (c *Core) advertises(sid netip.Addr) bool {
	for _, n := range c.net.Snapshot.Nodes {
		if slices.ContainsFunc(n.SIDs, func(s topology.SID) bool { return s.Address == sid }) {
			return true
		}
	}
	for _, l := range c.net.Snapshot.Links {
		if slices.ContainsFunc(l.EndX, func(x topology.EndX) bool { return x.Address == sid }) {
			return true
		}
	}
	return false
}

// nodeOf returns the node that a switch is.
func (c *Core) nodeOf(sw string) (*topology.Node, error) {
	if n := c.net.Node(sw); n != nil {
		return n, nil
	}
	return nil, fmt.Errorf("switch %s %w", sw, pfc.ErrNoNode)
}

// policyOf returns an SRv6 policy with nodes for switches.
func (c *Core) policyOf(name string, s *api.SRv6PolicySpec) (pfc.Policy, error) {
	p := pfc.Policy{Name: name, BestEffort: s.Mode == api.PolicyModeBestEffort}
	if s.Metric == api.MetricDelay {
		p.Metric = topology.MetricDelay
	}
	for _, end := range []struct {
		sw string
		id *topology.NodeID
	}{{s.Headend, &p.Headend}, {s.Endpoint, &p.Endpoint}} {
		n, err := c.nodeOf(end.sw)
		if err != nil {
			return p, err
		}
		*end.id = n.ID
	}
	for _, g := range s.Segments {
		v := pfc.Via{SID: g.SID}
		if g.Node != "" {
			n, err := c.nodeOf(g.Node)
			if err != nil {
				return p, err
			}
			v.Node = n.ID
		}
		p.Via = append(p.Via, v)
	}
	return p, nil
}

// listSRv6Policies returns all SRv6 policies, by name.
func (c *Core) listSRv6Policies() []api.SRv6Policy {
	out := make([]api.SRv6Policy, 0, c.lossless.policies.Len())
	for _, p := range c.lossless.policies.All() {
		out = append(out, viewSRv6Policy(p))
	}
	return out
}

func viewSRv6Policy(p *srv6Policy) api.SRv6Policy {
	v := api.SRv6Policy{Name: p.Name, Version: p.Version, Created: p.Created, Spec: p.Spec.Complete(), Status: p.Decided.status}
	v.Status.Conditions = slices.Clone(p.Decided.status.Conditions)
	return v
}

// srv6Policy returns an SRv6 policy. Errors of it and the methods below are
// *api.Error.
func (c *Core) srv6Policy(name string) (api.SRv6Policy, error) {
	p, err := c.lossless.policies.Find(name)
	if err != nil {
		return api.SRv6Policy{}, err
	}
	return viewSRv6Policy(p), nil
}

// putSRv6Policy creates an SRv6 policy or replaces its spec. What is refused
// changes nothing.
func (c *Core) putSRv6Policy(name string, spec api.SRv6PolicySpec, pre resource.Precondition) (api.SRv6Policy, bool, error) {
	l := &c.lossless
	p, err := l.policies.Check(name, pre)
	if err == nil && p == nil {
		err = api.ValidateName(name)
	}
	if err != nil {
		return api.SRv6Policy{}, false, err
	}
	spec = spec.Complete()
	if p != nil && p.Spec.Equal(&spec) {
		return viewSRv6Policy(p), false, nil
	}
	if err := spec.Validate(c.pfcEnv(name)); err != nil {
		return api.SRv6Policy{}, false, err
	}
	if p != nil && (p.Spec.Headend != spec.Headend || p.Spec.Endpoint != spec.Endpoint) {
		return api.SRv6Policy{}, false, &api.Error{Code: api.CodeConflict, Message: fmt.Sprintf("%s %s leads from %s to %s, which cannot be changed", srv6Kind.Name, name, p.Spec.Headend, p.Spec.Endpoint)}
	}
	way, err := c.policyOf(name, &spec)
	if err == nil {
		err = l.pfc.PutPolicy(way)
	}
	if err != nil {
		return api.SRv6Policy{}, false, c.refusal("spec.segments", err)
	}
	created := p == nil
	p = l.policies.Put(name, spec, c.wall())
	p.Decided.put, p.Decided.err, l.stale = true, nil, true
	c.settle()
	return viewSRv6Policy(p), created, nil
}

// deleteSRv6Policy removes an SRv6 policy that nothing refers to.
func (c *Core) deleteSRv6Policy(name string, pre resource.Precondition) error {
	l := &c.lossless
	if _, err := l.policies.CheckDelete(name, pre); err != nil {
		return err
	}
	if used := c.policyUsers(name); len(used) > 0 {
		return inUse(srv6Kind, name, used)
	}
	if err := l.pfc.DeletePolicy(name); err != nil {
		return c.refusal("name", err)
	}
	l.policies.Delete(name)
	l.stale = true
	c.event(api.EventSRv6PolicyDeleted, name, "", nil)
	c.settle()
	return nil
}

func inUse(kind resource.Kind, name string, used []string) error {
	return &api.Error{Code: api.CodeConflict, Message: fmt.Sprintf("%s %s is in use by %s", kind.Name, name, list(used))}
}

// policyUsers returns what refers to an SRv6 policy.
func (c *Core) policyUsers(name string) (out []string) {
	for _, t := range c.lossless.tenants.All() {
		if slices.Contains(t.Spec.Policies, name) {
			out = append(out, tenantKind.Prefix+t.Name)
		}
	}
	for _, r := range c.lossless.requests.All() {
		if r.Spec.SRv6Policy == name {
			out = append(out, pfcKind.Prefix+r.Name)
		}
	}
	return out
}
