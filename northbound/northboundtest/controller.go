package northboundtest

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/discovery"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/kind/kindtest"
	"github.com/weft-sdn/weft/controller/neighbor"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/topology"
)

// Began is when everything happened in the fake network.
var Began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Controller is the fake of the seam between the API and a controller. It keeps resources in memory
// under the rules of package api, and programs nothing. Its switches are n6 and n1, and n9, which
// is not programmed; its hosts 2001:db8:5::1 (s1, at n6) and 2001:db8:1::1 and ::2 (r1 and r2, at
// n1).
type Controller struct {
	*kindtest.State
	// Snapshot is the topology.
	Snapshot *topology.Snapshot

	Groups       *kindtest.Memory[api.MulticastGroupSpec, api.MulticastGroup]
	SRv6Policies *kindtest.Memory[api.SRv6PolicySpec, api.SRv6Policy]
	Tenants      *kindtest.Memory[api.TenantSpec, api.Tenant]
	PFCPolicies  *kindtest.Memory[api.PFCPolicySpec, api.PFCPolicy]
	Networks     *kindtest.Memory[api.NetworkSpec, api.Network]
	Projects     *kindtest.Memory[api.ProjectSpec, api.Project]
	Jobs         *kindtest.Memory[api.JobSpec, api.Job]
	Leases       *kindtest.Memory[api.PathLeaseSpec, api.PathLease]
	Maintenances *kindtest.Memory[api.MaintenanceSpec, api.Maintenance]
	Silences     *kindtest.Memory[api.SilenceSpec, api.Silence]
	Told         *kindtest.Memory[api.NotificationSpec, api.Notification]
	Ports        *kindtest.Memory[api.PortSpec, api.Port]

	// Fail is the error of lists of switches and orphans; nil: none.
	Fail error
	// Entries returns the entries in a table of a reachable switch; nil: no such table.
	Entries func(table string) []api.TableEntry

	// Mu guards the fields below it while a server runs.
	Down    map[string]bool // switches that do not answer
	Strays  []api.Orphan
	members *access.Projects // nil: the projects have changed
}

// NewController returns a controller that has no groups.
func NewController(s *topology.Snapshot) *Controller {
	f := &Controller{State: &kindtest.State{Now: Began}, Snapshot: s, Down: make(map[string]bool)}
	memory(f, &f.Groups, f.checkGroup)
	f.Groups.Show = func(g *api.MulticastGroup, created bool) { ShowGroup(g, created) }
	f.Groups.Changes = []api.SwitchChange{{Switch: "n1", Updates: []api.EntityUpdate{
		{Type: "insert", Entity: "mt_group/group=1 -> set_group_state(epoch=7)"},
		{Type: "delete", Entity: "multicast/64"},
	}}}
	f.Groups.Removed = []api.SwitchChange{{Switch: "n1",
		Updates: []api.EntityUpdate{{Type: "delete", Entity: "mt_group/group=1"}}}}
	f.Groups.Asked = f.askGroup
	memory(f, &f.SRv6Policies, func(name string, s *api.SRv6PolicySpec) error {
		*s = s.Complete()
		return s.Validate(f.pfcEnv(name))
	})
	f.SRv6Policies.Show = func(p *api.SRv6Policy, _ bool) {
		p.Status.Conditions, p.Status.ObservedVersion = accepted(), p.Version
		p.Status.Path = []string{p.Spec.Headend, p.Spec.Endpoint}
	}
	memory(f, &f.Tenants, func(name string, s *api.TenantSpec) error {
		*s = s.Complete()
		return s.Validate(f.pfcEnv(name))
	})
	f.Tenants.Show = func(t *api.Tenant, _ bool) {
		t.Status.Conditions, t.Status.ObservedVersion, t.Status.VRF = accepted(), t.Version, 1
	}
	memory(f, &f.PFCPolicies, func(name string, s *api.PFCPolicySpec) error {
		*s = api.StandardPFCDefaults().Complete(*s)
		return s.Validate(f.pfcEnv(name))
	})
	f.PFCPolicies.Show = showPFCPolicy
	memory(f, &f.Networks, func(_ string, s *api.NetworkSpec) error { return api.ValidateNetwork(s) })
	f.Networks.Show = func(n *api.Network, _ bool) {
		n.Status.Links, n.Status.InForce = 2*len(n.Spec.Links), 2*len(n.Spec.Links)
	}
	memory(f, &f.Projects, func(_ string, s *api.ProjectSpec) error {
		all := func(string) bool { return true }
		return s.Validate(api.ProjectEnv{MaxSlice: 255, Host: all, Switch: all})
	})
	f.Projects.Changed = func() { f.members = nil }
	memory(f, &f.Jobs, func(_ string, s *api.JobSpec) error {
		*s = s.Complete()
		return s.Validate(api.JobEnv{
			Expand: func(list string, _ int) ([]string, error) { return strings.Split(list, ","), nil },
			HasNIC: func(string) bool { return true },
			Layout: func(*api.JobLayout, int) []api.FieldError { return nil },
		})
	})
	f.Jobs.Asked = f.askJob
	memory(f, &f.Leases, func(_ string, s *api.PathLeaseSpec) error {
		*s = s.Complete()
		return s.Validate(func(string) bool { return true })
	})
	memory(f, &f.Maintenances, func(_ string, s *api.MaintenanceSpec) error {
		return s.Validate(f.Now, func(int) string { return "" })
	})
	memory(f, &f.Silences, func(_ string, s *api.SilenceSpec) error { return s.Validate(Began) })
	memory(f, &f.Told, func(_ string, s *api.NotificationSpec) error {
		*s = s.Complete()
		err := s.Validate()
		s.Secret = ""
		return err
	})
	memory(f, &f.Ports, func(_ string,
		s *api.PortSpec) error {
		return s.Validate([]uint64{100e9, 400e9})
	})
	f.Ports.Names = f.names
	f.Ports.Match = func(p *api.Port, filter any) bool {
		of, ok := filter.(api.OnSwitch)
		return ok && p.Status.Switch == of.Switch || !ok && p.Version > 0
	}
	for port := range uint32(2) {
		mtu, enabled := uint32(1500), true
		name := fmt.Sprintf("n1/%d", port+1)
		f.Ports.Items[name] = api.Port{Name: name, Status: api.PortStatus{
			Switch: "n1", Port: port + 1, Interface: fmt.Sprintf("eth%d", port+1), Oper: "up", Speed: 100e9,
			Config: api.PortSpec{Enabled: &enabled, MTU: &mtu},
		}}
	}
	return f
}

