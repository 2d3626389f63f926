package lease

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/weft-sdn/weft/topology"
)

// mostSteps bounds the search for paths of one lease. Almost all are found without a step back.
const mostSteps = 1 << 17

// search looks for paths of a lease.
type search struct {
	ledger *Ledger
	lease  *Lease
	gone   func(*Lease) bool // leases that are left out; nil: none
	barred map[topology.LinkID]bool
	paths  [][]Path // the candidates of each pair, the ones to be preferred first
	chosen [][]Path
	extra  map[topology.LinkID]uint64 // what the chosen paths need
	steps  int
}

// mostBars bounds how often an exclusive lease looks for other paths than those that a job needs.
const mostBars = 64

// choose returns paths for a lease beside the holdings of all leases except those that gone selects
// (nil: no lease is gone). The lease's own holdings do not block it: on each link it needs the
// greater of its old and new holding.
func (d *Ledger) choose(l *Lease, gone func(*Lease) bool) ([][]Path, *Refusal) {
	needed, barred := "", make(map[topology.LinkID]bool)
	for range mostBars {
		s := d.searchWithout(l, gone, barred)
		switch {
		case s.run():
		case s.steps > mostSteps:
			return nil, &Refusal{Cause: Undecided}
		case needed != "":
			return nil, &Refusal{Cause: Needed, Pair: l.Pairs[0], Job: needed}
		default:
			why := d.refusal(l)
			why.Name = d.name(why.Link)
			return nil, why
		}
		if d.Spares == nil || l.Sharing != Exclusive {
			return s.chosen, nil
		}
		links, job := d.Spares(l, s.chosen, func(id topology.LinkID, job string) bool {
			a := d.links[id]
			if a == nil || a.exclusive == 0 {
				return false
			}
			for o := range a.held {
				if o != l && o.Sharing == Exclusive && o.Job != job && (gone == nil || !gone(o)) {
					return true
				}
			}
			return false
		})
		if len(links) == 0 {
			return s.chosen, nil
		}
		needed = job
		for _, id := range links {
			barred[id] = true
		}
	}
	return nil, &Refusal{Cause: Needed, Pair: l.Pairs[0], Job: needed}
}

func (d *Ledger) newSearch(l *Lease, gone func(*Lease) bool) *search {
	return d.searchWithout(l, gone, nil)
}

func (d *Ledger) searchWithout(
	l *Lease, gone func(*Lease) bool, barred map[topology.LinkID]bool,
) *search {
	s := &search{ledger: d, lease: l, gone: gone, barred: barred,
		extra: make(map[topology.LinkID]uint64)}
	for i, pair := range l.Pairs {
		var fit []ranked
		for _, p := range d.paths(pair.From, pair.To) {
			load, free := 0.0, !slices.ContainsFunc(p.Ends, endDown(d))
			for _, link := range p.Links {
				used, blocked := s.blocked(link)
				load, free = max(load, used), free && !blocked
			}
			if free {
				own := i < len(l.Paths) && slices.ContainsFunc(l.Paths[i], func(q Path) bool {
					return q.equal(&p)
				})
				fit = append(fit, ranked{p, load, own})
			}
		}
		slices.SortStableFunc(fit, func(a, b ranked) int {
			if a.own != b.own {
				if a.own {
					return -1
				}
				return 1
			}
			return cmp.Compare(a.load, b.load)
		})
		paths := make([]Path, len(fit))
		for j := range fit {
			paths[j] = fit[j].Path
		}
		s.paths = append(s.paths, paths)
	}
	return s
}

// endDown returns a function that reports whether an end of paths is down.
func endDown(d *Ledger) func(topology.LinkID) bool {
	return func(id topology.LinkID) bool { a := d.links[id]; return a != nil && a.end }
}

// ranked is a candidate path with the reserved share of its fullest link. Paths already in the
// lease sort first, to move as few paths as possible.
type ranked struct {
	Path
	load float64
	own  bool
}

// others returns the holdings on a link of all leases except the lease of the search.
func (s *search) others(a *account) (reserved uint64, leases, exclusive int) {
	if s.gone == nil {
		reserved, leases, exclusive = a.reserved, len(a.held), a.exclusive
		if own, ok := a.held[s.lease]; ok {
			reserved, leases = reserved-own, leases-1
			if s.lease.Sharing == Exclusive {
				exclusive--
			}
		}
		return reserved, leases, exclusive
	}
	for l, n := range a.held {
		if l == s.lease || s.gone(l) {
			continue
		}
		reserved, leases = reserved+n, leases+1
		if l.Sharing == Exclusive {
			exclusive++
		}
	}
	return reserved, leases, exclusive
}

