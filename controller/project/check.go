package project

import (
	"fmt"
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/resource"
)

// mostForeign bounds the faults of one kind that a refusal has.
const mostForeign = 16

// Check returns why a resource may not be written with a spec: the spec names a thing outside the
// project of the resource ([api.CodeForbidden]), or the project has reached a quota
// ([api.CodeLimit]). The core calls Check when it decides the write, for every writer. A resource
// outside all projects may name things that no project has for itself.
func (f *Feature) Check(kind, name string, spec any, pre resource.Precondition) error {
	if f.All.Len() == 0 && pre.Sees == nil {
		return nil
	}
	of := f.Of(name)
	if of == "" && pre.Sees != nil {
		return &api.Error{Code: api.CodeForbidden,
			Message: fmt.Sprintf("no project has the name %s: an administrator makes one", name)}
	}
	names := api.Names(spec)
	var found []api.FieldError
	var theirs map[string]bool // hosts
	if namesHosts(kind) && of != "" {
		theirs = make(map[string]bool)
		for _, h := range f.All.Get(of).Spec.Hosts {
			theirs[h.Name] = true
		}
	}
	for i := range names {
		if theirs[names[i].Text] && names[i].Kind == api.ThingHost {
			continue
		}
		if len(found) == mostForeign {
			break // of a list of many hosts
		}
		if want := f.foreign(of, &names[i], pre); want != "" {
			found = append(found, api.FieldError{Field: names[i].Field, Code: api.CodeForbidden,
				Value: names[i].Value(), Want: want})
		}
	}
	if err := api.Refuse(found); err != nil || of == "" {
		return err
	}
	return f.quota(of, kind, name, spec)
}

// MayUse reports whether the project of a group may use a host: the project has the host, or, for a
// group outside all projects, no project has the host for itself.
func (f *Feature) MayUse(group, host string) bool {
	if f.All.Len() == 0 {
		return true
	}
	return f.foreign(f.Of(group), &api.Named{Kind: api.ThingHost, Text: host},
		resource.Precondition{}) == ""
}

// foreign returns what a refusal asks for if a thing does not belong to a project; "" if the thing
// belongs to the project.
func (f *Feature) foreign(of string, n *api.Named, pre resource.Precondition) string {
	switch n.Kind {
	case api.ThingQueuePair, api.ThingSwitch, api.ThingPrefix, api.ThingRate:
		return "" // goes with the host or port beside it, or is counted
	case api.ThingTenant:
		if owner := f.Of(n.Text); owner != of {
			return f.want(of, owner, pre)
		}
		return ""
	case api.ThingSRv6Policy:
		if of != "" && !f.reaches(of, n.Text) {
			return f.want(of, "", pre)
		}
		return ""
	}
	if of == "" {
		if owner := f.exclusive(n); owner != "" {
			return f.want(of, owner, pre)
		}
		return ""
	}
	if has, _ := f.has(&f.All.Get(of).Spec, n); has {
		return ""
	}
	owner := ""
	for _, p := range f.All.All() {
		if has, _ := f.has(&p.Spec, n); has {
			owner = p.Name
			break
		}
	}
	return f.want(of, owner, pre)
}

// want returns what a refusal asks for in place of another project's thing. The text names the
// other project only to clients that may see the project. Other clients get the same text as for an
// unassigned or nonexistent thing.
func (f *Feature) want(of, owner string, pre resource.Precondition) string {
	text := "what is assigned to " + of + "; this is not assigned to " + of
	if of == "" {
		text = "what no project has for itself"
	}
	if owner = pre.Visible(owner); owner != "" {
		text += ", but to project " + owner
	}
	return text
}

// exclusive returns the project that has a thing for itself, or "". The project of a host also has
// the port in front of the host.
func (f *Feature) exclusive(n *api.Named) string {
	for _, p := range f.All.All() {
		if has, shared := f.has(&p.Spec, n); has && !shared {
			return p.Name
		}
		if n.Kind != api.ThingPort {
			continue
		}
		for _, h := range p.Spec.Hosts {
			if host := f.host(h.Name); host != nil && !h.Shared && at(host, n.Text, n.Number) {
				return p.Name
			}
		}
	}
	return ""
}

