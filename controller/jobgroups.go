package controller

import (
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/job"
	"github.com/weft-sdn/weft/controller/multicast"
	"github.com/weft-sdn/weft/controller/resource"
)

// jobGroups has jobs make multicast groups. It implements job.Groups.
type jobGroups struct{ core *Core }

// Made implements job.Groups.
func (g jobGroups) Made() (out []job.Group) {
	for _, m := range g.core.multicast.OfJobs() {
		out = append(out, job.Group(m))
	}
	return out
}

// Put implements job.Groups. The group belongs to the project of the job, like a group that a
// member creates.
func (g jobGroups) Put(by, name string, spec api.MulticastGroupSpec) error {
	if err := api.ValidateName(name); err != nil {
		return err
	}
	c := g.core
	pre := resource.Precondition{}
	of := c.projects.Of(by)
	if other := c.projects.Of(name); other != of {
		return api.Refuse([]api.FieldError{{Field: "name", Code: api.CodeForbidden, Value: name,
			Want: "a name of the job's project, not of another one"}})
	}
	if of != "" {
		pre.Sees = func(name string) bool { return c.projects.Of(name) == of }
	}
	if err := (whole{c}).Allow(multicast.Kind.Record, name, spec, pre); err != nil {
		return err
	}
	err := c.multicast.PutOf(by, name, spec, pre)
	if err == nil {
		c.took(multicast.Kind.Record, name, spec)
	}
	return err
}

// Delete implements job.Groups.
func (g jobGroups) Delete(name string) {
	g.core.multicast.DeleteOf(name)
	g.core.took(multicast.Kind.Record, name, nil)
}

// Own implements job.Groups.
func (g jobGroups) Own(name, by string) { g.core.multicast.Own(name, by) }

// Complete implements job.Groups.
func (g jobGroups) Complete(spec api.MulticastGroupSpec) api.MulticastGroupSpec {
	return g.core.Inventory().Defaults.Complete(spec)
}

// State implements job.Groups.
func (g jobGroups) State(name string) (programmed bool, why string) {
	m, err := g.core.multicast.Groups().Get(name)
	if err != nil {
		return false, err.Error()
	}
	for _, condition := range m.Status.Conditions {
		if condition.Type == api.Programmed {
			return condition.Status, condition.Message
		}
	}
	return false, "nothing of it is programmed yet"
}
