package plan

import (
	"time"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/southbound/entry"
)

// discoveryRate is how many LLDP frames a switch accepts of a port in an interval of discovery,
// and at once: its neighbor sends one. discoveryBurst leaves room for a neighbor that sends
// again because it has connected again.
const (
	discoveryRate  = 4
	discoveryBurst = 4
)

// Discovery returns what makes a switch send LLDP frames to the controller; nothing when d is
// off.
func Discovery(d *inventory.Discovery) []entry.Entity {
	if !d.On() {
		return nil
	}
	spacing := uint64(d.Interval.D()/time.Microsecond) / discoveryRate
	return []entry.Entity{entry.In(p4.TableDiscovery,
		entry.Do(p4.ActionSetDiscovery, entry.With("spacing", entry.Uint(spacing)),
			entry.With("burst_time", entry.Uint(spacing*(discoveryBurst-1)))),
		entry.Exact("dst_addr", entry.MAC(packet.LLDPAddress)))}
}
