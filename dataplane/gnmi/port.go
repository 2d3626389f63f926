package gnmi

import (
	"context"
	"fmt"
	"net"
)

// Source is the switch that is shown.
type Source interface {
	// Ports returns the current ports, always the same ports in the same order. It may leave out
	// queues and PFC counts unless parts asks for them. It fails when ctx ends or the switch is
	// closed.
	Ports(ctx context.Context, parts Parts) ([]Port, error)
	// Configure applies all of the changes to the ports, or none. It fails with a *Refusal if a port
	// cannot have a setting, and in the same cases as Ports. It is called by one goroutine at a time.
	Configure(ctx context.Context, changes []Change) error
}

// Parts selects what to read of a switch beside the ports themselves.
type Parts uint8

// Parts of a switch.
const (
	Queues Parts = 1 << iota
	PFC
)

// Port is a port of a switch.
type Port struct {
	// Name of the interface; unique.
	Name string
	// Number in P4Runtime.
	Number uint32
	// Up reports that it has a link.
	Up bool
	// MAC is its Ethernet address; nil: unknown.
	MAC net.HardwareAddr
	// MTU is the longest frame it carries, in octets from the Ethernet header on without the check
	// sequence; 0: unknown.
	MTU uint16
	// Speed is the speed of its link in bits a second; 0: unknown, or no limit.
	Speed uint64
	// AutoNegotiate reports whether the speed was negotiated.
	AutoNegotiate Choice
	// Counters are nil when no one counts.
	Counters *Counters
	// Queues are the egress queues, by number; with the part Queues.
	Queues []Queue
	// Priorities are the priorities of PFC, by number; with the part PFC.
	Priorities []Priority
}

// Counters count frames of a port since it was opened.
type Counters struct {
	InPackets, InOctets   uint64
	InDiscards            uint64 // dropped for want of room
	InErrors              uint64 // longer than the link has them
	OutPackets, OutOctets uint64
	OutDiscards           uint64
	OutErrors             uint64 // longer than the link has them
}

// Queue is an egress queue of a port since the switch started.
type Queue struct {
	Packets, Octets               uint64 // transmitted
	DroppedPackets, DroppedOctets uint64 // for want of room
	Longest                       uint64 // octets that waited
	// Program is what the P4 program counts of the queue; nil: it counts nothing.
	Program *ProgramQueue
}

// ProgramQueue holds the counts of a queue by a P4 program with classes of service. Packets dropped
// by the program are part of Queue.DroppedPackets, but not of DroppedOctets, since the program
// counts packets.
type ProgramQueue struct {
	Marked  uint64 // got the ECN codepoint CE
	Trimmed uint64 // cut to their headers because this queue was full
}

// Priority is a priority of PFC (IEEE 802.1Qbb) at a port. In counts frames that paused or resumed
// the port's egress queue. Out counts frames that the switch made because of traffic from the port.
// Upstream counts frames that the switch made for the nodes upstream of the egress queue (PFC over
// SRv6).
type Priority struct {
	InPause, InResume             uint64
	OutPause, OutResume           uint64
	UpstreamPause, UpstreamResume uint64
}

// Choice is a boolean that may be absent.
type Choice uint8

// Values of a Choice.
const (
	Unset Choice = iota
	No
	Yes
)

// Settings are what clients set of a port. The zero value is a port without any.
type Settings struct {
	Disabled      bool
	Description   string
	MTU           uint16 // as Port.MTU; 0: the port's own
	Speed         uint64 // bits a second; 0: the port's own
	AutoNegotiate Choice
}

// Change gives a port settings.
type Change struct {
	Port     uint32
	Old, New Settings
}

// Setting names a field of Settings.
type Setting string

// Settings that a Source may refuse, by the names of their leaves.
const (
	SettingEnabled       Setting = "enabled"
	SettingMTU           Setting = "mtu"
	SettingSpeed         Setting = "port-speed"
	SettingAutoNegotiate Setting = "auto-negotiate"
)

// Refusal is a setting that a port cannot have.
type Refusal struct {
	Port    uint32
	Setting Setting
	// Want describes the right value: "want 68 to 9216".
	Want string
	// Failed reports that the value is right, but the switch could not apply it.
	Failed bool
}

// Error implements error.
func (r *Refusal) Error() string {
	return fmt.Sprintf("port %d: %s: %s", r.Port, r.Setting, r.Want)
}
