// Package project holds the projects: the members, the assigned things, and the check whether a
// resource names only things of its project.
//
// The package knows the resources of other features only by their names and by the things named in
// their specs ([api.Names]). The composition reports every change ([Feature.Took]), and asks before
// each change ([Feature.Check]).
package project

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/job/lease"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/store"
)

// The kinds of resources that projects make, in the form of [api.ProjectStatus], and the SRv6
// policies named by these resources.
const (
	Groups       = "multicast-groups/"
	Tenants      = "tenants/"
	Policies     = "pfc-policies/"
	Jobs         = "jobs/"
	Leases       = "leases/"
	SRv6Policies = "srv6-policies/"
)

// MaxProjects bounds the projects.
const MaxProjects = 1024

type decided struct{}

type project = resource.Item[api.ProjectSpec, decided]

// use is a resource with the objects that its spec names.
type use struct {
	kind, name string
	names      []api.Named
	receivers  int
	ranks      int
	rate       uint64
}

func (u *use) key() string { return u.kind + u.name }

// Feature has the projects of a controller.
type Feature struct {
	feature.Kept[api.ProjectSpec, decided]
	env     *feature.Env
	uses    map[string]*use      // of what projects make, by kind and name
	ends    map[string][2]string // the switches at the ends of SRv6 policies, by name
	changed bool                 // since the last call of Take

	// Leased returns the links that a lease holds, and the bit/s of its paths.
	Leased func(name string) (links int, bandwidth uint64)

	tenants  map[string]bool // that principals of the store and the configuration are of
	migrated bool            // what tenants had before there were projects is theirs
	unsaved  bool            // migrated must be written
	notes    []string        // what the first start assigned
}

// New returns the feature without projects.
func New(env *feature.Env) *Feature {
	return &Feature{env: env, Kept: feature.Keep[api.ProjectSpec, decided](env, Kind.Record),
		uses: make(map[string]*use), ends: make(map[string][2]string),
		tenants: make(map[string]bool)}
}

// Changes implements feature.Feature.
func (f *Feature) Changes() []store.Op {
	out := f.All.Changes()
	if f.unsaved {
		f.unsaved = false
		out = append(out, store.Op{Key: migratedKey, Value: []byte("1")})
	}
	return out
}

// Records implements feature.Feature.
func (f *Feature) Records() []store.Record {
	out := f.All.Records()
	if f.migrated {
		out = append(out, store.Record{Key: migratedKey, Value: []byte("1")})
	}
	return out
}

// Take returns the projects with their members; ok is false when nothing has changed since the last
// call.
func (f *Feature) Take() (ps *access.Projects, ok bool) {
	if !f.changed {
		return nil, false
	}
	f.changed = false
	return f.Members(), true
}

// Members returns the projects with their members.
func (f *Feature) Members() *access.Projects {
	specs := make(map[string]api.ProjectSpec, f.All.Len())
	for _, p := range f.All.All() {
		specs[p.Name] = clone(p.Spec)
	}
	return access.NewProjects(specs)
}

// Of returns the project of a name; "": it is of none.
func (f *Feature) Of(name string) string { return api.ProjectOf(name, f.known) }

// known reports whether there is a project of a name.
func (f *Feature) known(name string) bool { return f.All.Get(name) != nil }

// Took notes what a resource names now; no spec: it was deleted.
func (f *Feature) Took(kind, name string, spec any) {
	u := &use{kind: kind, name: name}
	switch s := spec.(type) {
	case nil:
		delete(f.uses, u.key())
		if kind == SRv6Policies {
			delete(f.ends, name)
		}
		return
	case api.SRv6PolicySpec:
		f.ends[name] = [2]string{s.Headend, s.Endpoint}
		return
	case api.MulticastGroupSpec:
		u.receivers = len(s.Receivers)
	case api.TenantSpec:
		u.rate = s.Rate
	}
	u.names = api.Names(spec)
	u.ranks = ranks(kind, u.names)
	f.uses[u.key()] = u
}

// ranks counts the ranks of a job by what it names: a NIC each.
func ranks(kind string, names []api.Named) int {
	if kind == Jobs {
		return len(names)
	}
	return 0
}

