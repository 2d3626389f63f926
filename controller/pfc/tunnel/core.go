package tunnel

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

// Core is the state machine. Its methods must not be called concurrently; all of
// them are synchronous, and none blocks. The inputs are SRv6 policies, tenants
// and PFC policies, the topology, and what switches report; what nodes should hold
// is [Core.Node].
type Core struct {
	cfg  Config
	now  time.Duration
	snap *topology.Snapshot

	policies map[string]*policy
	tenants  map[string]*Tenant
	requests map[string]*pfcPolicy
	deps     *Dependencies

	numbers  map[topology.NodeID]*numbers
	monitors map[string]*monitor // by what they measure
	cookies  map[uint32]*monitor
	cookie   uint32
	reports  map[Queue]*report
	probedAt time.Duration
	askedAt  time.Duration

	holding map[topology.NodeID]map[string]bool // policies that nodes hold something for
	sites   map[topology.NodeID]map[string]bool // tenants that are attached at nodes
	changed map[topology.NodeID]bool
	touched map[string]bool
	out     Ready
}

// New returns a core that knows no topology.
func New(cfg Config) (*Core, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Core{
		cfg: cfg, snap: topology.Empty(), policies: make(map[string]*policy),
		tenants: make(map[string]*Tenant), requests: make(map[string]*pfcPolicy),
		deps: NewDependencies(), numbers: make(map[topology.NodeID]*numbers),
		monitors: make(map[string]*monitor), cookies: make(map[uint32]*monitor),
		reports: make(map[Queue]*report), holding: make(map[topology.NodeID]map[string]bool),
		sites:   make(map[topology.NodeID]map[string]bool),
		changed: make(map[topology.NodeID]bool), touched: make(map[string]bool),
	}, nil
}

// Config returns what the core started with.
func (c *Core) Config() Config { return c.cfg }

// Tick sets the time, which does not go back; every other input happens at the
// time of the last Tick.
func (c *Core) Tick(now time.Duration) {
	c.now = max(c.now, now)
	c.settleDrains()
	c.runProbes()
	c.runQueries()
}

// Next returns the time at which Tick should be called at the latest.
func (c *Core) Next() (at time.Duration, ok bool) {
	sooner := func(t time.Duration) {
		if !ok || t < at {
			at, ok = t, true
		}
	}
	for _, p := range c.policies {
		if p.phase == draining {
			sooner(p.drained)
		}
	}
	if len(c.monitors) > 0 {
		sooner(c.probedAt + c.cfg.ProbeEvery)
		sooner(c.askedAt + c.cfg.QueryEvery)
		for _, m := range c.monitors {
			for _, o := range m.waiting {
				sooner(o.lostAt)
			}
		}
	}
	return max(at, c.now), ok
}

// Ready returns the work to do now, and relies on the caller to do the work.
func (c *Core) Ready() Ready {
	r := c.out
	c.out = Ready{}
	r.Nodes, r.Policies = slices.Sorted(maps.Keys(c.changed)), slices.Sorted(maps.Keys(c.touched))
	clear(c.changed)
	clear(c.touched)
	return r
}

func (c *Core) touch(name string) { c.touched[name] = true }

func (c *Core) name(id topology.NodeID) string {
	if n := c.snap.Node(id); n != nil {
		return n.DisplayName()
	}
	return string(id)
}

// SetTopology sets the advertised topology. The core ignores an incomplete snapshot:
// objects that the snapshot lacks may still exist. Policies move if the snapshot breaks
// or shortens their paths.
func (c *Core) SetTopology(s *topology.Snapshot) {
	if s.Incomplete() {
		return
	}
	c.snap = s
	for _, name := range slices.Sorted(maps.Keys(c.policies)) {
		c.replan(c.policies[name])
	}
}

// replan decides a policy's bundle anew. A failed plan changes nothing. But the core removes a PFC
// policy that would close a circle: the policy fails open.
func (c *Core) replan(p *policy) {
	requests := c.requestsOn(p.Name)
	a, err := c.try(p, p.SRv6Policy, requests, c.tenant)
	if err == nil {
		for _, r := range requests {
			if err := a.errs[r.Name]; err != nil && (r.err == nil || r.err.Error() != err.Error()) {
				c.event(api.EventDeadlockRisk, r.Name, err.Error())
			}
		}
		err = c.commit(a, requests)
	}
	if err != nil {
		if p.err == nil || p.err.Error() != err.Error() {
			c.event(api.EventPolicyPathFailed, p.Name, err.Error())
		}
		p.err = err
		c.touch(p.Name)
		for _, r := range requests {
			c.touch(r.Name)
		}
	}
}

func (c *Core) tenant(name string) *Tenant { return c.tenants[name] }

// requestsOn and requestsOf return the PFC policies on an SRv6 policy, and of a
// tenant, in order.
func (c *Core) requestsOn(policy string) []*pfcPolicy {
	return c.requestsThat(func(r *pfcPolicy) bool { return r.SRv6Policy == policy })
}