// reaches reports whether a project has ports at both ends of an SRv6 policy.
func (f *Feature) reaches(of, policy string) bool {
	ends, ok := f.ends[policy]
	for _, end := range ends {
		ok = ok && slices.ContainsFunc(f.All.Get(of).Spec.Ports,
			func(p api.ProjectPort) bool { return p.Switch == end })
	}
	return ok
}

// at reports whether a host hangs off a port.
func at(h *inventory.Host, sw string, port uint64) bool {
	return slices.ContainsFunc(portsOf(h),
		func(p api.SwitchPort) bool { return p.Switch == sw && uint64(p.Port) == port })
}

// quota returns why a resource with a spec would exceed a quota of a project. The controller always
// accepts a change that does not increase the usage of the resource.
func (f *Feature) quota(of, kind, name string, spec any) error {
	now := count(f.of(of))
	was := f.uses[kind+name]
	next := &use{kind: kind, name: name, ranks: ranks(kind, api.Names(spec))}
	switch s := spec.(type) {
	case api.MulticastGroupSpec:
		next.receivers = len(s.Receivers)
	case api.TenantSpec:
		next.rate = s.Rate
	}
	one := count([]*use{next})
	var had api.ProjectUse
	if was != nil {
		had = count([]*use{was})
	}
	p := &f.All.Get(of).Spec
	for _, q := range []struct {
		field, what      string
		limit            *int
		used, more, less int
	}{
		{"name", "multicast groups", p.Quotas.Groups, now.Groups, one.Groups, had.Groups},
		{"name", "tenants", p.Quotas.Tenants, now.Tenants, one.Tenants, had.Tenants},
		{"name", "PFC policies", p.Quotas.Policies, now.Policies, one.Policies, had.Policies},
		{"spec.receivers", "receivers", p.Quotas.Receivers, now.Receivers, one.Receivers, had.Receivers},
		{"name", "jobs", p.Quotas.Jobs, now.Jobs, one.Jobs, had.Jobs},
		{"spec.hosts", "ranks of jobs", p.Quotas.Ranks, now.Ranks, one.Ranks, had.Ranks},
		{"name", "leases", p.Quotas.Leases, now.Leases, one.Leases, had.Leases},
	} {
		if total := q.used + q.more - q.less; q.limit != nil && q.more > q.less && total > *q.limit {
			return api.Refuse([]api.FieldError{{
				Field: q.field, Code: api.CodeLimit, Value: fmt.Sprintf("%d more", q.more-q.less),
				Want:  fmt.Sprintf("at most %d %s of project %s, which has %d", *q.limit, q.what, of, q.used),
				Limit: api.Limit(*q.limit),
			}})
		}
	}
	if kind != Tenants || p.Bandwidth == 0 {
		return nil
	}
	limit := int64(min(p.Bandwidth, 1<<62))
	total := now.Bandwidth - had.Bandwidth + one.Bandwidth
	if one.Bandwidth == 0 || one.Bandwidth > had.Bandwidth && total > p.Bandwidth {
		return api.Refuse([]api.FieldError{{
			Field: "spec.rate", Code: api.CodeLimit, Value: fmt.Sprint(one.Bandwidth),
			Want: fmt.Sprintf("from 1 to what is left of the %d bit/s of project %s, of which its other "+
				"tenants have %d", p.Bandwidth, of, now.Bandwidth-had.Bandwidth), Limit: &limit,
		}})
	}
	return nil
}

// fits returns why a project may not have a spec: the spec takes a thing that another project has
// for itself, or takes away a thing that a resource uses.
func (f *Feature) fits(name string, spec *api.ProjectSpec) error {
	if f.All.Get(name) == nil && f.All.Len() >= MaxProjects {
		return api.Refuse([]api.FieldError{{
			Field: "name", Code: api.CodeLimit, Value: "one more", Want: fmt.Sprintf("at most %d projects",
				MaxProjects), Limit: api.Limit(MaxProjects),
		}})
	}
	var found []api.FieldError
	conflict := func(field, value, want string) {
		found = append(found, api.FieldError{Field: field, Code: api.CodeConflict, Value: value,
			Want: want})
	}
	for _, o := range f.All.All() {
		if o.Name == name {
			continue
		}
		if f.All.Get(name) == nil && (api.Covers(o.Name, name) || api.Covers(name, o.Name)) {
			conflict("name", name, fmt.Sprintf("a name that is not within that of another project, as "+
				"project %s", o.Name))
		}
		for _, c := range f.common(spec, &o.Spec) {
			conflict(c[0], c[1], fmt.Sprintf("what no other project has for itself; project %s has it: "+
				"want shared in both", o.Name))
		}
	}
	if len(found) > 0 {
		return api.Refuse(found)
	}
	return f.keeps(name, spec)
}

