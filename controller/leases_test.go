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
	"github.com/weft-sdn/weft/controller/job/lease"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/test/seeds"
	"github.com/weft-sdn/weft/topology"
)

// leaseNICs are hosts of pfcNetwork, on a fabric of their own: each has a leaf in two planes.
var leaseNICs = []string{"a1", "a2", "b1", "b2"}

// leasedFabric is a Clos of two planes with spines, as the controller of an MRC fabric has it.
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
	n := &lease.Network{Links: maps.Clone(f.links), Down: maps.Clone(f.down),
		Of: make(map[string]bool)}
	for _, name := range leaseNICs {
		n.Of[name] = true
	}
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

// checkPaths checks that the paths of a lease are what it asks for.
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

// tell has the core know the fabric as it is.
func (h *leaseHistory) tell() {
	h.core.leases.SetFabric(h.fabric.network(), "")
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
	// The first end with which it can be met is in the refusal, or there is none.
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

// restart makes a core of the records, which has the same leases: it writes none of them anew.
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
		if err := h.core.leases.Renew(name, resource.Precondition{}); err != nil {
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
		err := h.core.leases.Moved(name, resource.Precondition{})
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
		_, _ = h.core.fork().run(func(c *Core) error {
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

// leasedCore has leases on a fabric of one spine a plane with links of 100.
func leasedCore(t *testing.T) (*Core, *leasedFabric) {
	t.Helper()
	c := pfcCore(t, nil)
	f := newLeasedFabric(1, func() uint64 { return 100 })
	c.leases.SetFabric(f.network(), "")
	return c, f
}

func leaseOf(from, to string, change func(*api.PathLeaseSpec)) api.PathLeaseSpec {
	s := api.PathLeaseSpec{Pairs: []api.LeasePair{{From: from, To: to}}}
	if change != nil {
		change(&s)
	}
	return s
}

func putLease(c *Core, name string, s api.PathLeaseSpec, pre resource.Precondition) error {
	_, _, err := c.Leases().Put(name, s, pre)
	return err
}

// TestLeaseRefusals: a refusal names the field, and the rest depends on who asks.
func TestLeaseRefusals(t *testing.T) {
	c, _ := leasedCore(t)
	all := resource.Precondition{}
	full := leaseOf("a1", "b1", func(s *api.PathLeaseSpec) {
		s.Paths, s.Bandwidth, s.Duration = 2, 60, api.Duration(time.Hour)
	})
	if err := putLease(c, "secret", full, all); err != nil {
		t.Fatal(err)
	}
	for _, at := range []struct {
		bandwidth uint64
		granted   bool
	}{{39, true}, {40, true}, {41, false}} {
		err := putLease(c, "edge", leaseOf("a1", "b1", func(s *api.PathLeaseSpec) {
			s.Bandwidth = at.bandwidth
		}), all)
		if (err == nil) != at.granted {
			t.Errorf("%d beside 60 of 100: %v", at.bandwidth, err)
		}
		if err == nil {
			if err := c.Leases().Delete("edge", all); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, x := range []struct {
		change func(*api.PathLeaseSpec)
		field  string
		code   api.Code
		want   string
	}{
		{func(s *api.PathLeaseSpec) { s.Bandwidth = 41 }, "spec.pairs[0]", api.CodeConflict,
			`"secret"`},
		{func(s *api.PathLeaseSpec) { s.Bandwidth = 101 }, "spec.bandwidth", api.CodeNotPlannable,
			"100 bit/s"},
		{func(s *api.PathLeaseSpec) { s.Paths = 3 }, "spec.paths", api.CodeNotPlannable, "3 paths"},
		{func(s *api.PathLeaseSpec) { s.Paths, s.Disjointness = 3, api.DisjointPlane },
			"spec.disjointness", api.CodeNotPlannable, "plane"},
		{func(s *api.PathLeaseSpec) { s.Pairs = nil }, "spec.pairs", api.CodeInvalid, "1 to 256"},
		{func(s *api.PathLeaseSpec) { s.Pairs[0].To = "nowhere" }, "spec.pairs[0].to",
			api.CodeInvalid, "inventory"},
		{func(s *api.PathLeaseSpec) { s.Pairs[0].To = "a1" }, "spec.pairs[0].to", api.CodeInvalid,
			"another NIC"},
		{func(s *api.PathLeaseSpec) { s.Paths = 17 }, "spec.paths", api.CodeInvalid, "1 to 16"},
		{func(s *api.PathLeaseSpec) { s.Sharing = "x" }, "spec.sharing", api.CodeInvalid, "exclusive"},
		{func(s *api.PathLeaseSpec) { s.Disjointness = "x" }, "spec.disjointness", api.CodeInvalid,
			"plane"},
		{func(s *api.PathLeaseSpec) { s.Heartbeat = api.Duration(time.Millisecond) },
			"spec.heartbeat", api.CodeInvalid, "1s"},
		{func(s *api.PathLeaseSpec) { s.Duration = -1 }, "spec.duration", api.CodeInvalid, "1s"},
	} {
		e := refusalOf(t, putLease(c, "x", leaseOf("a1", "b1", x.change), all))
		if e.Code != x.code || len(e.Fields) != 1 || e.Fields[0].Field != x.field ||
			!strings.Contains(e.Fields[0].Want, x.want) {
			t.Errorf("%+v, want %s %s with %q", e, x.field, x.code, x.want)
		}
	}
	fixed := full
	fixed.Bandwidth = 1
	if e := refusalOf(t, putLease(c, "secret", fixed, all)); e.Code != api.CodeConflict ||
		e.Fields[0].Field != "spec.bandwidth" {
		t.Errorf("other paths for a lease that has some: %+v", e)
	}
	if e := refusalOf(t, putLease(pfcCore(t, nil), "y", leaseOf("a1", "b1", nil), all)); e.Code !=
		api.CodeUnavailable {
		t.Errorf("without a fabric: %+v", e)
	}
}

// TestLeasesOfProjects: a lease of a project is between NICs of the project's hosts, and what
// others hold is told without their names.
func TestLeasesOfProjects(t *testing.T) {
	c := twoProjects(t)
	f := newLeasedFabric(1, func() uint64 { return 100 })
	c.leases.SetFabric(f.network(), "")
	pre := asMember("acme")
	e := refusalOf(t, putLease(c, "acme-l", leaseOf("a1", "b1", nil), pre))
	if e.Code != api.CodeForbidden || e.Fields[0].Field != "spec.pairs[0].to" {
		t.Errorf("a lease to another project's host: %+v", e)
	}
	if e := refusalOf(t, putLease(c, "free", leaseOf("a1", "a2", nil), resource.Precondition{})); e.
		Code != api.CodeForbidden {
		t.Errorf("a lease of nobody on hosts of a project: %+v", e)
	}
	if err := putLease(c, "acme-l", leaseOf("a1", "a2", func(s *api.PathLeaseSpec) {
		s.Paths, s.Sharing, s.Duration = 2, api.LeaseExclusive, api.Duration(time.Hour)
	}), pre); err != nil {
		t.Fatal(err)
	}
	// Its links are full for the project itself.
	e = refusalOf(t, putLease(c, "acme-m", leaseOf("a1", "a2", nil), pre))
	if text := fmt.Sprint(e); e.Code != api.CodeConflict || strings.Contains(text, "p1s0") ||
		strings.Contains(text, "p2s0") || !strings.Contains(text, "wait until") {
		t.Errorf("a member is told %+v", e)
	}
	p, err := c.Projects().Get("acme")
	if err != nil || !slices.Contains(p.Status.Resources, "leases/acme-l") ||
		!slices.Contains(p.Status.Things[0].UsedBy, "leases/acme-l") {
		t.Errorf("the project has %+v, %v", p.Status, err)
	}
	if err := c.Projects().Delete("acme", resource.Precondition{}); err == nil {
		t.Error("a project with a lease was deleted")
	}
}

// TestLeaseBlocking: an exclusive lease is in the way of a job whose paths cross its links, but not
// of the one that it is for; a shared one is in the way of none.
func TestLeaseBlocking(t *testing.T) {
	c, f := leasedCore(t)
	put := func(change func(*api.PathLeaseSpec)) {
		t.Helper()
		_ = c.Leases().Delete("l", resource.Precondition{})
		if err := putLease(c, "l", leaseOf("a1", "b1", change), resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
	}
	facts := &ready.Fabric{
		NICs: []ready.NIC{{Ports: []ready.Port{{Leaf: "leafA"}}}, {Ports: []ready.Port{{Leaf: "leafB"}}},
			{Ports: []ready.Port{{Leaf: "leafC"}}}},
		Links: []ready.Link{{ID: "a1-p1s0", From: "leafA", To: "p1s0"},
			{ID: "p1s0-b1", From: "p1s0", To: "leafB"}, {ID: "p2s0-a2", From: "p2s0", To: "leafC"}},
	}
	put(nil)
	if got := c.leases.Blocking("train", facts); got != nil {
		t.Errorf("a shared lease: %+v", got)
	}
	exclusive := func(job string) func(*api.PathLeaseSpec) {
		return func(s *api.PathLeaseSpec) {
			s.Sharing, s.Job, s.Duration = api.LeaseExclusive, job, api.Duration(time.Hour)
		}
	}
	put(exclusive("train"))
	if got := c.leases.Blocking("train", facts); got != nil {
		t.Errorf("the job's own lease: %+v", got)
	}
	put(exclusive(""))
	got := c.leases.Blocking("train", facts)
	if len(got) != 1 || got[0].Kind != "lease" || got[0].Object != "l" ||
		got[0].State != ready.Bad || !strings.Contains(got[0].Want, "its end at") ||
		!got[0].NICs(0) || !got[0].NICs(1) || got[0].NICs(2) {
		t.Errorf("an exclusive lease: %+v", got)
	}
	f.down["a1-p1s0"], f.down["a1-p2s0"] = true, true
	c.leases.SetFabric(f.network(), "")
	if got := c.leases.Blocking("train", facts); got != nil {
		t.Errorf("a broken lease: %+v", got)
	}
}

// TestEndedLeases: a lease that has ended is there for an hour, is granted anew by a PUT, and goes
// then, for the projects too.
func TestEndedLeases(t *testing.T) {
	c, _ := leasedCore(t)
	s := leaseOf("a1", "b1", func(s *api.PathLeaseSpec) {
		s.Heartbeat = api.Duration(10 * time.Second)
	})
	if err := putLease(c, "l", s, resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	phase := func(at time.Duration, want api.LeasePhase) {
		t.Helper()
		c.Tick(at)
		if l, err := c.Leases().Get("l"); err != nil || l.Status.Phase != want {
			t.Errorf("at %v it is %s, %v, want %s", at, l.Status.Phase, err, want)
		}
	}
	phase(10*time.Second-1, api.LeaseActive)
	phase(10*time.Second, api.LeaseEnded)
	if err := c.leases.Renew("l", resource.Precondition{}); !errors.Is(err, api.ErrConflict) {
		t.Errorf("renewing a lease that has ended: %v", err)
	}
	if err := putLease(c, "l", s, resource.Precondition{}); err != nil {
		t.Error(err)
	}
	phase(11*time.Second, api.LeaseActive)
	phase(20*time.Second, api.LeaseEnded)
	phase(20*time.Second+time.Hour-1, api.LeaseEnded)
	c.Ready(0)
	c.Tick(20*time.Second + time.Hour)
	if _, err := c.Leases().Get("l"); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("an hour after its end: %v", err)
	}
	if saves := c.Ready(0).Saves; !slices.ContainsFunc(saves, func(o store.Op) bool {
		return o.Key == "leases/l" && o.Value == nil
	}) {
		t.Errorf("its record is kept: %v", saves)
	}
}

// TestNetworkOfFewerNICs: what was read before a lease was granted, without its NICs, breaks
// nothing.
func TestNetworkOfFewerNICs(t *testing.T) {
	c, f := leasedCore(t)
	if err := putLease(c, "l", leaseOf("a1", "b1", nil), resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	f.down["a1-p1s0"] = true
	early := f.network()
	early.Of, early.Paths = map[string]bool{"a2": true}, func(_, _ string) []lease.Path { return nil }
	c.leases.SetFabric(early, "")
	if l, err := c.Leases().Get("l"); err != nil || l.Status.Phase != api.LeaseActive ||
		!c.Ready(0).Leases {
		t.Errorf("it is %+v, %v", l.Status, err)
	}
	c.leases.SetFabric(f.network(), "")
	if l, err := c.Leases().Get("l"); err != nil || l.Status.Phase != api.LeaseMoving {
		t.Errorf("with what was read later it is %+v, %v", l.Status, err)
	}
}
