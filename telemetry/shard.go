package telemetry

import (
	"slices"
	"sync"
	"time"

	"github.com/weft-sdn/weft/southbound/gnmi"
)

// The store keeps seconds, made into segments of a minute, and minutes, made into segments of half
// an hour. fineGrace is how much later than other ports a port may be sampled and still find its
// minute open.
const (
	fineKept    = 15 * 60 // seconds
	fineSpan    = 60
	fineGrace   = 12
	coarseStep  = 60           // seconds
	coarseKept  = 24 * 60 * 60 // seconds
	coarseSpan  = 30
	coarseTotal = coarseSpan * coarseStep
)

// shard has the objects of a switch.
type shard struct {
	mu sync.Mutex
	// The fields below are guarded by mu.

	name     string        // of the switch
	interval time.Duration // between samples
	clock    clock
	objects  []object
	index    map[key]int32
	next     int32    // the place of the object after the last that a sample had
	last     []uint64 // by base of the object and metric: the count of the last sample
	quiet    []uint8  // samples without a rate after a count that may have wrapped more than once
	speeds   map[uint32]uint64

	fine, coarse head
	minutes      []segment // of seconds, ascending
	hours        []segment // of minutes, ascending
	kept         int64     // octets of minutes and hours

	readings []reading
	// free holds the places of removed objects, in a shard of readings.
	free []int32
}

// key names an object of a shard: a port, a named queue of a port, or an object with only a name.
type key struct {
	kind Kind
	port uint32
	name string
}

// object is one that has values.
type object struct {
	key
	base int32 // of its first metric
	// counts are the counters in last that the sample at the time at had, in nanoseconds of the clock
	// that timed the samples. Before the first sample it is 0.
	counts mask
	at     int64
	late   uint8 // samples in a row that were not newer
	known  mask  // metrics that ever had a value

	present       [2]uint64 // places of the fine head with values
	presentCoarse uint64
}

func (o *object) has(place int) bool { return o.present[place/64]>>(place%64)&1 == 1 }
func (o *object) mark(place int)     { o.present[place/64] |= 1 << (place % 64) }
func (o *object) unmark(place int)   { o.present[place/64] &^= 1 << (place % 64) }

func newShard(name string) *shard {
	return &shard{
		name: name, interval: time.Second, index: make(map[key]int32), speeds: make(map[uint32]uint64),
		fine: newHead(1, fineSpan, fineSpan+fineGrace), coarse: newHead(coarseStep, coarseSpan,
			coarseSpan),
	}
}

// reading holds a sample's values for an object, and the growth of the object's counters.
type reading struct {
	object int32
	values [maxMetrics]uint64
	ok     mask
	growth [maxMetrics]uint64
	grown  mask
}

// take takes a sample of a port.
func (s *shard) take(st *Store, smp *gnmi.Sample) {
	placed := s.clock.place(smp.Time, smp.Arrived)
	if arrived := smp.Arrived.Unix(); s.fine.start > 0 && arrived < s.fine.start {
		s.rewind(st, arrived)
	}
	s.advance(st, placed.Unix())
	taken := smp.Time
	if taken.IsZero() {
		taken = smp.Arrived
	}
	s.read(st, smp)
	speed := s.speeds[smp.Port]
	restart := false
	for i := range s.readings {
		r := &s.readings[i]
		again := s.weigh(r, taken.UnixNano(), speed)
		if again && s.objects[r.object].kind == SID { // it was written again, and others were not
			r.grown, again = 0, false
			st.stats.restarts.Add(1)
		}
		restart = restart || again
	}
	if restart {
		st.stats.restarts.Add(1)
	}
	for i := range s.readings {
		r := &s.readings[i]
		if restart {
			r.grown = 0
		}
		s.note(st, r, taken.UnixNano(), placed)
	}
}

