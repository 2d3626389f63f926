package controller

import (
	"fmt"
	"net/netip"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/resource"
)

// listGroups returns all groups, ordered by index.
func (c *Core) listGroups() []api.MulticastGroup {
	out := make([]api.MulticastGroup, 0, len(c.groups))
	for _, g := range c.ordered() {
		if !g.removed {
			out = append(out, g.resource())
		}
	}
	return out
}

// group returns a group. The error is an *api.Error.
func (c *Core) group(name string) (api.MulticastGroup, error) {
	g, err := c.find(name, resource.Precondition{})
	if err != nil {
		return api.MulticastGroup{}, err
	}
	return g.resource(), nil
}

func groupName(name string) string { return fmt.Sprintf("multicast group %q", name) }

// find returns a group that exists and meets a precondition.
func (c *Core) find(name string, pre resource.Precondition) (*group, error) {
	return c.groups[name], pre.CheckExisting(groupName(name), c.groups[name].present())
}

// present is the version of a group that clients see, 0 when there is none.
func (g *group) present() uint64 {
	if g == nil || g.removed {
		return 0
	}
	return g.version
}

// putGroup creates a group or replaces its spec. Fields left out have their
// defaults. What is refused, with an *api.Error, changes nothing; the spec a
// group has already changes nothing either.
func (c *Core) putGroup(name string, spec api.MulticastGroupSpec, pre resource.Precondition) (r api.MulticastGroup, created bool, err error) {
	g := c.groups[name]
	created = g.present() == 0
	if err = pre.Check(groupName(name), g.present()); err == nil && created {
		err = api.ValidateName(name)
	}
	if err != nil {
		return r, false, err
	}
	spec = c.inv.Defaults.Complete(spec)
	if !created && g.spec.Equal(&spec) {
		return g.resource(), false, nil
	}
	if err := api.ValidateGroup(&spec, c.env(name)); err != nil {
		return r, false, err
	}
	next := c.groups[name] // there while it is being removed
	if next == nil {
		index, adopted := c.adoptable(spec.ProxyAddress)
		if !adopted {
			if index, err = c.freeIndex(); err != nil {
				return r, false, err
			}
		}
		next = newGroup(name, index)
		next.adopted = adopted
	}
	without := next.stillEvicted(&spec)
	p, err := c.newPlacement(next, &spec, without, false)
	if err != nil {
		return r, false, err
	}
	g = next
	if created {
		g.created, g.removed, g.status = c.wall(), false, api.MulticastGroupStatus{}
	}
	c.groups[name], c.byIndex[g.index] = g, g
	g.version, g.spec, g.evicted = c.versions.Next(), spec, without
	g.planErr = nil
	c.aim(g, p)
	c.status[g.index] = true
	c.settle()
	c.watchStalls(g)
	return g.resource(), created, nil
}

// stillEvicted returns the evictions that a new spec leaves in force: those of
// receivers it does not change.
func (g *group) stillEvicted(spec *api.MulticastGroupSpec) map[netip.Addr]bool {
	out := make(map[netip.Addr]bool)
	for i := range spec.Receivers {
		r := &spec.Receivers[i]
		for j := range g.spec.Receivers {
			if g.evicted[r.Address] && g.spec.Receivers[j].Equal(r) {
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
func (c *Core) free(index uint16) bool {
	return c.byIndex[index] == nil && c.epochs[index] < lastEpoch
}

// freeIndex returns the lowest index that is free, preferably one of no group
// that may still be adopted. While it is not known which those are, it returns
// the highest, as they are low.
func (c *Core) freeIndex() (uint16, error) {
	most := c.inv.Limits.Groups
	if c.adoption.on && c.unread() {
		for i := most - 1; i >= 0; i-- {
			if c.free(uint16(i)) && !c.adoption.found[uint16(i)] {
				return uint16(i), nil
			}
		}
	}
	for _, taken := range []map[uint16]bool{c.adoption.found, nil} {
		for i := range most {
			if c.free(uint16(i)) && !taken[uint16(i)] {
				return uint16(i), nil
			}
		}
	}
	return 0, &api.Error{Code: api.CodeLimit, Fields: []api.FieldError{{
		Field: "name", Code: api.CodeLimit, Value: "one more", Want: fmt.Sprintf("at most %d multicast groups", most), Limit: api.Limit(most),
	}}}
}

// deleteGroup removes a group. Its entries leave the switches after that. The
// error is an *api.Error.
func (c *Core) deleteGroup(name string, pre resource.Precondition) error {
	g, err := c.find(name, pre)
	if err != nil {
		return err
	}
	g.removed = true
	c.disown(g)
	c.event(api.EventGroupDeleted, name, "", nil)
	c.aim(g, nil)
	c.settle()
	return nil
}

// ResetGroup gives a group a new epoch, for queue pairs that were created anew,
// and takes evicted receivers in again. The error is an *api.Error.
func (c *Core) ResetGroup(name string, pre resource.Precondition) (api.MulticastGroup, error) {
	g, err := c.find(name, pre)
	if err != nil {
		return api.MulticastGroup{}, err
	}
	p, err := c.newPlacement(g, &g.spec, nil, true)
	if err != nil {
		return api.MulticastGroup{}, err
	}
	clear(g.evicted)
	g.planErr = nil
	c.aim(g, p)
	c.settle()
	return g.resource(), nil
}
