package mrc

import (
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/topology"
)

// adminUp is the spec of what no client has written.
var adminUp = api.AdminSpec{Admin: api.AdminUp}

// viewLink describes one direction of a link. The specs of this and of other views of a core are
// those of a core that no client has written to: see wanted.
func (c *Core) viewLink(l *link) api.Link {
	v := api.Link{ID: l.ID, Spec: adminUp, Status: api.LinkStatus{
		From: l.Local, FromName: nameOf(c.current, l.Local), To: l.Remote, ToName: nameOf(c.current, l.Remote), Plane: c.fabric.clos.LinkPlane(l.ID),
		Phase: l.phase.String(), Cause: l.cause, Since: c.wall(l.since), Sources: c.current.Link(l.ID).KnownFrom(),
		Drained: l.drained, Denied: l.out(), Drains: c.drains.views(func(d *drain) bool { return c.fabric.covers(d.Target, l.edge) }),
	}}
	local, remote := c.ports.ofLink(l.Link)
	v.Status.FromPort, v.Status.ToPort = c.ports.state(local), c.ports.state(remote)
	if l.phase == held && l.until > 0 {
		v.Status.Until = c.wall(l.until)
	}
	return v
}

// Links returns the links of the fabric in its order, as far as paths cross them.
func (c *Core) Links() []api.Link {
	if c.fabric == nil {
		return nil
	}
	var out []api.Link
	for i := range c.links.all {
		l := &c.links.all[i]
		if len(l.leaves) == 0 {
			continue
		}
		out = append(out, c.viewLink(l))
	}
	return out
}

// LinkPage returns links by id, and whether there are more.
func (c *Core) LinkPage(f api.LinkFilter, page Page) (out []api.Link, more bool) {
	c.settle()
	out = []api.Link{}
	if c.fabric == nil {
		return out, false
	}
	order := c.fabric.byID()
	first, _ := slices.BinarySearchFunc(order, page.After, func(i int32, after string) int {
		if natural.Compare(string(c.links.all[i].ID), after) > 0 {
			return 1
		}
		return -1
	})
	for _, i := range order[first:] {
		l := &c.links.all[i]
		if !c.wantsLink(f, l) {
			continue
		}
		if page.full(len(out)) {
			return out, true
		}
		out = append(out, c.viewLink(l))
	}
	return out, false
}

func (c *Core) wantsLink(f api.LinkFilter, l *link) bool {
	return (f.Node == "" || c.isCalled(l.Local, f.Node) || c.isCalled(l.Remote, f.Node)) &&
		(f.Plane == 0 || c.fabric.clos.LinkPlane(l.ID) == f.Plane) && (!f.Denied || l.out())
}

// Link returns the link of an id, if paths cross it.
func (c *Core) Link(id topology.LinkID) (api.Link, bool) {
	c.settle()
	if c.fabric == nil {
		return api.Link{}, false
	}
	i, ok := c.fabric.place[id]
	if !ok || len(c.links.all[i].leaves) == 0 {
		return api.Link{}, false
	}
	return c.viewLink(&c.links.all[i]), true
}
