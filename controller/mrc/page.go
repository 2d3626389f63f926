package mrc

import (
	"slices"

	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/topology"
)

// A Page is a part of a list: of what comes after a key, the first so many. What
// is not part of it is not copied.
type Page struct {
	After string // "" is the beginning
	Limit int    // 0 is all
}

func (p Page) full(n int) bool { return p.Limit > 0 && n >= p.Limit }

// ProfileFilter says which profiles are meant; the zero value is all.
type ProfileFilter struct {
	// Source and Destination are leaves, by node or by the name that it shows.
	Source, Destination string
	// Host is the name of one that holds the profile.
	Host string
	// Degraded: only profiles that are less than they were.
	Degraded bool
}

// LinkFilter says which links are meant; the zero value is all.
type LinkFilter struct {
	// Node is one end, by node or by the name that it shows.
	Node string
	// Plane is theirs; 0 is any.
	Plane int
	// Denied: only links over which EVs are denied.
	Denied bool
}

// ProfilePage returns profiles by name, and whether there are more.
func (c *Core) ProfilePage(f ProfileFilter, page Page) (out []ProfileStatus, more bool) {
	c.settle()
	out = []ProfileStatus{}
	for _, p := range c.profiles.all[c.profiles.after(page.After):] {
		if !c.wantsProfile(f, p) {
			continue
		}
		if page.full(len(out)) {
			return out, true
		}
		out = append(out, c.statusOf(p))
	}
	return out, false
}

func (c *Core) wantsProfile(f ProfileFilter, p *profile) bool {
	if f.Degraded && p.outcome.Degraded == "" || f.Source != "" && !c.hasLeaf(p.from.rack, f.Source) || f.Destination != "" && !c.hasLeaf(p.to, f.Destination) {
		return false
	}
	return f.Host == "" || slices.ContainsFunc(p.from.hosts, func(h *host) bool { return h.Name == f.Host })
}

func (c *Core) hasLeaf(r *rack, name string) bool {
	return slices.ContainsFunc(r.at, func(leaf topology.NodeID) bool { return leaf != "" && c.isCalled(leaf, name) })
}

// isCalled reports whether a node has an id or shows a name.
func (c *Core) isCalled(id topology.NodeID, name string) bool {
	if string(id) == name {
		return true
	}
	var n *topology.Node
	if c.fabric != nil {
		n = c.fabric.snap.Node(id)
	}
	return n != nil && n.Name == name
}

// HostPage returns hosts by name, and whether there are more.
func (c *Core) HostPage(page Page) (out []HostStatus, more bool) {
	c.settle()
	names := make([]string, 0, len(c.hosts.byName))
	for name := range c.hosts.byName {
		if natural.Compare(name, page.After) > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, natural.Compare)
	if page.full(len(names)) && len(names) > page.Limit {
		names, more = names[:page.Limit], true
	}
	out = make([]HostStatus, 0, len(names))
	for _, name := range names {
		out = append(out, c.hostStatus(c.hosts.byName[name]))
	}
	return out, more
}

// Host returns the host of a name.
func (c *Core) Host(name string) (HostStatus, bool) {
	c.settle()
	h := c.hosts.byName[name]
	if h == nil {
		return HostStatus{}, false
	}
	return c.hostStatus(h), true
}

// LinkPage returns links by id, and whether there are more.
func (c *Core) LinkPage(f LinkFilter, page Page) (out []LinkStatus, more bool) {
	c.settle()
	out = []LinkStatus{}
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
		out = append(out, c.linkStatus(l))
	}
	return out, false
}

func (c *Core) wantsLink(f LinkFilter, l *link) bool {
	return (f.Node == "" || c.isCalled(l.Local, f.Node) || c.isCalled(l.Remote, f.Node)) &&
		(f.Plane == 0 || c.fabric.clos.LinkPlane(l.ID) == f.Plane) && (!f.Denied || l.out())
}

// Link returns the link of an id, if paths cross it.
func (c *Core) Link(id topology.LinkID) (LinkStatus, bool) {
	c.settle()
	if c.fabric == nil {
		return LinkStatus{}, false
	}
	i, ok := c.fabric.place[id]
	if !ok || len(c.links.all[i].leaves) == 0 {
		return LinkStatus{}, false
	}
	return c.linkStatus(&c.links.all[i]), true
}
