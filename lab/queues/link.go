package queues

import (
	"fmt"
	"time"

	"github.com/weft-sdn/weft/packet"
)

// Tier is what a link leads to.
type Tier uint8

// Tiers of links.
const (
	HostUp    Tier = iota // from a host to its leaf
	LeafUp                // from a leaf to a spine
	SpineDown             // from a spine to a leaf
	LeafDown              // from a leaf to a host
)

// Stats is what a link's output queue has done.
type Stats struct {
	Packets, Octets uint64 // sent, octets on the wire
	Data            uint64 // octets of those of the data class
	Marked          uint64 // packets
	Trimmed         uint64 // packets cut or marked as trimmed
	Dropped         uint64 // packets that could not be trimmed
	DroppedTrim     uint64 // of these, packets that may be trimmed, trimmed ones that met a full control queue, and control packets
	Lost            uint64 // by Loss, or because the link is down
	Deepest         int    // octets that the data class held at most
}

// Link is one direction of a link, with the output queue before it.
type Link struct {
	Tier     Tier
	Plane    int // from 1
	From, To int // hosts, leaves or spines, from 0
	// Loss is the probability that a frame is lost on the wire.
	Loss float64
	// Down: what is sent is lost.
	Down bool

	fabric  *Fabric
	busy    bool
	data    queue
	control queue
	stats   Stats
}

// Stats is what the link has done so far.
func (l *Link) Stats() Stats { return l.stats }

// Name is the link's for people to read.
func (l *Link) Name() string {
	from, to := "leaf", "spine"
	switch l.Tier {
	case HostUp:
		from, to = "host", "leaf"
	case SpineDown:
		from, to = "spine", "leaf"
	case LeafDown:
		from, to = "leaf", "host"
	}
	return fmt.Sprintf("plane %d %s %d-%s %d", l.Plane, from, l.From, to, l.To)
}

// queue is one class of an output queue, first in, first out.
type queue struct {
	frames [][]byte // length zero or a power of two
	head   int
	n      int
	octets int
}

func (q *queue) push(frame []byte) {
	if q.n == len(q.frames) {
		grown := make([][]byte, max(16, 2*len(q.frames)))
		for i := range q.n {
			grown[i] = q.frames[(q.head+i)&(len(q.frames)-1)]
		}
		q.frames, q.head = grown, 0
	}
	q.frames[(q.head+q.n)&(len(q.frames)-1)] = frame
	q.n++
	q.octets += len(frame) + wireOverhead
}

func (q *queue) pop() []byte {
	frame := q.frames[q.head]
	q.frames[q.head] = nil
	q.head = (q.head + 1) & (len(q.frames) - 1)
	q.n--
	q.octets -= len(frame) + wireOverhead
	return frame
}

// Where the fields of a frame are that a switch reads: no tunnels here.
const (
	offTrafficClass = packet.EthernetLen
	offSource       = packet.EthernetLen + 8
	offDestination  = packet.EthernetLen + 24
	offSrcPort      = packet.EthernetLen + packet.IPv6Len
	leastFrame      = offSrcPort + packet.UDPLen
)

func trafficClass(frame []byte) uint8 {
	return frame[offTrafficClass]<<4 | frame[offTrafficClass+1]>>4
}

// enqueue takes a frame for the link: its switch owns it from here on.
func (l *Link) enqueue(now time.Duration, frame []byte) {
	c := &l.fabric.cfg
	dscp := packet.DSCP(trafficClass(frame))
	switch {
	case l.Tier == HostUp:
		// The host paces what it sends: nothing waits here, or only for a moment.
		l.data.push(frame)
	case c.DSCP.High(dscp):
		l.enqueueControl(frame)
	case l.data.octets+len(frame)+wireOverhead <= c.Queue:
		l.data.push(frame)
		l.stats.Deepest = max(l.stats.Deepest, l.data.octets)
	case c.TrimSize > 0 && c.DSCP.MayTrim(dscp):
		l.trim(frame)
	default:
		l.stats.Dropped++
		if c.DSCP.MayTrim(dscp) {
			l.stats.DroppedTrim++
		}
		l.fabric.release(frame)
	}
	l.transmit(now)
}

func (l *Link) trim(frame []byte) {
	t := packet.Trimmer{DSCP: l.fabric.cfg.DSCP, Size: l.fabric.cfg.TrimSize}
	frame, err := t.Trim(frame, l.Tier == LeafDown)
	if err != nil {
		// It was looked at before it was routed.
		panic(err)
	}
	l.stats.Trimmed++
	l.enqueueControl(frame)
}

func (l *Link) enqueueControl(frame []byte) {
	if l.control.octets+len(frame)+wireOverhead > l.fabric.cfg.ControlQueue {
		l.stats.Dropped++
		l.stats.DroppedTrim++
		l.fabric.release(frame)
		return
	}
	l.control.push(frame)
}

// transmit sends the next frame, if the link is free.
func (l *Link) transmit(now time.Duration) {
	if l.busy {
		return
	}
	var frame []byte
	switch {
	case l.control.n > 0:
		frame = l.control.pop()
	case l.data.n > 0:
		depth := l.data.octets
		frame = l.data.pop()
		l.stats.Data += uint64(len(frame) + wireOverhead)
		if l.Tier != HostUp && l.marks(depth) && packet.ECN(trafficClass(frame)) != packet.NotECT {
			frame[offTrafficClass+1] |= packet.CE << 4
			l.stats.Marked++
		}
	default:
		return
	}
	f := l.fabric
	l.busy = true
	l.stats.Packets++
	l.stats.Octets += uint64(len(frame) + wireOverhead)
	out := now + f.cfg.serialization(len(frame))
	f.schedule(event{at: out, kind: free, link: l})
	if l.Down || l.Loss > 0 && f.rng.Float64() < l.Loss {
		l.stats.Lost++
		f.release(frame)
		return
	}
	f.schedule(event{at: out + f.cfg.Delay, kind: arrives, link: l, frame: frame})
}

// marks says whether a packet that leaves a queue of so many octets, its own too, is marked.
func (l *Link) marks(depth int) bool {
	c := &l.fabric.cfg
	switch {
	case depth <= c.MarkMin:
		return false
	case depth >= c.MarkMax:
		return true
	}
	return l.fabric.rng.Float64() < float64(depth-c.MarkMin)/float64(c.MarkMax-c.MarkMin)
}
