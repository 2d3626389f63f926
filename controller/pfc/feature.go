// Package pfc makes tenants lossless across a wide area network: it has the SRv6
// policies, the tenants and the PFC policies (draft srv6-pfc-sid), and turns them into
// what switches hold.
//
// Package tunnel decides paths, tunnels, headroom and deadlocks, in terms of nodes of
// the topology. This package has the resources, which name switches, and their status;
// it sends the probes and queries that package tunnel asks for, and gives it what
// switches answer.
package pfc

import (
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/pfc/tunnel"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/topology"
)

// owner is the owner of what switches hold for tenants and PFC policies.
const owner = reconcile.Owner(plan.OwnerPFC)

// decided is what the feature made of a resource.
type decided[T any] struct {
	// VRF is a tenant's. Learned is set when the tunnels of a PFC policy of scenario 2
	// exist.
	VRF     uint16 `json:"vrf,omitempty"`
	Learned bool   `json:"learned,omitempty"`

	status T
	// put is set when Feature.core has the resource. One from the store waits until the
	// topology has its switches.
	put bool
	err error
}

type (
	srv6Policy = resource.Item[api.SRv6PolicySpec, decided[api.SRv6PolicyStatus]]
	tenant     = resource.Item[api.TenantSpec, decided[api.TenantStatus]]
	pfcPolicy  = resource.Item[api.PFCPolicySpec, decided[api.PFCPolicyStatus]]
)

// Feature has the SRv6 policies, tenants and PFC policies of a controller.
type Feature struct {
	feature.Base
	env          *feature.Env
	core         *tunnel.Core
	config       tunnel.Config
	inventory    *inventory.Inventory // the last one that was seen
	srv6Policies resource.Collection[api.SRv6PolicySpec, decided[api.SRv6PolicyStatus]]
	tenants      resource.Collection[api.TenantSpec, decided[api.TenantStatus]]
	pfcPolicies  resource.Collection[api.PFCPolicySpec, decided[api.PFCPolicyStatus]]

	// found are the ports that switches report face a tenant, by switch; see orphan.go.
	found map[string]map[uint32]uint16

	// partly are nodes that changed while the network had no such switch, or did not say where a port
	// leads: they are looked at again when the network has changed.
	partly map[topology.NodeID]bool

	deleted []string // resources whose entries leave switches

	stale bool // the status of a resource may have changed
}

// New returns the feature without resources. The error is that of the inventory's
// settings.
func New(env *feature.Env) (*Feature, error) {
	config := env.Inventory().PFCConfig()
	core, err := tunnel.New(config)
	return &Feature{
		env: env, core: core, config: config, inventory: env.Inventory(),
		found: make(map[string]map[uint32]uint16), partly: make(map[topology.NodeID]bool),
		srv6Policies: resource.NewCollection[api.SRv6PolicySpec,
			decided[api.SRv6PolicyStatus]](SRv6Kind.Record, env.Versions),
		tenants: resource.NewCollection[api.TenantSpec, decided[api.TenantStatus]](TenantKind.Record,
			env.Versions),
		pfcPolicies: resource.NewCollection[api.PFCPolicySpec,
			decided[api.PFCPolicyStatus]](PFCKind.Record, env.Versions),
	}, err
}

// Load implements feature.Feature.
func (f *Feature) Load(r store.Record) (ok bool, err error) {
	for _, load := range []func(store.Record) (bool,
		error){f.srv6Policies.Load, f.tenants.Load, f.pfcPolicies.Load} {
		if ok, err = load(r); ok {
			return ok, err
		}
	}
	return false, nil
}

// Start implements feature.Feature.
func (f *Feature) Start() { f.setEdges() }

// Changes implements feature.Feature.
func (f *Feature) Changes() []store.Op {
	return slices.Concat(f.srv6Policies.Changes(), f.tenants.Changes(), f.pfcPolicies.Changes())
}

// Records implements feature.Feature.
func (f *Feature) Records() []store.Record {
	return slices.Concat(f.srv6Policies.Records(), f.tenants.Records(), f.pfcPolicies.Records())
}

// Tick implements feature.Feature.
func (f *Feature) Tick() { f.core.Tick(f.env.Now) }

// Next implements feature.Feature.
func (f *Feature) Next() (at time.Duration, ok bool) { return f.core.Next() }

// Frozen implements feature.Feature.
func (f *Feature) Frozen(sw string, o reconcile.Owner) bool {
	return o == owner && f.env.Underlay.Settling(sw)
}

// SwitchEvent implements feature.Feature.
func (f *Feature) SwitchEvent(sw string, e feature.SwitchEvent) {
	switch e.Kind {
	case feature.ReadBack:
		f.stale = true
		f.findEdges(sw, e.Contents)
		f.noteOrphans(sw)
	case feature.Disconnected:
		f.stale = true
	case feature.Progress:
		if e.Owner == owner {
			f.stale = true
			f.noteOrphans(sw)
		}
	case feature.GotPacket:
		switch e.PacketIn.Reason {
		case entry.Routed:
			f.routedHere(sw, *e.PacketIn)
		case entry.Queue:
			f.queueReported(sw, *e.PacketIn)
		}
	case feature.GotDigest:
		f.learn(sw, *e.Digest)
	}
}

// SetNetwork implements feature.Feature.
func (f *Feature) SetNetwork() {
	if f.inventory == f.env.Inventory() {
		f.replanPFC()
		return
	}
	f.inventory = f.env.Inventory()
	f.reload()
}

