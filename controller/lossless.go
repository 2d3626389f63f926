package controller

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/pfc"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/topology"
)

// The kinds of resources for lossless tenants.
var (
	srv6Kind   = resource.Kind{Name: "SRv6 policy", Prefix: "srv6-policies/"}
	tenantKind = resource.Kind{Name: "tenant", Prefix: "tenants/"}
	pfcKind    = resource.Kind{Name: "PFC policy", Prefix: "pfc-policies/"}
)

// decided is what the core made of a resource for lossless tenants.
type decided[T any] struct {
	// VRF is a tenant's. Learned says of a PFC policy of scenario 2 that its tunnels
	// exist.
	VRF     uint16 `json:"vrf,omitempty"`
	Learned bool   `json:"learned,omitempty"`

	status T
	// put: the core of PFC has it. A resource of the store waits for the topology
	// to have its switches.
	put bool
	err error
}

type (
	srv6Policy = resource.Item[api.SRv6PolicySpec, decided[api.SRv6PolicyStatus]]
	tenant     = resource.Item[api.TenantSpec, decided[api.TenantStatus]]
	pfcPolicy  = resource.Item[api.PFCPolicySpec, decided[api.PFCPolicyStatus]]
)

// lossless is what the core has for tenants over SRv6 and PFC policies.
type lossless struct {
	pfc      *pfc.Core
	config   pfc.Config
	policies *resource.Collection[api.SRv6PolicySpec, decided[api.SRv6PolicyStatus]]
	tenants  *resource.Collection[api.TenantSpec, decided[api.TenantStatus]]
	requests *resource.Collection[api.PFCPolicySpec, decided[api.PFCPolicyStatus]]

	// stale: the status of any may have changed.
	stale bool
}

func newLossless(c pfc.Config, versions *resource.Versions) (lossless, error) {
	core, err := pfc.New(c)
	return lossless{
		pfc: core, config: c,
		policies: resource.NewCollection[api.SRv6PolicySpec, decided[api.SRv6PolicyStatus]](srv6Kind, versions),
		tenants:  resource.NewCollection[api.TenantSpec, decided[api.TenantStatus]](tenantKind, versions),
		requests: resource.NewCollection[api.PFCPolicySpec, decided[api.PFCPolicyStatus]](pfcKind, versions),
	}, err
}

// load takes a record; ok is false when its key is of another kind.
func (l *lossless) load(r store.Record) (ok bool, err error) {
	for _, load := range []func(store.Record) (bool, error){l.policies.Load, l.tenants.Load, l.requests.Load} {
		if ok, err = load(r); ok {
			return ok, err
		}
	}
	return false, nil
}

// changes returns the writes that keep what has changed.
func (l *lossless) changes() []store.Op {
	return slices.Concat(l.policies.Changes(), l.tenants.Changes(), l.requests.Changes())
}

// renetLossless gives the core of PFC a new topology, and what has been waiting
// for it.
func (c *Core) renetLossless() {
	l := &c.lossless
	if !c.settled && c.inv.Intervals.Settle > 0 && l.waiting() {
		return // what was planned before may be for a part of the network only
	}
	l.pfc.SetTopology(c.net.Snapshot)
	c.putWaiting()
	l.stale = true
}

// waiting reports whether something of the store has not been put yet.
func (l *lossless) waiting() bool {
	for _, p := range l.policies.All() {
		if !p.Decided.put {
			return true
		}
	}
	for _, t := range l.tenants.All() {
		if !t.Decided.put {
			return true
		}
	}
	for _, r := range l.requests.All() {
		if !r.Decided.put {
			return true
		}
	}
	return false
}

// putWaiting gives the core of PFC what it has not got yet. Switches hold it
// already, or else nobody depends on it, so that it is not phased in.
func (c *Core) putWaiting() {
	l := &c.lossless
	loaded := false
	for _, p := range l.policies.All() {
		if way, err := c.policyOf(p.Name, &p.Spec); !p.Decided.put && err == nil {
			l.pfc.LoadPolicy(way)
			p.Decided.put, loaded = true, true
		}
	}
	for _, t := range l.tenants.All() {
		if t.Decided.put {
			continue
		}
		x, err := c.tenantOf(t.Name, &t.Spec, t.Decided.VRF)
		if err == nil {
			err = l.pfc.PutTenant(x)
		}
		t.Decided.put, t.Decided.err = err == nil, err
	}
	for _, r := range l.requests.All() {
		p, t := l.policies.Get(r.Spec.SRv6Policy), l.tenants.Get(r.Spec.Tenant)
		if !r.Decided.put && p != nil && p.Decided.put && t != nil && t.Decided.put {
			l.pfc.LoadRequest(requestOf(r.Name, &r.Spec, r.Decided.Learned))
			r.Decided.put, loaded = true, true
		}
	}
	if loaded {
		l.pfc.Assume()
	}
}

