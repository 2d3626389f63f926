package tunnel

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

// phase is the progress of a change of a policy's path. At no time is a tunnel taken away before
// packets have another: both ends of both hold what they need from making to draining, and queues
// that either path fills stop the upstreams of both.
type phase uint8

const (
	// steady: switches hold what the active bundle needs, and nothing else.
	steady phase = iota
	// making: what the next bundle needs is added; packets go by the active one.
	making
	// switching: the headend's list becomes that of the next.
	switching
	// draining: packets that went by the active one arrive.
	draining
)

func (p phase) String() string {
	return [...]string{"steady", "making", "switching", "draining"}[p]
}

// A bundle is a path and the PFC policies on it.
type bundle struct {
	path        *Path
	deployments map[string]*Deployment // by PFC policy
}

// equal compares a bundle with another, nil for none.
func (b *bundle) equal(o *bundle) bool {
	return o != nil && reflect.DeepEqual(b.path, o.path) &&
		reflect.DeepEqual(b.deployments, o.deployments)
}

// names returns the PFC policies of a bundle, in order.
func (b *bundle) names() []string { return slices.Sorted(maps.Keys(b.deployments)) }

// policy is an SRv6 policy with its progress from one bundle to the next.
type policy struct {
	SRv6Policy
	err          error // why the present network has no path for it
	active, next *bundle
	queued       *bundle // waits for switching and draining to end
	phase        phase
	drained      time.Duration
	nodes        []topology.NodeID // that hold something for it
}

// latest returns the bundle that was decided on last.
func (p *policy) latest() *bundle {
	switch {
	case p.queued != nil:
		return p.queued
	case p.next != nil:
		return p.next
	}
	return p.active
}

// data returns the bundle that packets go by, nil for none yet.
func (p *policy) data() *bundle {
	if p.phase == switching || p.phase == draining {
		return p.next
	}
	return p.active
}

// held returns the bundles that switches hold.
func (p *policy) held() []*bundle {
	var out []*bundle
	for _, b := range [...]*bundle{p.active, p.next} {
		if b != nil {
			out = append(out, b)
		}
	}
	return out
}

// request is a PFC policy.
type pfcPolicy struct {
	PFCPolicy
	err   error        // why it is not in the latest bundle
	cycle []Queue      // that it is in
	deps  []Dependency // that it has in the graph
}

// attempt is a bundle under decision, with the errors of the PFC policies.
type attempt struct {
	policy *policy
	bundle *bundle
	deps   map[string][]Dependency
	cycles map[string][]Queue
	errs   map[string]error
}

// try decides the bundle of a policy. try replaces the old dependencies in the graph by the
// dependencies of the attempt; undo puts the old dependencies back.
func (c *Core) try(
	p *policy, measured SRv6Policy, requests []*pfcPolicy, tenant func(string) *Tenant,
) (*attempt, error) {
	path, err := FindPath(c.snap, c.cfg.Behaviors, measured.PathRequest)
	if err != nil {
		return nil, err
	}
	if n := len(path.Segments) + 1; n > c.cfg.MaxSegments {
		return nil, fmt.Errorf("%w: %d with that of the tenant's SID, at most %d", ErrTooLong, n,
			c.cfg.MaxSegments)
	}
	a := &attempt{policy: p, bundle: &bundle{path, make(map[string]*Deployment)},
		deps: make(map[string][]Dependency), cycles: make(map[string][]Queue),
		errs: make(map[string]error)}
	for _, r := range requests {
		c.deps.Remove(r.deps)
	}
	for _, r := range requests {
		t := tenant(r.Tenant)
		if t == nil {
			a.errs[r.Name] = fmt.Errorf("tenant %s %w", r.Tenant, ErrUnknown)
			continue
		}
		d, err := Deploy(&c.cfg, path, measured.Name, t, &r.PFCPolicy, c.name)
		if err != nil {
			a.errs[r.Name] = err
			continue
		}
		deps := d.Dependencies()
		if cycle := c.deps.Check(deps); cycle != nil {
			if !r.AllowCycle {
				a.errs[r.Name] = &CycleError{cycle}
				continue
			}
			a.cycles[r.Name] = cycle
		}
		c.deps.Add(deps)
		a.deps[r.Name], a.bundle.deployments[r.Name] = deps, d
	}
	return a, nil
}

func (c *Core) undo(a *attempt, requests []*pfcPolicy) {
	for _, deps := range a.deps {
		c.deps.Remove(deps)
	}
	for _, r := range requests {
		c.deps.Add(r.deps)
	}
}

// commit makes an attempt the target.
func (c *Core) commit(a *attempt, requests []*pfcPolicy) error {
	for _, r := range requests {
		r.deps, r.cycle, r.err = a.deps[r.Name], a.cycles[r.Name], a.errs[r.Name]
		c.touch(r.Name)
	}
	c.touch(a.policy.Name)
	a.policy.err = nil
	if a.bundle.equal(a.policy.latest()) {
		return nil
	}
	return c.aim(a.policy, a.bundle)
}

// fault returns the first error of an attempt's PFC policies.
func (a *attempt) fault() error {
	if len(a.errs) == 0 {
		return nil
	}
	name := slices.Min(slices.Collect(maps.Keys(a.errs)))
	return fmt.Errorf("PFC policy %s: %w", name, a.errs[name])
}

