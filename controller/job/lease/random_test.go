package lease

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/test/seeds"
	"github.com/weft-sdn/weft/topology"
)

// history is a random sequence of calls on a small fabric, beside a model that enumerates.
type history struct {
	t      *testing.T
	seed   uint64
	r      *rand.Rand
	d      *Ledger
	now    time.Time
	links  map[topology.LinkID]Link
	paths  map[Endpoints][]Path
	alive  map[string]*terms // what the model believes is there
	issued int
	// priorities is how many priorities the leases of this history have.
	priorities int
}

// terms are when a lease ends, by the model.
type terms struct{ until, silent time.Time }

func newHistory(t *testing.T, seed uint64) *history {
	h := &history{t: t, seed: seed, r: rand.New(rand.NewPCG(seed, 0)), now: start,
		links: make(map[topology.LinkID]Link), paths: make(map[Endpoints][]Path),
		alive: make(map[string]*terms), priorities: 1 + int(seed%3)}
	h.d = New(func(from, to string) []Path { return h.paths[Endpoints{from, to}] })
	// A Clos of two planes: leaves a, b and c, spines 1 to 2 or 3 of each plane.
	spines := 1 + h.r.IntN(3)
	leaves := []string{"a", "b", "c"}
	for _, from := range leaves {
		for _, to := range leaves {
			for plane := 1; plane <= 2 && from != to; plane++ {
				for spine := range spines {
					node := topology.NodeID(fmt.Sprintf("p%ds%d", plane, spine))
					p := Path{Nodes: []topology.NodeID{node}, Plane: plane, Links: []topology.LinkID{
						topology.LinkID(from) + "-" + topology.LinkID(node),
						topology.LinkID(node) + "-" + topology.LinkID(to)}}
					h.paths[Endpoints{from, to}] = append(h.paths[Endpoints{from, to}], p)
					for _, link := range p.Links {
						if _, ok := h.links[link]; !ok {
							h.links[link] = Link{Capacity: uint64(1 + h.r.IntN(3)), Up: h.r.IntN(10) > 0}
						}
					}
				}
			}
		}
	}
	h.d.SetLinks(h.links)
	return h
}

func (h *history) fail(format string, args ...any) {
	h.t.Helper()
	h.t.Fatalf("seed %d at %v: %s", h.seed, h.now.Sub(start), fmt.Sprintf(format, args...))
}

// uses returns what a lease needs of each link, by its paths.
func uses(l *Lease) map[topology.LinkID]uint64 {
	out := make(map[topology.LinkID]uint64)
	if l.Phase == Broken {
		return out
	}
	former := make(map[topology.LinkID]uint64)
	for _, of := range []struct {
		paths [][]Path
		sum   map[topology.LinkID]uint64
	}{{l.Paths, out}, {l.Former, former}} {
		for _, pair := range of.paths {
			for _, p := range pair {
				for _, link := range p.Links {
					of.sum[link] += l.Bandwidth
				}
			}
		}
	}
	for link, n := range former {
		if _, ok := out[link]; !ok || n > out[link] {
			out[link] = n
		}
	}
	return out
}

// feasible reports whether any choice of candidates serves a request beside other leases: it tries
// all of them.
func (h *history) feasible(r *Request, others []Lease) bool {
	reserved, taken, alone := make(map[topology.LinkID]uint64), make(map[topology.LinkID]bool),
		make(map[topology.LinkID]bool)
	for i := range others {
		for link, n := range uses(&others[i]) {
			reserved[link] += n
			taken[link] = true
			alone[link] = alone[link] || others[i].Sharing == Exclusive
		}
	}
	var choices [][][]Path // of each pair
	for _, pair := range r.Pairs {
		choices = append(choices, h.choicesOf(pair, r))
	}
	fits := func(link topology.LinkID, n uint64) bool {
		l := h.links[link]
		return l.Up && !alone[link] && !(taken[link] && r.Sharing == Exclusive) &&
			reserved[link]+n <= l.Capacity
	}
	own := make(map[topology.LinkID]uint64)
	var try func(pair int) bool
	try = func(pair int) bool {
		if pair == len(choices) {
			return true
		}
		for _, some := range choices[pair] {
			ok := true
			for _, p := range some {
				for _, link := range p.Links {
					own[link] += r.Bandwidth
					ok = ok && fits(link, own[link])
				}
			}
			if ok && try(pair+1) {
				return true
			}
			for _, p := range some {
				for _, link := range p.Links {
					own[link] -= r.Bandwidth
				}
			}
		}
		return false
	}
	return try(0)
}

