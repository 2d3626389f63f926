package multicast

import (
	"fmt"
	"net/netip"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/controller/resource"
)

// Groups returns the multicast groups.
func (f *Feature) Groups() resource.Resources[api.MulticastGroupSpec, api.MulticastGroup] {
	return groups{f}
}

// groups implements resource.Resources.
type groups struct{ *Feature }

// List returns the groups, ordered by index.
func (f groups) List() []api.MulticastGroup {
	out := make([]api.MulticastGroup, 0, f.resources.Len())
	for _, g := range f.ordered() {
		if g.item != nil {
			out = append(out, g.resource())
		}
	}
	return out
}

// Get implements resource.Resources.
func (f groups) Get(name string) (api.MulticastGroup, error) {
	i, err := resource.Find(f.resources, name)
	if err != nil {
		return api.MulticastGroup{}, err
	}
	return i.Decided.resource(), nil
}

// Put implements resource.Resources. Fields that the spec leaves out get their
// defaults.
func (f groups) Put(
	name string, spec api.MulticastGroupSpec, pre resource.Precondition,
) (r api.MulticastGroup, created bool, err error) {
	if err = f.env.Allow(Kind.Record, name, spec, pre); err != nil {
		return r, false, err
	}
	if created, err = f.put("", name, spec, pre); err != nil {
		return r, false, err
	}
	f.env.Settle(Kind.Record, name, spec)
	r, err = f.Get(name) // with the status that follows
	return r, created, err
}

// PutOf is Put of [Feature.Groups] for a job. From then on, the group belongs to the job.
func (f *Feature) PutOf(
	job, name string, spec api.MulticastGroupSpec, pre resource.Precondition,
) error {
	_, err := f.put(job, name, spec, pre)
	return err
}

// Made is a group of a job.
type Made struct {
	Name, Job string
	Spec      api.MulticastGroupSpec
}

// OfJobs returns the groups of jobs, by index. The specs must not be changed.
func (f *Feature) OfJobs() (out []Made) {
	for _, g := range f.ordered() {
		if g.job != "" {
			out = append(out, Made{g.name, g.job, g.item.Spec})
		}
	}
	return out
}

// Own moves a job's group to another job.
func (f *Feature) Own(name, job string) {
	if g := f.groups[name]; g != nil && g.item != nil && g.job != job {
		g.job = job
		f.save(g)
	}
}

// DeleteOf deletes a group of a job.
func (f *Feature) DeleteOf(name string) {
	if item := f.resources.Get(name); item != nil {
		f.delete(item.Decided)
	}
}

// ownedBy returns why a group is not written for a job, "" for a client: it is another's.
func (g *group) ownedBy(job string, pre resource.Precondition) error {
	switch {
	case g.job == job:
		return nil
	case g.job == "":
		return &api.Error{Code: api.CodeConflict, Message: fmt.Sprintf(
			"a client has made multicast group %q: want a communicator of another name, or the group "+
				"deleted", g.name)}
	}
	name := "another job"
	if visible := pre.Visible(g.job); visible != "" {
		name = fmt.Sprintf("job %q", visible)
	}
	return &api.Error{Code: api.CodeConflict, Message: fmt.Sprintf(
		"multicast group %q is of %s: it changes with the job, and goes at its end", g.name, name)}
}

// put is Put of a group for a job; "": for a client.
func (f *Feature) put(
	job, name string, spec api.MulticastGroupSpec, pre resource.Precondition,
) (created bool, err error) {
	item, err := resource.CheckPut(f.resources, name, pre)
	created = item == nil
	if err == nil && !created {
		err = item.Decided.ownedBy(job, pre)
	}
	if err != nil {
		return false, err
	}
	spec = f.inv().Defaults.Complete(spec)
	if err := api.ValidateGroup(&spec, f.validation(name, pre)); err != nil {
		return false, err
	}
	token := ""
	if spec.Connect != nil {
		token, spec.Connect.Token = spec.Connect.Token, ""
	}
	if !created && item.Spec.Equal(&spec) && (token == "" || token == item.Decided.token) {
		return false, nil
	}
	g := f.groups[name] // exists while it is being removed
	again := g != nil && created
	if g == nil {
		index, adopted := f.adoptable(spec.ProxyAddress)
		if !adopted {
			if index, err = f.freeIndex(); err != nil {
				return false, err
			}
		}
		g = newGroup(name, index)
		g.adopted = adopted
	}
	without := g.stillEvicted(&spec)
	p, err := f.newPlacement(g, &spec, without, false)
	if err != nil {
		return false, err
	}
	if token != "" || spec.Connect == nil || created {
		g.token = token
	}
	item = f.resources.Put(name, spec, f.env.Wall())
	item.Decided = g
	g.job = job
	if created {
		g.item, g.status = item, api.MulticastGroupStatus{}
	}
	if again {
		f.unsaved[name] = true
	}
	f.groups[name], f.byIndex[g.index] = g, g
	if created && g.adopted {
		f.adopt(g, spec.ProxyAddress)
	}
	g.evicted, g.planErr = without, nil
	f.aim(g, p)
	f.takePairs(g)
	f.watchStalls(g)
	f.renewed.add(g.index)
	return created, nil
}

