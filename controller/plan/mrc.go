package plan

import (
	"time"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
)

// The classes of MRC traffic, by their numbers in the program.
const (
	DataClass    = 0
	ControlClass = 7
)

// Classes returns what a switch holds for the classes, each thing once. m must be valid.
// It must not be changed.
func (n *Network) Classes(sw *inventory.Switch, m inventory.Classes) []entry.Entity {
	hosts, fabric := n.HostPorts(sw), n.FabricPorts(sw)
	return n.common.classesOf(m, hosts, fabric, func() []entry.Entity {
		return planClasses(m, hosts, fabric)
	})
}

func planClasses(m inventory.Classes, hosts, fabric []uint32) []entry.Entity {
	var out []entry.Entity
	known := make(map[uint8]bool)
	class := func(dscp uint8, action string, class, priority uint8) {
		if known[dscp] {
			return
		}
		known[dscp] = true
		out = append(out, entry.In(p4.TableTrafficClass,
			entry.Do(action, entry.With("class", entry.Uint(uint64(class))),
				entry.With("priority", entry.Uint(uint64(priority)))),
			entry.Exact("dscp", entry.Uint(uint64(dscp)))))
	}
	class(m.DSCP.NoTrim, p4.ActionSetClass, DataClass, m.DataPriority)
	class(m.DSCP.Trimmable, p4.ActionSetTrimmableClass, DataClass, m.DataPriority)
	class(m.DSCP.TrimmableRetx, p4.ActionSetTrimmableClass, DataClass, m.DataPriority)
	class(m.DSCP.Trimmed, p4.ActionSetTrimmedClass, ControlClass, m.ControlPriority)
	class(m.DSCP.TrimmedLastHop, p4.ActionSetTrimmedClass, ControlClass, m.ControlPriority)
	class(m.DSCP.Control, p4.ActionSetClass, ControlClass, m.ControlPriority)

	queue := func(p uint32, class uint8, action entry.Action) {
		out = append(out, entry.In(p4.TableClassQueue, action, entry.Exact("port", port(p)),
			entry.Exact("class", entry.Uint(uint64(class)))))
	}
	seen := make(map[uint32]bool)
	both := func(p uint32, hostFacing bool) {
		if seen[p] {
			return
		}
		seen[p] = true
		queue(p, DataClass, entry.Do(p4.ActionSetDataQueue,
			entry.With("packets", entry.Uint(uint64(m.DataPackets))),
			entry.With("ecn_min", entry.Uint(uint64(m.ECNMin))),
			entry.With("ecn_max", entry.Uint(uint64(m.ECNMax))),
			entry.With("trim_packets", entry.Uint(uint64(m.ControlPackets))),
			entry.With("host_facing", entry.Bool(hostFacing))))
		queue(p, ControlClass, entry.Do(p4.ActionSetQueue,
			entry.With("packets", entry.Uint(uint64(m.ControlPackets)))))
	}
	for _, p := range hosts {
		both(p, true)
	}
	for _, p := range fabric {
		both(p, false)
	}
	if m.TrimSize != 0 {
		t := entry.In(p4.TableTrimming,
			entry.Do(p4.ActionSetTrimming, entry.With("octets", entry.Uint(uint64(m.TrimSize))),
				entry.With("dscp", entry.Uint(uint64(m.DSCP.Trimmed))),
				entry.With("dscp_last_hop", entry.Uint(uint64(m.DSCP.TrimmedLastHop))),
				entry.With("class", entry.Uint(ControlClass)),
				entry.With("priority", entry.Uint(uint64(m.ControlPriority))),
				entry.With("set_length", entry.Bool(m.TrimLength))))
		t.Default = true
		out = append(out, t)
	}
	return out
}

// ICMPErrors returns what makes a switch send ICMPv6 errors, as often as e says.
func ICMPErrors(e inventory.ICMPErrors) []entry.Entity {
	if e.Interval == 0 {
		return nil
	}
	spacing := max(1, e.Interval.D()/time.Microsecond)
	t := entry.In(p4.TableIcmpErrors,
		entry.Do(p4.ActionSetIcmp, entry.With("spacing", entry.Uint(uint64(spacing))),
			entry.With("burst_time", entry.Uint(uint64(spacing)*uint64(e.Burst-1)))))
	t.Default = true
	return []entry.Entity{t}
}
