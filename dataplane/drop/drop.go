// Package drop names the reasons for which a switch drops packets. Counters, metrics, traces and
// reports use these names; docs/reference/switch-metrics.md lists them.
//
// A P4 program may count reasons of its own. Those keep the names of its enum in P4Info, for
// example p4.DropReason.
package drop

import (
	"fmt"
	"iter"
)

// Reason is why a switch, or one of its ports, dropped a packet. The zero value is none.
type Reason uint8

// Reasons of a switch, in the order in which a packet meets them.
const (
	None Reason = iota
	NoProgram
	PortDown
	Empty
	Oversize
	InputFull
	Ingress
	NoMulticastGroup
	BadPriority
	QueueFull
	PauseBufferFull
	Storm
	Egress
	RecirculationFull
	AssertFailed
	PFCRefused

	// Reasons of ports: the packet never reached the switch, or had left it. The ports count Oversize
	// and InputFull too.
	Overrun
	NoSuchPort
	TransmitRefused

	end
)

var table = [end]struct{ name, text string }{
	NoProgram:         {"no_program", "the switch has no program"},
	PortDown:          {"port_down", "the port is down"},
	Empty:             {"empty", "the frame is empty"},
	Oversize:          {"oversize", "the frame is longer than the MTU, or holds several segments"},
	InputFull:         {"input_full", "the queue of received frames is full"},
	Ingress:           {"ingress", "the program dropped the packet in ingress"},
	NoMulticastGroup:  {"no_multicast_group", "the multicast group does not exist"},
	BadPriority:       {"bad_priority", "the port has no queue of that priority"},
	QueueFull:         {"queue_full", "the egress queue is full"},
	PauseBufferFull:   {"pause_buffer_full", "the buffer of a watched or paused queue is full"},
	Storm:             {"storm", "the PFC watchdog drops what a pause has held for too long"},
	Egress:            {"egress", "the program dropped the packet in egress"},
	RecirculationFull: {"recirculation_full", "too many recirculated and resubmitted packets wait"},
	AssertFailed:      {"assert_failed", "an assert or assume failed"},
	PFCRefused:        {"pfc_refused", "the traffic manager does not know the frame"},
	Overrun:           {"overrun", "the receive ring of the network interface was full"},
	NoSuchPort:        {"no_such_port", "the program sent the packet to a port that does not exist"},
	TransmitRefused:   {"transmit_refused", "the network interface did not take the frame"},
}

// String returns the name of r: the label of metrics, and the key in JSON.
func (r Reason) String() string {
	if r == None || r >= end {
		return fmt.Sprintf("reason(%d)", uint8(r))
	}
	return table[r].name
}

// CountedBy returns who counts r: the switch, a port in one direction, or the runner, which joins
// the switch to the ports.
func (r Reason) CountedBy() string {
	switch r {
	case Oversize, InputFull:
		return "switch; port, in"
	case Overrun:
		return "port, in"
	case NoSuchPort:
		return "runner"
	case TransmitRefused:
		return "port, out"
	}
	return "switch"
}

// Text returns a clause that explains r.
func (r Reason) Text() string {
	if r >= end {
		return ""
	}
	return table[r].text
}

// Reasons yields all reasons, those of a switch first.
func Reasons() iter.Seq[Reason] {
	return func(yield func(Reason) bool) {
		for r := None + 1; r < end; r++ {
			if !yield(r) {
				return
			}
		}
	}
}

// Counts holds the number of packets that a switch dropped for each of its reasons.
type Counts [PFCRefused + 1]uint64

// All yields the reasons of a switch with their counts, zeros included.
func (c Counts) All() iter.Seq2[Reason, uint64] {
	return func(yield func(Reason, uint64) bool) {
		for r, n := range c {
			if r > 0 && !yield(Reason(r), n) {
				return
			}
		}
	}
}

// Total returns the number of packets dropped for any reason.
func (c Counts) Total() (total uint64) {
	for _, n := range c {
		total += n
	}
	return total
}
