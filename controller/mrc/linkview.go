package mrc

import (
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/topology"
)

// adminUp is the spec of what no client has written.
var adminUp = api.AdminSpec{Admin: api.AdminUp}

// viewLink describes one direction of a link. The specs of this and of other views of a core are
// those of a core that no client has written to: see wanted.
func (c *Core) viewLink(l *fabric.Link) api.Link {
	f, now := c.state.Fabric(), c.state.Advertised()
	v := api.Link{ID: l.ID, Spec: adminUp, Status: api.LinkStatus{
		From: l.Local, FromName: fabric.NameOf(now, l.Local), To: l.Remote, ToName: fabric.NameOf(now, l.Remote),
		Plane: f.Clos().LinkPlane(l.ID), Phase: l.Phase().String(), Cause: l.Cause(),
		Since: c.wall(l.Since()), Sources: now.Link(l.ID).KnownFrom(),
		Drained: l.Drained(), Denied: l.Denied(),
		Drains: c.drains.views(func(d *drain) bool { return d.covers(f, l.Edge) }),
	}}
	v.Status.FromPort, v.Status.ToPort = c.state.LinkPorts(l.Link)
	if until := l.Until(); until > 0 {
		v.Status.Until = c.wall(until)
	}
	return v
}

// Links returns the links of the fabric in its order, as far as paths cross them.
func (c *Core) Links() (out []api.Link) {
	links := c.state.Links()
	for i := range int32(links.Len()) {
		if l := links.At(i); len(l.Leaves()) > 0 {
			out = append(out, c.viewLink(l))
		}
	}
	return out
}

// LinkPage returns links by id, and whether there are more.
func (c *Core) LinkPage(f api.LinkFilter, page Page) (out []api.Link, more bool) {
	c.settle()
	out = []api.Link{}
	if c.state.Fabric() == nil {
		return out, false
	}
	order, links := c.state.Fabric().ByID(), c.state.Links()
	first, _ := slices.BinarySearchFunc(order, page.After, func(i int32, after string) int {
		if natural.Compare(string(links.At(i).ID), after) > 0 {
			return 1
		}
		return -1
	})
	for _, i := range order[first:] {
		l := links.At(i)
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

func (c *Core) wantsLink(f api.LinkFilter, l *fabric.Link) bool {
	return (f.Node == "" || c.isCalled(l.Local, f.Node) || c.isCalled(l.Remote, f.Node)) &&
		(f.Plane == 0 || c.state.Fabric().Clos().LinkPlane(l.ID) == f.Plane) &&
		(!f.Denied || l.Denied())
}

// Link returns the link of an id, if paths cross it.
func (c *Core) Link(id topology.LinkID) (api.Link, bool) {
	c.settle()
	if c.state.Fabric() == nil {
		return api.Link{}, false
	}
	i, ok := c.state.Fabric().Place(id)
	if !ok || len(c.state.Links().At(i).Leaves()) == 0 {
		return api.Link{}, false
	}
	return c.viewLink(c.state.Links().At(i)), true
}
