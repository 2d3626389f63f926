package plan

import (
	"net/netip"
	"slices"

	"github.com/weft-sdn/weft/controller/inventory"
)

// HostsAt returns the hosts of a switch, ordered by name. It must not be changed.
func (n *Network) HostsAt(sw string) []Attachment { return n.hostsOf[sw] }

// EachDestination calls emit for every destination to which a switch has a way out over links, in
// order, with the hops of equal cost by port: what [Network.EachRoute] makes routes of.
func (n *Network) EachDestination(sw *inventory.Switch, emit func(netip.Prefix, []Hop)) {
	w := n.newRoutes(sw)
	if w.node == nil {
		return
	}
	t := n.tree(nil)
	defer w.begin(t)()
	for i := range t.destinations {
		d := &t.destinations[i]
		if slices.ContainsFunc(d.origins, func(o origin) bool { return o.place == w.self }) {
			continue
		}
		if hops := w.nearest(d); len(hops) > 0 {
			emit(d.prefix, hops)
		}
	}
}
