package controller

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/job/lease"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/test/seeds"
	"github.com/weft-sdn/weft/topology"
)

// leaseNICs are hosts of pfcNetwork, on a fabric of their own: each has a leaf in two planes.
var leaseNICs = []string{"a1", "a2", "b1", "b2"}

// leasedFabric is a Clos of two planes with spines, in the form used by the MRC fabric controller.
type leasedFabric struct {
	links map[topology.LinkID]lease.Link
	down  map[topology.LinkID]bool
	paths map[api.LeasePair][]lease.Path
	label int // what EVs are numbered by
}

func newLeasedFabric(spines int, capacity func() uint64) *leasedFabric {
	f := &leasedFabric{links: make(map[topology.LinkID]lease.Link),
		down: make(map[topology.LinkID]bool), paths: make(map[api.LeasePair][]lease.Path)}
	for _, from := range leaseNICs {
		for _, to := range leaseNICs {
			for plane := 1; plane <= 2 && from != to; plane++ {
				for s := range spines {
					node := topology.NodeID(fmt.Sprintf("p%ds%d", plane, s))
					p := lease.Path{Nodes: []topology.NodeID{node}, Plane: plane, Links: []topology.LinkID{
						topology.LinkID(from) + "-" + topology.LinkID(node),
						topology.LinkID(node) + "-" + topology.LinkID(to)},
						Ends: []topology.LinkID{topology.LinkID(fmt.Sprintf("%s/%d", from, plane)),
							topology.LinkID(fmt.Sprintf("%s/%d", to, plane))}}
					pair := api.LeasePair{From: from, To: to}
					f.paths[pair] = append(f.paths[pair], p)
					for _, id := range p.Links {
						if _, ok := f.links[id]; !ok {
							f.links[id] = lease.Link{Capacity: capacity(), Up: true}
						}
					}
				}
			}
		}
	}
	return f
}

// network returns the fabric as it is now.
func (f *leasedFabric) network() *lease.Network {
	links := maps.Clone(f.links)
	n := &lease.Network{Links: func() map[topology.LinkID]lease.Link { return links },
		Down: maps.Clone(f.down)}
	paths := make(map[api.LeasePair][]lease.Path)
	for pair, all := range f.paths {
		for _, p := range all {
			p.EV = api.LeaseEV{Value: fmt.Sprintf("%s-%d", p.Links[0], f.label), Port: uint8(p.Plane)}
			paths[pair] = append(paths[pair], p)
		}
	}
	n.Paths = func(from, to string) []lease.Path { return paths[api.LeasePair{From: from, To: to}] }
	return n
}

// tell makes the leases of a core follow the present fabric.
func (f *leasedFabric) tell(c *Core) {
	c.SetFabric(&fabricview.View{Revision: c.env.Fabric.Revision + 1, Leases: f.network(),
		Jobs: c.env.Fabric.Jobs})
	c.leases.Follow()
}

// read has a core know what a job depends on.
func (f *leasedFabric) read(c *Core, name string, fabric ready.Fabric) {
	t, err := c.jobs.Task(name)
	if err != nil {
		panic(err)
	}
	v := *c.env.Fabric
	v.Revision++
	v.Jobs = map[*ready.Need]*fabricview.Reading{&t.Demand.Need: {Need: &t.Demand.Need,
		Wants: c.env.Wanted + 1, Fabric: fabric}}
	c.SetFabric(&v)
}

// leaseHistory is a random sequence of calls on a core, beside a model that enumerates.
type leaseHistory struct {
	t      *testing.T
	seed   uint64
	r      *rand.Rand
	core   *Core
	fabric *leasedFabric
	now    time.Duration
	known  bool // to the core, since it was made
	issued int
	// ends has when each lease that has not ended will, by the model.
	ends map[string]*leaseEnd
}

type leaseEnd struct{ until, silent time.Duration } // 0: never

func (e *leaseEnd) over(now time.Duration) bool {
	return e.until > 0 && now >= e.until || e.silent > 0 && now >= e.silent
}