// choicesOf returns all sets of candidates that serve a pair and fit into the room on links.
func (h *history) choicesOf(pair Endpoints, r *Request) [][]Path {
	all := h.paths[pair]
	key := fmt.Sprint(pair, len(all), r.Paths, r.Disjointness)
	if known, ok := choices[key]; ok {
		return known
	}
	var of [][]Path
	for bits := range 1 << len(all) {
		var some []Path
		for i := range all {
			if bits>>i&1 == 1 {
				some = append(some, all[i])
			}
		}
		if len(some) == max(r.Paths, 1) && apart(some, r.Disjointness) {
			of = append(of, some)
		}
	}
	choices[key] = of
	return of
}

// choices caches the choices of all histories, whose fabrics differ only in the number of spines.
var choices = make(map[string][][]Path)

func apart(paths []Path, d Disjointness) bool {
	for i := range paths {
		for j := range i {
			p, q := paths[i], paths[j]
			links := slices.ContainsFunc(p.Links, func(l topology.LinkID) bool {
				return slices.Contains(q.Links, l)
			})
			switch d {
			case DisjointPlane:
				if p.Plane == q.Plane {
					return false
				}
			case DisjointNode:
				if links || p.Nodes[0] == q.Nodes[0] {
					return false
				}
			case DisjointLink:
				if links {
					return false
				}
			}
		}
	}
	return true
}

// check compares the ledger with the model after a call of Settle.
func (h *history) check() {
	h.t.Helper()
	leases := h.d.Leases()
	reserved, holders, alone := make(map[topology.LinkID]uint64), make(map[topology.LinkID][]string),
		make(map[topology.LinkID]int)
	for i := range leases {
		l := &leases[i]
		if h.alive[l.Name] == nil {
			h.fail("%s is there, and has ended", l.Name)
		}
		for link, n := range uses(l) {
			reserved[link] += n
			holders[link] = append(holders[link], l.Name)
			if l.Sharing == Exclusive {
				alone[link]++
			}
			if !h.links[link].Up {
				h.fail("%s is on link %s, which is down", l.Name, link)
			}
		}
		switch l.Phase {
		case Broken:
			others := slices.DeleteFunc(notBelow(leases, l.Priority), func(o Lease) bool {
				return o.Name == l.Name
			})
			if h.feasible(&l.Request, others) {
				h.fail("%s is broken, and there are paths for it", l.Name)
			}
			if l.Reason == "" || l.Former != nil {
				h.fail("%+v is broken", l)
			}
		default:
			for i, pair := range l.Paths {
				if len(pair) != max(l.Request.Paths, 1) || !apart(pair, l.Disjointness) {
					h.fail("%s has the paths %v for %v", l.Name, pair, l.Pairs[i])
				}
			}
		}
	}
	if len(leases) != len(h.alive) {
		h.fail("%d leases, want %d", len(leases), len(h.alive))
	}
	for id := range h.links {
		got := h.d.Holding(id)
		if got.Reserved != reserved[id] || !slices.Equal(got.Holders, holders[id]) ||
			got.Exclusive != (alone[id] > 0) {
			h.fail("link %s: %+v, want %d reserved by %v", id, got, reserved[id], holders[id])
		}
		if alone[id] > 0 && len(holders[id]) > 1 {
			h.fail("link %s is held by %v, of which %d are exclusive", id, holders[id], alone[id])
		}
		if reserved[id] > h.links[id].Capacity {
			h.fail("link %s has %d reserved of %d", id, reserved[id], h.links[id].Capacity)
		}
	}
}

// notBelow returns the leases from which one of a priority takes nothing.
func notBelow(leases []Lease, priority int) []Lease {
	return slices.DeleteFunc(slices.Clone(leases), func(l Lease) bool { return l.Priority < priority })
}