// memory makes the resources of the controller's kind that has the types.
func memory[S any, V api.Intended](
	f *Controller, m **kindtest.Memory[S, V], check func(name string, spec *S) error,
) {
	*m = kindtest.New[S, V](f.State, about[V](), check)
}

// about returns the kind of the controller that has a view.
func about[V any]() *kind.Kind {
	for _, k := range controller.Kinds() {
		if _, ok := k.Zero().(V); ok {
			return k
		}
	}
	panic("northboundtest: no such kind") // of the test's own making
}

// Kinds returns the kinds of resources.
func (f *Controller) Kinds() []*kind.Kind {
	return []*kind.Kind{
		f.Groups.Bound(), f.SRv6Policies.Bound(), f.Tenants.Bound(), f.PFCPolicies.Bound(),
		f.Networks.Bound(), f.Projects.Bound(),
		f.Jobs.Bound(), f.Leases.Bound(), f.Maintenances.Bound(), f.Silences.Bound(), f.Told.Bound(),
		f.Ports.Bound(),
		about[api.Orphan]().With(orphans{f: f}),
		about[api.SwitchStatus]().With(switches{f: f}),
	}
}

// ShowGroup gives a group after a put the status of a group without a plan.
func ShowGroup(g *api.MulticastGroup, created bool) {
	if created {
		g.Status = api.MulticastGroupStatus{Index: 1, Epoch: 7, Limits: api.StandardGroupLimits()}
	}
	g.Status.ObservedVersion = g.Version
}

func (f *Controller) askGroup(
	_ context.Context, name string, question any, pre resource.Precondition,
) (any, error) {
	if _, ok := question.(api.ResetGroup); !ok {
		return nil, kind.ErrNoQuestion
	}
	f.Mu.Lock()
	defer f.Mu.Unlock()
	g := f.Groups.Items[name]
	err := pre.CheckExisting(fmt.Sprintf("multicast group %q", name), g.Version)
	if err == nil {
		g.Status.Epoch++
		f.Groups.Items[name] = g
	}
	return g, err
}

func accepted() (c api.Conditions) {
	c.Set(api.Accepted, true, api.ReasonPlanned, "", Began)
	return c
}

