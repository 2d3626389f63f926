package controller

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/job"
	"github.com/weft-sdn/weft/controller/leases"
	"github.com/weft-sdn/weft/controller/multicast"
	"github.com/weft-sdn/weft/controller/pfc"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/topology"
)

// fork is a copy of all inputs to the decisions of a core. The copy shares nothing with the running
// core, so another goroutine can make cores from the copy.
type fork struct {
	inv      inventory.Inventory
	start    time.Time
	now      time.Duration
	records  []store.Record
	topology *topology.Snapshot
	fabric   *fabricview.View
	restore  []func(feature.Feature)   // what features know beside their records
	held     map[string][]entry.Entity // by switch
}

// fork copies the core.
func (c *Core) fork() *fork {
	f := &fork{
		inv: *c.configured, start: c.env.Start, now: c.env.Now, records: c.records(),
		topology: c.advertised, fabric: c.env.Fabric,
		held: make(map[string][]entry.Entity),
	}
	// The outcome counts, not the way there, and no time passes for anything else.
	i := &f.inv.Intervals
	i.Settle, i.Audit, i.Stall, i.Drain = 0, 0, 0, 0
	for _, x := range c.features {
		f.restore = append(f.restore, x.Fork())
	}
	for _, name := range c.switches.Switches() {
		f.held[name] = c.Held(name) // empty for one that is away, which gets all that it should have
	}
	return f
}

// core returns a core in the state of the copied core, whose switches have carried out all their
// tasks.
func (f *fork) core() (*Core, error) {
	c, err := newCore(Config{Inventory: f.inv, Start: f.start}, f.records, f.restore)
	if err != nil {
		return nil, err
	}
	c.Tick(f.now)
	c.SetTopology(f.topology)
	c.SetFabric(f.fabric)
	for _, name := range slices.Sorted(maps.Keys(f.held)) {
		c.SwitchConnected(name, entry.Contents{Entities: f.held[name]})
	}
	c.obey()
	return c, nil
}

// Bounds of a trial's virtual time and of its steps.
const (
	trialTime  = time.Second
	trialSteps = 10_000
)

// obey has every switch carry out its tasks, at once and without refusing anything, until
// nothing is left to do.
func (c *Core) obey() {
	end := c.env.Now + trialTime
	for range trialSteps {
		r := c.Ready(0)
		for _, w := range r.Tasks {
			if w.ID != 0 {
				c.Done(reconcile.Result{Switch: w.Switch, ID: w.ID,
					Contents: entry.Contents{Entities: c.Held(w.Switch)}})
			}
		}
		if len(r.Tasks) > 0 {
			continue
		}
		at, ok := c.Next()
		if !ok || at > end {
			return
		}
		c.Tick(at)
	}
}

// run carries out a change on a copy, and returns what it changes on switches once it is
// complete. The other copy shows what would happen without it.
func (f *fork) run(change func(*Core) error) ([]api.SwitchChange, []api.Taken, error) {
	without, err := f.core()
	if err != nil {
		return nil, nil, err
	}
	with, err := f.core()
	if err != nil {
		return nil, nil, err
	}
	if err := change(with); err != nil {
		return nil, nil, err
	}
	with.obey()
	var out []api.SwitchChange
	for _, name := range slices.Sorted(maps.Keys(f.held)) {
		if u := reconcile.Difference(plan.Rank, without.Held(name), with.Held(name)); len(u) > 0 {
			out = append(out, api.SwitchChange{Switch: name, Updates: describe(u)})
		}
	}
	return out, takes(without, with), nil
}

