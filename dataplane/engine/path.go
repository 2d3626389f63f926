package engine

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/weft-sdn/weft/dataplane/extern"
)

// Many packets go the same way through the program. A Path records the result of a pass
// (parser and ingress, or egress and deparser) for one packet, with everything that the result
// depended on. If the next packet agrees in all of these, the switch does not run the program: it
// updates the counts of the pass, and builds the outgoing frame from the received frame.
//
// A path depends on the octets of the received frame that the pass has looked at, but not on octets
// that the pass has only moved, or looked up in a table; on the frame's length; and on the
// settings of control methods, which end all paths (State.changed), but for entries of tables. Each
// packet looks its own entries up, and stays on the path where they have the actions that the
// recorded packet found: a path serves all destinations, and lasts while entries change (lookup).
// Some values still differ from packet to packet (ports, registers, CRCs, sequence numbers). Each
// packet computes these values itself, by the operations of the path (pathOp): where the program
// tests such a value, the paths part. A pass that uses meters, random numbers, or the time at which
// a packet leaves has no path.
//
// Passes follow each other: the switch finds the path of a received frame by its octets, and each
// later path next to the path of the pass before. A waiting packet with a path is not built before
// it must be: until then, the path and the received frame stand for it (PHV.path).
type Path struct {
	gen     uint64 // of State.gen
	key     pathKey
	needs   []need // of the frame that was received; those of the passes before hold
	ops     []pathOp
	parts   []parting // of ops
	sums    []*sum    // of ops
	lookups []*lookup // of ops
	stores  []store
	counts  []tally
	keeps   []uint16 // slots that the next pass finds as its first ones
	late    []pathOp // what makes the next slots, from maxKept on: only who needs a slot computes it
	outcome outcome

	to       takes // with dest, the port or the group
	dest     uint64
	priority int // of the queue

	length, octets int // PHV.Length and IngressLen from here on
	hash           uint64
	before         *Path
	state          *pathState // nil: pathPlain, pathDrop, pathTransmit
	out            *outline   // pathTransmit, pathAgain
	next           []*Path
	at             int // of next: where the last one was found
}

type outcome uint8

const (
	pathPlain    outcome = iota // no path: such packets run the program
	pathUnicast                 // a packet for one port
	pathGroup                   // copies of a multicast group
	pathDrop                    // nothing
	pathTransmit                // a frame that leaves
	pathAgain                   // a frame for ingress once more
)

// pathKey is what a pass depends on beside the frame and what is given with the frame.
type pathKey struct {
	length   int // of the received frame; 0 in later passes
	egress   bool
	copied   bool
	priority int
}

// given is what a pass gets with the packet: it differs between packets of a path.
type given [3]uint64

// Indices of given.
const (
	givenTime     = iota // when the frame was received
	givenPort            // by which it came, or leaves
	givenInstance        // egress_rid
)

// need holds octets from the frame, in one word, that must equal the recorded octets.
type need struct {
	off        int
	mask, want uint64
}

func (g *need) of(b []byte) uint64 { return binary.LittleEndian.Uint64(b[g.off:]) & g.mask }

// tally is what a pass counts or touches.
type tally struct {
	counter *CounterValue
	octets  uint64
	touched *entryMore      // of an entry with an idle timeout
	array   *extern.Counter // nil: none; element index counts
	index   takes
}

// paths holds the paths of a switch, by the octets required of received frames.
type paths struct {
	gen      uint64
	shapes   []*shape
	n        int // paths, by their weight, at most maxPaths
	mode     PathMode
	recalled uint64
	credit   int // for recording
	lots     [maxLots]lot
	lesson   int // counts what was learned

	slots *slots // of the packet that is looked for; nil before there is a path
	given given
	buf   []byte
	hits  [maxLookups]*entry // by the lookups of the path

	// varied marks the octets in which received frames of the same length differ: a pass
	// computes with such octets instead of having a path for each value.
	varied [maxVaried]bool
	asking map[*node]*asking
	last   *Path // of a received frame that was recorded last
	left   int   // packets that are compared with it

	rec   recorder
	armed bool // the pass that begins is recorded
	from  *Path
	key   pathKey
}

