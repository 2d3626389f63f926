package mrc

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/topology"
)

// The facts that jobs depend on are read in parts, one at each Tick, so that no denial waits for a
// large job. A part is this many NICs, pairs of racks or links.
const (
	nicsAtOnce  = 1024
	pathsAtOnce = 512
	linksAtOnce = 8192
)

// Every job is read each readEvery. The parts of a job that nobody waits for are readPause apart.
const (
	readEvery = 500 * time.Millisecond
	readPause = 2 * time.Millisecond
)

// Surroundings are what a core needs beside the fabric to read what jobs depend on.
type Surroundings interface {
	// SwitchNames returns the names of switches in the inventory, by node.
	SwitchNames() map[topology.NodeID]string
	// Stream returns the state of the stream to a host; false: nothing is known.
	Stream(host string) (Stream, bool)
}

// reader reads what jobs depend on.
type reader struct {
	from  Surroundings
	wants *fabricview.Wants // nil: none so far
	// done holds the newest readings for the wanted needs, at their beginning, and links the links in
	// needs.
	done  map[*ready.Need]*fabricview.Reading
	at    map[*ready.Need]time.Duration
	links map[*ready.Need]crossedOf
	// now is under way, nil: nothing is; interrupted goes on after it.
	now, interrupted *partReading
	// job is to be read next, at the time due; hurry: somebody waits for it. nil: there is none.
	job   *fabricview.Job
	due   time.Duration
	hurry bool
	next  time.Duration // of a part that nobody waits for
	news  bool          // done has changed since the last view
}

// partReading is a reading under way.
type partReading struct {
	*JobReading // nil: there is nothing to read
	of          *fabricview.Reading
	began       time.Duration
	// n is how much of a stage is read: the NICs, the pairs, the pairs whose links are to be found,
	// and the links.
	stage, n int
	crossed  []bool
	places   []int32
	hurry    bool // somebody waits for it
}

// crossedOf holds the places of links that a need's pairs cross.
type crossedOf struct {
	fabric *fabric.Fabric
	at     []ev.Attachment // of the racks
	places []int32
}

// newReader returns a reader without wants.
func newReader(from Surroundings) reader {
	return reader{from: from, done: make(map[*ready.Need]*fabricview.Reading),
		at: make(map[*ready.Need]time.Duration), links: make(map[*ready.Need]crossedOf)}
}

// SetWants takes what jobs want of the fabric: that pairs can talk, and that views have what each
// job depends on.
func (c *Core) SetWants(w *fabricview.Wants) {
	c.SetTalk(w.Talk())
	r := &c.reader
	wanted := make(map[*ready.Need]bool, len(w.Jobs))
	for i := range w.Jobs {
		wanted[w.Jobs[i].Need] = true
	}
	r.wants, r.news, r.done = w, true, maps.Clone(r.done)
	for need := range r.done {
		if !wanted[need] {
			delete(r.done, need)
			delete(r.at, need)
			delete(r.links, need)
		}
	}
	for _, p := range []**partReading{&r.now, &r.interrupted} {
		if *p != nil && !wanted[(*p).of.Need] {
			*p = nil
		}
	}
	r.plan()
}

// plan chooses the job to be read next: one that somebody waits for, or that was read the longest
// time ago.
func (r *reader) plan() {
	r.job, r.hurry = nil, false
	for i := range r.wants.Jobs {
		j := &r.wants.Jobs[i]
		if done := r.done[j.Need]; done == nil || done.Wants < j.Since {
			r.job, r.hurry = j, true
			return
		}
		if due := r.at[j.Need] + readEvery; r.job == nil || due < r.due {
			r.job, r.due = j, due
		}
	}
}

// nextPart returns when the next part is to be read.
func (r *reader) nextPart() (at time.Duration, ok bool) {
	switch {
	case r.hurry || r.now != nil && r.now.hurry:
		return 0, true
	case r.now != nil || r.interrupted != nil:
		return r.next, true
	}
	return max(r.due, r.next), r.job != nil
}