// showPFCPolicy gives a PFC policy a node with a pause in force, and a tunnel.
func showPFCPolicy(p *api.PFCPolicy, _ bool) {
	p.Status.Conditions, p.Status.ObservedVersion = accepted(), p.Version
	p.Status.Nodes = []api.PFCNode{{
		Switch: "n6", Port: 2, Priority: 3, Watermarks: api.Watermarks{Buffer: p.Spec.Buffer,
			Headroom: 4096, XOFF: 65536, XON: 32768, RTT: api.Duration(20_000_000), Rate: 100_000_000_000,
			Measured: true},
		Queue: &api.PFCQueue{Paused: true, PausedFor: api.Duration(1_000_000), Held: 4096, MaxHeld: 8192,
			PausesReceived: 2, XOFFSent: 1, LastXOFF: Began, At: Began},
	}}
	p.Status.Tunnels = []api.PFCTunnel{{ID: 1, From: "n1", To: "n6", Segments: []api.SegmentStatus{},
		Mode: p.Spec.Tunnel, State: api.TunnelUp, RTT: api.Duration(20_000_000), Sent: 10}}
}

// Members returns the projects with their members.
func (f *Controller) Members() *access.Projects {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.members == nil {
		specs := make(map[string]api.ProjectSpec)
		for name, p := range f.Projects.Items {
			specs[name] = p.Spec
		}
		f.members = access.NewProjects(specs)
	}
	return f.members
}

// Topology returns Snapshot.
func (f *Controller) Topology() *topology.Snapshot { return f.Snapshot }

// Inventory returns the hosts, and places link 2 of n6 at port 7 of n6.
func (f *Controller) Inventory() *inventory.Inventory {
	inv, addr := inventory.Default(), netip.MustParseAddr
	inv.Switches = []inventory.Switch{{Name: "n6", Ports: map[uint32]uint32{2: 7}}, {Name: "n1"},
		{Name: "n9"}}
	inv.Hosts = []inventory.Host{
		{Name: "r1", Address: addr("2001:db8:1::1"), Switch: "n1", Port: 11},
		{Name: "r2", Address: addr("2001:db8:1::2"), Switch: "n1", Ports: []uint32{12, 13}},
		{Name: "s1", Address: addr("2001:db8:5::1"), Switch: "n6", Port: 11},
	}
	return &inv
}

// Dependents returns a job that depends on every part, by the part's name.
func (f *Controller) Dependents(context.Context) (func(api.Part) []api.JobDependent, error) {
	return func(p api.Part) []api.JobDependent {
		return []api.JobDependent{{Name: "on " + string(p.Kind) + " " + p.Name,
			Phase: api.PhaseRunning, Affected: 2, Ranks: 8}}
	}, nil
}

// askJob answers a simulation: with a job whose steps take a tenth longer after any event.
func (f *Controller) askJob(
	_ context.Context, _ string, question any, _ resource.Precondition,
) (any, error) {
	q, ok := question.(api.Simulate)
	if !ok {
		return nil, fmt.Errorf("%T: %w", question, kind.ErrNoQuestion)
	}
	out := api.Simulation{Events: []string{}, Jobs: []api.SimulatedJob{}}
	if err := q.Validate(); err != nil {
		return out, err
	}
	for _, e := range q.Events {
		out.Events = append(out.Events, e.String())
	}
	more := 0.1 * float64(min(1, len(q.Events)))
	before := api.SimulatedStep{Step: api.Duration(10 * time.Millisecond), Share: 0.9}
	after := api.SimulatedStep{Step: before.Step + api.Duration(float64(before.Step)*more),
		Share: 0.9 / (1 + more), Bound: []string{"n6 – n1"}}
	out.Jobs = append(out.Jobs, api.SimulatedJob{Name: "train", Ranks: 8, Running: true,
		Before: &before, After: &after, Increase: &more})
	return out, nil
}

// Hosts returns the hosts of the configuration.
func (f *Controller) Hosts(context.Context) (out []inventory.Found, err error) {
	for _, h := range f.Inventory().Hosts {
		out = append(out, inventory.Found{Host: h, By: inventory.FoundConfigured})
	}
	return out, nil
}

// FrameCounts returns some frames of each kind.
func (f *Controller) FrameCounts(context.Context) (n controller.FrameCounts, err error) {
	return controller.FrameCounts{
		Links: &discovery.Counts{Sent: 50, Accepted: 40, Foreign: 3, Forged: 2, Repeated: 1},
		Hosts: &neighbor.Counts{Advertised: 6, Asked: 5, Defended: 4, Heard: 3, Invalid: 2, Forged: 1,
			Refused: map[neighbor.Refusal]uint64{neighbor.RefusedSID: 7}, Bindings: 2},
	}, nil
}