func (h *leaseHistory) fail(format string, args ...any) {
	h.t.Helper()
	h.t.Fatalf("seed %d at %v: %s", h.seed, h.now, fmt.Sprintf(format, args...))
}

// held returns what leases hold of links: by their statuses.
func heldOf(l *api.PathLease) map[topology.LinkID]uint64 {
	sums := make([]map[topology.LinkID]uint64, 2)
	for i, paths := range [][]api.LeasedPath{l.Status.Paths, l.Status.Former} {
		sums[i] = make(map[topology.LinkID]uint64)
		for _, p := range paths {
			for _, id := range p.Links {
				sums[i][id] += l.Spec.Bandwidth
			}
		}
	}
	for id, n := range sums[1] {
		sums[0][id] = max(sums[0][id], n)
	}
	return sums[0]
}

// feasible reports whether any choice of paths serves a spec beside other leases.
func (h *leaseHistory) feasible(s *api.PathLeaseSpec, others []api.PathLease) bool {
	reserved, alone := make(map[topology.LinkID]uint64), make(map[topology.LinkID]bool)
	for i := range others {
		for id, n := range heldOf(&others[i]) {
			reserved[id] += n
			alone[id] = alone[id] || others[i].Spec.Sharing == api.LeaseExclusive
		}
	}
	fits := func(id topology.LinkID, n uint64) bool {
		_, taken := reserved[id]
		return !h.fabric.down[id] && !alone[id] && !(taken && s.Sharing == api.LeaseExclusive) &&
			reserved[id]+n <= h.fabric.links[id].Capacity
	}
	own := make(map[topology.LinkID]uint64)
	var pick func(pair, from int, chosen []lease.Path) bool
	pick = func(pair, from int, chosen []lease.Path) bool {
		if len(chosen) == s.Paths {
			pair, from, chosen = pair+1, 0, nil
		}
		if pair == len(s.Pairs) {
			return true
		}
		all := h.fabric.paths[s.Pairs[pair]]
		for i := from; i < len(all); i++ {
			p := all[i]
			ok := !h.fabric.down[p.Ends[0]] && !h.fabric.down[p.Ends[1]]
			for _, q := range chosen {
				ok = ok && apart(&p, &q, s.Disjointness)
			}
			for _, id := range p.Links {
				own[id] += s.Bandwidth
				ok = ok && fits(id, own[id])
			}
			if ok && pick(pair, i+1, append(slices.Clone(chosen), p)) {
				return true
			}
			for _, id := range p.Links {
				own[id] -= s.Bandwidth
			}
		}
		return false
	}
	return pick(0, 0, nil)
}

func apart(p, q *lease.Path, d api.LeaseDisjointness) bool {
	links := slices.ContainsFunc(p.Links, func(id topology.LinkID) bool {
		return slices.Contains(q.Links, id)
	})
	switch d {
	case api.DisjointPlane:
		return p.Plane != q.Plane
	case api.DisjointNode:
		return !links && p.Nodes[0] != q.Nodes[0]
	case api.DisjointLink:
		return !links
	}
	return true
}

// check compares the leases with the model.
func (h *leaseHistory) check() {
	h.t.Helper()
	all := h.core.Leases().List()
	reserved, holders, exclusive := make(map[topology.LinkID]uint64), make(map[topology.LinkID]int),
		make(map[topology.LinkID]bool)
	for i := range all {
		l := &all[i]
		s := &l.Status
		if end := h.ends[l.Name]; (end == nil) != (s.Phase == api.LeaseEnded) {
			h.fail("%s is %s; in the model %+v", l.Name, s.Phase, end)
		}
		for id, n := range heldOf(l) {
			reserved[id] += n
			holders[id]++
			exclusive[id] = exclusive[id] || l.Spec.Sharing == api.LeaseExclusive
			if h.known && h.fabric.down[id] {
				h.fail("%s (%s) is on link %s, which is down", l.Name, s.Phase, id)
			}
		}
		switch s.Phase {
		case api.LeaseActive, api.LeaseMoving:
			h.checkPaths(l)
		case api.LeaseBroken:
			others := slices.DeleteFunc(slices.Clone(all), func(o api.PathLease) bool {
				return o.Name == l.Name
			})
			if s.Reason == "" || s.Conditions.Is(api.Ready) || h.known && h.feasible(&l.Spec, others) {
				h.fail("%s is broken, and there are paths for it: %+v", l.Name, s)
			}
		}
	}
	for id, n := range reserved {
		if n > h.fabric.links[id].Capacity && h.known {
			h.fail("link %s has %d reserved of %d", id, n, h.fabric.links[id].Capacity)
		}
		if exclusive[id] && holders[id] > 1 {
			h.fail("link %s has %d holders, one of which is exclusive", id, holders[id])
		}
	}
}