// Delete implements resource.Resources. The switches lose the entries of the group afterwards.
func (f groups) Delete(name string, pre resource.Precondition) error {
	item, err := resource.CheckDelete(f.resources, name, pre)
	if err == nil {
		err = item.Decided.ownedBy("", pre)
	}
	if err != nil {
		return err
	}
	f.delete(item.Decided)
	f.env.Settle(Kind.Record, name, nil)
	return nil
}

// delete deletes a group.
func (f *Feature) delete(g *group) {
	name := g.name
	f.renewed.add(g.index)
	f.resources.Delete(name)
	g.item, g.job = nil, ""
	f.disown(g)
	f.env.Event(api.EventGroupDeleted, name, "", nil)
	f.aim(g, nil)
	f.takePairs(g)
}

// Reset gives a group a new epoch, for queue pairs that were created anew, and takes
// evicted receivers in again. The error is an *api.Error.
func (f *Feature) Reset(name string, pre resource.Precondition) error {
	item, err := resource.CheckDelete(f.resources, name, pre)
	if err != nil {
		return err
	}
	g := item.Decided
	p, err := f.newPlacement(g, &item.Spec, nil, true)
	if err != nil {
		return err
	}
	clear(g.evicted)
	g.planErr = nil
	f.aim(g, p)
	return nil
}

// stillEvicted returns the evictions that a new spec leaves in force: the evictions of receivers
// that the spec does not change.
func (g *group) stillEvicted(spec *api.MulticastGroupSpec) map[netip.Addr]bool {
	out := make(map[netip.Addr]bool)
	if g.item == nil {
		return out
	}
	for i := range spec.Receivers {
		r := &spec.Receivers[i]
		for j := range g.item.Spec.Receivers {
			if g.evicted[r.Address] && g.item.Spec.Receivers[j].Equal(r) {
				out[r.Address] = true
			}
		}
	}
	if len(out) == len(spec.Receivers) {
		clear(out)
	}
	return out
}

// free reports whether a group can be given an index.
func (f *Feature) free(index uint16) bool {
	return f.byIndex[index] == nil && f.epochs[index] < lastEpoch
}

// freeIndex returns the lowest free index without orphans on any switch. Until every switch has
// been read once, the controller does not know the indexes of orphans. freeIndex then returns the
// highest free index, because orphans have low indexes.
func (f *Feature) freeIndex() (uint16, error) {
	most := f.inv().Limits.Groups
	unread, orphans := !f.env.Switches.EverRead(), 0
	for i := range most {
		if unread {
			i = most - 1 - i
		}
		if !f.free(uint16(i)) {
			continue
		}
		if !f.env.Switches.Orphaned(reconcile.Owner(i)) {
			return uint16(i), nil
		}
		orphans++
	}
	e := &api.Error{Code: api.CodeLimit, Fields: []api.FieldError{{
		Field: "name", Code: api.CodeLimit, Value: "one more",
		Want: fmt.Sprintf("at most %d multicast groups", most), Limit: api.Limit(most),
	}}}
	if orphans > 0 {
		e.Message = fmt.Sprintf("orphans on switches occupy %d indexes", orphans)
	}
	return 0, e
}

// IsProxy reports whether an address is the proxy address of a group, or was and is still in
// switches.
func (f *Feature) IsProxy(a netip.Addr) bool {
	for _, g := range f.groups {
		if g.uses(a) {
			return true
		}
	}
	return false
}

// NameOf returns the name of the group with an index, "" without one.
func (f *Feature) NameOf(index uint16) string {
	if g := f.byIndex[index]; g != nil {
		return g.name
	}
	return ""
}