// read fills s.readings with what a sample says.
func (s *shard) read(st *Store, smp *gnmi.Sample) {
	s.readings = s.readings[:0]
	add := func(k key) *reading {
		i := s.next // mostly: samples have their objects in the same order
		if int(i) >= len(s.objects) || s.objects[i].key != k {
			var ok bool
			if i, ok = s.object(st, k); !ok {
				return nil
			}
		}
		s.next = i + 1
		n := len(s.readings)
		if n < cap(s.readings) {
			s.readings = s.readings[:n+1]
		} else {
			s.readings = append(s.readings, reading{})
		}
		r := &s.readings[n]
		r.object, r.ok, r.grown = i, 0, 0 // values that are not ok, and growth that is none, are not read
		return r
	}
	for i := range smp.SIDs {
		x := &smp.SIDs[i]
		if r := add(key{kind: SID, name: x.Prefix.String()}); r != nil {
			r.set(SIDPackets, x.Packets)
			r.set(SIDBits, x.Octets)
		}
	}
	if smp.Port == 0 {
		return
	}
	if r := add(key{kind: Port, port: smp.Port}); r != nil {
		in, out := &smp.In, &smp.Out
		for m, c := range [...]gnmi.Count{in.Octets, out.Octets, in.Packets, out.Packets, in.Errors,
			out.Errors, in.Discards, out.Discards} {
			r.set(m, c)
		}
		for p := range smp.PFC {
			r.set(PFCIn+p, smp.PFC[p].In)
			r.set(PFCOut+p, smp.PFC[p].Out)
		}
	}
	for i := range smp.Queues {
		q := &smp.Queues[i]
		if r := add(key{Queue, smp.Port, q.Name}); r != nil {
			for m, c := range [...]gnmi.Count{q.Octets, q.Packets, q.DroppedPackets, q.DroppedOctets,
				q.Longest, q.Marked, q.Trimmed} {
				r.set(m, c)
			}
		}
	}
}

func (r *reading) set(m int, c gnmi.Count) {
	if c.OK {
		r.values[m] = c.Value
		r.ok |= 1 << m
	}
}

// object returns the place of an object, and makes a place for a new object if there is room.
func (s *shard) object(st *Store, k key) (int32, bool) {
	if i, ok := s.index[k]; ok {
		return i, true
	}
	n := len(metrics[k.kind])
	if !st.reserve(k) {
		return 0, false
	}
	if last := len(s.free) - 1; last >= 0 {
		i := s.free[last]
		s.free = s.free[:last]
		s.objects[i] = object{key: k, base: s.objects[i].base}
		s.index[k] = i
		return i, true
	}
	i := int32(len(s.objects))
	s.objects = append(s.objects, object{key: k, base: int32(len(s.last))})
	s.index[k] = i
	s.last = append(s.last, make([]uint64, n)...)
	s.quiet = append(s.quiet, make([]uint8, n)...)
	s.fine.grow(n)
	s.coarse.grow(n)
	return i, true
}

// gap returns the longest time between samples that a rate may span.
func (s *shard) gap() time.Duration { return max(3*time.Second, s.interval*5/2) }

// weigh finds the growth of the counters of an object, and reports whether they restarted.
func (s *shard) weigh(r *reading, taken int64, speed uint64) (restart bool) {
	o := &s.objects[r.object]
	passed := time.Duration(taken - o.at)
	if o.at == 0 || passed <= 0 || passed > s.gap() {
		return false
	}
	ms := metrics[o.kind]
	(r.ok & o.counts).each(func(m int) {
		if ms[m].gauge {
			return
		}
		at := int(o.base) + m
		growth, v := increase(s.last[at], r.values[m], mostIncrease(&ms[m], speed, passed.Seconds()))
		switch quiet := &s.quiet[at]; {
		case v == restarted:
			restart = true
		case v == narrow:
			*quiet = quietSamples
		case v == counted && r.values[m] >= wrap32:
			*quiet = 0
			r.growth[m] = growth
			r.grown |= 1 << m
		case v == counted && *quiet > 0:
			*quiet--
		case v == counted:
			r.growth[m] = growth
			r.grown |= 1 << m
		}
	})
	return restart
}

// lateSamples is the number of samples in a row that count as late; after them the store concludes
// that a clock was set back.
const lateSamples = 3