// checkPaths checks that the paths of a lease match the spec.
func (h *leaseHistory) checkPaths(l *api.PathLease) {
	h.t.Helper()
	n := l.Spec.Paths
	if len(l.Status.Paths) != n*len(l.Spec.Pairs) || !l.Status.Conditions.Is(api.Ready) {
		h.fail("%s has %d paths, want %d for %v", l.Name, len(l.Status.Paths), n, l.Spec.Pairs)
	}
	for i, p := range l.Status.Paths {
		pair := l.Spec.Pairs[i/n]
		at := slices.IndexFunc(h.fabric.paths[pair], func(q lease.Path) bool {
			return slices.Equal(q.Links, p.Links)
		})
		if at < 0 || p.From != pair.From || p.To != pair.To {
			h.fail("%s has %+v for %v", l.Name, p, pair)
		}
		if want := fmt.Sprintf("%s-%d", p.Links[0], h.fabric.label); h.known && p.EV.Value != want {
			h.fail("%s has EV %s, want %s", l.Name, p.EV.Value, want)
		}
		mine := h.fabric.paths[pair][at]
		if ends := h.fabric.down[mine.Ends[0]] || h.fabric.down[mine.Ends[1]]; ends && h.known {
			h.fail("%s uses a port that is down: %+v", l.Name, p)
		}
		for j := i / n * n; j < i; j++ {
			q := slices.IndexFunc(h.fabric.paths[pair], func(q lease.Path) bool {
				return slices.Equal(q.Links, l.Status.Paths[j].Links)
			})
			if !apart(&mine, &h.fabric.paths[pair][q], l.Spec.Disjointness) {
				h.fail("%s has %v and %v", l.Name, p.Links, l.Status.Paths[j].Links)
			}
		}
	}
}

func (h *leaseHistory) wall(at time.Duration) time.Time { return h.core.env.Start.Add(at).UTC() }

// pass lets time pass.
func (h *leaseHistory) pass(d time.Duration) {
	h.t.Helper()
	for end := h.now + d; h.now < end; {
		h.now = end
		if at, ok := h.core.Next(); ok && at < end {
			h.now = max(at, h.core.Now())
		}
		h.core.Tick(h.now)
		for name, e := range h.ends {
			if e.over(h.now) {
				delete(h.ends, name)
			}
		}
		if h.now == h.core.Now() && h.now < end {
			h.now++ // what is due at this very time has been done
		}
	}
	h.core.Ready(0)
}

// tell gives the present fabric to the core.
func (h *leaseHistory) tell() {
	h.fabric.tell(h.core)
	h.core.settle()
	h.known = true
}

func (h *leaseHistory) random() api.PathLeaseSpec {
	s := api.PathLeaseSpec{Paths: 1 + h.r.IntN(2), Bandwidth: uint64(h.r.IntN(3)),
		Disjointness: []api.LeaseDisjointness{"", api.DisjointNone, api.DisjointLink, api.DisjointNode,
			api.DisjointPlane}[h.r.IntN(5)],
		Sharing: []api.LeaseSharing{"", api.LeaseShared, api.LeaseExclusive}[h.r.IntN(3)]}
	if h.r.IntN(2) == 0 {
		s.Duration = api.Duration(time.Duration(1+h.r.IntN(20)) * time.Second)
	}
	if h.r.IntN(3) == 0 {
		s.Heartbeat = api.Duration(time.Duration(1+h.r.IntN(6)) * time.Second)
	}
	for range 1 + h.r.IntN(2) {
		from := h.r.IntN(len(leaseNICs))
		to := (from + 1 + h.r.IntN(len(leaseNICs)-1)) % len(leaseNICs)
		if p := (api.LeasePair{From: leaseNICs[from], To: leaseNICs[to]}); !slices.Contains(s.Pairs, p) {
			s.Pairs = append(s.Pairs, p)
		}
	}
	return s.Complete()
}

