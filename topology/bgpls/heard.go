package bgpls

import (
	"fmt"
	"math"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls/wire"
)

// Heard returns the topology of a collector that has received exactly the given objects. Each
// object is encoded to NLRIs and attributes and decoded again, but Heard needs no session. An
// object that cannot be encoded or decoded is an error.
func Heard(objects ...Objects) (*topology.Snapshot, error) {
	var peer peerKey = netip.AddrPortFrom(netip.IPv6Loopback(), 0)
	var now time.Time // no grace, and so no clock
	r := newRIB(0, nil)
	r.addPeer(peer, topology.Scope{}, Limits{math.MaxInt, math.MaxInt, math.MaxInt, math.MaxInt,
		math.MaxInt}, now)
	r.peerUp(peer, now)
	for i := range objects {
		all, err := objects[i].advertisements()
		if err != nil {
			return nil, err
		}
		for _, a := range all {
			nlris, skipped, err := wire.ParseNLRIs(a.nlri)
			if err != nil {
				return nil, err
			}
			if err := r.update(peer, &wire.Update{Reachable: nlris, Attribute: a.attribute,
				Skipped: skipped}); err != nil {
				return nil, err
			}
		}
	}
	r.endOfRIB(peer)
	if r.stats != (Stats{Updates: r.stats.Updates}) {
		return nil, fmt.Errorf("%w: not understood: %+v", ErrObject, r.stats)
	}
	return r.snapshot(), nil
}