// readPart reads the next due part of the facts that jobs depend on.
func (c *Core) readPart() {
	r := &c.reader
	if at, ok := r.nextPart(); !ok || c.now < at {
		return
	}
	c.settle()
	switch p := r.now; {
	case r.hurry && (p == nil || !p.hurry):
		r.interrupted = cmp.Or(r.now, r.interrupted)
		r.now = c.beginReading(r.job.Need, true)
	case p == nil && r.interrupted != nil:
		r.now, r.interrupted = r.interrupted, nil
	case p == nil:
		r.now = c.beginReading(r.job.Need, false)
	}
	p := r.now
	if p.JobReading != nil && !p.Current() { // there is another fabric by now
		p = c.beginReading(p.of.Need, p.hurry)
		r.now = p
	}
	r.next = c.now + readPause
	if p.JobReading != nil && !c.readMore(p) {
		return
	}
	need := p.of.Need
	r.done = maps.Clone(r.done)
	r.done[need], r.at[need], r.now, r.news = p.of, p.began, nil, true
	if p := r.interrupted; p != nil && p.of.Need == need {
		r.interrupted = nil
	}
	r.plan()
}

// beginReading begins to read what a job depends on.
func (c *Core) beginReading(need *ready.Need, hurry bool) *partReading {
	r := &c.reader
	p := &partReading{hurry: hurry, began: c.now,
		of: &fabricview.Reading{Need: need, Wants: r.wants.Seq, Wiring: c.wiring()}}
	var names map[topology.NodeID]string
	stream := func(string) (s Stream, ok bool) { return s, false }
	if r.from != nil {
		names, stream = r.from.SwitchNames(), r.from.Stream
	}
	out := &p.of.Fabric
	if p.JobReading = c.ReadJob(need, names, stream, out); p.JobReading != nil {
		out.NICs = make([]ready.NIC, len(p.need.NICs))
	}
	return p
}

// readMore reads another part, and reports whether it was the last.
func (c *Core) readMore(p *partReading) (last bool) {
	part := func(of, atOnce int, read func(i int)) {
		to := min(of, p.n+atOnce)
		for ; p.n < to; p.n++ {
			read(p.n)
		}
		if p.n == of {
			p.stage, p.n = p.stage+1, 0
		}
	}
	switch p.stage {
	case 0:
		part(len(p.need.NICs), nicsAtOnce, p.NIC)
	case 1:
		part(len(p.need.Pairs), pathsAtOnce, p.Path)
	case 2:
		known, ok := c.reader.links[p.need]
		if ok && known.fabric == p.fabric && slices.EqualFunc(known.at, p.at,
			slices.Equal[ev.Attachment]) {
			p.places, p.stage = known.places, 3
			break
		}
		if p.crossed == nil {
			p.crossed = make([]bool, p.fabric.Len())
		}
		part(len(p.need.Pairs), pathsAtOnce, p.cross)
		if p.stage == 3 {
			p.found(&c.reader)
		}
	}
	if p.stage == 3 {
		if p.out.Links == nil {
			p.out.Links = make([]ready.Link, len(p.places))
		}
		part(len(p.places), linksAtOnce, func(i int) { p.Link(i, p.places[i]) })
	}
	return p.stage == 4
}

// cross notes the links that a pair of racks crosses.
func (p *partReading) cross(i int) {
	pair := p.need.Pairs[i]
	from, to := p.at[pair[0]], p.at[pair[1]]
	for port := range from {
		set, ok := p.fabric.PathSet(from, to, uint8(port+1))
		if !ok {
			continue
		}
		for ref := range set.All() {
			for _, l := range p.fabric.PlacesOf(set, ref) {
				p.crossed[l] = true
			}
		}
	}
}

// found keeps the links that are crossed.
func (p *partReading) found(r *reader) {
	for i, is := range p.crossed {
		if is {
			p.places = append(p.places, int32(i))
		}
	}
	r.links[p.need] = crossedOf{p.fabric, p.at, p.places}
}