// settle calls Settle, and checks that leases end when the model says.
func (h *history) settle() {
	h.t.Helper()
	before := h.d.Leases()
	wanted := make(map[topology.LinkID]uint64)
	for i := range before {
		for link, n := range uses(&before[i]) {
			wanted[link] += n
		}
	}
	changes := h.d.Settle(h.now)
	expired := 0 // what they held leaves room
	for _, c := range changes {
		if c.What != Expired {
			continue
		}
		expired++
		end := h.alive[c.Name]
		if end == nil || !h.over(end) {
			h.fail("%s expired: %s", c.Name, c.Reason)
		}
		delete(h.alive, c.Name)
	}
	for name, end := range h.alive {
		if h.over(end) {
			h.fail("%s is over, and not expired", name)
		}
	}
	for _, was := range before {
		is, ok := h.d.Lease(was.Name)
		moved := slices.ContainsFunc(changes, func(c Change) bool {
			return c.Name == was.Name && c.What != Expired
		})
		if ok && is.Phase == Moving && was.Phase == Active && is.Taken == nil {
			for i := range was.Paths {
				for _, p := range was.Paths[i] {
					works := !slices.ContainsFunc(p.Links, func(l topology.LinkID) bool {
						return !h.links[l].Up || wanted[l] > h.links[l].Capacity
					})
					kept := slices.ContainsFunc(is.Former[i], func(q Path) bool { return q.equal(&p) })
					if works != kept && h.alive[was.Name] != nil && expired == 0 {
						h.fail("%s keeps %v: %t, which works: %t", was.Name, p, kept, works)
					}
				}
			}
		}
		if ok && !moved && (is.Phase != was.Phase || !same(is.Paths, was.Paths)) {
			h.fail("%s became %+v without a change", was.Name, is)
		}
	}
	h.check()
}

func (h *history) over(end *terms) bool {
	return !end.until.IsZero() && !h.now.Before(end.until) ||
		!end.silent.IsZero() && !h.now.Before(end.silent)
}

// request makes a request, and compares the answer with the model.
func (h *history) request() {
	h.t.Helper()
	h.settle()
	h.issued++
	r := Request{Name: fmt.Sprintf("l%d", h.issued), Paths: h.r.IntN(3),
		Bandwidth: uint64(h.r.IntN(3)),
		Disjointness: []Disjointness{"", DisjointNone, DisjointLink, DisjointNode,
			DisjointPlane}[h.r.IntN(5)],
		Sharing: []Sharing{"", Shared, Exclusive}[h.r.IntN(3)], Priority: h.r.IntN(h.priorities)}
	if h.r.IntN(2) == 0 {
		r.Duration = time.Duration(1+h.r.IntN(20)) * time.Second
	}
	if h.r.IntN(3) == 0 {
		r.Heartbeat = time.Duration(1+h.r.IntN(6)) * time.Second
	}
	for range 1 + h.r.IntN(2) {
		all := slices.SortedFunc(maps.Keys(h.paths), func(a, b Endpoints) int {
			return slices.Compare([]string{a.From, a.To}, []string{b.From, b.To})
		})
		r.Pairs = append(r.Pairs, all[h.r.IntN(len(all))])
	}
	others := notBelow(h.d.Leases(), r.Priority)
	can := h.feasible(&r, others)
	l, err := h.d.Request(h.now, r)
	if err == nil {
		if !can {
			h.fail("%+v was granted %v, which cannot be", r, l.Paths)
		}
		end := &terms{}
		if r.Duration > 0 {
			end.until = h.now.Add(r.Duration)
		}
		if r.Heartbeat > 0 {
			end.silent = h.now.Add(r.Heartbeat)
		}
		h.alive[r.Name] = end
		h.settle()
		return
	}
	var refusal *Refusal
	if !errors.As(err, &refusal) || can {
		h.fail("%+v was refused: %v", r, err)
	}
	h.refused(&r, refusal, h.d.Leases())
}