// services returns what has something that a change may take: resources that carry traffic, leases,
// and hosts at their ports; by their paths below /v1/.
func (c *Core) services() map[string]service {
	all := make(map[string]service)
	off := make(map[string]bool) // disabled ports
	for _, p := range c.ports.Wanted() {
		off[p.Name] = p.Spec.Disabled()
	}
	hosts := make(map[netip.Addr]string)
	away := make(map[netip.Addr]bool) // at disabled ports
	for i := range c.configured.Hosts {
		h := &c.configured.Hosts[i]
		port := fmt.Sprintf("%s/%d", h.Switch, h.Port)
		hosts[h.Address], away[h.Address] = h.Name, off[port]
		s := service{noun: "host", name: h.Name}
		if !off[port] {
			s.has = []string{"port " + port}
		}
		all["hosts/"+h.Name] = s
	}
	for _, r := range c.Groups().List() {
		var has []string
		add := func(role string, a netip.Addr) {
			if !away[a] {
				has = append(has, role+" "+cmp.Or(hosts[a], a.String()))
			}
		}
		add("source", r.Spec.Source.Address)
		for i := range r.Spec.Receivers {
			add("receiver", r.Spec.Receivers[i].Address)
		}
		all["multicast-groups/"+r.Name] = service{multicast.Kind.Noun, r.Name, r.Version,
			r.Status.Conditions, has}
	}
	for _, r := range c.SRv6Policies().List() {
		all["srv6-policies/"+r.Name] = service{pfc.SRv6Kind.Noun, r.Name, r.Version,
			r.Status.Conditions, []string{"the way from " + r.Spec.Headend + " to " + r.Spec.Endpoint}}
	}
	for _, r := range c.Tenants().List() {
		var has []string
		for _, s := range r.Spec.Sites {
			if port := fmt.Sprintf("%s/%d", s.Switch, s.Port); !off[port] {
				has = append(has, "site "+port)
			}
		}
		all["tenants/"+r.Name] = service{pfc.TenantKind.Noun, r.Name, r.Version, r.Status.Conditions,
			has}
	}
	for _, r := range c.PFCPolicies().List() {
		all["pfc-policies/"+r.Name] = service{pfc.PFCKind.Noun, r.Name, r.Version, r.Status.Conditions,
			[]string{"tenant " + r.Spec.Tenant}}
	}
	for _, r := range c.Leases().List() {
		all["leases/"+r.Name] = service{noun: leases.Kind.Noun, name: r.Name, version: r.Version,
			conditions: r.Status.Conditions}
	}
	for _, r := range c.Jobs().List() {
		s := service{noun: job.Kind.Noun, name: r.Name}
		if r.Status.Phase != api.PhaseDone {
			s.has = []string{"all that the fabric has ready for its ranks"}
		}
		all["jobs/"+r.Name] = s
	}
	return all
}

// service is something that a change may take from.
type service struct {
	noun, name string
	version    uint64
	conditions api.Conditions
	has        []string // whom it serves, or what it has
}

// fault returns the condition by which a service carries nothing, or less; nil: it has none.
func (s *service) fault() *api.Condition {
	if c := s.conditions.Find(api.Accepted); c != nil && !c.Status {
		return c
	}
	if c := s.conditions.Find(api.Degraded); c != nil && c.Status {
		return c
	}
	if c := s.conditions.Find(api.Ready); c != nil && (!c.Status && c.Reason != api.ReasonEnded ||
		c.Reason == api.ReasonPreempted) {
		return c
	}
	return nil
}

// takes returns the losses in the core with, compared to the core without: who loses something, and
// which resources with equal specs in both cores have a fault.
func takes(without, with *Core) (out []api.Taken) {
	after := with.services()
	for object, was := range without.services() {
		now, ok := after[object]
		lost := slices.DeleteFunc(slices.Clone(was.has), func(x string) bool {
			return slices.Contains(now.has, x)
		})
		t := api.Taken{Kind: was.noun, Name: was.name, Object: object}
		switch c := now.fault(); {
		case len(lost) > 0:
			t.Reason, t.Message = api.ReasonTaken, "it loses "+feature.Names(lost)
		case ok && c != nil && was.fault() == nil && was.version == now.version:
			t.Reason, t.Message = c.Reason, cmp.Or(c.Message, c.Reason)
		default:
			continue
		}
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b api.Taken) int { return natural.Compare(a.Object, b.Object) })
	return out[:min(len(out), api.MostTaken)]
}

// describe returns updates as clients see them.
func describe(updates []entry.Update) []api.EntityUpdate {
	out := make([]api.EntityUpdate, len(updates))
	for i, u := range updates {
		out[i] = api.EntityUpdate{Type: u.Type.String(), Entity: string(u.Entity.Key())}
		if s, ok := u.Entity.(interface{ String() string }); ok && u.Type != entry.Delete {
			out[i].Entity = s.String()
		}
	}
	return out
}

// write has a change made, or tried when the precondition has a trial. Trials are made one at
// a time, beside the core's goroutine.
func (c *Controller) write(
	ctx context.Context, pre resource.Precondition, change func(*Core) error,
) error {
	if pre.Trial == nil {
		return c.ledger.Change(ctx, func() error {
			c.takeFabric()
			return early(change(c.core), c.core.unsettled())
		})
	}
	var f *fork
	var why string
	if err := c.read(ctx, func(core *Core) {
		c.takeFabric()
		f, why = core.fork(), core.unsettled()
	}); err != nil {
		return err
	}
	select {
	case c.trial <- struct{}{}:
		defer func() { <-c.trial }()
	case <-ctx.Done():
		return ctx.Err()
	}
	var err error
	pre.Trial.Changes, pre.Trial.Takes, err = f.run(change)
	return early(err, why)
}