// common returns the fields and values of things in both specs, unless both specs share the thing.
func (f *Feature) common(a, b *api.ProjectSpec) (out [][2]string) {
	add := func(same, shared bool, field string, value any) {
		if same && !shared {
			out = append(out, [2]string{field, fmt.Sprint(value)})
		}
	}
	for i, x := range a.Hosts {
		field := fmt.Sprintf("spec.hosts[%d].name", i)
		for _, y := range b.Hosts {
			add(x.Name == y.Name, x.Shared && y.Shared, field, x.Name)
		}
		if host := f.host(x.Name); host != nil { // a site at its port would cut it off
			for _, y := range b.Ports {
				add(at(host, y.Switch, uint64(y.Port)), x.Shared && y.Shared, field, x.Name)
			}
		}
	}
	for i, x := range a.Ports {
		field, value := fmt.Sprintf("spec.ports[%d].port", i), fmt.Sprintf("%s/%d", x.Switch, x.Port)
		for _, y := range b.Ports {
			add(x.Switch == y.Switch && x.Port == y.Port, x.Shared && y.Shared, field, value)
		}
		for _, y := range b.Hosts {
			if host := f.host(y.Name); host != nil {
				add(at(host, x.Switch, uint64(x.Port)), x.Shared && y.Shared, field, value)
			}
		}
	}
	for i, x := range a.Proxies {
		for _, y := range b.Proxies {
			add(x.Prefix.Overlaps(y.Prefix), x.Shared && y.Shared, fmt.Sprintf("spec.proxies[%d].prefix", i),
				x.Prefix)
		}
	}
	for i, x := range a.QPNs {
		for _, y := range b.QPNs {
			add(x.First <= y.Last && y.First <= x.Last, x.Shared && y.Shared,
				fmt.Sprintf("spec.qpns[%d].first", i), x.First)
		}
	}
	for i, x := range a.Slices {
		for _, y := range b.Slices {
			add(x.Slice == y.Slice, x.Shared && y.Shared, fmt.Sprintf("spec.slices[%d].slice", i), x.Slice)
		}
	}
	for i, x := range a.Priorities {
		for _, y := range b.Priorities {
			add(x.Priority == y.Priority, x.Shared && y.Shared, fmt.Sprintf("spec.priorities[%d].priority",
				i), x.Priority)
		}
	}
	return out
}

// keeps returns an error if the spec takes away a thing that a resource uses. The resource may
// belong to the project or to the administrators, who use things that no project has for itself.
func (f *Feature) keeps(name string, spec *api.ProjectSpec) error {
	with := func(p string) bool { return p == name || f.known(p) }
	var lost []string
	for _, u := range f.uses {
		of := api.ProjectOf(u.name, with)
		if of != name && of != "" {
			continue
		}
		for i := range u.names {
			n := &u.names[i]
			switch n.Kind {
			case api.ThingHost, api.ThingPort, api.ThingProxy, api.ThingQPN, api.ThingSlice,
				api.ThingPriority:
			default:
				continue
			}
			has, shared := f.has(spec, n)
			if of == name && !has || of == "" && has && !shared {
				lost = append(lost, fmt.Sprintf("%s uses %s %s", u.key(), n.Kind, thing(n)))
				break
			}
		}
	}
	if len(lost) == 0 {
		return nil
	}
	slices.Sort(lost)
	return &api.Error{Code: api.CodeConflict,
		Message: "the project would have what others use, or lack what it uses: " + feature.Names(lost)}
}

// thing is a thing in a message.
func thing(n *api.Named) string {
	if n.Kind == api.ThingPort {
		return n.Text + "/" + n.Value()
	}
	return n.Value()
}