// replanPFC gives the core the present topology, and what has been waiting for it.
func (f *Feature) replanPFC() {
	if !f.env.Underlay.Settled() && f.env.Inventory().Intervals.Settle > 0 && f.waiting() {
		return // what was planned before may be for a part of the network only
	}
	if f.env.Switches.Orphaned(owner) {
		for _, name := range f.env.Switches.Switches() {
			f.noteLists(name)
		}
	}
	f.core.SetTopology(f.env.Net.Snapshot)
	for id := range f.partly {
		f.core.Touch(id)
	}
	clear(f.partly)
	f.putWaiting()
	f.stale = true
}

// waiting reports whether something of the store has not been put yet.
func (f *Feature) waiting() bool {
	for _, p := range f.srv6Policies.All() {
		if !p.Decided.put {
			return true
		}
	}
	for _, t := range f.tenants.All() {
		if !t.Decided.put {
			return true
		}
	}
	for _, r := range f.pfcPolicies.All() {
		if !r.Decided.put {
			return true
		}
	}
	return false
}

// putWaiting gives the PFC core the resources that the core still lacks. The switches already hold
// the resources, or no traffic depends on them, so the core does not phase the resources in.
func (f *Feature) putWaiting() {
	loaded := false
	for _, p := range f.srv6Policies.All() {
		if request, err := f.tunnelSRv6Policy(p.Name, &p.Spec); !p.Decided.put && err == nil {
			f.core.LoadSRv6Policy(request)
			p.Decided.put, loaded = true, true
		}
	}
	for _, t := range f.tenants.All() {
		if t.Decided.put {
			continue
		}
		x, err := f.tunnelTenant(t.Name, &t.Spec, t.Decided.VRF)
		if err == nil {
			err = f.core.PutTenant(x)
		}
		t.Decided.put, t.Decided.err = err == nil, err
	}
	for _, r := range f.pfcPolicies.All() {
		p, t := f.srv6Policies.Get(r.Spec.SRv6Policy), f.tenants.Get(r.Spec.Tenant)
		if !r.Decided.put && p != nil && p.Decided.put && t != nil && t.Decided.put {
			f.core.LoadPFCPolicy(tunnelPolicy(r.Name, &r.Spec, r.Decided.Learned))
			r.Decided.put, loaded = true, true
		}
	}
	if loaded {
		f.core.Assume()
	}
}

// reload takes over another inventory: hosts, and what is computed from
// the settings, may be others.
func (f *Feature) reload() {
	if config := f.env.Inventory().PFCConfig(); config != f.config {
		core, err := tunnel.New(config)
		if err != nil {
			return // the inventory has been validated
		}
		f.core, f.config = core, config
		f.core.Tick(f.env.Now)
		for _, p := range f.srv6Policies.All() {
			p.Decided.put = false
		}
		for _, r := range f.pfcPolicies.All() {
			r.Decided.put = false
		}
		for _, name := range f.env.Switches.Switches() {
			f.env.Want.Set(name, owner, nil, nil)
		}
	}
	for _, t := range f.tenants.All() {
		t.Decided.put = false
	}
	f.replanPFC()
	f.core.TouchAll()
}

// setEdges gives the underlay the ports that face tenants, and the ports that orphans of tenants
// need.
func (f *Feature) setEdges() {
	edges := f.orphanEdges()
	for _, t := range f.tenants.All() {
		for _, s := range t.Spec.Sites {
			if edges[s.Switch] == nil {
				edges[s.Switch] = make(map[uint32]plan.Edge)
			}
			edges[s.Switch][s.Port] = plan.Edge{VRF: t.Decided.VRF, Tenant: t.Name}
		}
	}
	f.env.Underlay.SetEdges(edges)
}

// Settle implements feature.Feature: it does what the core wants.
func (f *Feature) Settle() bool {
	again := false
	for {
		for _, name := range f.core.Moving() {
			if f.heldBy(f.core.Holders(name)) {
				f.core.Advance(name)
			}
		}
		r := f.core.Ready()
		if r.Empty() {
			break
		}
		for _, id := range r.Nodes {
			sw, ok := f.env.Net.SwitchOf(id)
			if !ok {
				f.partly[id] = true
				continue
			}
			if s := f.env.Inventory().Switch(sw); f.env.Switches.Exists(sw) && s.RunsP4() {
				node := f.core.Node(id)
				f.env.Want.Set(sw, owner, entities(f.env.Net, s, node), nil)
				again, f.stale = true, true
				if lacks(f.env.Net, s, node) {
					f.partly[id] = true
				}
			}
		}
		for _, p := range r.Probes {
			if sw, port, frame, ok := probeFrame(f.env.Net, p, f.env.Now); ok {
				f.env.Want.Send(sw, sendTo(port, frame))
			}
		}
		for _, q := range r.Queries {
			f.query(q)
		}
		for _, e := range r.Events {
			f.env.Event(e.Type, e.Object, e.Message, nil)
		}
		f.stale = f.stale || len(r.Policies) > 0
		if again {
			break // switches have differences to compute before anything advances
		}
	}
	return again
}

// heldBy reports whether the connected switches hold all entities for tenants and PFC policies.
// heldBy does not wait for disconnected switches.
func (f *Feature) heldBy(nodes []topology.NodeID) bool {
	for _, id := range nodes {
		sw, ok := f.env.Net.SwitchOf(id)
		if !ok {
			continue
		}
		if f.env.Switches.Connected(sw) && (!f.env.Switches.Of(sw, owner).Clean() ||
			!f.env.Underlay.Linked(sw)) {
			return false
		}
	}
	return true
}