// of returns the uses of a project, in order; "": those of administrators.
func (f *Feature) of(project string) (out []*use) {
	for _, u := range f.uses {
		if f.Of(u.name) == project {
			out = append(out, u)
		}
	}
	slices.SortFunc(out, func(a, b *use) int { return natural.Compare(a.key(), b.key()) })
	return out
}

// Projects returns the projects. The collection refuses a spec that takes away something in use by
// a resource, whether a project's or an administrator's.
func (f *Feature) Projects() resource.Resources[api.ProjectSpec, api.Project] {
	return resource.Written[api.ProjectSpec, decided, api.Project]{All: f.All, Env: f.env,
		Decide: f.decide, View: f.view, Gone: f.gone, Changed: f.isolate}
}

func (f *Feature) decide(old, p *project, _ resource.Precondition) error {
	if err := p.Spec.Validate(f.validation()); err != nil {
		return err
	}
	if old != nil && equal(&old.Spec, &p.Spec) {
		return resource.ErrUnchanged
	}
	if err := f.fits(p.Name, &p.Spec); err != nil {
		return err
	}
	p.Spec = clone(p.Spec)
	f.env.Event(api.EventProjectChanged, p.Name, fmt.Sprintf("members: %d, hosts: %d, ports: %d",
		len(p.Spec.Members), len(p.Spec.Hosts), len(p.Spec.Ports)), nil)
	return nil
}

func (f *Feature) gone(p *project, _ resource.Precondition) error {
	if uses := f.of(p.Name); len(uses) > 0 {
		var keys []string
		for _, u := range uses {
			keys = append(keys, u.key())
		}
		return &api.Error{Code: api.CodeConflict, Message: fmt.Sprintf(
			"project %s has %s: want them deleted first", p.Name, feature.Names(keys))}
	}
	f.env.Event(api.EventProjectChanged, p.Name, "deleted", nil)
	return nil
}

func (f *Feature) validation() api.ProjectEnv {
	inv := f.env.Inventory()
	return api.ProjectEnv{
		MaxSlice: inv.PFC.MaxSlice(),
		Host:     func(name string) bool { return f.host(name) != nil },
		Switch:   func(name string) bool { return inv.Switch(name) != nil },
		Open:     f.open,
	}
}

// open returns a switch with hosts that keeps no project apart.
func (f *Feature) open() (name, why string) {
	for i := range f.env.Inventory().Switches {
		sw := &f.env.Inventory().Switches[i]
		if sw.WithoutP4() && len(f.env.Net.HostsAt(sw.Name)) > 0 {
			return sw.Name, fmt.Sprintf("only the P4 program keeps projects apart, and it runs %v",
				sw.System)
		}
	}
	return "", ""
}

func (f *Feature) host(name string) *inventory.Host {
	inv := f.env.Inventory()
	for i := range inv.Hosts {
		if inv.Hosts[i].Name == name {
			return &inv.Hosts[i]
		}
	}
	return nil
}

// isolate has switches keep isolated projects apart, after a change of the projects.
func (f *Feature) isolate() {
	f.changed = true
	var isolated []plan.Isolated
	for _, p := range f.All.All() {
		if s := &p.Spec; s.Isolated {
			isolated = append(isolated, plan.Isolated{
				Name: p.Name, Hosts: slices.Clone(s.Hosts), Ports: slices.Clone(s.Ports),
				Proxies: slices.Clone(s.Proxies),
			})
		}
	}
	slices.SortFunc(isolated, func(a, b plan.Isolated) int { return strings.Compare(a.Name, b.Name) })
	f.env.Underlay.SetIsolated(isolated)
}