// lot is the packets of one in maxLots ports: a crowd of packets without paths does not keep those
// of other ports from asking.
type lot struct {
	asked, answered int // of late
	lesson          int // when the first of them asked
	rest, rests     int // packets before the next question; how many the last time
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
	maxKept    = 64  // slots that go with a packet from one pass to the next
	maxVaried  = 512 // octets of a frame
	fewVaried  = 12  // in which packets that are alike may differ
	manyMissed = 16  // packets at a condition; fewMissed for tests
	fewMissed  = 2
	compared   = 64  // packets after one that is recorded
	maxNext    = 256 // paths next to one

	// Running the program is as fast as a path of maxOps operations. So packets of a longer path run
	// the program, and find that out after a few operations.
	maxOps   = 256
	longOps  = 16
	maxPaths = 4096

	// Recording a pass costs as much as the program does for hundreds of packets. Packets pay for it:
	// a packet that follows a path saves most of its time and earns creditFound; a packet that needs
	// a new path earns 1. The first 32 passes are recorded at once.
	creditCost  = 1 << 11
	creditFirst = creditCost << 5
	creditMax   = creditFirst
	creditFound = 1 << 1

	// Where fewer than an eighth of pathWindow packets of a lot have a path, and nothing was learned,
	// pathRest packets do not ask; twice as many the next time, up to maxRest.
	maxLots    = 1 << 6
	pathWindow = 1 << 10
	pathRest   = 1 << 12
	maxRest    = 1 << 16
)

// mixPath adds a word to the hash of a frame.
func mixPath(h, w uint64) uint64 {
	h = (h ^ w) * 0xd6e8feb86659fd93
	return h ^ h>>32
}

// find returns the path of a received frame, nil where there is none.
func (c *Context) find(f *Frame, key *pathKey) *Path {
	x := c.paths
	for i, s := range x.shapes {
		if len(f.b) < s.need {
			continue
		}
		p := *s.slot(s.hash(f.b, key))
		if p == nil || p.key != *key || !p.holds(f.b) {
			continue
		}
		if p = c.walk(p, f); p != nil {
			if i > 0 {
				x.shapes[i-1], x.shapes[i] = s, x.shapes[i-1]
			}
			return p
		}
	}
	return nil
}

func (s *shape) hash(b []byte, key *pathKey) uint64 {
	h := uint64(key.length)
	for i := range s.words {
		h = mixPath(h, s.words[i].of(b))
	}
	return mixPath(h, h>>29)
}

// holds reports whether a frame meets the needs of the path, given that the frame meets the needs
// of the earlier passes.
func (p *Path) holds(b []byte) bool {
	for i := range p.needs {
		if g := &p.needs[i]; g.of(b) != g.want {
			return false
		}
	}
	return true
}

// follow returns the path for the next pass of a waiting packet, or nil without one.
func (c *Context) follow(w *PHV, key *pathKey) *Path {
	p := w.path
	copy(c.paths.slots[:], w.kept[:len(p.keeps)])
	for range p.next {
		if p.at++; p.at >= len(p.next) {
			p.at = 0
		}
		if n := p.next[p.at]; n.key == *key && n.holds(w.frame.b) {
			if n = c.walk(n, w.frame); n != nil {
				return n
			}
		}
	}
	return nil
}

// count counts what the pass does.
func (c *Context) count(p *Path) {
	for i := range p.counts {
		n := &p.counts[i]
		if n.array != nil {
			n.array.Add(n.index.of(c.paths.slots), int(n.octets))
			continue
		}
		n.count(c.st.now)
	}
	for i, l := range p.lookups {
		if l.table.counter || l.table.timeout {
			n := l.tally(c.st, c.paths.hits[i])
			n.count(c.st.now)
		}
	}
}

func (n *tally) count(now time.Duration) {
	if n.counter != nil {
		n.counter.Packets++
		n.counter.Bytes += n.octets
	}
	if n.touched != nil {
		n.touched.lastHit, n.touched.reported = now, 0
	}
}