func (f *Controller) checkGroup(name string, s *api.MulticastGroupSpec) error {
	*s = api.StandardGroupDefaults().Complete(*s)
	host := func(a netip.Addr) (string, bool) {
		h := f.Inventory().Host(a)
		if h == nil {
			return "", false
		}
		return h.Name, true
	}
	return api.ValidateGroup(s, api.GroupEnv{
		Limits: api.StandardGroupLimits(), Host: host,
		Taken: func(a netip.Addr) (string, bool) {
			name, ok := host(a)
			return "the address of host " + name, ok
		},
		OtherGroup: func(a netip.Addr) (string, bool) {
			for _, g := range f.Groups.Items {
				if g.Name != name && g.Spec.ProxyAddress == a {
					return g.Name, true
				}
			}
			return "", false
		},
		OtherPair: func(api.QueuePair) (string, bool) { return "", false },
	})
}

// pfcEnv is that of switches n1 and n6 with hosts at port 11.
func (f *Controller) pfcEnv(except string) api.PFCEnv {
	return api.PFCEnv{
		MaxSlice: 255,
		Switch: func(name string) (managed, known bool) {
			return name == "n1" || name == "n6", name == "n1" || name == "n6" || name == "n9"
		},
		SID: func(netip.Addr) bool { return false },
		Attached: func(_ string, port uint32) ([]netip.Prefix, bool) {
			return []netip.Prefix{netip.MustParsePrefix("2001:db8::/32")}, port == 11
		},
		SRv6Policy: func(name string) (api.SRv6PolicySpec, bool) {
			p, ok := f.SRv6Policies.Items[name]
			return p.Spec, ok
		},
		Tenant: func(name string) (api.TenantSpec,
			bool) {
			t, ok := f.Tenants.Items[name]
			return t.Spec, ok
		},
		OtherSlice: func(slice uint32) (string, bool) {
			for _, t := range f.Tenants.Items {
				if t.Name != except && t.Spec.Slice == slice {
					return t.Name, true
				}
			}
			return "", false
		},
		OtherSite: func(string, uint32) (string, bool) { return "", false },
		OtherPFC:  func(string, string) (string, bool) { return "", false },
	}
}

// names returns what a field of a filter may name: switches.
func (f *Controller) names(string) (out []string) {
	for _, sw := range f.Inventory().Switches {
		out = append(out, sw.Name)
	}
	return out
}

// switches implements kind.Handle.
type switches struct {
	kind.Base
	f *Controller
}

func (s switches) List(_ context.Context, q kind.Query) (kind.Page[any], error) {
	s.f.Mu.Lock()
	defer s.f.Mu.Unlock()
	all := []api.SwitchStatus{
		{Name: "n6", Node: "64512:10.0.0.6", Address: "127.0.0.1:9556", DeviceID: 6, Managed: true,
			Connected: true, Since: Began, Entries: 40, Synced: true,
			Ports: &api.SwitchPorts{Up: 3, Down: []uint32{4}}},
		{Name: "n1", Node: "64512:10.0.0.1", Address: "127.0.0.1:9551", DeviceID: 1, Managed: true,
			Connected: true, Since: Began, Entries: 42, Synced: true,
			Ports: &api.SwitchPorts{Error: "gNMI: rpc error: code = Unimplemented desc = unknown service " +
				"gnmi.gNMI"}},
		{Name: "n9"},
	}
	for i := range all {
		if w := &all[i]; s.f.Down[w.Name] {
			w.Connected, w.Synced, w.Reason, w.Pending = false, false, "connection refused", 3
			w.Errors = []string{"insert ecmp/group=1: table is full"}
		}
	}
	p := kind.Select(all, q, func(w *api.SwitchStatus) string { return w.Name }, nil)
	return kind.Any(p), s.f.Fail
}

func (s switches) Get(ctx context.Context, name string) (any, error) {
	p, err := s.List(ctx, kind.Query{Keep: func(n string) bool { return n == name }})
	if err != nil || len(p.Items) == 0 {
		return nil, cmp.Or(err, resource.NotFound(fmt.Sprintf("switch %q", name)))
	}
	return p.Items[0], nil
}

