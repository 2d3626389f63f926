package mrc

import (
	"context"
	"maps"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/topology"
)

// Uplink is a link up from a switch of tier 0 to one of tier 1 that is advertised.
type Uplink struct {
	Plane int
	// From and To are the names of the switches; Port is that of From.
	From, To string
	Port     uint32
}

// uplinksOf is what uplinks follow from.
type uplinksOf struct {
	fabric *fabric
	now    *topology.Snapshot
}

// Uplinks returns the links up from tier 0 that are advertised now, and the key that they are
// known by. There are none when known is their key.
func (r *Runner) Uplinks(ctx context.Context, known any) (links []Uplink, key any, err error) {
	var (
		from     uplinksOf
		switches map[string]*topology.Node
	)
	err = r.Read(ctx, func() {
		from = uplinksOf{r.core.fabric, r.core.current}
		if known != from {
			switches = maps.Clone(r.switches)
		}
	})
	if err != nil || known == from {
		return nil, known, err
	}
	of := make(map[topology.NodeID]*inventory.Switch, len(switches))
	for name, n := range switches {
		if n != nil {
			of[n.ID] = r.inventory.Switch(name)
		}
	}
	return from.fabric.uplinks(from.now, of), from, nil
}

// Uplinks is [Runner.Uplinks] without an inventory: switches have the names and ports that they
// advertise.
func (c *Core) Uplinks() []Uplink {
	c.settle()
	return c.fabric.uplinks(c.current, nil)
}

// uplinks returns the uplinks that are advertised now; of has what the inventory says of
// switches. A fabric that is nil has none.
func (f *fabric) uplinks(
	now *topology.Snapshot, of map[topology.NodeID]*inventory.Switch,
) (out []Uplink) {
	if f == nil {
		return nil
	}
	tier := func(id topology.NodeID) int {
		if n, ok := f.clos.Tier(id); ok {
			return n
		}
		return -1
	}
	name := func(id topology.NodeID) string {
		if sw := of[id]; sw != nil {
			return sw.Name
		}
		return nameOf(now, id)
	}
	for i := range f.edges {
		e := &f.edges[i]
		l := now.Link(e.ID)
		if l == nil || len(e.leaves) == 0 || tier(e.Local) != 0 || tier(e.Remote) != 1 {
			continue
		}
		up := Uplink{
			Plane: f.clos.LinkPlane(e.ID), From: name(e.Local), To: name(e.Remote), Port: l.LocalPort,
		}
		if sw := of[e.Local]; sw != nil {
			up.Port = sw.Port(l.LocalID, l.LocalPort)
		}
		out = append(out, up)
	}
	return out
}
