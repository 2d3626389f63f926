package fabric

import (
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/topology"
)

// Uplink is an advertised link from a tier-0 switch up to a tier-1 switch.
type Uplink struct {
	Plane int
	// From and To are the names of the switches; Port is the port of From.
	From, To string
	Port     uint32
}

// Uplinks returns the uplinks that are advertised now; of has the inventory's facts about switches.
// A nil fabric has no uplinks.
func (f *Fabric) Uplinks(
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
		return NameOf(now, id)
	}
	for i := range f.edges {
		e := &f.edges[i]
		l := now.Link(e.ID)
		if l == nil || !e.crossed() || tier(e.Local) != 0 || tier(e.Remote) != 1 {
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