func (h *leaseHistory) begin(name string, s *api.PathLeaseSpec) {
	e := &leaseEnd{}
	if s.Duration > 0 {
		e.until = h.now + s.Duration.D()
	}
	if s.Heartbeat > 0 {
		e.silent = h.now + s.Heartbeat.D()
	}
	h.ends[name] = e
}

// request asks for a new lease, and compares the answer with the model.
func (h *leaseHistory) request() {
	h.t.Helper()
	h.tell()
	s := h.random()
	h.issued++
	name := fmt.Sprintf("l%d", h.issued)
	others := h.core.Leases().List()
	can := h.feasible(&s, others)
	_, created, err := h.core.Leases().Put(name, s, resource.Precondition{})
	if err == nil {
		if !can || !created {
			h.fail("%+v was granted: %t", s, created)
		}
		h.begin(name, &s)
		return
	}
	var refused *api.Error
	if !errors.As(err, &refused) || can {
		h.fail("%+v was refused: %v", s, err)
	}
	alone := h.feasible(&s, nil)
	if full := refused.Code == api.CodeConflict; alone != full {
		h.fail("%+v was refused: %v; feasible alone: %t", s, err, alone)
	}
	if !alone {
		return
	}
	want := refused.Fields[0].Want
	if !strings.Contains(want, "link ") || !strings.Contains(want, "is full") {
		h.fail("the refusal does not have the link: %v", err)
	}
	// The refusal contains the first end of a lease that makes room for the request, or no time.
	free := ""
	for _, at := range slices.Sorted(maps.Values(h.untils())) {
		left := slices.DeleteFunc(slices.Clone(others), func(l api.PathLease) bool {
			e := h.ends[l.Name]
			return e == nil || e.until > 0 && e.until <= at
		})
		if h.feasible(&s, left) {
			free = h.wall(at).Format(time.RFC3339)
			break
		}
	}
	if has := strings.Contains(want, "there is room at"); has != (free != "") ||
		!strings.Contains(want, free) {
		h.fail("the refusal is %q, and there is room at %q", want, free)
	}
}

func (h *leaseHistory) untils() map[string]time.Duration {
	out := make(map[string]time.Duration)
	for name, e := range h.ends {
		if e.until > 0 {
			out[name] = e.until
		}
	}
	return out
}

// restart makes a core from the records. The core has the same leases and writes no lease again.
func (h *leaseHistory) restart() {
	h.t.Helper()
	h.tell()
	h.core.Ready(0)
	before := h.core.Leases().List()
	next, err := NewCore(Config{Inventory: *h.core.configured, Start: h.core.env.Start},
		h.core.records())
	if err != nil {
		h.fail("%v", err)
	}
	next.Tick(h.now)
	h.core, h.known = next, false
	same := func(when string) {
		h.t.Helper()
		for i, l := range h.core.Leases().List() {
			if l.Status.Reason = before[i].Status.Reason; !reflect.DeepEqual(l.Status.Paths,
				before[i].Status.Paths) || l.Status.Phase != before[i].Status.Phase ||
				!l.Status.Ends.Equal(before[i].Status.Ends) || l.Version != before[i].Version {
				h.fail("%s: %+v, want %+v", when, l.Status, before[i].Status)
			}
		}
		for _, op := range h.core.Ready(0).Saves {
			if strings.HasPrefix(op.Key, "leases/") {
				h.fail("%s %s is written anew: %s", when, op.Key, op.Value)
			}
		}
	}
	same("after a restart")
	h.tell()
	same("with the fabric known again")
}

