package controller

import (
	"context"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/connect"
	"github.com/weft-sdn/weft/controller/discovery"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/job"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/leases"
	"github.com/weft-sdn/weft/controller/maintenance"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/multicast"
	"github.com/weft-sdn/weft/controller/neighbor"
	"github.com/weft-sdn/weft/controller/networks"
	"github.com/weft-sdn/weft/controller/notification"
	"github.com/weft-sdn/weft/controller/orphan"
	"github.com/weft-sdn/weft/controller/pfc"
	"github.com/weft-sdn/weft/controller/port"
	"github.com/weft-sdn/weft/controller/project"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/controller/silence"
	"github.com/weft-sdn/weft/controller/underlay"
	"github.com/weft-sdn/weft/topology"
)

// No other file makes features. handle.go, the API, its client and the command line name kinds of
// resources instead.

// compose makes the features. Features that others rest on come first.
func (c *Core) compose() (err error) {
	c.ports = port.New(&c.env)
	c.underlay = underlay.New(&c.env)
	c.env.Underlay = c.underlay
	c.multicast = multicast.New(&c.env)
	if c.pfc, err = pfc.New(&c.env); err != nil {
		return err
	}
	c.orphans = orphan.New(&c.env)
	c.networks = networks.New(&c.env)
	c.discovery = discovery.New(&c.env)
	c.neighbors = neighbor.New(&c.env)
	c.neighbors.Reserved = c.multicast.IsProxy
	c.neighbors.PortMTU = c.ports.MTU
	c.projects = project.New(&c.env)
	c.multicast.PortMTU = c.ports.MTU
	connections := connect.New(&c.env, c.multicast)
	c.multicast.MayUse = c.projects.MayUse
	c.jobs = job.New(&c.env)
	c.jobs.MakeGroups(jobGroups{c})
	c.leases = leases.New(&c.env)
	c.leases.Project, c.leases.Terms = c.projects.Of, c.projects.LeaseTerms
	c.leases.Running, c.projects.Leased = c.jobs.Running, c.leases.Held
	c.maintenances = maintenance.New(&c.env)
	c.maintenances.Jobs = c.jobs
	c.jobs.Others = func(t *job.Task, f *ready.Fabric) []ready.Other {
		return append(c.leases.Blocking(t.Name, f),
			c.maintenances.Blocking(t.Name, t.Version, t.Ends)...)
	}
	c.silences = silence.New(&c.env)
	c.told = notification.New(&c.env)
	c.features = []feature.Feature{c.ports, c.underlay, c.multicast, connections, c.pfc,
		c.orphans, c.networks, c.discovery, c.neighbors, c.projects, c.jobs, c.leases, c.maintenances,
		c.silences, c.told}
	return nil
}

// tellProjects has the projects know what all resources name.
func (c *Core) tellProjects() {
	tell(c, multicast.Kind, c.Groups())
	tell(c, pfc.SRv6Kind, c.SRv6Policies())
	tell(c, pfc.TenantKind, c.Tenants())
	tell(c, pfc.PFCKind, c.PFCPolicies())
	tell(c, job.Kind, c.Jobs())
	tell(c, leases.Kind, c.Leases())
}

func tell[S any, R api.Intended](c *Core, k *kind.Kind, all resource.Resources[S, R]) {
	for _, r := range all.List() {
		_, spec := r.Intent()
		c.took(k.Record, k.NameOf(r), spec)
	}
}

// Projects returns the projects.
func (c *Core) Projects() resource.Resources[api.ProjectSpec, api.Project] {
	return c.projects.Projects()
}

// Projects returns the projects.
func (c *Controller) Projects() kind.Handle[api.ProjectSpec, api.Project] {
	return kind.Of[api.ProjectSpec, api.Project](c.Kinds())
}

// Members returns the projects with their members, as they are kept.
func (c *Controller) Members() *access.Projects { return c.members.Load() }

// Groups returns the multicast groups.
func (c *Core) Groups() resource.Resources[api.MulticastGroupSpec, api.MulticastGroup] {
	return c.multicast.Groups()
}

