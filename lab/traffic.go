package lab

import (
	"time"

	"github.com/weft-sdn/weft/packet"
)

// Traffic counts RoCEv2 packets, wire by wire, as they are put there.
type Traffic struct {
	// QPNs, when not nil, selects the requests to count by destination queue pair.
	QPNs map[uint32]bool
	// By "From-To".
	Data map[string]uint64 // requests: WRITE and SEND
	ACKs map[string]uint64
	NAKs map[string]uint64 // RNR NAKs too
	CNPs map[string]uint64
	// Octets of whole frames with data.
	DataBytes map[string]uint64
}

// NewTraffic returns a tap that has counted nothing.
func NewTraffic() *Traffic {
	return &Traffic{
		Data: map[string]uint64{}, ACKs: map[string]uint64{}, NAKs: map[string]uint64{},
		CNPs:      map[string]uint64{},
		DataBytes: map[string]uint64{},
	}
}

// Sent implements Tap.
func (t *Traffic) Sent(_ time.Duration, w *Wire, frame []byte) {
	p, _, err := packet.ParseRoCE(frame)
	if err != nil {
		return
	}
	switch name := w.Name(); {
	case p.BTH.Opcode == packet.OpCongestionNotification:
		t.CNPs[name]++
	case p.BTH.Opcode != packet.OpAcknowledge && t.QPNs != nil && !t.QPNs[p.BTH.DestQPN]:
	case p.BTH.Opcode != packet.OpAcknowledge:
		t.Data[name]++
		t.DataBytes[name] += uint64(len(frame))
	case p.AETH.Syndrome.Kind() == packet.SyndromeACK:
		t.ACKs[name]++
	default:
		t.NAKs[name]++
	}
}

// Arrived implements Tap.
func (t *Traffic) Arrived(time.Duration, *Wire, []byte) {}

// Responses returns the ACKs and NAKs put on a wire.
func (t *Traffic) Responses(wire string) uint64 { return t.ACKs[wire] + t.NAKs[wire] }

// earlyAcks is a tap that compares every ACK and NAK reaching a group's source with the data at the
// receivers: the invariant of the draft, sections 5.3.1 and 5.3.2.
type earlyAcks struct {
	group *Group
	count uint64
	first string
}

// Sent implements Tap.
func (e *earlyAcks) Sent(time.Duration, *Wire, []byte) {}

// Arrived implements Tap.
func (e *earlyAcks) Arrived(now time.Duration, w *Wire, frame []byte) {
	if w.To != e.group.Source.Name {
		return
	}
	p, _, err := packet.ParseRoCE(frame)
	if err != nil || p.BTH.Opcode != packet.OpAcknowledge ||
		p.BTH.DestQPN != e.group.SourceQP.Config().QPN {
		return
	}
	if packet.CheckICRC(p.Datagram) != nil {
		return // corrupted on the way: the source refuses it
	}
	implied := p.BTH.PSN
	if p.AETH.Syndrome.Kind() != packet.SyndromeACK {
		implied = packet.PSNAdd(implied, -1)
	}
	for _, r := range e.group.Receivers {
		if expected := r.QP.ExpectedPSN(); !packet.PSNBefore(implied, expected) {
			e.count++
			if e.first == "" {
				e.first = earlyAck(now, p.AETH.Syndrome, p.BTH.PSN, r.Host.Name, expected)
			}
			return
		}
	}
}