// view returns a project with what it uses and what is left.
func (f *Feature) view(p *project) api.Project {
	v := api.Project{Name: p.Name, Version: p.Version, Created: p.Created, Spec: clone(p.Spec)}
	uses := f.of(p.Name)
	s, q := &v.Status, &p.Spec.Quotas
	s.Conditions.Set(api.Accepted, true, "Accepted", "", p.Changed)
	for _, u := range uses {
		s.Resources = append(s.Resources, u.key())
	}
	s.Things = f.things(&p.Spec, uses)
	for _, name := range slices.SortedFunc(maps.Keys(f.ends), natural.Compare) {
		if f.reaches(p.Name, name) {
			s.Policies = append(s.Policies, name)
		}
	}
	s.Used = f.count(uses)
	left := func(limit *int, used int) *int {
		if limit == nil {
			return nil
		}
		n := max(0, *limit-used)
		return &n
	}
	s.Left = api.ProjectLeft{
		Groups: left(q.Groups, s.Used.Groups), Receivers: left(q.Receivers, s.Used.Receivers),
		Tenants: left(q.Tenants, s.Used.Tenants), Policies: left(q.Policies, s.Used.Policies),
		Jobs: left(q.Jobs, s.Used.Jobs), Ranks: left(q.Ranks, s.Used.Ranks),
		Leases: left(q.Leases, s.Used.Leases),
	}
	s.Left.LeaseLinks = left(q.LeaseLinks, s.Used.LeaseLinks)
	if all := p.Spec.Bandwidth; all > 0 {
		n := all - min(all, s.Used.Bandwidth)
		s.Left.Bandwidth = &n
	}
	if all := q.LeaseBandwidth; all != nil {
		n := *all - min(*all, s.Used.LeaseBandwidth)
		s.Left.LeaseBandwidth = &n
	}
	return v
}

// LeaseTerms returns the bounds that the project of a lease sets for the lease.
func (f *Feature) LeaseTerms(name string) (t lease.Terms) {
	if t.Project = f.Of(name); t.Project == "" {
		return t
	}
	s, all := &f.All.Get(t.Project).Spec, f.count(f.of(t.Project))
	links, bandwidth := f.Leased(name)
	t.Exclusive, t.Priority, t.Longest = s.ExclusiveLeases, s.LeasePriority, s.Quotas.LongestLease()
	t.Bandwidth, t.Others = s.Quotas.LeaseBandwidth, all.LeaseBandwidth-bandwidth
	if most := s.Quotas.LeaseLinks; most != nil {
		n := *most - all.LeaseLinks + links
		t.Links = &n
	}
	return t
}

// count is what uses come to, with what their leases hold now.
func (f *Feature) count(uses []*use) api.ProjectUse {
	n := count(uses)
	for _, u := range uses {
		if u.kind == Leases && f.Leased != nil {
			links, bandwidth := f.Leased(u.name)
			n.LeaseLinks, n.LeaseBandwidth = n.LeaseLinks+links, n.LeaseBandwidth+bandwidth
		}
	}
	return n
}

func count(uses []*use) (n api.ProjectUse) {
	for _, u := range uses {
		switch u.kind {
		case Groups:
			n.Groups++
		case Tenants:
			n.Tenants++
		case Policies:
			n.Policies++
		case Jobs:
			n.Jobs++
		case Leases:
			n.Leases++
		}
		n.Ranks += u.ranks
		n.Receivers += u.receivers
		n.Bandwidth += u.rate
	}
	return n
}

// things returns what is assigned, with what uses each.
func (f *Feature) things(s *api.ProjectSpec, uses []*use) []api.ProjectThing {
	var out []api.ProjectThing
	of := usersOfHosts(uses)
	add := func(t api.ProjectThing, one *api.ProjectSpec) {
		t.UsedBy = append(t.UsedBy, of[t.Name]...)
		for _, u := range uses {
			if namesHosts(u.kind) {
				continue
			}
			if slices.ContainsFunc(u.names,
				func(n api.Named) bool { has, _ := f.has(one, &n); return n.Kind == t.Kind && has }) {
				t.UsedBy = append(t.UsedBy, u.key())
			}
		}
		out = append(out, t)
	}
	for i, h := range s.Hosts {
		t := api.ProjectThing{Kind: api.ThingHost, Name: h.Name, Shared: h.Shared}
		if host := f.host(h.Name); host != nil {
			t.Address = host.Address
			t.Ports = portsOf(host)
		}
		add(t, &api.ProjectSpec{Hosts: s.Hosts[i : i+1]})
	}
	for i, p := range s.Ports {
		add(api.ProjectThing{Kind: api.ThingPort, Name: fmt.Sprintf("%s/%d", p.Switch, p.Port),
			Shared: p.Shared, Ports: []api.SwitchPort{{Switch: p.Switch, Port: p.Port}}},
			&api.ProjectSpec{Ports: s.Ports[i : i+1]})
	}
	for i, p := range s.Proxies {
		add(api.ProjectThing{Kind: api.ThingProxy, Name: p.Prefix.String(), Shared: p.Shared},
			&api.ProjectSpec{Proxies: s.Proxies[i : i+1]})
	}
	for i, r := range s.QPNs {
		add(api.ProjectThing{Kind: api.ThingQPN, Name: fmt.Sprintf("%d-%d", r.First, r.Last),
			Shared: r.Shared}, &api.ProjectSpec{QPNs: s.QPNs[i : i+1]})
	}
	for i, x := range s.Slices {
		add(api.ProjectThing{Kind: api.ThingSlice, Name: fmt.Sprint(x.Slice), Shared: x.Shared},
			&api.ProjectSpec{Slices: s.Slices[i : i+1]})
	}
	for i, x := range s.Priorities {
		add(api.ProjectThing{Kind: api.ThingPriority, Name: fmt.Sprint(x.Priority), Shared: x.Shared},
			&api.ProjectSpec{Priorities: s.Priorities[i : i+1]})
	}
	return out
}