// reloadLossless takes over another inventory: hosts, and what is computed from
// the settings, may be others.
func (c *Core) reloadLossless() {
	l := &c.lossless
	if config := c.inv.PFCConfig(); config != l.config {
		core, err := pfc.New(config)
		if err != nil {
			return // the inventory has been validated
		}
		l.pfc, l.config = core, config
		l.pfc.Tick(c.now)
		for _, p := range l.policies.All() {
			p.Decided.put = false
		}
		for _, r := range l.requests.All() {
			r.Decided.put = false
		}
		for _, name := range c.switches.Switches() {
			c.want(name, int(pfcUnit), nil)
		}
	}
	for _, t := range l.tenants.All() {
		t.Decided.put = false
	}
	c.renetLossless()
	l.pfc.TouchAll()
}

// setEdges tells the network which ports face tenants.
func (c *Core) setEdges() {
	edges := make(plan.Edges)
	for _, t := range c.lossless.tenants.All() {
		for _, s := range t.Spec.Sites {
			if edges[s.Switch] == nil {
				edges[s.Switch] = make(map[uint32]uint16)
			}
			edges[s.Switch][s.Port] = t.Decided.VRF
		}
	}
	before := c.net.Edges()
	c.net = c.net.WithEdges(edges)
	for name, u := range c.underlay {
		if !maps.Equal(before[name], edges[name]) {
			c.want(name, int(linkUnit), c.linksOf(c.inv.Switch(name)))
			u.routed = false
			c.unrouted = append(c.unrouted, name)
		}
	}
	slices.Sort(c.unrouted)
	c.unrouted = slices.Compact(c.unrouted)
	c.planRoutes()
}

// settleLossless does what the core of PFC wants, and reports whether there is
// something for settle to do after it.
func (c *Core) settleLossless() bool {
	l := &c.lossless
	again := false
	for {
		for _, name := range l.pfc.Moving() {
			if c.heldBy(l.pfc.Holders(name)) {
				l.pfc.Advance(name)
			}
		}
		r := l.pfc.Ready()
		if r.Empty() {
			break
		}
		for _, id := range r.Nodes {
			if sw, ok := c.net.SwitchOf(id); ok && c.switches.Exists(sw) {
				c.want(sw, int(pfcUnit), c.net.PFC(c.inv.Switch(sw), l.pfc.Node(id)))
				again, l.stale = true, true
			}
		}
		for _, p := range r.Probes {
			if sw, port, frame, ok := c.net.Probe(p, c.now); ok {
				c.packetOut(sw, sendTo(port, frame))
			}
		}
		for _, q := range r.Queries {
			c.query(q)
		}
		for _, e := range r.Events {
			c.event(e.Type, e.Object, e.Message, nil)
		}
		l.stale = l.stale || len(r.Policies) > 0
		if again {
			break // switches have differences to compute before anything advances
		}
	}
	return again
}

// heldBy reports whether switches hold what they should for tenants and PFC
// policies, as far as they are there. Those that are not are not waited for.
func (c *Core) heldBy(nodes []topology.NodeID) bool {
	for _, id := range nodes {
		sw, ok := c.net.SwitchOf(id)
		if !ok {
			continue
		}
		if c.switches.Connected(sw) && (!c.switches.Clean(sw, pfcUnit) || c.switches.Lacks(sw, linkUnit)) {
			return false
		}
	}
	return true
}

// refusal returns what a client is told of an error of the core of PFC.
func (c *Core) refusal(field string, err error) error {
	var known *api.Error
	var cycle *pfc.CycleError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case errors.As(err, &cycle):
		text := "it would close a circle of queues that wait for each other and could stop for ever: " + c.cycleText(cycle.Cycle)
		return &api.Error{Code: api.CodeConflict, Message: text, Fields: []api.FieldError{{
			Field: "spec.allowCycle", Code: api.CodeConflict, Value: "false", Want: "true, to have it all the same",
		}}}
	}
	code := api.CodeNotPlannable
	switch {
	case errors.Is(err, pfc.ErrUnreachable):
		code = api.CodeUnreachable
	case errors.Is(err, pfc.ErrTooLong), errors.Is(err, pfc.ErrNoRoom):
		code = api.CodeLimit
	case errors.Is(err, pfc.ErrInUse):
		code = api.CodeConflict
	case errors.Is(err, pfc.ErrNotCapable), errors.Is(err, pfc.ErrLoop), errors.Is(err, pfc.ErrNoSID):
		return &api.Error{Code: api.CodeInvalid, Message: field + ": " + err.Error()}
	}
	return &api.Error{Code: code, Message: field + ": " + err.Error()}
}

// cycleText names the queues of a circle.
func (c *Core) cycleText(cycle []pfc.Queue) string {
	text := ""
	for _, q := range cycle {
		text += c.queueName(q) + " -> "
	}
	return text + c.queueName(cycle[0])
}

func (c *Core) queueName(q pfc.Queue) string {
	return fmt.Sprintf("%s/%d/%d", c.switchName(q.Node), q.Port, q.Priority)
}

// switchName returns the name that clients know a node by.
func (c *Core) switchName(id topology.NodeID) string {
	if name, ok := c.net.SwitchOf(id); ok {
		return name
	}
	if n := c.net.Snapshot.Node(id); n != nil {
		return n.DisplayName()
	}
	return string(id)
}