func (h *leaseHistory) step() {
	h.t.Helper()
	h.pass(time.Duration(h.r.IntN(1500)) * time.Millisecond)
	names := slices.Sorted(maps.Keys(h.ends))
	name := ""
	if len(names) > 0 {
		name = names[h.r.IntN(len(names))]
	}
	switch x := h.r.IntN(14); {
	case x < 4 || name == "":
		h.request()
	case x < 6:
		l, _ := h.core.Leases().Get(name)
		if err := h.core.leases.Ask(name, api.RenewLease{}, resource.Precondition{}); err != nil {
			h.fail("%s: %v", name, err)
		}
		if l.Spec.Heartbeat > 0 {
			h.ends[name].silent = h.now + l.Spec.Heartbeat.D()
		}
	case x < 7:
		if err := h.core.Leases().Delete(name, resource.Precondition{}); err != nil {
			h.fail("%s: %v", name, err)
		}
		delete(h.ends, name)
	case x < 8:
		l, _ := h.core.Leases().Get(name)
		err := h.core.leases.Ask(name, api.MoveLease{}, resource.Precondition{})
		if moves := l.Status.Phase == api.LeaseMoving; moves != (err == nil) {
			h.fail("%s is %s; moved: %v", name, l.Status.Phase, err)
		}
	case x < 9: // other terms: its paths stay
		l, _ := h.core.Leases().Get(name)
		spec := l.Spec
		spec.Duration, spec.Heartbeat = api.Duration(time.Duration(h.r.IntN(20))*time.Second),
			api.Duration(time.Duration(h.r.IntN(6))*time.Second)
		after, _, err := h.core.Leases().Put(name, spec, resource.Precondition{})
		if err != nil || !reflect.DeepEqual(after.Status.Paths, l.Status.Paths) {
			h.fail("%s: %+v, %v", name, after.Status, err)
		}
		if until := h.ends[name].until; !spec.Equal(&l.Spec) {
			h.begin(name, &spec)
			if spec.Duration == l.Spec.Duration {
				h.ends[name].until = until
			}
		}
	case x < 12: // a link or port fails or is repaired, or the links are numbered anew
		ids := slices.Sorted(maps.Keys(h.fabric.links))
		id := ids[h.r.IntN(len(ids))]
		if h.r.IntN(4) == 0 {
			id = topology.LinkID(fmt.Sprintf("%s/%d", leaseNICs[h.r.IntN(4)], 1+h.r.IntN(2)))
		}
		if h.fabric.down[id] {
			delete(h.fabric.down, id)
		} else {
			h.fabric.down[id] = true
		}
		if h.r.IntN(8) == 0 {
			h.fabric.label++
		}
		h.tell()
	case x < 13: // a dry run changes nothing
		before := h.core.Leases().List()
		s := h.random()
		_, _, _ = h.core.fork().run(func(c *Core) error {
			_, _, err := c.Leases().Put("try", s, resource.Precondition{})
			return err
		})
		if after := h.core.Leases().List(); !reflect.DeepEqual(before, after) {
			h.fail("a dry run made %+v of %+v", after, before)
		}
	default:
		h.restart()
	}
	h.check()
}

// TestLeaseHistories: random histories of requests, heartbeats, ends, other terms, failures,
// repairs and restarts of leases, as clients see them, beside a model that tries all paths.
func TestLeaseHistories(t *testing.T) {
	first, count := seeds.Range(t, 1, 300)
	for seed := first; seed < first+count; seed++ {
		h := &leaseHistory{t: t, seed: seed, r: rand.New(rand.NewPCG(seed, 0)),
			core: pfcCore(t, nil), ends: make(map[string]*leaseEnd)}
		h.fabric = newLeasedFabric(1+h.r.IntN(3), func() uint64 { return uint64(1 + h.r.IntN(3)) })
		h.tell()
		for range 25 {
			h.step()
		}
		for _, l := range h.core.Leases().List() {
			if err := h.core.Leases().Delete(l.Name, resource.Precondition{}); err != nil {
				h.fail("%v", err)
			}
			delete(h.ends, l.Name)
		}
		if ops := h.core.leases.Records(); len(ops) != 0 {
			h.fail("records are left: %v", ops)
		}
	}
}
