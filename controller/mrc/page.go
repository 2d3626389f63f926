package mrc

import "github.com/weft-sdn/weft/topology"

// A Page is a part of a list: of what comes after a key, the first so many. What
// is not part of it is not copied.
type Page struct {
	After string // "" is the beginning
	Limit int    // 0 is all
}

func (p Page) full(n int) bool { return p.Limit > 0 && n >= p.Limit }

// isCalled reports whether a node has an id or shows a name.
func (c *Core) isCalled(id topology.NodeID, name string) bool {
	if string(id) == name {
		return true
	}
	f := c.state.Fabric()
	return f != nil && nameOf(f.Snapshot(), id) == name && name != ""
}