// note keeps the values of an object, and its counts for the next time.
func (s *shard) note(st *Store, r *reading, taken int64, placed time.Time) {
	o := &s.objects[r.object]
	passed := time.Duration(taken - o.at)
	switch {
	case o.at == 0 || passed > s.gap():
		if o.at != 0 {
			st.stats.gaps.Add(1)
		}
		passed = 0
	case passed <= 0:
		st.stats.late.Add(1)
		if o.late++; o.late < lateSamples {
			return
		}
		passed = 0
	case passed < s.interval/4:
		return // too short for a rate: the next sample has it all
	}
	o.late = 0
	values := [maxMetrics]code{}
	var with mask
	ms := metrics[o.kind]
	r.ok.each(func(m int) {
		switch {
		case ms[m].gauge:
			values[m] = encode(float64(r.values[m]))
			with |= 1 << m
		case passed > 0 && r.grown.has(m):
			values[m] = encode(float64(r.growth[m]) / passed.Seconds())
			with |= 1 << m
		}
		s.last[int(o.base)+m] = r.values[m]
	})
	o.counts, o.at = r.ok, taken
	s.keep(st, o, &values, with, placed, passed)
}

// keep records the values for each second since the previous sample. passed is the time since that
// sample; 0: there was none.
func (s *shard) keep(st *Store, o *object, values *[maxMetrics]code, with mask, placed time.Time,
	passed time.Duration) {
	if with == 0 {
		return
	}
	last := placed.Unix()
	if last < s.fine.start {
		st.stats.late.Add(1)
		return
	}
	first := max(min(last, placed.Add(-passed).Unix()+1), s.fine.start)
	if passed == 0 {
		first = last
	}
	(with &^ o.known).each(func(m int) { // it has not been known so far
		s.fine.gaps(int(o.base)+m, o.present[:]...)
		s.coarse.gaps(int(o.base)+m, o.presentCoarse)
	})
	o.known |= with
	for at := first; at <= last; at++ {
		place := s.fine.place(at)
		o.mark(place)
		o.known.each(func(m int) {
			v := codeGap
			if with.has(m) {
				v = values[m]
			}
			s.fine.set(int(o.base)+m, place, v)
		})
	}
}

// advance makes segments until a time has a place in the head.
func (s *shard) advance(st *Store, at int64) {
	if s.fine.start == 0 {
		s.fine.start = at - at%fineSpan
	}
	for at >= s.fine.end() {
		if !s.seal(st) {
			s.fine.start = max(s.fine.start, at-at%fineSpan) // nothing in between
		}
	}
}

// seal makes a segment of the first minute of the head. It reports whether the head had values.
func (s *shard) seal(st *Store) (had bool) {
	h := &s.fine
	from, to := h.start, h.start+fineSpan
	minute := from - from%coarseStep
	if s.coarse.start == 0 || minute >= s.coarse.end() {
		s.sealCoarse(st)
		s.coarse.start = minute - minute%coarseTotal
	}
	var c columns
	data, sizes := st.scratch(), make([]uint16, 0, len(s.objects))
	for i := range s.objects {
		o := &s.objects[i]
		had = had || o.present != [2]uint64{}
		s.fill(&c, o, from, fineSpan, ^mask(0))
		n := len(data)
		data = appendBlock(data, &c, fineSpan)
		sizes = append(sizes, uint16(len(data)-n))
		s.summarize(o, &c, minute)
		for at := from; at < to; at++ {
			o.unmark(h.place(at))
		}
	}
	h.clear(from, to)
	h.start = to
	s.minutes = s.store(st, s.minutes, from, data, sizes)
	s.expire(st, to)
	return had
}

// summarize keeps the values of a minute of an object in the coarse head: means, and the greatest
// of gauges.
func (s *shard) summarize(o *object, c *columns, minute int64) {
	place := s.coarse.place(minute)
	any := false
	var values [maxMetrics]code
	c.known.each(func(m int) {
		sum, most, n := 0.0, 0.0, 0
		for i := range fineSpan {
			if v, ok := c.at(m, i); ok {
				sum, most, n = sum+v, max(most, v), n+1
			}
		}
		switch {
		case n == 0:
			values[m] = codeGap
			return
		case metrics[o.kind][m].gauge:
			values[m] = encode(most)
		default:
			values[m] = encode(sum / float64(n))
		}
		any = true
	})
	if !any {
		return
	}
	o.presentCoarse |= 1 << place
	c.known.each(func(m int) { s.coarse.set(int(o.base)+m, place, values[m]) })
}