func (s switches) Ask(
	ctx context.Context, name string, question any, pre resource.Precondition,
) (any, error) {
	if _, ok := question.(api.ReadGNMI); ok {
		if name != "n1" {
			return nil, resource.NotFound(fmt.Sprintf("switch %q", name))
		}
		return api.SwitchGNMI{Dialect: "openconfig", Version: "0.10.0", Encoding: "PROTO",
			Paths: []api.GNMIPath{
				{Stream: "states", Path: "/interfaces/interface[name=*]/state/oper-status", Mode: "ON_CHANGE"},
			}}, nil
	}
	if _, ok := question.(api.ReadModel); ok {
		if name != "n1" {
			return nil, resource.NotFound(fmt.Sprintf("switch %q", name))
		}
		return Model(), nil
	}
	s.f.Mu.Lock()
	down := s.f.Down[name]
	s.f.Mu.Unlock()
	switch {
	case name != "n1" && name != "n6":
		return nil, resource.NotFound(fmt.Sprintf("switch %q", name))
	case down:
		return nil, &api.Error{Code: api.CodeUnavailable, Message: name + " is not connected"}
	}
	switch q := question.(type) {
	case api.ReadTables:
		return []api.Table{
			{Name: "node", Size: 1, Fields: []string{}, Actions: []string{"set_node"}},
			{Name: "ipv6_route", Size: 4096, Fields: []string{"vrf", "dst_addr"},
				Actions: []string{"forward", "drop_no_route"}},
		}, nil
	case api.ReadCounterNames:
		return []string{"ingress_drops", "port_rx", "port_tx"}, nil
	case api.ReadCounters:
		return []api.Counter{
			{Counter: "port_rx", Index: 1, Name: "1", Packets: 100, Octets: 6400},
			{Counter: "ingress_drops", Index: 2, Name: "BAD_ICRC", Packets: 1},
			{Counter: "ingress_drops", Index: 1, Name: "NO_ROUTE", Packets: 5},
		}, nil
	case api.ReadEntries:
		if s.f.Entries != nil {
			if all := s.f.Entries(q.Table); all != nil {
				return all, nil
			}
		}
		return nil, &api.Error{Code: api.CodeNotFound, Message: fmt.Sprintf("%s has no table %q", name,
			q.Table)}
	}
	return s.Base.Ask(ctx, name, question, pre)
}

// orphans implements kind.Handle: those of Strays.
type orphans struct {
	kind.Base
	f *Controller
}

func (o orphans) List(_ context.Context, q kind.Query) (kind.Page[any], error) {
	o.f.Mu.Lock()
	defer o.f.Mu.Unlock()
	on := func(x *api.Orphan, filter any) bool { return x.Switch == filter.(api.OnSwitch).Switch }
	p := kind.Select(o.f.Strays, q, func(x *api.Orphan) string { return x.Name }, on)
	return kind.Any(p), cmp.Or(o.f.Fail, kind.Known(q, len(p.Items), o.f.names))
}

func (o orphans) Get(ctx context.Context, name string) (any, error) {
	p, err := o.List(ctx, kind.Query{Keep: func(n string) bool { return n == name }})
	if err != nil || len(p.Items) == 0 {
		return nil, cmp.Or(err, resource.NotFound(fmt.Sprintf("orphan %q", name)))
	}
	return p.Items[0], nil
}

// Delete removes an orphan. A trial would remove one entry.
func (o orphans) Delete(ctx context.Context, name string, pre resource.Precondition) error {
	_, err := o.Get(ctx, name)
	if err == nil {
		o.delete(pre, func(x api.Orphan) bool { return x.Name == name })
	}
	return err
}

func (o orphans) Ask(
	ctx context.Context, sw string, question any, pre resource.Precondition,
) (any, error) {
	if _, ok := question.(api.DeleteOrphans); !ok {
		return o.Base.Ask(ctx, sw, question, pre)
	}
	if o.f.Inventory().Switch(sw) == nil {
		return nil, resource.NotFound(fmt.Sprintf("switch %q", sw))
	}
	return o.delete(pre, func(x api.Orphan) bool { return x.Switch == sw }), nil
}

func (o orphans) delete(pre resource.Precondition, match func(api.Orphan) bool) (names []string) {
	o.f.Mu.Lock()
	defer o.f.Mu.Unlock()
	for _, x := range o.f.Strays {
		if !match(x) {
			continue
		}
		names = append(names, x.Name)
		if pre.Trial != nil {
			pre.Trial.Changes = append(pre.Trial.Changes,
				api.SwitchChange{Switch: x.Switch,
					Updates: []api.EntityUpdate{{Type: "delete", Entity: "multicast/64"}}})
		}
	}
	if pre.Trial == nil {
		o.f.Strays = slices.DeleteFunc(o.f.Strays, match)
	}
	return names
}
