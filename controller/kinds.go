package controller

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/job"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/leases"
	"github.com/weft-sdn/weft/controller/maintenance"
	"github.com/weft-sdn/weft/controller/multicast"
	"github.com/weft-sdn/weft/controller/networks"
	"github.com/weft-sdn/weft/controller/notification"
	"github.com/weft-sdn/weft/controller/orphan"
	"github.com/weft-sdn/weft/controller/pfc"
	"github.com/weft-sdn/weft/controller/port"
	"github.com/weft-sdn/weft/controller/project"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/controller/silence"
)

// kinds are the kinds of resources, with what reaches them in a core.
var kinds = []offered{
	offer(multicast.Kind, (*Core).Groups, &more[api.MulticastGroup]{asks: askGroup}),
	offer(pfc.SRv6Kind, (*Core).SRv6Policies, nil),
	offer(pfc.TenantKind, (*Core).Tenants, nil),
	offer(pfc.PFCKind, (*Core).PFCPolicies, nil),
	offer(networks.Kind, (*Core).Networks, nil),
	offer(project.Kind, (*Core).Projects, nil),
	offer(job.Kind, (*Core).Jobs, &more[api.Job]{asks: askJob}),
	offer(leases.Kind, (*Core).Leases, &more[api.PathLease]{prepare: readRunning,
		asks: changes((*Core).Leases, (*Core).AskLease)}),
	offer(maintenance.Kind, (*Core).Maintenances, &more[api.Maintenance]{prepare: lookAhead}),
	offer(silence.Kind, (*Core).Silences, nil),
	offer(notification.Kind, (*Core).Notifications, &more[api.Notification]{asks: askNotification}),
	offer(port.Kind, (*Core).Ports, &more[api.Port]{match: port.Matches, list: listPorts}),
	{orphan.Kind, func(c *Controller) *kind.Kind { return orphan.Kind.With(orphans{c: c}) }},
	{switchKind, func(c *Controller) *kind.Kind { return switchKind.With(switches{c: c}) }},
}

// offered is a kind of resources that controllers have.
type offered struct {
	kind *kind.Kind
	bind func(*Controller) *kind.Kind
}

// offer makes the entry of a kind in the list of kinds; m is nil for a kind without extras.
func offer[S any, R api.Intended](
	k *kind.Kind, of func(*Core) resource.Resources[S, R], m *more[R],
) offered {
	if m == nil {
		m = &more[R]{}
	}
	return offered{k, func(c *Controller) *kind.Kind {
		return k.With(handle[S, R]{c, k, of, m})
	}}
}

// Kinds returns the kinds of resources without handles, for whoever reads their records without a
// core.
func Kinds() (out []*kind.Kind) {
	for _, o := range kinds {
		out = append(out, o.kind)
	}
	return out
}

// Kinds returns all kinds of resources.
func (c *Controller) Kinds() (out []*kind.Kind) {
	for _, o := range kinds {
		out = append(out, o.bind(c))
	}
	return out
}

// askGroup answers the questions about a multicast group.
func askGroup(
	ctx context.Context, c *Controller, name string, question any, pre resource.Precondition,
) (any, error) {
	switch question.(type) {
	case api.ResetGroup:
		var g api.MulticastGroup
		err := c.write(ctx, pre, func(core *Core) (err error) {
			g, err = core.ResetGroup(name, pre)
			return err
		})
		return g, err
	case api.ReadGroupState:
		return ask[api.GroupState](ctx, c, func(core *Core) (uint64, error) {
			return core.QueryState(name)
		})
	}
	return nil, fmt.Errorf("%T: %w", question, kind.ErrNoQuestion)
}

// askJob answers the questions about a job.
func askJob(
	ctx context.Context, c *Controller, name string, question any, pre resource.Precondition,
) (any, error) {
	switch q := question.(type) {
	case api.Simulate:
		return c.simulate(ctx, q.SimulationSpec)
	case api.ReadReadiness:
		return c.readiness(ctx, name)
	case api.ReadRacks:
		return c.racks(ctx, name)
	case api.RenewJob:
		return changes((*Core).Jobs, (*Core).renewJob)(ctx, c, name, question, pre)
	}
	return nil, fmt.Errorf("%T: %w", question, kind.ErrNoQuestion)
}

func (c *Core) renewJob(name string, _ any, pre resource.Precondition) error {
	return c.jobs.Renew(name, pre)
}

// changes returns the asks of [more] for questions that change a resource: do carries out the
// question, and the answer is the resource after the change.
func changes[S any, R api.Intended](of func(*Core) resource.Resources[S, R],
	do func(core *Core, name string, question any, pre resource.Precondition) error,
) func(context.Context, *Controller, string, any, resource.Precondition) (any, error) {
	return func(
		ctx context.Context, c *Controller, name string, question any, pre resource.Precondition,
	) (any, error) {
		var r R
		err := c.write(ctx, pre, func(core *Core) (err error) {
			if err = do(core, name, question, pre); err == nil {
				r, err = of(core).Get(name)
			}
			return err
		})
		return r, err
	}
}

