package leases

import (
	"slices"

	"github.com/weft-sdn/weft/controller/job/lease"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/topology"
)

// running is a running job, and which paths its racks have. It does not change.
type running struct {
	name  string
	of    *ready.Fabric
	pairs int
	paths []ready.Path
	from  map[hop][]edge // the links that its packets may cross, by where they begin
	links map[topology.LinkID]bool
}

// hop is a switch in a plane, and edge a link from one.
type (
	hop struct {
		plane int32
		at    string
	}
	edge struct {
		id topology.LinkID
		to string
	}
)

// newRunning returns a running job whose fabric is known.
func newRunning(j *ready.Running) *running {
	f := j.Fabric
	r := &running{name: j.Job, of: f, pairs: j.Pairs, paths: f.Paths, from: make(map[hop][]edge),
		links: make(map[topology.LinkID]bool)}
	for i := range f.Links {
		if l := &f.Links[i]; l.Use.State != ready.Bad {
			id := topology.LinkID(l.ID)
			r.from[hop{l.Plane, l.From}] = append(r.from[hop{l.Plane, l.From}], edge{id, l.To})
			r.links[id] = true
		}
	}
	return r
}

// distances returns the hops from a switch to the others over links that are not taken.
func (r *running) distances(from hop, taken func(topology.LinkID) bool) map[string]int {
	out := map[string]int{from.at: 0}
	for next := []string{from.at}; len(next) > 0; next = next[1:] {
		for _, e := range r.from[hop{from.plane, next[0]}] {
			if _, known := out[e.to]; !known && !taken(e.id) {
				out[e.to] = out[next[0]] + 1
				next = append(next, e.to)
			}
		}
	}
	return out
}

// served reports, for each pair of racks, whether a path remains without the taken links. Packets
// take only paths with the fewest hops.
func (r *running) served(taken func(topology.LinkID) bool) []bool {
	out := make([]bool, r.pairs)
	type seen struct{ all, left map[string]int }
	by := make(map[hop]seen)
	for i := range r.paths {
		p := &r.paths[i]
		from := hop{p.Plane, p.From}
		s, ok := by[from]
		if !ok {
			s = seen{r.distances(from, func(topology.LinkID) bool { return false }),
				r.distances(from, taken)}
			by[from] = s
		}
		all, there := s.all[p.To]
		left, still := s.left[p.To]
		if there && still && all == left {
			out[p.Pair] = true
		}
	}
	return out
}

// findRunning finds the running jobs with their paths. It changes nothing while the paths of a
// running job are not known.
func (f *Feature) findRunning() {
	var now []*running
	for _, j := range f.Running() {
		if j.Fabric == nil || j.Fabric.Known.State != ready.Good {
			return
		}
		i := slices.IndexFunc(f.running, func(r *running) bool {
			return r.name == j.Job && r.of == j.Fabric && r.pairs == j.Pairs
		})
		if i >= 0 {
			now = append(now, f.running[i])
		} else {
			now = append(now, newRunning(&j))
		}
	}
	f.running = now
}

// Exclusive reports whether any exclusive lease has not ended.
func (f *Feature) Exclusive() bool {
	return slices.ContainsFunc(f.All.All(), func(j *item) bool {
		return j.Decided.Has != nil && j.Decided.Has.Sharing == lease.Exclusive
	})
}

// ours reports whether two resources are of one project.
func (f *Feature) ours(a, b string) bool {
	return f.Project == nil || f.Project(a) == f.Project(b)
}

// spares implements [lease.Ledger.Spares]: a project must not take the last path of another
// project's running job. Among conflicting paths, the lease gives up the last path that the job
// also uses.
func (f *Feature) spares(
	l *lease.Lease, paths [][]lease.Path, taken func(id topology.LinkID, job string) bool,
) ([]topology.LinkID, string) {
	wants := make(map[topology.LinkID]bool)
	for _, pair := range paths {
		for i := range pair {
			for _, id := range pair[i].Links {
				wants[id] = true
			}
		}
	}
	for _, r := range f.running {
		if r.name == l.Job || f.ours(r.name, l.Name) {
			continue
		}
		before := r.served(func(id topology.LinkID) bool { return taken(id, r.name) })
		after := r.served(func(id topology.LinkID) bool { return wants[id] || taken(id, r.name) })
		if slices.Equal(before, after) {
			continue
		}
		for _, pair := range slices.Backward(paths) {
			for _, p := range slices.Backward(pair) {
				var used []topology.LinkID
				for _, id := range p.Links {
					if r.links[id] {
						used = append(used, id)
					}
				}
				if len(used) > 0 {
					return used, r.name
				}
			}
		}
	}
	return nil, ""
}

// keeps implements [lease.Ledger.Keeps]: the lease of a running job keeps paths, unless the taking
// lease belongs to the same project.
func (f *Feature) keeps(of, taker *lease.Lease) bool {
	return of.Job != "" && f.ours(of.Job, of.Name) && !f.ours(of.Name, taker.Name) &&
		slices.ContainsFunc(f.running, func(r *running) bool { return r.name == of.Job })
}
