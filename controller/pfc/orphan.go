package pfc

import (
	"maps"
	"net/netip"
	"strings"

	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/southbound/entry"
)

// Orphans of tenants continue to work. The VRF of a port is in an entry of the underlay, which
// would take the port away from the orphan. So an orphan keeps the ports that the switch reports in
// the orphan's VRF. New tenants and segment lists never get the numbers of orphans, unless the
// tenant or list is the same.

// Object implements feature.Feature.
func (f *Feature) Object(o reconcile.Owner) string {
	if o != owner {
		return ""
	}
	return "tenants and PFC policies"
}

// Removal implements feature.Feature.
func (f *Feature) Removal(o reconcile.Owner) string {
	if o != owner {
		return ""
	}
	reason := "their paths or specifications have changed"
	if len(f.deleted) > 0 {
		reason = strings.Join(f.deleted, ", ") + " deleted"
	}
	f.deleted = nil
	return reason
}

// Keeps implements feature.Feature: an entity that orphans on a switch lead to stays, even after
// the removal of a resource that shared the entity. The class of PFC frames, in a table of the
// underlay, also stays.
func (f *Feature) Keeps(sw string, _ reconcile.Owner, e entry.Entity) bool {
	class := plan.IsPFCClass(e, f.env.Inventory().PFC.DSCP)
	for orphan := range f.env.Switches.Of(sw, owner).Orphans() {
		if class || plan.LeadsTo(orphan, e) {
			return true
		}
	}
	return false
}

// findEdges notes which ports of a switch that was just read face tenants.
func (f *Feature) findEdges(sw string, contents entry.Contents) {
	found := make(map[uint32]uint16)
	for _, e := range contents.Entities {
		if port, vrf, ok := plan.EdgeOf(e); ok {
			found[port] = vrf
		}
	}
	if len(found) == 0 {
		delete(f.found, sw)
		return
	}
	f.found[sw] = found
}

// noteOrphans has the ports and the segment lists of orphans on a switch left alone.
func (f *Feature) noteOrphans(sw string) {
	if len(f.found[sw]) > 0 {
		f.setEdges()
	}
	f.noteLists(sw)
}

func (f *Feature) noteLists(sw string) {
	lists := make(map[uint16][]netip.Addr)
	for e := range f.env.Switches.Of(sw, owner).Orphans() {
		if list, sids, ok := plan.SegmentsOf(e); ok {
			lists[list] = sids
		}
	}
	if n := f.env.Net.Node(sw); n != nil {
		f.core.SetForeign(n.ID, lists)
	}
}

// orphanVRFs returns the VRFs of orphans on any switch.
func (f *Feature) orphanVRFs() map[uint16]bool {
	out := make(map[uint16]bool)
	if !f.env.Switches.Orphaned(owner) {
		return out
	}
	for _, sw := range f.env.Switches.Switches() {
		maps.Copy(out, f.orphanVRFsAt(sw))
	}
	return out
}

func (f *Feature) orphanVRFsAt(sw string) map[uint16]bool {
	out := make(map[uint16]bool)
	for e := range f.env.Switches.Of(sw, owner).Orphans() {
		if vrf, ok := plan.VRFOf(e); ok && vrf <= plan.MaxVRF {
			out[vrf] = true
		}
	}
	return out
}

// orphanEdges returns the ports that are in the VRF of an orphan on their switch.
func (f *Feature) orphanEdges() plan.Edges {
	edges := make(plan.Edges)
	for sw, ports := range f.found {
		vrfs := f.orphanVRFsAt(sw)
		for port, vrf := range ports {
			if !vrfs[vrf] {
				continue
			}
			if edges[sw] == nil {
				edges[sw] = make(map[uint32]plan.Edge)
			}
			edges[sw][port] = plan.Edge{VRF: vrf}
		}
	}
	return edges
}
