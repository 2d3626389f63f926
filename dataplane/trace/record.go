package trace

import (
	"slices"
	"time"
)

// Record follows a packet from its beginning to its end, with all packets made from it.
type Record struct {
	Packet
	Steps   []Step   `json:"steps,omitempty"`
	Outcome *Outcome `json:"outcome,omitempty"`
	// Cut reports whether there was more than an Assembler keeps: steps of this
	// packet or, in the packet received, copies.
	Cut    bool      `json:"cut,omitempty"`
	Copies []*Record `json:"copies,omitempty"` // in the order in which they began
}

// An Assembler keeps no more than this of what a program without end may do.
const (
	maxPackets = 1024    // of one received, that one included
	maxSteps   = 1 << 16 // of a packet
)

// Assembler is a Tracer that puts events together.
type Assembler struct {
	done func(*Record)
	// Select picks the frames to trace; nil: all.
	Select func(port uint32, frame []byte) bool

	open map[ID]*tree
	last time.Duration
}

// tree is a packet under way: its record, where the next steps go, and the tree
// it belongs to.
type tree struct {
	r    *Record
	path []*Step // open steps, outermost first
	root *tree
	n    int // steps
	// Of a root: packets of the tree, and those that have not ended.
	size, live int
}

// NewAssembler returns an assembler that calls done with each received packet, once the packet and
// all packets made from it have ended.
func NewAssembler(done func(*Record)) *Assembler {
	return &Assembler{done: done, open: map[ID]*tree{}}
}

// Wants implements Tracer.
func (a *Assembler) Wants(port uint32, frame []byte) bool {
	return a.Select == nil || a.Select(port, frame)
}

// Begin implements Tracer.
func (a *Assembler) Begin(p Packet) {
	a.last = p.Time
	p.Frame = slices.Clone(p.Frame)
	t := &tree{r: &Record{Packet: p}}
	t.root = t
	if p.Parent != 0 {
		parent := a.open[p.Parent]
		if parent == nil {
			return // cut off, as its parent
		}
		if t.root = parent.root; t.root.size >= maxPackets {
			t.root.r.Cut = true
			return
		}
		parent.r.Copies = append(parent.r.Copies, t.r)
	}
	t.root.size++
	t.root.live++
	a.open[p.ID] = t
}

// Step implements Tracer.
func (a *Assembler) Step(id ID, s Step) {
	t := a.open[id]
	if t == nil {
		return
	}
	if t.n++; t.n > maxSteps {
		t.r.Cut = true
		return
	}
	t.path = t.path[:min(len(t.path), depth(&s, t.path))]
	into := &t.r.Steps
	if n := len(t.path); n > 0 {
		into = &t.path[n-1].Steps
	}
	*into = append(*into, s)
	if s.Stage != nil || s.State != nil || s.Table != nil || s.Action != nil {
		t.path = append(t.path, &(*into)[len(*into)-1])
	}
}

// depth is how many of the open steps s goes into.
func depth(s *Step, path []*Step) int {
	switch {
	case s.Stage != nil, s.Queue != nil, s.Dequeue != nil, s.Replicate != nil, s.Digest != nil:
		return 0
	case s.State != nil, s.Table != nil:
		return 1
	case s.Action != nil:
		if len(path) >= 2 && path[1].awaitsAction() {
			return 2
		}
		return 1
	case s.Condition != nil:
		// Of a control, unless an action is under way that has jumps.
		if n := len(path); n > 0 && path[n-1].Action != nil && s.Condition.Name == "" {
			return n
		}
		return 1
	}
	return len(path)
}

// awaitsAction reports whether the step is a table step that still waits for its action.
func (s *Step) awaitsAction() bool {
	return s.Table != nil && !s.Table.NoAction && !slices.ContainsFunc(s.Steps, func(i Step) bool {
		return i.Action != nil
	})
}

// Pending is the number of packets that have not ended.
func (a *Assembler) Pending() int { return len(a.open) }

// End implements Tracer.
func (a *Assembler) End(id ID, o Outcome) {
	t := a.open[id]
	if t == nil {
		return
	}
	a.last = o.Time
	o.Frame = slices.Clone(o.Frame)
	t.r.Outcome = &o
	delete(a.open, id)
	if t.root.live--; t.root.live == 0 {
		a.done(t.root.r)
	}
}

// Forget implements Tracer: what has not ended is lost.
func (a *Assembler) Forget() {
	ids := make([]ID, 0, len(a.open))
	for id := range a.open {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		a.End(id, Outcome{Result: Lost, Time: a.last})
	}
}

// All returns the record and everything made of it, a packet before its copies.
func (r *Record) All() []*Record {
	all := []*Record{r}
	for _, c := range r.Copies {
		if c != nil {
			all = append(all, c.All()...)
		}
	}
	return all
}
