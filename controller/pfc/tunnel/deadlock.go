package tunnel

import "slices"

// A Dependency reports that Queue can drain only while On drains, because On stops Queue when On
// fills.
type Dependency struct{ Queue, On Queue }

// Dependencies is the buffer-dependency graph: an edge leads from a waiting queue to the queue it
// waits for. A circle in the graph can stop forever. Without a circle, the last queue of every
// chain drains, and then the queue before it. The graph counts dependencies, so several owners may
// add the same dependency.
//
// A check looks at what can be reached from the new dependencies only, so its
// time does not grow with the rest of the graph.
type Dependencies struct {
	number map[Queue]int32
	queues []Queue // by number
	on     [][]int32
	counts map[[2]int32]int

	round uint32
	seen  []uint32 // by number: the round in which a search was here
	from  []int32  // by number: whence
	stack []int32
}

// NewDependencies returns a graph without any.
func NewDependencies() *Dependencies {
	return &Dependencies{number: make(map[Queue]int32), counts: make(map[[2]int32]int)}
}

func (d *Dependencies) place(q Queue) int32 {
	n, ok := d.number[q]
	if !ok {
		n = int32(len(d.queues))
		d.number[q] = n
		d.queues, d.on = append(d.queues, q), append(d.on, nil)
		d.seen, d.from = append(d.seen, 0), append(d.from, 0)
	}
	return n
}

// Add adds dependencies, whatever circles they close.
func (d *Dependencies) Add(deps []Dependency) {
	for _, x := range deps {
		a, b := d.place(x.Queue), d.place(x.On)
		k := [2]int32{a, b}
		if d.counts[k]++; d.counts[k] == 1 {
			d.on[a] = append(d.on[a], b)
		}
	}
}

// Remove takes away what Add has added.
func (d *Dependencies) Remove(deps []Dependency) {
	for _, x := range deps {
		a, b := d.place(x.Queue), d.place(x.On)
		k := [2]int32{a, b}
		switch d.counts[k] {
		case 0:
		case 1:
			delete(d.counts, k)
			d.on[a] = slices.DeleteFunc(d.on[a], func(n int32) bool { return n == b })
		default:
			d.counts[k]--
		}
	}
}

// Check returns a circle that new dependencies would close in the graph: the queues of the circle,
// each queue waiting for the next, and the last for the first. Check returns nil if the new
// dependencies close no circle. The graph does not change.
func (d *Dependencies) Check(deps []Dependency) []Queue {
	d.Add(deps)
	defer d.Remove(deps)
	return d.Cycle(deps)
}

// Cycle is Check for dependencies that have been added.
func (d *Dependencies) Cycle(deps []Dependency) []Queue {
	for _, x := range deps {
		a, known := d.number[x.Queue]
		b, also := d.number[x.On]
		if !known || !also || d.counts[[2]int32{a, b}] == 0 {
			continue
		}
		if d.reach(b, a) {
			return d.circle(b, a)
		}
	}
	return nil
}

// reach searches a path from one queue to another, and leaves it in from.
func (d *Dependencies) reach(start, goal int32) bool {
	d.round++
	d.stack = append(d.stack[:0], start)
	d.seen[start] = d.round
	if start == goal {
		return true
	}
	for len(d.stack) > 0 {
		v := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		for _, w := range d.on[v] {
			if d.seen[w] == d.round {
				continue
			}
			d.seen[w], d.from[w] = d.round, v
			if w == goal {
				return true
			}
			d.stack = append(d.stack, w)
		}
	}
	return false
}

// circle returns the path that reach found. The dependency of the end on the start closes the
// circle. The least queue comes first, so that a circle has only one form.
func (d *Dependencies) circle(start, goal int32) []Queue {
	out := []Queue{d.queues[goal]}
	for v := goal; v != start; {
		v = d.from[v]
		out = append(out, d.queues[v])
	}
	slices.Reverse(out)
	least := 0
	for i := range out {
		if out[i].compare(out[least]) < 0 {
			least = i
		}
	}
	return append(slices.Clone(out[least:]), out[:least]...)
}

// Len returns the number of dependencies, each once.
func (d *Dependencies) Len() int { return len(d.counts) }