// namesHosts reports whether the specs of a kind name hosts and nothing else that projects have;
// they may name many hosts.
func namesHosts(kind string) bool { return kind == Jobs || kind == Leases }

// usersOfHosts returns the jobs and leases on each host, by its name.
func usersOfHosts(uses []*use) map[string][]string {
	out := make(map[string][]string)
	for _, u := range uses {
		for i := range u.names {
			name := u.names[i].Text
			if by := out[name]; namesHosts(u.kind) && !slices.Contains(by, u.key()) {
				out[name] = append(by, u.key())
			}
		}
	}
	return out
}

// portsOf returns the ports that a host hangs off.
func portsOf(h *inventory.Host) (out []api.SwitchPort) {
	for _, port := range h.AllPorts() {
		out = append(out, api.SwitchPort{Switch: h.Switch, Port: port})
	}
	for _, a := range h.Planes {
		out = append(out, api.SwitchPort{Switch: a.Switch, Port: a.Port})
	}
	return out
}

// has reports whether a spec has a thing, and whether other projects may have the thing too. Other
// things of the same host or port count as the host or the port.
func (f *Feature) has(s *api.ProjectSpec, n *api.Named) (has, shared bool) {
	found := func(ok, also bool) {
		if ok && !has {
			has, shared = true, also
		}
	}
	switch n.Kind {
	case api.ThingHost:
		name := n.Text
		if name == "" {
			name, _ = f.env.Net.HostName(n.Address)
		}
		for _, h := range s.Hosts {
			found(h.Name == name, h.Shared)
		}
	case api.ThingPort:
		for _, p := range s.Ports {
			found(p.Switch == n.Text && uint64(p.Port) == n.Number, p.Shared)
		}
	case api.ThingProxy:
		for _, p := range s.Proxies {
			found(p.Prefix.Contains(n.Address), p.Shared)
		}
	case api.ThingQPN:
		for _, r := range s.QPNs {
			found(uint64(r.First) <= n.Number && n.Number <= uint64(r.Last), r.Shared)
		}
	case api.ThingSlice:
		for _, x := range s.Slices {
			found(uint64(x.Slice) == n.Number, x.Shared)
		}
	case api.ThingPriority:
		for _, x := range s.Priorities {
			found(uint64(x.Priority) == n.Number, x.Shared)
		}
	}
	return has, shared
}

// clone returns a copy of a spec that shares no mutable state with the spec.
func clone(s api.ProjectSpec) api.ProjectSpec {
	s.Members, s.Hosts, s.Ports = slices.Clone(s.Members), slices.Clone(s.Hosts), slices.Clone(s.Ports)
	s.Proxies, s.QPNs = slices.Clone(s.Proxies), slices.Clone(s.QPNs)
	s.Slices, s.Priorities = slices.Clone(s.Slices), slices.Clone(s.Priorities)
	return s
}

// equal reports whether two specs have the same fields.
func equal(a, b *api.ProjectSpec) bool {
	x, failedA := json.Marshal(a)
	y, failedB := json.Marshal(b)
	return failedA == nil && failedB == nil && bytes.Equal(x, y)
}
