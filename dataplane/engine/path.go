package engine

import (
	"encoding/binary"
	"slices"
	"time"
)

// Packets of one flow go the same way through the program. A Path is what one of them came to in a
// pass (parser and ingress, or egress and deparser), with all that it depended on; the next packet
// that agrees in that is not run through the program: what the pass counts is counted, and what
// leaves is put together from the frame that was received.
//
// A path depends on the octets of the received frame that the pass has looked at, not on those that
// it has only moved; on the frame's length and port; and on everything that control methods set:
// any of them that changes what a packet may meet ends all paths (State.changed). A pass that reads
// or writes what other packets change (registers, meters, random numbers, the time) has no path.
//
// Passes follow each other: the paths of a received frame are found by its octets, the others are
// next to the path of the pass before. Packets with a path that wait in a queue are not made before
// they need to be: they are the path and the received frame (PHV.path).
type Path struct {
	gen     uint64 // of State.gen
	key     pathKey
	needs   []need     // of the frame that was received; those of the passes before hold
	tests   []equality // of octets that are computed
	sums    []*sum     // of this pass and of those before
	counts  []tally
	outcome outcome

	group    uint16 // pathGroup
	port     uint32 // pathUnicast
	priority int    // of the queue

	length, octets int // PHV.Length and IngressLen from here on
	hash           uint64
	alike          *Path // with the same needs, and other tests
	before         *Path
	state          *pathState // nil: pathPlain, pathTransmit
	out            *outline   // pathTransmit, pathAgain
	next           []*Path
	at             int // of next: where the last one was found
}

type outcome uint8

const (
	pathPlain    outcome = iota // no path: such packets run the program
	pathUnicast                 // a packet for one port
	pathGroup                   // copies of a multicast group
	pathTransmit                // a frame that leaves
	pathAgain                   // a frame for ingress once more
)

// pathKey is what a pass depends on beside the frame.
type pathKey struct {
	port     uint32 // by which the frame came, or leaves
	length   int    // of the received frame; 0 in later passes
	egress   bool
	copied   bool
	instance uint16
	priority int
}

// need is octets of the frame that have to be what they were. They lie in one word.
type need struct {
	off        int
	mask, want uint64
}

func (g *need) of(b []byte) uint64 { return binary.LittleEndian.Uint64(b[g.off:]) & g.mask }

// tally is what a pass counts or touches.
type tally struct {
	counter *CounterValue
	octets  uint64
	touched *entryMore // of an entry with an idle timeout
}

// paths are the paths of a switch, by the octets that received frames have to have.
type paths struct {
	gen             uint64
	shapes          []*shape
	n               int // paths, at most maxPaths
	mode            PathMode
	recalled        uint64
	credit          int // for recording
	idle            int // paths recorded since one was followed
	asked, answered int // of late
	rest            int // packets before the next question

	rec   recorder
	armed bool // the pass that begins is recorded
	from  *Path
	key   pathKey
}

// shape is paths that look at the same octets.
type shape struct {
	need  int     // octets of a frame
	words []need  // without what they want
	slots []*Path // a power of two
	n     int     // paths that were added
}

const (
	minPath    = 8 // octets of a frame that may have a path
	maxShapes  = 8
	firstSlots = 16
	maxAlike   = 4   // of which the tests are not all the same
	maxNext    = 256 // paths next to one
	maxPaths   = 4096

	// Recording a path costs as much as the program does for tens of packets. It is paid for: a packet
	// that follows a path earns creditFound, one that would need another 1. The price doubles, up to
	// 1<<maxIdle times, with each path since which no packet has followed any.
	creditCost  = 1 << 11
	creditFirst = creditCost << 5
	creditMax   = creditCost << 6
	creditFound = 1 << 4
	maxIdle     = 9

	// Where fewer than an eighth of pathWindow packets have a path, pathRest packets do not ask.
	pathWindow = 1 << 10
	pathRest   = 1 << 12
)

// mixPath adds a word to the hash of a frame.
func mixPath(h, w uint64) uint64 {
	h = (h ^ w) * 0xd6e8feb86659fd93
	return h ^ h>>32
}

// find returns the path of a received frame, nil where there is none.
func (x *paths) find(b []byte, key *pathKey, v *value) *Path {
	for i, s := range x.shapes {
		if len(b) < s.need {
			continue
		}
		for p := *s.slot(s.hash(b, key)); p != nil; p = p.alike {
			if p.key == *key && p.holds(b, v) {
				if i > 0 {
					x.shapes[i-1], x.shapes[i] = s, x.shapes[i-1]
				}
				return p
			}
		}
	}
	return nil
}

func (s *shape) hash(b []byte, key *pathKey) uint64 {
	h := uint64(key.port)<<32 ^ uint64(key.length)
	for i := range s.words {
		h = mixPath(h, s.words[i].of(b))
	}
	return mixPath(h, h>>29)
}