// orphans implements kind.Handle. With a trial in the precondition a deletion changes a copy of the
// core.
type orphans struct {
	kind.Base
	c *Controller
}

func (o orphans) List(ctx context.Context, q kind.Query) (p kind.Page[any], err error) {
	var all []api.Orphan
	if err := o.c.read(ctx, func(core *Core) { all = core.Orphans() }); err != nil {
		return p, err
	}
	p = kind.Any(kind.Select(all, q, func(x *api.Orphan) string { return x.Name }, orphan.Matches))
	return p, kind.Known(q, len(p.Items), o.c.names)
}

func (o orphans) Get(ctx context.Context, name string) (out any, err error) {
	stopped := o.c.read(ctx, func(core *Core) { out, err = core.Orphan(name) })
	return out, first(stopped, err)
}

func (o orphans) Delete(ctx context.Context, name string, pre resource.Precondition) error {
	return o.c.write(ctx, pre, func(core *Core) error { return core.DeleteOrphan(name) })
}

func (o orphans) Ask(
	ctx context.Context, sw string, question any, pre resource.Precondition,
) (any, error) {
	if _, ok := question.(api.DeleteOrphans); !ok {
		return o.Base.Ask(ctx, sw, question, pre)
	}
	var names []string
	err := o.c.write(ctx, pre, func(core *Core) (err error) {
		names, err = core.DeleteOrphans(sw)
		return err
	})
	return names, err
}

// switchKind is the kind of the switches.
var switchKind = kind.NewView[api.SwitchStatus](kind.About{
	Names:   kind.Names{One: "switch", Many: "switches", Noun: "switch", Nouns: "switches"},
	Heading: kind.HeadingSwitches, Reads: access.Read, Verbs: kind.List | kind.Get,
	Help: "switches and the state of their sessions", Events: []string{"switch"},
	At: "/v1/switches/{id}", Address: struct {
		ID string `path:"id" maxLength:"63" doc:"Name of the switch."`
	}{},
})

// switches implements kind.Handle.
type switches struct {
	kind.Base
	c *Controller
}

func (s switches) List(ctx context.Context, q kind.Query) (p kind.Page[any], err error) {
	all, err := s.c.Switches(ctx)
	if err != nil {
		return p, err
	}
	return kind.Any(kind.Select(all, q, func(x *api.SwitchStatus) string { return x.Name }, nil)), nil
}

func (s switches) Get(ctx context.Context, name string) (any, error) {
	out, ok, err := s.c.Switch(ctx, name)
	if err == nil && !ok {
		err = resource.NotFound(fmt.Sprintf("switch %q", name))
	}
	return out, err
}

func (s switches) Ask(
	ctx context.Context, name string, question any, pre resource.Precondition,
) (any, error) {
	switch q := question.(type) {
	case api.ReadGNMI:
		var out api.SwitchGNMI
		var err error
		stopped := s.c.read(ctx, func(core *Core) { out, err = core.SwitchGNMI(name) })
		return out, first(stopped, err)
	case api.ReadModel:
		var out api.SwitchModel
		var err error
		stopped := s.c.read(ctx, func(core *Core) { out, err = core.SwitchModel(name) })
		return out, first(stopped, err)
	case api.ReadTables:
		return reach(s.c, name, func(sw P4Switch) ([]api.Table, error) { return sw.Tables(), nil })
	case api.ReadCounterNames:
		return reach(s.c, name, func(sw P4Switch) ([]string, error) { return sw.CounterNames(), nil })
	case api.ReadCounters:
		return reach(s.c, name, func(sw P4Switch) ([]api.Counter, error) { return sw.Counters(ctx) })
	case api.ReadEntries:
		entries, err := reach(s.c, name, func(sw P4Switch) ([]api.TableEntry, error) {
			if !slices.ContainsFunc(sw.Tables(), func(t api.Table) bool { return t.Name == q.Table }) {
				what := fmt.Sprintf("switch %s has no table %q", name, q.Table)
				return nil, &api.Error{Code: api.CodeNotFound, Message: what}
			}
			return sw.Inspect(ctx, q.Table)
		})
		if err != nil {
			return nil, err
		}
		return entries, s.c.read(ctx, func(core *Core) {
			for i := range entries {
				if x := entries[i].Intent; x != nil && x.Owner >= 0 {
					x.Name = core.multicast.NameOf(uint16(x.Owner))
				}
			}
		})
	}
	return s.Base.Ask(ctx, name, question, pre)
}