// SRv6Policies returns the SRv6 policies.
func (c *Core) SRv6Policies() resource.Resources[api.SRv6PolicySpec, api.SRv6Policy] {
	return c.pfc.SRv6Policies()
}

// Tenants returns the tenants.
func (c *Core) Tenants() resource.Resources[api.TenantSpec, api.Tenant] {
	return c.pfc.Tenants()
}

// PFCPolicies returns the PFC policies.
func (c *Core) PFCPolicies() resource.Resources[api.PFCPolicySpec, api.PFCPolicy] {
	return c.pfc.PFCPolicies()
}

// Networks returns the networks that clients describe.
func (c *Core) Networks() resource.Resources[api.NetworkSpec, api.Network] {
	return c.networks.Networks()
}

// Jobs returns the jobs.
func (c *Core) Jobs() resource.Resources[api.JobSpec, api.Job] {
	return c.jobs.Jobs()
}

// Leases returns the leases of paths.
func (c *Core) Leases() resource.Resources[api.PathLeaseSpec, api.PathLease] {
	return c.leases.Leases()
}

// AskLease carries out a question that changes a lease. The error is an *api.Error.
func (c *Core) AskLease(name string, question any, pre resource.Precondition) error {
	return c.leases.Ask(name, question, pre)
}

// Maintenances returns the maintenances.
func (c *Core) Maintenances() resource.Resources[api.MaintenanceSpec, api.Maintenance] {
	return c.maintenances.Maintenances()
}

// lookAhead implements prepare of [more]: what jobs lose by a maintenance is found before the core
// asks, and the core does not wait for it.
func lookAhead(ctx context.Context, c *Controller, spec any) error {
	var jobs []ready.Concern
	err := c.read(ctx, func(core *Core) { jobs = core.jobs.Concerns() })
	if v := c.fabric.Load(); err == nil && v != nil && v.Losses != nil {
		s := spec.(api.MaintenanceSpec)
		maintenance.LookAt(v.Losses, &s, jobs)
	}
	return err
}

// Maintenances returns the maintenances.
func (c *Controller) Maintenances() kind.Handle[api.MaintenanceSpec, api.Maintenance] {
	return kind.Of[api.MaintenanceSpec, api.Maintenance](c.Kinds())
}

// Silences returns the silences of causes.
func (c *Core) Silences() resource.Resources[api.SilenceSpec, api.Silence] {
	return c.silences.Silences()
}

// Notifications returns the notifications of causes.
func (c *Core) Notifications() resource.Resources[api.NotificationSpec, api.Notification] {
	return c.told.Notifications()
}

// JobDemand returns what follows from a job. The error for an unknown job is an *api.Error.
func (c *Core) JobDemand(name string) (*job.Demand, error) {
	t, err := c.jobs.Task(name)
	return t.Demand, err
}

// Jobs returns the jobs.
func (c *Controller) Jobs() kind.Handle[api.JobSpec, api.Job] {
	return kind.Of[api.JobSpec, api.Job](c.Kinds())
}

// Networks returns the networks that clients describe.
func (c *Controller) Networks() kind.Handle[api.NetworkSpec, api.Network] {
	return kind.Of[api.NetworkSpec, api.Network](c.Kinds())
}

// Groups returns the multicast groups.
func (c *Controller) Groups() kind.Handle[api.MulticastGroupSpec, api.MulticastGroup] {
	return kind.Of[api.MulticastGroupSpec, api.MulticastGroup](c.Kinds())
}

// SRv6Policies returns the SRv6 policies.
func (c *Controller) SRv6Policies() kind.Handle[api.SRv6PolicySpec, api.SRv6Policy] {
	return kind.Of[api.SRv6PolicySpec, api.SRv6Policy](c.Kinds())
}

// Tenants returns the tenants.
func (c *Controller) Tenants() kind.Handle[api.TenantSpec, api.Tenant] {
	return kind.Of[api.TenantSpec, api.Tenant](c.Kinds())
}

