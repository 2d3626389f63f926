package controller

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weft-sdn/weft/controller/intent"
	"github.com/weft-sdn/weft/controller/pfc"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/topology"
)

// Keys of the store for lossless tenants.
const (
	srv6Prefix   = "srv6-policies/"
	tenantPrefix = "tenants/"
	pfcPrefix    = "pfc-policies/"
)

// resource is an intent of which there may be many, its spec complete.
type resource[S, T any] struct {
	name    string
	version uint64
	created time.Time
	spec    S
	status  T
	// vrf is a tenant's; learned says of a PFC policy of scenario 2 that its tunnels
	// are made.
	vrf     uint16
	learned bool
	// put: the core of PFC has it. A resource of the store waits for the topology
	// to have its switches.
	put bool
	err error
}

type resourceRecord[S any] struct {
	Version uint64    `json:"version"`
	Created time.Time `json:"created"`
	Spec    S         `json:"spec"`
	VRF     uint16    `json:"vrf,omitempty"`
	Learned bool      `json:"learned,omitempty"`
}

func (r *resource[S, T]) encode() []byte {
	return encode(resourceRecord[S]{r.version, r.created, r.spec, r.vrf, r.learned})
}

func loadResource[S, T any](into map[string]*resource[S, T], name string, b []byte) error {
	var r resourceRecord[S]
	if err := json.Unmarshal(b, &r); err != nil {
		return err
	}
	into[name] = &resource[S, T]{name: name, version: r.Version, created: r.Created, spec: r.Spec, vrf: r.VRF, learned: r.Learned}
	return nil
}

type (
	srv6Policy = resource[intent.SRv6PolicySpec, intent.SRv6PolicyStatus]
	tenant     = resource[intent.TenantSpec, intent.TenantStatus]
	pfcPolicy  = resource[intent.PFCPolicySpec, intent.PFCPolicyStatus]
)

// lossless is what the core has for tenants over SRv6 and PFC policies.
type lossless struct {
	pfc      *pfc.Core
	config   pfc.Config
	policies map[string]*srv6Policy
	tenants  map[string]*tenant
	requests map[string]*pfcPolicy

	saves map[string]bool // by key
	// stale: the status of any may have changed.
	stale bool
}

func newLossless(c pfc.Config) (lossless, error) {
	core, err := pfc.New(c)
	return lossless{
		pfc: core, config: c, policies: make(map[string]*srv6Policy), tenants: make(map[string]*tenant), requests: make(map[string]*pfcPolicy),
		saves: make(map[string]bool),
	}, err
}

// loadLossless takes a record; ok is false when the key is of another kind.
func (l *lossless) loadLossless(key string, value []byte) (ok bool, err error) {
	if name, is := cut(key, srv6Prefix); is {
		return true, loadResource(l.policies, name, value)
	}
	if name, is := cut(key, tenantPrefix); is {
		return true, loadResource(l.tenants, name, value)
	}
	if name, is := cut(key, pfcPrefix); is {
		return true, loadResource(l.requests, name, value)
	}
	return false, nil
}

func cut(key, prefix string) (string, bool) {
	if len(key) > len(prefix) && key[:len(prefix)] == prefix {
		return key[len(prefix):], true
	}
	return "", false
}

// inOrder returns resources by name.
func inOrder[S, T any](m map[string]*resource[S, T]) []*resource[S, T] {
	out := make([]*resource[S, T], 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[name])
	}
	return out
}

// findResource returns the resource that a change with a precondition is about;
// nil without an error: it is to be created.
func findResource[S, T any](m map[string]*resource[S, T], kind, name string, pre Precondition) (*resource[S, T], error) {
	r := m[name]
	switch {
	case r == nil && pre.Version != 0:
		return nil, &intent.Error{Code: intent.CodeNotFound, Message: fmt.Sprintf("there is no %s %q", kind, name)}
	case r == nil:
		return nil, nil
	case pre.Absent:
		return nil, &intent.Error{Code: intent.CodeExists, Message: fmt.Sprintf("%s %q exists", kind, name)}
	case pre.Version != 0 && pre.Version != r.version:
		return nil, &intent.Error{Code: intent.CodeVersion, Message: fmt.Sprintf("%s %q has version %d, not %d", kind, name, r.version, pre.Version)}
	}
	return r, nil
}

func noResource(kind, name string) error {
	return &intent.Error{Code: intent.CodeNotFound, Message: fmt.Sprintf("there is no %s %q", kind, name)}
}