// blocked reports whether a path of the lease cannot cross a link beside the paths chosen so far,
// and the share of the link that others have reserved.
func (s *search) blocked(link topology.LinkID) (load float64, blocked bool) {
	a := s.ledger.links[link]
	if a == nil || !a.Up || s.barred[link] {
		return 0, true
	}
	reserved, leases, exclusive := s.others(a)
	if exclusive > 0 || leases > 0 && s.lease.Sharing == Exclusive {
		return 0, true
	}
	need := max(s.extra[link]+s.lease.Bandwidth, a.held[s.lease])
	if need > a.Capacity || reserved > a.Capacity-need {
		return 0, true
	}
	if a.Capacity > 0 {
		load = float64(reserved) / float64(a.Capacity)
	}
	return load, false
}

// run reports whether there are paths for all pairs; they are in chosen.
func (s *search) run() bool {
	s.chosen = make([][]Path, len(s.lease.Pairs))
	return s.place(0, 0)
}

// place chooses the next path of a pair among its candidates from a number on, and then the others.
func (s *search) place(pair, from int) bool {
	if pair == len(s.chosen) {
		return true
	}
	if len(s.chosen[pair]) == s.lease.paths() {
		return s.place(pair+1, 0)
	}
	for i := from; i < len(s.paths[pair]); i++ {
		if s.steps++; s.steps > mostSteps {
			return false
		}
		p := &s.paths[pair][i]
		if slices.ContainsFunc(s.chosen[pair], func(q Path) bool {
			return q.equal(p) || !s.lease.Disjointness.apart(p, &q)
		}) || slices.ContainsFunc(p.Links, func(link topology.LinkID) bool {
			_, blocked := s.blocked(link)
			return blocked
		}) {
			continue
		}
		for _, link := range p.Links {
			s.extra[link] += s.lease.Bandwidth
		}
		s.chosen[pair] = append(s.chosen[pair], *p)
		if s.place(pair, i+1) {
			return true
		}
		s.chosen[pair] = s.chosen[pair][:len(s.chosen[pair])-1]
		for _, link := range p.Links {
			s.extra[link] -= s.lease.Bandwidth
		}
	}
	return false
}

// Cause is why a request cannot be met.
type Cause string

// The causes of refusals.
const (
	Full      Cause = "full"      // others hold the link
	Down      Cause = "down"      // the link
	Small     Cause = "small"     // the link has less capacity than is wanted, or none that is known
	NoPath    Cause = "no-path"   // between the endpoints
	NotApart  Cause = "not-apart" // the candidates, together, even on an empty network
	Undecided Cause = "undecided" // within the bound of the search
	Needed    Cause = "needed"    // a running job would be without a path
	Beyond    Cause = "beyond"    // it would hold more links than it may
)

// Refusal is why a request cannot be met now.
type Refusal struct {
	Cause    Cause
	Pair     Endpoints       // whose candidates are blocked
	Link     topology.LinkID // that blocks them; of several candidates, the one that is free first
	Name     string          // of the link, for people
	Capacity uint64          // of the link, in bits per second
	Reserved uint64
	Holders  []string // leases on it, the earliest grant first
	// Free is when the request can be met, if leases end in time and nothing else changes. Zero means
	// unknown: a holder has no end, or nobody holds the missing links.
	Free             time.Time
	Job              string // that would be without a path, of Needed
	Links, MostLinks int    // that it would hold, and may, of Beyond
	// Paths and Disjointness of the request, for NotApart.
	Paths        int
	Disjointness Disjointness
}

// Error has no names of other leases: they may be secret. Holders has them.
func (r *Refusal) Error() string {
	pair := r.Pair.From + " to " + r.Pair.To
	switch r.Cause {
	case Full:
		free := "it is free when its holders give it up"
		if !r.Free.IsZero() {
			free = "there is room at " + r.Free.UTC().Format(time.RFC3339)
		}
		return fmt.Sprintf("%s: %s is full, with %d of %d bit/s reserved by %d leases: %s", pair,
			r.Name, r.Reserved, r.Capacity, len(r.Holders), free)
	case Down:
		return fmt.Sprintf("%s: %s is down", pair, r.Name)
	case Small:
		return fmt.Sprintf("%s: %s has %d bit/s, which is less than what is wanted", pair, r.Name,
			r.Capacity)
	case NoPath:
		return pair + ": there is no path"
	case NotApart:
		return fmt.Sprintf("there are no %d paths for every pair with room beside each other, "+
			"with disjointness %s", r.Paths, cmp.Or(r.Disjointness, DisjointNone))
	case Needed:
		return "paths that leave each running job of others one: want fewer paths, or shared ones"
	case Beyond:
		return fmt.Sprintf("at most %d links, and this lease would hold %d", r.MostLinks, r.Links)
	}
	return fmt.Sprintf("no paths for all pairs were found in %d steps: want fewer pairs in one lease",
		mostSteps)
}