// vary compares a frame without a path with the frame recorded last. It notes the differing octets
// among the octets that the pass has read, unless they are too many, and reports whether it noted a
// new octet.
func (x *paths) vary(b []byte) (news bool) {
	var at [fewVaried]int
	n := 0
	for i := range x.last.needs {
		g := &x.last.needs[i]
		for k, d := 0, g.of(b)^g.want; d != 0; k, d = k+1, d>>8 {
			if byte(d) == 0 || g.off+k >= maxVaried {
				continue
			}
			if n == len(at) {
				return false
			}
			at[n] = g.off + k
			n++
		}
	}
	for _, i := range at[:n] {
		news = news || !x.varied[i]
		x.varied[i] = true
	}
	return news
}

// add keeps a path that was recorded.
func (x *paths) add(p *Path, b []byte) {
	if x.n += p.weight(); x.n > maxPaths { // the ones before may be of flows that have ended
		x.shapes, x.n = nil, p.weight()
	}
	if q := p.before; q != nil {
		if q.gen != x.gen {
			return
		}
		i := slices.IndexFunc(q.next, func(n *Path) bool {
			return n.key == p.key && slices.Equal(n.needs, p.needs)
		})
		switch {
		case i >= 0:
			old, ok := q.next[i].fork(p)
			if !ok {
				old, q.next[i] = q.next[i], p
			}
			x.n -= old.all()
		case len(q.next) < maxNext:
			q.next = append(q.next, p)
		}
		return
	}
	x.last, x.left = p, compared
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
	if old := *at; old != nil && old.key == p.key && slices.Equal(old.needs, p.needs) {
		if old, ok := old.fork(p); ok {
			x.n -= old.all()
			return
		}
	}
	x.n -= (*at).all()
	*at = p
}

// learned notes that what was recorded last taught something about the packets: it costs nothing.
func (x *paths) learned() {
	x.credit = min(x.credit+creditCost, creditMax)
	x.lesson++
}

// weight is what a path counts for: one, and another for every 64 operations.
func (p *Path) weight() int { return 1 + len(p.ops)/64 }

// all returns the count of a path, including all paths beside it and after it.
func (p *Path) all() int {
	if p == nil {
		return 0
	}
	n := p.weight()
	for i := range p.parts {
		n += p.parts[i].other.all()
		for _, q := range p.parts[i].cases {
			n += q.all()
		}
	}
	for _, next := range p.next {
		n += next.all()
	}
	return n
}

// slot is where the paths of a hash are, or may be: in one of eight places; the first gives way.
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
		x.last, x.left = nil, 0
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
func (x *paths) asks(port uint32) bool {
	if x.mode == PathsAlways {
		return true
	}
	l := &x.lots[port%maxLots]
	if l.rest > 0 {
		l.rest--
		return false
	}
	if l.asked++; l.asked > pathWindow {
		switch {
		case 8*l.answered >= l.asked:
			l.rests = 0
		case l.lesson == x.lesson:
			l.rests = min(max(2*l.rests, pathRest), maxRest)
			l.rest = l.rests
		}
		l.asked, l.answered, l.lesson = 0, 0, x.lesson
	}
	return true
}

// found notes that a packet has followed a path.
func (x *paths) found(port uint32) {
	x.lots[port%maxLots].answered++
	x.recalled++
	x.credit = min(x.credit+creditFound, creditMax)
}

// arm starts recording the next pass, of a received frame b, if there is credit for it. A recording
// from the time before the differing octets were known costs nothing.
func (x *paths) arm(from *Path, key *pathKey, b []byte) {
	if from == nil && x.left > 0 && x.last.key == *key {
		if x.left--; x.vary(b) {
			x.learned()
		}
	}
	if x.mode != PathsAlways {
		if x.credit < creditCost {
			x.credit++
			return
		}
		x.credit -= creditCost
	}
	x.armed, x.from, x.key = true, from, *key
}