// aim turns a policy to a bundle, at once or when the present change is over.
func (c *Core) aim(p *policy, b *bundle) error {
	if p.phase == switching || p.phase == draining {
		p.queued = b
		return nil
	}
	if err := c.hold(b); err != nil {
		return err
	}
	if p.next != nil {
		c.drop(p.next)
	}
	p.next, p.phase = b, making
	c.retouch(p)
	return nil
}

// hold takes numbers and probes for a bundle.
func (c *Core) hold(b *bundle) error {
	var held []*Tunnel
	for _, name := range b.names() {
		d := b.deployments[name]
		for i := range d.Tunnels {
			t := &d.Tunnels[i]
			if err := c.acquire(t.From, t.list(), t.List); err != nil {
				for _, t := range held {
					c.release(t.From, t.list())
					c.unwatch(t)
				}
				return fmt.Errorf("%s: %w", c.name(t.From), err)
			}
			c.watch(t)
			held = append(held, t)
		}
	}
	return nil
}

func (c *Core) drop(b *bundle) {
	for _, d := range b.deployments {
		for i := range d.Tunnels {
			c.release(d.Tunnels[i].From, d.Tunnels[i].list())
			c.unwatch(&d.Tunnels[i])
		}
	}
}

// Moving returns the SRv6 policies whose switches are to be waited for, in order.
func (c *Core) Moving() []string {
	var out []string
	for name, p := range c.policies {
		if p.phase == making || p.phase == switching {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Holders returns the nodes that hold something for an SRv6 policy, in order.
func (c *Core) Holders(policy string) []topology.NodeID {
	if p := c.policies[policy]; p != nil {
		return p.nodes
	}
	return nil
}

// Advance records that all reachable nodes hold the wanted state for an SRv6 policy.
func (c *Core) Advance(name string) {
	p := c.policies[name]
	if p == nil {
		return
	}
	switch p.phase {
	case making:
		p.phase = switching
	case switching:
		p.phase, p.drained = draining, c.now+c.cfg.Drain
		if p.active == nil {
			p.drained = c.now
		}
	default:
		return
	}
	c.retouch(p)
	c.settleDrains()
}

// Assume assumes that switches hold the decisions of an earlier controller, so it phases nothing
// in.
func (c *Core) Assume() {
	for _, name := range slices.Sorted(maps.Keys(c.policies)) {
		p := c.policies[name]
		if p.next == nil {
			continue
		}
		if p.active != nil {
			c.drop(p.active)
		}
		p.active, p.next, p.phase = p.next, nil, steady
		c.retouch(p)
	}
}

// Touch has a node looked at.
func (c *Core) Touch(id topology.NodeID) { c.changed[id] = true }

// TouchAll has every node looked at that holds something.
func (c *Core) TouchAll() {
	for id := range c.holding {
		c.changed[id] = true
	}
	for id := range c.sites {
		c.changed[id] = true
	}
}

// settleDrains ends what has drained.
func (c *Core) settleDrains() {
	for _, name := range slices.Sorted(maps.Keys(c.policies)) {
		p := c.policies[name]
		if p.phase != draining || c.now < p.drained {
			continue
		}
		if p.active != nil {
			c.drop(p.active)
			if !slices.Equal(hopNodes(p.active.path), hopNodes(p.next.path)) {
				c.event(api.EventPolicyPathChanged, name, fmt.Sprintf("from %s to %s", c.hops(p.active.path),
					c.hops(p.next.path)))
			}
		}
		p.active, p.next, p.phase = p.next, nil, steady
		c.retouch(p)
		if b := p.queued; b != nil {
			p.queued = nil
			if !b.equal(p.active) {
				if err := c.aim(p, b); err != nil {
					p.err = err
				}
			}
		}
	}
}

func hopNodes(p *Path) []topology.NodeID {
	out := make([]topology.NodeID, len(p.Hops))
	for i := range p.Hops {
		out[i] = p.Hops[i].Node
	}
	return out
}

func (c *Core) hops(p *Path) string {
	s := ""
	for i, id := range hopNodes(p) {
		if i > 0 {
			s += "-"
		}
		s += c.name(id)
	}
	return s
}

// retouch finds the nodes that hold something for a policy, and has those that
// did or do looked at.
func (c *Core) retouch(p *policy) {
	old := p.nodes
	p.nodes = nil
	for _, b := range p.held() {
		p.nodes = append(p.nodes, hopNodes(b.path)...)
	}
	slices.Sort(p.nodes)
	p.nodes = slices.Compact(p.nodes)
	for _, id := range slices.Concat(old, p.nodes) {
		c.changed[id] = true
	}
	for _, id := range old {
		if !slices.Contains(p.nodes, id) {
			delete(c.holding[id], p.Name)
		}
	}
	for _, id := range p.nodes {
		if c.holding[id] == nil {
			c.holding[id] = make(map[string]bool)
		}
		c.holding[id][p.Name] = true
	}
	c.touch(p.Name)
	for _, b := range p.held() {
		for name := range b.deployments {
			c.touch(name)
		}
	}
}
