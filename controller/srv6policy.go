package controller

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/weft-sdn/weft/controller/intent"
	"github.com/weft-sdn/weft/controller/pfc"
	"github.com/weft-sdn/weft/topology"
)

const (
	srv6Kind   = "SRv6 policy"
	tenantKind = "tenant"
	pfcKind    = "PFC policy"
)

// pfcEnv is what validation has to know; name is the resource's own.
func (c *Core) pfcEnv(name string) intent.PFCEnv {
	l := &c.lossless
	return intent.PFCEnv{
		MaxSlice: c.inv.PFC.MaxSlice(),
		Switch: func(sw string) (managed, known bool) {
			s := c.inv.Switch(sw)
			return s != nil && s.Managed(), s != nil
		},
		SID:      c.advertises,
		Attached: c.net.Attached,
		SRv6Policy: func(name string) (intent.SRv6PolicySpec, bool) {
			if p := l.policies[name]; p != nil {
				return p.spec, true
			}
			return intent.SRv6PolicySpec{}, false
		},
		Tenant: func(name string) (intent.TenantSpec, bool) {
			if t := l.tenants[name]; t != nil {
				return t.spec, true
			}
			return intent.TenantSpec{}, false
		},
		OtherSlice: func(slice uint32) (string, bool) {
			return l.otherTenant(name, func(s *intent.TenantSpec) bool { return s.Slice == slice })
		},
		OtherSite: func(sw string, port uint32) (string, bool) {
			return l.otherTenant(name, func(s *intent.TenantSpec) bool {
				return slices.ContainsFunc(s.Sites, func(x intent.Site) bool { return x.Switch == sw && x.Port == port })
			})
		},
		OtherPFC: func(policy, tenant string) (string, bool) {
			for _, r := range inOrder(l.requests) {
				if r.name != name && r.spec.SRv6Policy == policy && r.spec.Tenant == tenant {
					return r.name, true
				}
			}
			return "", false
		},
	}
}

func (l *lossless) otherTenant(name string, is func(*intent.TenantSpec) bool) (string, bool) {
	for _, t := range inOrder(l.tenants) {
		if t.name != name && is(&t.spec) {
			return t.name, true
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
func (c *Core) policyOf(name string, s *intent.SRv6PolicySpec) (pfc.Policy, error) {
	p := pfc.Policy{Name: name, BestEffort: s.Mode == intent.PolicyBestEffort}
	if s.Metric == intent.MetricDelay {
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

// SRv6Policies returns all SRv6 policies, by name.
func (c *Core) SRv6Policies() []intent.SRv6Policy {
	out := make([]intent.SRv6Policy, 0, len(c.lossless.policies))
	for _, p := range inOrder(c.lossless.policies) {
		out = append(out, viewSRv6Policy(p))
	}
	return out
}

func viewSRv6Policy(p *srv6Policy) intent.SRv6Policy {
	v := intent.SRv6Policy{Name: p.name, Version: p.version, Created: p.created, Spec: p.spec.Complete(), Status: p.status}
	v.Status.Conditions = slices.Clone(p.status.Conditions)
	return v
}

// SRv6Policy returns an SRv6 policy. Errors of it and the methods below are
// *intent.Error.
func (c *Core) SRv6Policy(name string) (intent.SRv6Policy, error) {
	if p := c.lossless.policies[name]; p != nil {
		return viewSRv6Policy(p), nil
	}
	return intent.SRv6Policy{}, noResource(srv6Kind, name)
}

// PutSRv6Policy creates an SRv6 policy or replaces its spec. What is refused
// changes nothing.
func (c *Core) PutSRv6Policy(name string, spec intent.SRv6PolicySpec, pre Precondition) (intent.SRv6Policy, bool, error) {
	l := &c.lossless
	p, err := findResource(l.policies, srv6Kind, name, pre)
	if err == nil && p == nil {
		err = intent.ValidateName(name)
	}
	if err != nil {
		return intent.SRv6Policy{}, false, err
	}
	spec = spec.Complete()
	if p != nil && p.spec.Equal(&spec) {
		return viewSRv6Policy(p), false, nil
	}
	if err := spec.Validate(c.pfcEnv(name)); err != nil {
		return intent.SRv6Policy{}, false, err
	}
	if p != nil && (p.spec.Headend != spec.Headend || p.spec.Endpoint != spec.Endpoint) {
		return intent.SRv6Policy{}, false, &intent.Error{Code: intent.CodeConflict, Message: fmt.Sprintf("%s %s leads from %s to %s, which cannot be changed", srv6Kind, name, p.spec.Headend, p.spec.Endpoint)}
	}
	way, err := c.policyOf(name, &spec)
	if err == nil {
		err = l.pfc.PutPolicy(way)
	}
	if err != nil {
		return intent.SRv6Policy{}, false, c.refusal("spec.segments", err)
	}
	created := p == nil
	if created {
		p = &srv6Policy{name: name}
		l.policies[name] = p
	}
	changed(c, p, srv6Prefix, spec, created)
	c.settle()
	return viewSRv6Policy(p), created, nil
}

// DeleteSRv6Policy removes an SRv6 policy that nothing refers to.
func (c *Core) DeleteSRv6Policy(name string, pre Precondition) error {
	l := &c.lossless
	p, err := findResource(l.policies, srv6Kind, name, pre)
	if err == nil && p == nil {
		err = noResource(srv6Kind, name)
	}
	if err != nil {
		return err
	}
	if used := c.policyUsers(name); len(used) > 0 {
		return inUse(srv6Kind, name, used)
	}
	if err := l.pfc.DeletePolicy(name); err != nil {
		return c.refusal("name", err)
	}
	delete(l.policies, name)
	l.saves[srv6Prefix+name], l.stale = true, true
	c.event(SRv6PolicyDeleted, name, "", nil)
	c.settle()
	return nil
}

func inUse(kind, name string, used []string) error {
	return &intent.Error{Code: intent.CodeConflict, Message: fmt.Sprintf("%s %s is in use by %s", kind, name, list(used))}
}

// policyUsers returns what refers to an SRv6 policy.
func (c *Core) policyUsers(name string) (out []string) {
	for _, t := range inOrder(c.lossless.tenants) {
		if slices.Contains(t.spec.Policies, name) {
			out = append(out, tenantPrefix+t.name)
		}
	}
	for _, r := range inOrder(c.lossless.requests) {
		if r.spec.SRv6Policy == name {
			out = append(out, pfcPrefix+r.name)
		}
	}
	return out
}