func (c *Core) requestsOf(tenant string) []*pfcPolicy {
	return c.requestsThat(func(r *pfcPolicy) bool { return r.Tenant == tenant })
}

func (c *Core) requestsThat(match func(*pfcPolicy) bool) []*pfcPolicy {
	var out []*pfcPolicy
	for _, r := range c.requests {
		if match(r) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *pfcPolicy) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// PutSRv6Policy creates or changes an SRv6 policy. An error changes nothing: the network has no
// such path, or the path cannot carry a PFC policy.
func (c *Core) PutSRv6Policy(p SRv6Policy) error {
	old := c.policies[p.Name]
	next := old
	if old == nil {
		next = &policy{SRv6Policy: p}
		if err := c.acquire(p.Headend, policyKey(p.Name), c.segments(&p)); err != nil {
			return fmt.Errorf("%s: %w", c.name(p.Headend), err)
		}
	} else if old.Headend != p.Headend || old.Endpoint != p.Endpoint {
		return fmt.Errorf("headend and endpoint of %s: %w", p.Name, ErrInUse)
	}
	requests := c.requestsOn(p.Name)
	a, err := c.try(next, p, requests, c.tenant)
	if err == nil {
		if err = a.fault(); err != nil {
			c.undo(a, requests)
		}
	}
	if err != nil {
		if old == nil {
			c.release(p.Headend, policyKey(p.Name))
		}
		return err
	}
	next.SRv6Policy = p
	c.policies[p.Name] = next
	c.changedBy(next)
	return c.commit(a, requests)
}

// segments returns the SIDs that the list of an SRv6 policy has on the present network.
func (c *Core) segments(p *SRv6Policy) (sids []netip.Addr) {
	path, err := FindPath(c.snap, c.cfg.Behaviors, p.PathRequest)
	if err != nil || p.BestEffort {
		return nil
	}
	for _, s := range path.Segments {
		sids = append(sids, s.SID)
	}
	return sids
}

// LoadSRv6Policy takes an SRv6 policy that was accepted before, whatever the present
// network has for it.
func (c *Core) LoadSRv6Policy(p SRv6Policy) {
	if err := c.PutSRv6Policy(p); err != nil {
		// A headend that is full now was not when the policy was accepted.
		if c.acquire(p.Headend, policyKey(p.Name), c.segments(&p)) == nil {
			c.policies[p.Name] = &policy{SRv6Policy: p, err: err}
			c.touch(p.Name)
		}
	}
}

// DeleteSRv6Policy removes an SRv6 policy that no PFC policy and no tenant has.
func (c *Core) DeleteSRv6Policy(name string) error {
	p := c.policies[name]
	if p == nil {
		return nil
	}
	if len(c.requestsOn(name)) > 0 {
		return fmt.Errorf("SRv6 policy %s %w", name, ErrInUse)
	}
	for _, t := range c.tenants {
		if slices.Contains(t.Policies, name) {
			return fmt.Errorf("SRv6 policy %s %w", name, ErrInUse)
		}
	}
	for _, b := range p.held() {
		c.drop(b)
	}
	p.active, p.next = nil, nil
	c.retouch(p)
	c.release(p.Headend, policyKey(name))
	delete(c.policies, name)
	return nil
}

// PutTenant makes or changes a tenant. An error changes nothing.
func (c *Core) PutTenant(t Tenant) error {
	with := func(name string) *Tenant {
		if name == t.Name {
			return &t
		}
		return c.tenants[name]
	}
	var done []*attempt
	var on [][]*pfcPolicy
	carrying := make(map[string]bool) // policies with a PFC policy of the tenant
	for _, r := range c.requestsOf(t.Name) {
		if c.policies[r.SRv6Policy] != nil {
			carrying[r.SRv6Policy] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(carrying)) {
		requests := c.requestsOn(name)
		a, err := c.try(c.policies[name], c.policies[name].SRv6Policy, requests, with)
		if err == nil {
			done, on = append(done, a), append(on, requests)
			err = a.fault()
		}
		if err != nil {
			for i := len(done) - 1; i >= 0; i-- {
				c.undo(done[i], on[i])
			}
			return err
		}
	}
	old := c.tenants[t.Name]
	if err := c.attach(&t); err != nil {
		for i := len(done) - 1; i >= 0; i-- {
			c.undo(done[i], on[i])
		}
		return err
	}
	c.tenants[t.Name] = &t
	if old != nil {
		c.detach(old)
	}
	for i, a := range done {
		if err := c.commit(a, on[i]); err != nil {
			a.policy.err = err
		}
	}
	return nil
}

// attach takes what a tenant's sites need.
func (c *Core) attach(t *Tenant) error {
	for i := range t.Sites {
		s := &t.Sites[i]
		if err := c.acquire(s.Node, listKey(s.Node, nil), nil); err != nil {
			for j := range i {
				c.release(t.Sites[j].Node, listKey(t.Sites[j].Node, nil))
			}
			return fmt.Errorf("%s: %w", c.name(s.Node), err)
		}
	}
	for i := range t.Sites {
		id := t.Sites[i].Node
		if c.sites[id] == nil {
			c.sites[id] = make(map[string]bool)
		}
		c.sites[id][t.Name] = true
	}
	c.touchTenant(t)
	return nil
}

// detach releases the resources for the sites of a removed or changed tenant.
func (c *Core) detach(t *Tenant) {
	for i := range t.Sites {
		s := &t.Sites[i]
		c.release(s.Node, listKey(s.Node, nil))
		if now := c.tenants[t.Name]; now == nil ||
			!slices.ContainsFunc(now.Sites, func(x Site) bool { return x.Node == s.Node }) {
			delete(c.sites[s.Node], t.Name)
		}
	}
	c.touchTenant(t)
}

func (c *Core) touchTenant(t *Tenant) {
	for i := range t.Sites {
		c.changed[t.Sites[i].Node] = true
	}
	for _, name := range t.Policies {
		if p := c.policies[name]; p != nil {
			for _, id := range p.nodes {
				c.changed[id] = true
			}
		}
	}
}

// DeleteTenant removes a tenant that no PFC policy has.
func (c *Core) DeleteTenant(name string) error {
	t := c.tenants[name]
	if t == nil {
		return nil
	}
	if len(c.requestsOf(name)) > 0 {
		return fmt.Errorf("tenant %s %w", name, ErrInUse)
	}
	delete(c.tenants, name)
	c.detach(t)
	return nil
}

// PutPFCPolicy makes or changes a PFC policy. An error changes nothing; that of a
// circle is a *CycleError.
func (c *Core) PutPFCPolicy(r PFCPolicy) error {
	p, t := c.policies[r.SRv6Policy], c.tenants[r.Tenant]
	switch {
	case p == nil:
		return fmt.Errorf("SRv6 policy %s %w", r.SRv6Policy, ErrUnknown)
	case t == nil:
		return fmt.Errorf("tenant %s %w", r.Tenant, ErrUnknown)
	case p.latest() == nil:
		return p.err
	}
	old := c.requests[r.Name]
	if old != nil && old.SRv6Policy != r.SRv6Policy {
		return fmt.Errorf("SRv6 policy of %s: %w", r.Name, ErrInUse)
	}
	before := c.requestsOn(r.SRv6Policy)
	mine := &pfcPolicy{PFCPolicy: r}
	after := slices.DeleteFunc(slices.Clone(before), func(x *pfcPolicy) bool { return x == old })
	if old != nil {
		mine.deps = old.deps
	}
	after = append(after, mine)
	a, err := c.try(p, p.SRv6Policy, after, c.tenant)
	if err != nil {
		return err
	}
	if err := a.errs[r.Name]; err != nil {
		c.undo(a, after)
		return err
	}
	c.requests[r.Name] = mine
	c.changedBy(p)
	return c.commit(a, after)
}

// LoadPFCPolicy takes a PFC policy that was accepted before.
func (c *Core) LoadPFCPolicy(r PFCPolicy) {
	if err := c.PutPFCPolicy(r); err != nil {
		c.requests[r.Name] = &pfcPolicy{PFCPolicy: r, err: err}
		c.touch(r.Name)
	}
}

// DeletePFCPolicy removes a PFC policy.
func (c *Core) DeletePFCPolicy(name string) {
	r := c.requests[name]
	if r == nil {
		return
	}
	c.deps.Remove(r.deps)
	delete(c.requests, name)
	p := c.policies[r.SRv6Policy]
	if p == nil || p.latest() == nil {
		return
	}
	b := &bundle{p.latest().path, maps.Clone(p.latest().deployments)}
	delete(b.deployments, name)
	if !b.equal(p.latest()) {
		if err := c.aim(p, b); err != nil {
			p.err = err // not for want of room: less is needed than before
		}
	}
	c.recheck()
}

// recheck checks whether PFC policies in a circle still form a circle, and whether PFC policies
// that would have closed a circle may come back.
func (c *Core) recheck() {
	for _, name := range slices.Sorted(maps.Keys(c.requests)) {
		r := c.requests[name]
		if r.cycle != nil {
			r.cycle = c.deps.Cycle(r.deps)
			c.touch(name)
		}
		if _, ok := r.err.(*CycleError); ok {
			if p := c.policies[r.SRv6Policy]; p != nil {
				c.replan(p)
			}
		}
	}
}

// Cycle returns the circle that contains a PFC policy, whichever policy closed the circle, or nil.
func (c *Core) Cycle(name string) []Queue {
	if r := c.requests[name]; r != nil {
		return c.deps.Cycle(r.deps)
	}
	return nil
}

func (c *Core) changedBy(p *policy) {
	for _, id := range p.nodes {
		c.changed[id] = true
	}
}