// sealCoarse makes a segment of the coarse head.
func (s *shard) sealCoarse(st *Store) {
	if s.coarse.start == 0 {
		return
	}
	var c columns
	data, sizes := st.scratch(), make([]uint16, 0, len(s.objects))
	for i := range s.objects {
		o := &s.objects[i]
		s.fillCoarse(&c, o, ^mask(0))
		n := len(data)
		data = appendBlock(data, &c, coarseSpan)
		sizes = append(sizes, uint16(len(data)-n))
		o.presentCoarse = 0
	}
	s.coarse.clear(s.coarse.start, s.coarse.end())
	s.hours = s.store(st, s.hours, s.coarse.start, data, sizes)
}

// store appends a segment, and takes data back as scratch.
func (s *shard) store(st *Store, list []segment, start int64, data []byte,
	sizes []uint16) []segment {
	if len(data) > 0 {
		g := segment{start: start, data: slices.Clip(slices.Clone(data)), sizes: slices.Clip(sizes)}
		list = append(list, g)
		s.kept += g.octets()
		st.kept.Add(g.octets())
	}
	st.release(data)
	return list
}

// fill reads values of the fine head, from a time on, at most maxSpan of them.
func (s *shard) fill(c *columns, o *object, from int64, span int, wanted mask) {
	c.known, c.present = o.known&wanted, 0
	h := &s.fine
	for i := range span {
		if o.has(h.place(from + int64(i))) {
			c.present |= 1 << i
		}
	}
	if c.present == 0 {
		return
	}
	c.known.each(func(m int) {
		values := &c.values[m]
		column := h.columns[int(o.base)+m]
		if column == 0 {
			clear(values[:span])
			return
		}
		for i := range span {
			values[i] = h.slab[int(column)+h.place(from+int64(i))]
		}
	})
}

// fillCoarse reads the values of the coarse head.
func (s *shard) fillCoarse(c *columns, o *object, wanted mask) {
	c.known, c.present = o.known&wanted, 0
	h := &s.coarse
	for i := range coarseSpan {
		place := h.place(h.start + int64(i)*coarseStep)
		if o.presentCoarse>>place&1 == 0 {
			continue
		}
		c.present |= 1 << i
		c.known.each(func(m int) { c.values[m][i] = h.get(int(o.base)+m, place) })
	}
}

// expire drops expired segments, and the oldest segments while memory is short.
func (s *shard) expire(st *Store, now int64) {
	drop := func(list []segment) []segment {
		n := list[0].octets()
		s.kept -= n
		st.kept.Add(-n)
		return slices.Delete(list, 0, 1)
	}
	for len(s.minutes) > 0 && s.minutes[0].start+fineSpan <= now-fineKept {
		s.minutes = drop(s.minutes)
	}
	for len(s.hours) > 0 && s.hours[0].start+coarseTotal <= now-coarseKept {
		s.hours = drop(s.hours)
	}
	share := st.share(len(s.objects))
	for len(s.minutes)+len(s.hours) > 0 && s.kept > share {
		// Segments of seconds go first, down to one, then segments of minutes.
		if len(s.minutes) > 1 || len(s.hours) == 0 {
			s.minutes = drop(s.minutes)
		} else {
			s.hours = drop(s.hours)
		}
		st.stats.evicted.Add(1)
	}
}

// rewind forgets values later than a time, after the clock of the controller was set back.
func (s *shard) rewind(st *Store, now int64) {
	keep := func(list []segment, length int64) []segment {
		return slices.DeleteFunc(list, func(g segment) bool {
			later := g.start+length > now
			if later {
				s.kept -= g.octets()
				st.kept.Add(-g.octets())
			}
			return later
		})
	}
	s.minutes, s.hours = keep(s.minutes, fineSpan), keep(s.hours, coarseTotal)
	s.fine.clear(s.fine.start, s.fine.end())
	s.coarse.clear(s.coarse.start, s.coarse.end())
	s.fine.start, s.coarse.start, s.clock = 0, 0, clock{}
	for i := range s.objects {
		o := &s.objects[i]
		o.at, o.counts, o.present, o.presentCoarse = 0, 0, [2]uint64{}, 0
	}
}