// PFCPolicies returns the PFC policies.
func (c *Controller) PFCPolicies() kind.Handle[api.PFCPolicySpec, api.PFCPolicy] {
	return kind.Of[api.PFCPolicySpec, api.PFCPolicy](c.Kinds())
}

// ResetGroup gives a group a new epoch, for queue pairs that were created anew, and
// takes evicted receivers in again. The error is an *api.Error.
func (c *Core) ResetGroup(name string, pre resource.Precondition) (api.MulticastGroup, error) {
	if err := c.multicast.Reset(name, pre); err != nil {
		return api.MulticastGroup{}, err
	}
	c.settle()
	return c.Groups().Get(name)
}

// QueryState asks the switches of a group for its state. The answer, an
// api.GroupState, comes under the id when all have answered, or after the state
// timeout. The error is an *api.Error.
func (c *Core) QueryState(name string) (id uint64, err error) {
	if id, err = c.multicast.Query(name); err == nil {
		c.settle()
	}
	return id, err
}

// Orphans returns what switches hold and no resource explains.
func (c *Core) Orphans() []api.Orphan { return c.orphans.List() }

// Orphan returns one of [Core.Orphans]. The error is an *api.Error.
func (c *Core) Orphan(name string) (api.Orphan, error) { return c.orphans.Get(name) }

// DeleteOrphan has an orphan removed. The error is an *api.Error.
func (c *Core) DeleteOrphan(name string) error {
	err := c.orphans.Delete(name)
	if err == nil {
		c.settle()
	}
	return err
}

// SetAssignment is [underlay.Feature.SetAssignment].
func (c *Core) SetAssignment(a *ev.Assignment) {
	c.underlay.SetAssignment(a)
	c.settle()
}

// SetDrained is [underlay.Feature.SetDrained].
func (c *Core) SetDrained(links []topology.LinkID) {
	c.underlay.SetDrained(links)
	c.settle()
}

// Unrouted is [underlay.Feature.Unrouted].
func (c *Core) Unrouted() []string { return c.underlay.Unrouted() }

// DeleteOrphans has all orphans on a switch removed, and returns their names.
func (c *Core) DeleteOrphans(sw string) ([]string, error) {
	names, err := c.orphans.DeleteOn(sw)
	if err == nil {
		c.settle()
	}
	return names, err
}

// GroupSample is a sample from the switch of a multicast group's source.
type GroupSample = multicast.Sample

// TunnelSample is the result of probes of a tunnel for PFC frames.
type TunnelSample = pfc.Sample

// GroupSamples asks the root switch of each group's tree for a sample, and waits for the answers or
// the state timeout.
func (c *Controller) GroupSamples(ctx context.Context) ([]GroupSample, error) {
	return ask[[]GroupSample](ctx, c, func(core *Core) (uint64, error) {
		id := core.multicast.Samples()
		core.settle()
		return id, nil
	})
}

// TunnelSamples returns what probes say of each tunnel for PFC frames, by name.
func (c *Core) TunnelSamples() []TunnelSample { return c.pfc.Samples() }

// TunnelSamples is [Core.TunnelSamples].
func (c *Controller) TunnelSamples(ctx context.Context) (out []TunnelSample, err error) {
	err = c.read(ctx, func(core *Core) { out = core.TunnelSamples() })
	return out, err
}

// SetAssignment is [Core.SetAssignment].
func (c *Controller) SetAssignment(ctx context.Context, a *ev.Assignment) error {
	return c.Do(ctx, func(core *Core) { core.SetAssignment(a) })
}

// SetDrained is [Core.SetDrained].
func (c *Controller) SetDrained(ctx context.Context, links []topology.LinkID) error {
	return c.Do(ctx, func(core *Core) { core.SetDrained(links) })
}

// Unrouted is [Core.Unrouted].
func (c *Controller) Unrouted(ctx context.Context) (switches []string, err error) {
	err = c.Do(ctx, func(core *Core) { switches = core.Unrouted() })
	return switches, err
}
