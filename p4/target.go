package p4

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// ErrTargetFrame marks octets that are no frame of PfcPort.
var ErrTargetFrame = errors.New("p4: not a frame of the target's port")

// TargetFrame is what PfcPort carries between the program and the target's traffic manager:
// target_t behind an Ethernet header of EthertypeTarget.
type TargetFrame struct {
	Op        TargetOp
	Direction PfcDirection // of the queue, but for PAUSE
	Port      uint16
	Priority  uint8 // of the queue; 0 in a PAUSE
	Upstream  uint8 // which of the queue's, of XOFF and XON
}

const (
	targetEthernetLen = 14
	// TargetFrameLen is the length of a TargetFrame with its Ethernet header, in octets.
	TargetFrameLen = targetEthernetLen + 8
	// QueueReportLen is the length of a QueueReport in octets.
	QueueReportLen = 8 + 15*8
)

// ParseTargetFrame reads a frame. rest is what follows: the fields of a PFC frame in a PAUSE, a
// QueueReport in STATE, STORM and STORM_OVER. Errors wrap ErrTargetFrame.
func ParseTargetFrame(b []byte) (f TargetFrame, rest []byte, err error) {
	if len(b) < TargetFrameLen {
		return TargetFrame{}, nil, fmt.Errorf("%w: %d octets, want at least %d", ErrTargetFrame, len(b),
			TargetFrameLen)
	}
	if t := binary.BigEndian.Uint16(b[12:]); t != EthertypeTarget {
		return TargetFrame{}, nil, fmt.Errorf("%w: EtherType %#04x, want %#04x", ErrTargetFrame, t,
			EthertypeTarget)
	}
	h := b[targetEthernetLen:]
	return TargetFrame{
		Op: TargetOp(h[0]), Direction: PfcDirection(h[1]), Port: binary.BigEndian.Uint16(h[2:]),
		Priority: h[4], Upstream: h[5],
	}, h[8:], nil
}

// Append writes the frame after b, with zero MAC addresses.
func (f TargetFrame) Append(b []byte) []byte {
	var ethernet [targetEthernetLen]byte
	binary.BigEndian.PutUint16(ethernet[12:], EthertypeTarget)
	b = append(append(b, ethernet[:]...), byte(f.Op), byte(f.Direction))
	b = binary.BigEndian.AppendUint16(b, f.Port)
	return append(b, f.Priority, f.Upstream, 0, 0)
}

// NeverYet is the age of an event that never happened since the program started.
const NeverYet time.Duration = -1

// QueueReport is the state of a queue: one watched by the target, or any other egress queue.
type QueueReport struct {
	Asserted bool // an XOFF of ours is in force
	Storm    bool // the watchdog has taken the queue from its pauses

	Packets uint32        // that wait
	Octets  uint64        // of them, as received
	Peak    uint64        // octets that waited at most
	Paused  time.Duration // for which the pause in force lasts yet; 0: none is
	// PausedFor is how long a pause has been in force, with all its extensions.
	PausedFor time.Duration

	// Ages of the last ones; NeverYet.
	XOFFReceived, XONReceived, XOFFSent, XONSent time.Duration
	// Counts: XOFFs and XONs received, XOFFs sent with those that were repeated, and XONs.
	XOFFsReceived, XONsReceived, XOFFsSent, XONsSent uint64

	Overflows  uint64 // packets dropped because the buffer was full
	Storms     uint64
	StormDrops uint64 // packets that the watchdog dropped
}

// words are the fields of 64 bits in the order of the wire.
func (r *QueueReport) words() [15]uint64 {
	return [15]uint64{
		r.Octets, r.Peak, uint64(r.Paused), uint64(r.PausedFor),
		uint64(r.XOFFReceived), uint64(r.XONReceived), uint64(r.XOFFSent), uint64(r.XONSent),
		r.XOFFsReceived, r.XONsReceived, r.XOFFsSent, r.XONsSent,
		r.Overflows, r.Storms, r.StormDrops,
	}
}

// Append writes the report after b.
func (r QueueReport) Append(b []byte) []byte {
	flags := byte(0)
	if r.Asserted {
		flags |= 1
	}
	if r.Storm {
		flags |= 2
	}
	b = append(b, flags, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, r.Packets)
	for _, w := range r.words() {
		b = binary.BigEndian.AppendUint64(b, w)
	}
	return b
}

// ParseQueueReport reads a report. Errors wrap ErrTargetFrame.
func ParseQueueReport(b []byte) (QueueReport, error) {
	if len(b) < QueueReportLen {
		return QueueReport{}, fmt.Errorf("%w: report of %d octets, want %d", ErrTargetFrame, len(b),
			QueueReportLen)
	}
	word := func(i int) uint64 { return binary.BigEndian.Uint64(b[8+8*i:]) }
	span := func(i int) time.Duration { return time.Duration(word(i)) }
	return QueueReport{
		Asserted: b[0]&1 != 0, Storm: b[0]&2 != 0, Packets: binary.BigEndian.Uint32(b[4:]),
		Octets: word(0), Peak: word(1), Paused: span(2), PausedFor: span(3),
		XOFFReceived: span(4), XONReceived: span(5), XOFFSent: span(6), XONSent: span(7),
		XOFFsReceived: word(8), XONsReceived: word(9), XOFFsSent: word(10), XONsSent: word(11),
		Overflows: word(12), Storms: word(13), StormDrops: word(14),
	}, nil
}

// ParseTargetReport reads what a packet-in of reason PFC has for a payload: a frame of STATE, STORM
// or STORM_OVER, and its report. Errors wrap ErrTargetFrame.
func ParseTargetReport(payload []byte) (TargetFrame, QueueReport, error) {
	f, rest, err := ParseTargetFrame(payload)
	if err != nil {
		return TargetFrame{}, QueueReport{}, err
	}
	switch f.Op {
	case TargetOpState, TargetOpStorm, TargetOpStormOver:
	default:
		return TargetFrame{}, QueueReport{}, fmt.Errorf("%w: %v, want a report", ErrTargetFrame, f.Op)
	}
	r, err := ParseQueueReport(rest)
	return f, r, err
}