// holds reports whether a frame, of which the passes before hold, is one of the path.
func (p *Path) holds(b []byte, v *value) bool {
	for i := range p.needs {
		if g := &p.needs[i]; g.of(b) != g.want {
			return false
		}
	}
	for i := range p.tests {
		if !p.tests[i].holds(p, v) {
			return false
		}
	}
	return true
}

// follow returns the path of the next pass of a frame, nil where there is none.
func (p *Path) follow(b []byte, key *pathKey, v *value) *Path {
	for range p.next {
		if p.at++; p.at >= len(p.next) {
			p.at = 0
		}
		if n := p.next[p.at]; n.key == *key && n.holds(b, v) {
			return n
		}
	}
	return nil
}

// count counts what the pass does.
func (p *Path) count(now time.Duration) {
	for i := range p.counts {
		n := &p.counts[i]
		if n.counter != nil {
			n.counter.Packets++
			n.counter.Bytes += n.octets
		}
		if n.touched != nil {
			n.touched.lastHit, n.touched.reported = now, 0
		}
	}
}

// add keeps a path that was recorded.
func (x *paths) add(p *Path, b []byte) {
	if x.n++; x.n > maxPaths { // the ones before may be of flows that have ended
		x.shapes, x.n = nil, 1
	}
	if p.before != nil {
		if p.before.gen == x.gen && len(p.before.next) < maxNext {
			p.before.next = append(p.before.next, p)
		}
		return
	}
	same := func(s *shape) bool {
		return slices.EqualFunc(s.words, p.needs, func(a, b need) bool {
			return a.off == b.off && a.mask == b.mask
		})
	}
	i := slices.IndexFunc(x.shapes, same)
	if i < 0 {
		if len(x.shapes) == maxShapes {
			x.shapes = x.shapes[:maxShapes-1]
		}
		s := &shape{}
		for _, g := range p.needs {
			s.words = append(s.words, need{off: g.off, mask: g.mask})
			s.need = max(s.need, g.off+8)
		}
		i, x.shapes = len(x.shapes), append(x.shapes, s)
	}
	s := x.shapes[i]
	if s.n++; 2*s.n > len(s.slots) && len(s.slots) < maxPaths {
		s.grow()
	}
	p.hash = s.hash(b, &p.key)
	at := s.slot(p.hash)
	n := 0
	for old := *at; old != nil && old.hash == p.hash; old = old.alike {
		n++
	}
	if n > 0 && n < maxAlike {
		p.alike = *at
	} else {
		x.n -= (*at).all()
	}
	*at = p
}

// all returns how many paths there are of a hash, with those after them.
func (p *Path) all() (n int) {
	for ; p != nil; p = p.alike {
		n++
		for _, next := range p.next {
			n += next.all()
		}
	}
	return n
}

// slot is where the paths of a hash are, or may be: in one of eight, of which the first gives way.
func (s *shape) slot(hash uint64) **Path {
	at := int(hash & uint64(len(s.slots)-1))
	first := &s.slots[at]
	for i := range 8 {
		if p := &s.slots[(at+i)&(len(s.slots)-1)]; *p == nil || (*p).hash == hash {
			return p
		}
	}
	return first
}

// grow doubles the slots.
func (s *shape) grow() {
	old := s.slots
	s.slots = make([]*Path, max(firstSlots, 2*len(old)))
	for _, p := range old {
		if p != nil {
			*s.slot(p.hash) = p
		}
	}
}

// current ends all paths where something has changed that packets may meet.
func (x *paths) current(gen uint64) {
	if x.gen != gen {
		x.gen, x.shapes, x.n = gen, nil, 0
	}
}

// PathMode defines when packets follow the paths of others.
type PathMode uint8

// Modes. PathsEarned, which a program begins with, records few paths where they are seldom
// followed; PathsAlways records all, for tests.
const (
	PathsEarned PathMode = iota
	PathsAlways
	PathsOff
)

// asks reports whether a packet is to look for its path.
func (x *paths) asks() bool {
	if x.mode == PathsAlways {
		return true
	}
	if x.rest > 0 {
		x.rest--
		return false
	}
	if x.asked++; x.asked > pathWindow {
		if 8*x.answered < x.asked {
			x.rest = pathRest
		}
		x.asked, x.answered = 0, 0
	}
	return true
}

// found notes that a packet has followed a path.
func (x *paths) found() {
	x.answered++
	x.recalled++
	x.idle = 0
	x.credit = min(x.credit+creditFound, creditMax)
}

// arm has the pass that begins recorded, if there is credit for it.
func (x *paths) arm(from *Path, key *pathKey) {
	if x.mode != PathsAlways {
		price := creditCost << x.idle
		if x.credit < price {
			x.credit++
			return
		}
		x.credit -= price
		x.idle = min(x.idle+1, maxIdle)
	}
	x.armed, x.from, x.key = true, from, *key
}