// refused checks why a request was refused, and when it would not be.
func (h *history) refused(r *Request, refusal *Refusal, others []Lease) {
	h.t.Helper()
	if alone := h.feasible(r, nil); alone != (refusal.Cause == Full) {
		h.fail("%+v was refused: %v; feasible alone: %t", r, refusal, alone)
	}
	if refusal.Cause != Full {
		return
	}
	if len(refusal.Holders) == 0 || refusal.Link == "" {
		h.fail("%+v was refused by nobody: %+v", r, refusal)
	}
	left := func(at time.Time) []Lease {
		return slices.DeleteFunc(slices.Clone(others), func(l Lease) bool {
			return !l.Until.IsZero() && !l.Until.After(at)
		})
	}
	if !refusal.Free.IsZero() && !h.feasible(r, left(refusal.Free)) {
		h.fail("%+v cannot be met at %v: %v", r, refusal.Free, refusal)
	}
	for _, l := range others {
		if !l.Until.IsZero() && (refusal.Free.IsZero() || l.Until.Before(refusal.Free)) &&
			h.feasible(r, left(l.Until)) {
			h.fail("%+v can be met at %v already: %v", r, l.Until, refusal)
		}
	}
}

// any returns a random existing lease; false: none exists.
func (h *history) any() (string, bool) {
	names := slices.Sorted(maps.Keys(h.alive))
	if len(names) == 0 {
		return "", false
	}
	return names[h.r.IntN(len(names))], true
}

func (h *history) step() {
	h.t.Helper()
	h.now = h.now.Add(time.Duration(h.r.IntN(1500)) * time.Millisecond)
	name, some := h.any()
	switch x := h.r.IntN(12); {
	case x < 4 || !some:
		h.request()
	case x < 6: // a heartbeat, perhaps of one that is over
		var more time.Duration
		if h.r.IntN(3) == 0 {
			more = time.Duration(1+h.r.IntN(10)) * time.Second
		}
		l, ok := h.d.Lease(name)
		end := h.alive[name]
		if err := h.d.Renew(h.now, name, more); (err == nil) == h.over(end) || !ok {
			h.fail("%s was renewed: %v", name, err)
		}
		if !h.over(end) {
			if l.Heartbeat > 0 {
				end.silent = h.now.Add(l.Heartbeat)
			}
			if more > 0 {
				end.until = h.now.Add(more)
			}
		}
	case x < 7:
		if err := h.d.Complete(name); err != nil {
			h.fail("%v", err)
		}
		delete(h.alive, name)
	case x < 8:
		if err := h.d.Moved(name); err != nil {
			h.fail("%v", err)
		}
	case x < 11: // a link fails, is repaired, shrinks or grows
		ids := slices.Sorted(maps.Keys(h.links))
		id := ids[h.r.IntN(len(ids))]
		l := h.links[id]
		if h.r.IntN(3) > 0 {
			l.Up = !l.Up
		} else {
			l.Capacity = uint64(h.r.IntN(4))
		}
		h.links[id] = l
		h.d.SetLink(id, l)
	default: // another controller takes over
		h.settle()
		leases := h.d.Leases()
		next := New(h.d.paths)
		next.Restore(leases)
		next.SetLinks(h.links)
		h.d = next
		if got := next.Leases(); !reflect.DeepEqual(got, leases) {
			h.fail("%+v after a restart, want %+v", got, leases)
		}
		if changes := next.Settle(h.now); len(changes) > 0 {
			h.fail("%+v after a restart", changes)
		}
	}
	h.settle()
}

// TestHistories: 10,000 random histories of requests, heartbeats, ends, failures and repairs.
func TestHistories(t *testing.T) {
	first, count := seeds.Range(t, 1, 10_000)
	for seed := first; seed < first+count; seed++ {
		h := newHistory(t, seed)
		for range 25 {
			h.step()
		}
		for _, l := range h.d.Leases() {
			if err := h.d.Complete(l.Name); err != nil {
				h.fail("%v", err)
			}
			delete(h.alive, l.Name)
		}
		h.settle()
		for id := range h.links {
			if got := h.d.Holding(id); got.Reserved != 0 || len(got.Holders) != 0 || got.Exclusive {
				h.fail("link %s still has %+v", id, got)
			}
		}
		if next, ok := h.d.Next(); ok {
			h.fail("something ends at %v, when nothing is there", next)
		}
	}
}