// refusal returns why there are no paths for a lease.
func (d *Ledger) refusal(l *Lease) *Refusal {
	feasible := func(gone func(*Lease) bool) bool { return d.newSearch(l, gone).run() }
	if !feasible(func(*Lease) bool { return true }) {
		return d.impossible(l)
	}
	var ends []time.Time
	for _, o := range d.leases {
		if o != l && !o.Until.IsZero() {
			ends = append(ends, o.Until)
		}
	}
	slices.SortFunc(ends, time.Time.Compare)
	over := func(end time.Time) func(*Lease) bool {
		return func(o *Lease) bool { return !o.Until.IsZero() && !o.Until.After(end) }
	}
	// An ended lease blocks nothing, so after some first end the request can be met.
	at, _ := slices.BinarySearchFunc(ends, true, func(end time.Time, _ bool) int {
		if feasible(over(end)) {
			return 0
		}
		return -1
	})
	out := d.blocking(l, over)
	if at < len(ends) {
		out.Free = ends[at]
	}
	return out
}

// impossible returns why a lease would get no paths even without competing leases.
func (d *Ledger) impossible(l *Lease) *Refusal {
	s := d.newSearch(l, func(*Lease) bool { return true })
	for i, pair := range l.Pairs {
		if len(s.paths[i]) >= l.paths() {
			continue
		}
		all := d.paths(pair.From, pair.To)
		if len(all) < l.paths() {
			if len(all) == 0 {
				return &Refusal{Cause: NoPath, Pair: pair}
			}
			break
		}
		for _, p := range all {
			if i := slices.IndexFunc(p.Ends, endDown(d)); i >= 0 {
				return &Refusal{Cause: Down, Pair: pair, Link: p.Ends[i]}
			}
			for _, link := range p.Links {
				if _, blocked := s.blocked(link); !blocked {
					continue
				}
				if a := d.links[link]; a != nil && a.Up {
					return &Refusal{Cause: Small, Pair: pair, Link: link, Capacity: a.Capacity}
				}
				return &Refusal{Cause: Down, Pair: pair, Link: link}
			}
		}
	}
	return &Refusal{Cause: NotApart, Paths: l.paths(), Disjointness: l.Disjointness}
}

// blocking returns the link that blocks a lease. It looks at pairs whose candidates are all
// blocked, and takes the candidate that becomes free first; the link is the link of this candidate
// that becomes free last. If every pair has a free candidate, but not all pairs together, blocking
// looks at the blocked candidates of all pairs.
func (d *Ledger) blocking(l *Lease, over func(time.Time) func(*Lease) bool) *Refusal {
	now := d.newSearch(l, nil)
	var best *Refusal
	var bestFree time.Time
	bestAll := false
	for i, pair := range l.Pairs {
		all := len(now.paths[i]) == 0
		if bestAll && !all {
			continue
		}
		for _, p := range d.paths(pair.From, pair.To) {
			worst, free, ok := d.lastFree(l, p.Links, now, over)
			if !ok || slices.ContainsFunc(p.Ends, endDown(d)) ||
				best != nil && all == bestAll && !free.Before(bestFree) {
				continue
			}
			best, bestFree, bestAll = &Refusal{Cause: Full, Pair: pair, Link: worst}, free, all
		}
	}
	if best == nil {
		// Every candidate is free by itself. The paths of this lease block each other where competing
		// leases leave too little room.
		best = &Refusal{Cause: Full, Pair: l.Pairs[0]}
		for i, pair := range l.Pairs {
			for _, p := range now.paths[i] {
				for _, link := range p.Links {
					if h := d.Holding(link); h.Reserved > best.Reserved {
						best.Pair, best.Link, best.Reserved = pair, link, h.Reserved
					}
				}
			}
		}
	}
	h := d.Holding(best.Link)
	best.Capacity, best.Reserved, best.Holders = h.Capacity, h.Reserved, h.Holders
	return best
}

// never is later than every end.
var never = time.Unix(1<<40, 0)

// lastFree returns the link of a path that becomes free last, and when. It returns false when no
// competing lease holds a link, or when a link would not suffice even without competing leases.
func (d *Ledger) lastFree(l *Lease, links []topology.LinkID, now *search,
	over func(time.Time) func(*Lease) bool) (last topology.LinkID, free time.Time, ok bool) {
	for _, link := range links {
		if _, blocked := now.blocked(link); !blocked {
			continue
		}
		empty := &search{ledger: d, lease: l, gone: func(*Lease) bool { return true }}
		if _, blocked := empty.blocked(link); blocked {
			return "", time.Time{}, false
		}
		at := never
		for _, o := range d.links[link].ends() {
			after := &search{ledger: d, lease: l, gone: over(o)}
			if _, blocked := after.blocked(link); !blocked && o.Before(at) {
				at = o
			}
		}
		if !ok || at.After(free) {
			last, free, ok = link, at, true
		}
	}
	return last, free, ok
}

// ends returns the end times of a link's holders, without unlimited holders.
func (a *account) ends() []time.Time {
	var out []time.Time
	for l := range a.held {
		if !l.Until.IsZero() {
			out = append(out, l.Until)
		}
	}
	return out
}
