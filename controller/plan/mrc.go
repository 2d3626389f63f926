package plan

import (
	"fmt"

	"github.com/weft-sdn/weft/controller/entry"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// The classes of MRC traffic, by their numbers in the program.
const (
	DataClass    = 0
	ControlClass = 7
)

// Bounds of MRC settings.
const (
	maxPriority  = 7
	maxTrimSize  = 9216
	maxQueueSize = 1 << 30
)

// MRC says what switches do with the classes of MRC traffic (OCP MRC 1.0, sections 7.5.3 and 7.5.5.1): the same at every port of a fabric.
type MRC struct {
	DSCP packet.DSCPClasses
	// Priority queues of the classes, 0 the lowest of 8. simple_switch_grpc has
	// one only unless it is told otherwise: 0 for both then.
	DataPriority, ControlPriority uint8
	// Packets that may wait at a port. The target's own queues must be deeper.
	DataPackets, ControlPackets uint32
	// ECNMin and ECNMax are the packets of the data class that wait when marks
	// begin, and when every packet gets one.
	ECNMin, ECNMax uint32
	// TrimSize is what is left of a trimmed packet, in octets from the Ethernet
	// header on; 0: packets that find the data class full are dropped.
	TrimSize uint16
	// TrimLength makes IPv6 headers say the length that is left.
	TrimLength bool
}

// DefaultMRC trims to what holds all headers up to the TSETH in a tunnel with
// an SRH of one segment, and marks from a fifth of the queue on.
func DefaultMRC() MRC {
	return MRC{
		DSCP: packet.DefaultDSCPClasses(), DataPriority: 0, ControlPriority: maxPriority, DataPackets: 256, ControlPackets: 2048, ECNMin: 51, ECNMax: 205,
		TrimSize: packet.MinTrimLen + packet.IPv6Len + packet.SRHFixedLen + packet.SegmentLen,
	}
}

// Validate says whether switches can be programmed so.
func (m MRC) Validate() error {
	if err := m.DSCP.Validate(); err != nil {
		return err
	}
	switch {
	case m.DataPriority > maxPriority || m.ControlPriority > maxPriority:
		return fmt.Errorf("priorities %d and %d, want at most %d", m.DataPriority, m.ControlPriority, maxPriority)
	case m.ControlPriority < m.DataPriority:
		return fmt.Errorf("priority of the control class: %d, want at least %d, that of data", m.ControlPriority, m.DataPriority)
	case m.DataPackets == 0 || m.DataPackets > maxQueueSize:
		return fmt.Errorf("packets of the data class: %d, want 1 to %d", m.DataPackets, maxQueueSize)
	case m.ControlPackets == 0 || m.ControlPackets > maxQueueSize:
		return fmt.Errorf("packets of the control class: %d, want 1 to %d", m.ControlPackets, maxQueueSize)
	case m.ECNMin > m.ECNMax:
		return fmt.Errorf("ECN thresholds: %d to %d, want the first to be at most the second", m.ECNMin, m.ECNMax)
	case m.TrimSize != 0 && (m.TrimSize < packet.MinTrimLen || m.TrimSize > maxTrimSize):
		return fmt.Errorf("trim size: %d octets, want %d to %d, or 0 for none", m.TrimSize, packet.MinTrimLen, maxTrimSize)
	}
	return nil
}

// Classes returns what a switch holds for the classes, each thing once. m must be valid.
func (n *Network) Classes(sw *inventory.Switch, m MRC) []entry.Entity {
	var out []entry.Entity
	known := make(map[uint8]bool)
	class := func(dscp uint8, action string, class, priority uint8) {
		if known[dscp] {
			return
		}
		known[dscp] = true
		out = append(out, entry.In(p4.TableTrafficClass, entry.Do(action, entry.With("class", entry.Uint(uint64(class))), entry.With("priority", entry.Uint(uint64(priority)))),
			entry.Exact("dscp", entry.Uint(uint64(dscp)))))
	}
	class(m.DSCP.NoTrim, p4.ActionSetClass, DataClass, m.DataPriority)
	class(m.DSCP.Trimmable, p4.ActionSetTrimmableClass, DataClass, m.DataPriority)
	class(m.DSCP.TrimmableRetx, p4.ActionSetTrimmableClass, DataClass, m.DataPriority)
	class(m.DSCP.Trimmed, p4.ActionSetTrimmedClass, ControlClass, m.ControlPriority)
	class(m.DSCP.TrimmedLastHop, p4.ActionSetTrimmedClass, ControlClass, m.ControlPriority)
	class(m.DSCP.Control, p4.ActionSetClass, ControlClass, m.ControlPriority)

	queue := func(p uint32, class uint8, action entry.Action) {
		out = append(out, entry.In(p4.TableClassQueue, action, entry.Exact("port", port(p)), entry.Exact("class", entry.Uint(uint64(class)))))
	}
	seen := make(map[uint32]bool)
	both := func(p uint32, hostFacing bool) {
		if seen[p] {
			return
		}
		seen[p] = true
		queue(p, DataClass, entry.Do(p4.ActionSetDataQueue, entry.With("packets", entry.Uint(uint64(m.DataPackets))),
			entry.With("ecn_min", entry.Uint(uint64(m.ECNMin))), entry.With("ecn_max", entry.Uint(uint64(m.ECNMax))),
			entry.With("trim_packets", entry.Uint(uint64(m.ControlPackets))), entry.With("host_facing", entry.Bool(hostFacing))))
		queue(p, ControlClass, entry.Do(p4.ActionSetQueue, entry.With("packets", entry.Uint(uint64(m.ControlPackets)))))
	}
	for _, p := range n.hostPorts(sw) {
		both(p, true)
	}
	for _, p := range n.fabricPorts(sw) {
		both(p, false)
	}
	if m.TrimSize != 0 {
		t := entry.In(p4.TableTrimming, entry.Do(p4.ActionSetTrimming, entry.With("octets", entry.Uint(uint64(m.TrimSize))),
			entry.With("dscp", entry.Uint(uint64(m.DSCP.Trimmed))), entry.With("dscp_last_hop", entry.Uint(uint64(m.DSCP.TrimmedLastHop))),
			entry.With("class", entry.Uint(ControlClass)), entry.With("priority", entry.Uint(uint64(m.ControlPriority))),
			entry.With("set_length", entry.Bool(m.TrimLength))))
		t.Default = true
		out = append(out, t)
	}
	return out
}
