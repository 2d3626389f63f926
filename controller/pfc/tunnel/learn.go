package tunnel

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

// Seen takes what a switch reports of the first packet with a new segment list
// (draft section 3, scenario 2). It returns the PFC policies whose tunnels are
// made now: those of the slice's tenant for which the list names the upstream's
// End.X.PFC.
func (c *Core) Seen(
	at topology.NodeID, source netip.Addr, slice uint32, segments []netip.Addr,
) (learned []string) {
	lacks := func(r *pfcPolicy) bool { return r.Scenario == 2 && !r.Learned }
	for _, r := range c.requestsThat(lacks) {
		t, p := c.tenants[r.Tenant], c.policies[r.SRv6Policy]
		if t == nil || p == nil || t.Slice != slice || p.latest() == nil {
			continue
		}
		hops := p.latest().path.Hops
		if hops[0].Address != source || !slices.Contains(segments, hops[0].PFC) ||
			hops[len(hops)-1].Node != at {
			continue
		}
		r.Learned = true
		c.event(api.EventTunnelLearned, r.Name,
			fmt.Sprintf("%s has seen a packet of slice %d with %v in its segment list", c.name(at), slice,
				hops[0].PFC))
		c.replan(p)
		learned = append(learned, r.Name)
	}
	return learned
}