// changed gives a resource its next version.
func changed[S, T any](c *Core, r *resource[S, T], prefix string, spec S, created bool) {
	if created {
		r.created = c.wall()
	}
	c.revision++
	c.meta = true
	r.version, r.spec, r.put, r.err = c.revision, spec, true, nil
	c.lossless.saves[prefix+r.name] = true
	c.lossless.stale = true
}

// takeLossless returns the records to be written.
func (c *Core) takeLossless(save func(key string, value []byte)) {
	l := &c.lossless
	for _, key := range slices.Sorted(maps.Keys(l.saves)) {
		var value []byte
		if name, is := cut(key, srv6Prefix); is && l.policies[name] != nil {
			value = l.policies[name].encode()
		} else if name, is := cut(key, tenantPrefix); is && l.tenants[name] != nil {
			value = l.tenants[name].encode()
		} else if name, is := cut(key, pfcPrefix); is && l.requests[name] != nil {
			value = l.requests[name].encode()
		}
		save(key, value)
	}
	clear(l.saves)
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
	for _, p := range l.policies {
		if !p.put {
			return true
		}
	}
	for _, t := range l.tenants {
		if !t.put {
			return true
		}
	}
	for _, r := range l.requests {
		if !r.put {
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
	for _, p := range inOrder(l.policies) {
		if way, err := c.policyOf(p.name, &p.spec); !p.put && err == nil {
			l.pfc.LoadPolicy(way)
			p.put, loaded = true, true
		}
	}
	for _, t := range inOrder(l.tenants) {
		if t.put {
			continue
		}
		x, err := c.tenantOf(t.name, &t.spec, t.vrf)
		if err == nil {
			err = l.pfc.PutTenant(x)
		}
		t.put, t.err = err == nil, err
	}
	for _, r := range inOrder(l.requests) {
		p, t := l.policies[r.spec.SRv6Policy], l.tenants[r.spec.Tenant]
		if !r.put && p != nil && p.put && t != nil && t.put {
			l.pfc.LoadRequest(requestOf(r.name, &r.spec, r.learned))
			r.put, loaded = true, true
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
		for _, p := range l.policies {
			p.put = false
		}
		for _, r := range l.requests {
			r.put = false
		}
		for name := range c.devices {
			c.want(name, pfcUnit, nil)
		}
	}
	for _, t := range l.tenants {
		t.put = false
	}
	c.renetLossless()
	l.pfc.TouchAll()
}

// setEdges tells the network which ports face tenants.
func (c *Core) setEdges() {
	edges := make(plan.Edges)
	for _, t := range c.lossless.tenants {
		for _, s := range t.spec.Sites {
			if edges[s.Switch] == nil {
				edges[s.Switch] = make(map[uint32]uint16)
			}
			edges[s.Switch][s.Port] = t.vrf
		}
	}
	before := c.net.Edges()
	c.net = c.net.WithEdges(edges)
	for name, d := range c.devices {
		if !maps.Equal(before[name], edges[name]) {
			c.want(name, linkUnit, c.linksOf(&d.sw))
			d.routed = false
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
			if sw, ok := c.net.SwitchOf(id); ok && c.devices[sw] != nil {
				c.want(sw, pfcUnit, c.net.PFC(&c.devices[sw].sw, l.pfc.Node(id)))
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
			c.event(EventType(e.Type), e.Object, e.Message, nil)
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
		if d := c.devices[sw]; d != nil && d.connected && (!d.clean(pfcUnit) || d.lacks(linkUnit)) {
			return false
		}
	}
	return true
}

// refusal returns what a client is told of an error of the core of PFC.
func (c *Core) refusal(field string, err error) error {
	var known *intent.Error
	var cycle *pfc.CycleError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case errors.As(err, &cycle):
		text := "it would close a circle of queues that wait for each other and could stop for ever: " + c.cycleText(cycle.Cycle)
		return &intent.Error{Code: intent.CodeConflict, Message: text, Fields: []intent.FieldError{{
			Field: "spec.allowCycle", Code: intent.CodeConflict, Value: "false", Want: "true, to have it all the same",
		}}}
	}
	code := intent.CodeNotPlannable
	switch {
	case errors.Is(err, pfc.ErrUnreachable):
		code = intent.CodeUnreachable
	case errors.Is(err, pfc.ErrTooLong), errors.Is(err, pfc.ErrNoRoom):
		code = intent.CodeLimit
	case errors.Is(err, pfc.ErrInUse):
		code = intent.CodeConflict
	case errors.Is(err, pfc.ErrNotCapable), errors.Is(err, pfc.ErrLoop), errors.Is(err, pfc.ErrNoSID):
		return &intent.Error{Code: intent.CodeInvalid, Message: field + ": " + err.Error()}
	}
	return &intent.Error{Code: code, Message: field + ": " + err.Error()}
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
