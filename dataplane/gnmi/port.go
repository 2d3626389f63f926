package gnmi

import "context"

// Source is the switch whose ports are shown.
type Source interface {
	// Ports returns the ports as they are now, always the same ones in the same
	// order. It fails when ctx ends or the switch is closed.
	Ports(ctx context.Context) ([]Port, error)
}

// Port is a port of a switch.
type Port struct {
	// Name of the interface; unique.
	Name string
	// Number in P4Runtime.
	Number uint32
	// Up reports that it has a link.
	Up bool
	// Counters are nil when no one counts.
	Counters *Counters
}

// Counters count frames of a port since it was opened.
type Counters struct {
	InPackets, InOctets   uint64
	InDiscards            uint64 // dropped for want of room
	InErrors              uint64 // longer than the link has them
	OutPackets, OutOctets uint64
	OutDiscards           uint64
}
