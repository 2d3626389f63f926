package lab

import (
	"time"

	"github.com/weft-sdn/weft/internal/ring"
)

// Faults describes the faults of a wire in one direction. The zero value has no faults.
type Faults struct {
	Loss      float64       // probability that a frame is lost
	Delay     time.Duration // added to that of the wire
	Duplicate float64       // probability that it arrives twice
	// probability that it may be overtaken: it takes up to Jitter longer and later frames do not wait
	Reorder float64
	Jitter  time.Duration // most that is added to the delay, uniformly
	Mark    float64       // probability that an ECN-capable IPv6 packet gets CE
	Corrupt float64       // probability that one bit behind the Ethernet header is flipped
}

// A Wire is one direction of a link.
type Wire struct {
	From, To         string
	FromPort, ToPort uint32
	Delay            time.Duration
	Rate             uint64 // bits per second, 0 is no limit
	Faults           Faults
	// Lose, if not nil, says of each frame put on the wire whether it is lost.
	Lose func(now time.Duration, frame []byte) bool

	FrameCounts

	world *World
	to    node
	carrier
	free time.Duration // when the last bit handed over is out
	last time.Duration // latest arrival so far, which others do not overtake
	// flying holds the frames under way that nothing overtakes. The world has an event for the first.
	flying ring.Ring[flight]
}

// A flight is a frame under way.
type flight struct {
	at    time.Duration // when it arrives
	order uint64        // World.number
	frame []byte
	cut   uint64 // carrier.cut
}

// FrameCounts are what became of the frames handed to a wire.
type FrameCounts struct {
	Sent, SentOctets       uint64
	Lost, Duplicated       uint64
	Reordered, Corrupted   uint64 // Reordered arrive before one that was sent earlier
	Arrived, ArrivedOctets uint64
}

// A carrier tells whether a link is up, and how fast the link may be.
type carrier struct {
	down   bool   // broken, or an end is disabled
	broken bool   // as setUp says
	cut    uint64 // times the link has gone down: frames under way then are lost
	most   uint64 // bits per second that the link is made for, 0 is no limit
}

// Name is "From-To".
func (w *Wire) Name() string { return w.From + "-" + w.To }

// Up reports whether the link is up.
func (w *Wire) Up() bool { return !w.down }

// ethernetOverhead is the time on the wire of a frame beyond its octets, in octets: preamble, FCS
// and gap.
const ethernetOverhead = 8 + 4 + 12

// Inject puts a frame on the wire, as the node that it comes from would.
func (w *Wire) Inject(frame []byte) { w.send(w.world.now, frame) }

// send puts a copy of a frame on the wire.
func (w *Wire) send(now time.Duration, frame []byte) {
	w.world.keep(w.put(now, w.world.copyFrame(frame)))
}

// put puts a frame on the wire, which keeps the buffer of the frame. It returns another buffer.
func (w *Wire) put(now time.Duration, frame []byte) (buffer []byte) {
	w.Sent++
	w.SentOctets += uint64(len(frame))
	for _, tap := range w.world.taps {
		tap.Sent(now, w, frame)
	}
	if w.down {
		w.Lost++
		return frame
	}
	start := max(now, w.free)
	if w.Rate > 0 {
		bits := uint64(len(frame)+ethernetOverhead) * 8
		start += time.Duration(bits * uint64(time.Second) / w.Rate)
	}
	w.free = start
	rng := w.world.rng
	if w.Lose != nil && w.Lose(now, frame) {
		w.Lost++
		return frame
	}
	if w.Faults.Loss > 0 && rng.Float64() < w.Faults.Loss {
		w.Lost++
		return frame
	}
	copies := 1
	if w.Faults.Duplicate > 0 && rng.Float64() < w.Faults.Duplicate {
		copies = 2
		w.Duplicated++
	}
	for ; copies > 0; copies-- {
		at := start + w.Delay + w.Faults.Delay
		if w.Faults.Jitter > 0 {
			at += time.Duration(rng.Int64N(int64(w.Faults.Jitter) + 1))
		}
		overtakes := w.Faults.Reorder > 0 && rng.Float64() < w.Faults.Reorder
		if !overtakes {
			at = max(at, w.last)
			w.last = at
		} else if at < w.last {
			w.Reordered++
		}
		sent := frame
		if copies > 1 {
			sent = w.world.copyFrame(frame)
		}
		w.fly(flight{at, w.world.number(), w.spoil(sent), w.cut}, overtakes)
	}
	return w.world.buffer()
}

// fly has a frame arrive at its time.
func (w *Wire) fly(f flight, overtakes bool) {
	if overtakes {
		w.world.push(event{f.at, f.order, call(func() { w.land(f) })})
		return
	}
	if w.flying.Len() == 0 {
		w.world.push(event{f.at, f.order, w})
	}
	w.flying.Push(f)
}

// happen has the first frame of the wire arrive.
func (w *Wire) happen(*World, time.Duration) {
	f := w.flying.Pop()
	if w.flying.Len() > 0 {
		next := w.flying.At(0)
		w.world.push(event{next.at, next.order, w})
	}
	w.land(f)
}

// Where the ECN bits of an IPv6 frame are, and where its first header ends.
const (
	ecnOctet    = 15
	ecnMask     = 0x30
	ethernetLen = 14
)

// spoil marks and corrupts a frame.
func (w *Wire) spoil(frame []byte) []byte {
	rng := w.world.rng
	if w.Faults.Mark > 0 && rng.Float64() < w.Faults.Mark &&
		len(frame) > ecnOctet && frame[12] == 0x86 && frame[13] == 0xdd && frame[ecnOctet]&ecnMask != 0 {
		frame[ecnOctet] |= ecnMask
	}
	if w.Faults.Corrupt > 0 && rng.Float64() < w.Faults.Corrupt && len(frame) > ethernetLen {
		bit := rng.IntN((len(frame) - ethernetLen) * 8)
		frame[ethernetLen+bit/8] ^= 1 << (bit % 8)
		w.Corrupted++
	}
	return frame
}

// land gives a frame to the node at the end of the wire, if the link was up all the while.
func (w *Wire) land(f flight) {
	world := w.world
	if w.down || f.cut != w.cut {
		w.Lost++
		world.keep(f.frame)
		return
	}
	for _, tap := range world.taps {
		tap.Arrived(world.now, w, f.frame)
	}
	w.Arrived++
	w.ArrivedOctets += uint64(len(f.frame))
	world.keep(w.to.receive(world.now, w.ToPort, f.frame))
	world.wake(w.to)
}

func (w *Wire) setUp(up bool) {
	w.broken = !up
	w.settle()
}

// settle sets the link up if it is whole and both ends are enabled, and down otherwise.
func (w *Wire) settle() {
	ends := w.ends()
	up := !w.broken && !ends[0].Disabled && !ends[1].Disabled
	if !up && !w.down {
		w.cut++
	}
	w.down = !up
	if h, ok := w.to.(*MRCNode); ok {
		h.carrier(int(w.ToPort), up && !w.world.switches[w.From].down)
	}
	if s := w.world.switches[w.From]; s != nil {
		s.look(w.FromPort, w)
	}
}

// A Tap sees every frame put on a wire, and every frame that arrives. Frames are valid only during
// the call.
type Tap interface {
	Sent(now time.Duration, w *Wire, frame []byte)
	Arrived(now time.Duration, w *Wire, frame []byte)
}
