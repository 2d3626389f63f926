package lease

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/topology"
)

// TestPreemption: a lease takes links from leases of lower priorities where there is no room
// otherwise: from the lowest that suffice, the latest first, and from none without need.
func TestPreemption(t *testing.T) {
	for _, c := range []struct {
		priority  int
		bandwidth uint64
		exclusive bool
		from      string // "-": refused
	}{
		{0, 1, false, "-"}, {1, 29, false, "third"}, {1, 30, false, "third"}, {1, 31, false, "first"},
		{1, 40, false, "first"}, {1, 41, false, "third first"}, {1, 70, false, "third first"},
		{1, 71, false, "-"}, {2, 70, false, "third first"}, {2, 71, false, "third first second"},
		{2, 100, false, "third first second"}, {2, 101, false, "-"}, {1, 1, true, "-"},
		{2, 1, true, "third first second"},
	} {
		d := New(func(string, string) []Path { return []Path{{Links: []topology.LinkID{"l"}}} })
		d.SetLink("l", Link{Capacity: 100, Up: true})
		for _, l := range []struct {
			name      string
			priority  int
			bandwidth uint64
		}{{"first", 0, 40}, {"second", 1, 30}, {"third", 0, 30}} {
			grant(t, d, start, request(l.name, func(r *Request) {
				r.Priority, r.Bandwidth = l.priority, l.bandwidth
			}))
		}
		l, err := d.Request(start, request("new", func(r *Request) {
			r.Priority, r.Bandwidth = c.priority, c.bandwidth
			if c.exclusive {
				r.Sharing = Exclusive
			}
		}))
		got := strings.Join(l.From, " ")
		var refused *Refusal
		if errors.As(err, &refused) {
			got = "-"
		}
		if got != c.from {
			t.Errorf("%+v: from %q, %v", c, got, err)
		}
		h := d.Holding("l")
		if h.Reserved > 100 || h.Exclusive && len(h.Holders) != 1 {
			t.Errorf("%+v: %+v", c, h)
		}
		for _, name := range []string{"first", "second", "third"} {
			o, _ := d.Lease(name)
			if lost := strings.Contains(c.from, name); lost != (o.Phase == Broken) || lost &&
				(o.Taken == nil || o.Taken.Name != "new" ||
					!strings.Contains(o.Reason, `lease "new" of priority`)) {
				t.Errorf("%+v: %s is %s, taken by %+v: %s", c, name, o.Phase, o.Taken, o.Reason)
			}
		}
		if got == "-" {
			continue
		}
		// Preempted links come back when there is room again.
		if err := d.Complete("new"); err != nil {
			t.Fatal(err)
		}
		d.Settle(start)
		for _, name := range []string{"first", "second", "third"} {
			if o, _ := d.Lease(name); o.Phase != Active || o.Taken != nil || o.Reason != "" {
				t.Errorf("%+v: %s is %s afterwards, taken by %+v: %s", c, name, o.Phase, o.Taken,
					o.Reason)
			}
		}
	}
}

// parallel is a ledger of two paths between each two endpoints, each with room for one request.
func parallel() *Ledger {
	d := New(func(string, string) []Path {
		return []Path{{Links: []topology.LinkID{"1"}}, {Links: []topology.LinkID{"2"}}}
	})
	for _, id := range []topology.LinkID{"1", "2"} {
		d.SetLink(id, Link{Capacity: 100 * gbit, Up: true})
	}
	return d
}

// on settles, and checks which link each lease has; "": it is broken. It returns the changes.
func on(t *testing.T, d *Ledger, want map[string]topology.LinkID) []Change {
	t.Helper()
	changes := d.Settle(start)
	for name, link := range want {
		l, _ := d.Lease(name)
		has := topology.LinkID("")
		if l.Phase != Broken {
			has = l.Paths[0][0].Links[0]
		}
		if has != link || (l.Phase == Broken) == (l.Reason == "") {
			t.Errorf("%s is %s on %q: %s; want link %q", name, l.Phase, has, l.Reason, link)
		}
	}
	for _, id := range []topology.LinkID{"1", "2"} {
		if h := d.Holding(id); h.Reserved > h.Capacity && h.Up {
			t.Errorf("link %s: %+v", id, h)
		}
	}
	return changes
}

// TestPriorityMoves: a lease that loses its path takes another path from a lease with lower
// priority, and from no lease else. The lower lease names the taker, and returns with the link.
func TestPriorityMoves(t *testing.T) {
	for priority, want := range map[int]map[string]topology.LinkID{
		0: {"a": "", "b": "2"}, 4: {"a": "", "b": "2"}, 5: {"a": "", "b": "2"}, 6: {"a": "2", "b": ""},
	} {
		d := parallel()
		grant(t, d, start, request("a", func(r *Request) { r.Priority = priority }))
		grant(t, d, start, request("b", func(r *Request) { r.Priority = 5 }))
		d.SetLink("1", Link{})
		on(t, d, want)
		a, _ := d.Lease("a")
		b, _ := d.Lease("b")
		if took := priority == 6; took != (b.Taken != nil && *b.Taken == Taker{"a", 6}) ||
			took != (strings.Join(a.From, " ") == "b") || took != (a.Phase == Moving) || took &&
			!strings.Contains(b.Reason, `lease "a" of priority 6 has taken link 2`) {
			t.Errorf("priority %d: %+v, %+v", priority, a, b)
		}
		d.SetLink("1", Link{Capacity: 100 * gbit, Up: true})
		if err := d.Moved("a"); err != nil {
			t.Fatal(err)
		}
		on(t, d, map[string]topology.LinkID{"a": cmp.Or(want["a"], "1"), "b": cmp.Or(want["b"], "1")})
	}
}

// TestPriorityWaits: of leases that wait, the highest priority has the first path, then the
// earliest lease. A waiting lease takes a path that returns too late for it.
func TestPriorityWaits(t *testing.T) {
	d := parallel()
	for i, name := range []string{"early", "late"} {
		grant(t, d, start, request(name, func(r *Request) { r.Priority = i }))
	}
	d.SetLink("1", Link{})
	d.SetLink("2", Link{})
	on(t, d, map[string]topology.LinkID{"early": "", "late": ""})
	d.SetLink("1", Link{Capacity: 100 * gbit, Up: true})
	got := on(t, d, map[string]topology.LinkID{"early": "", "late": "1"})
	if want := []Change{{"late", Restored, ""}}; !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	grant(t, d, start, request("high", func(r *Request) { r.Priority = 2 }))
	on(t, d, map[string]topology.LinkID{"early": "", "late": "", "high": "1"})
	d.SetLink("2", Link{Capacity: 59 * gbit, Up: true})
	on(t, d, map[string]topology.LinkID{"early": "", "late": "", "high": "1"})
	grant(t, d, start, request("narrow", func(r *Request) { r.Bandwidth = 59 * gbit }))
	d.SetLink("2", Link{Capacity: 100 * gbit, Up: true})
	on(t, d, map[string]topology.LinkID{"early": "", "late": "2", "narrow": "", "high": "1"})
}

// TestPriorityKeepsShrunk: on a link that has shrunk, the highest priority keeps its part.
func TestPriorityKeepsShrunk(t *testing.T) {
	d := parallel()
	d.SetLink("2", Link{})
	for i, name := range []string{"early", "late"} {
		grant(t, d, start, request(name, func(r *Request) { r.Priority, r.Bandwidth = i, 40*gbit }))
	}
	d.SetLink("1", Link{Capacity: 40 * gbit, Up: true})
	on(t, d, map[string]topology.LinkID{"early": "", "late": "1"})

	// A lease that loses one path with the link, and the other path to a higher priority, breaks once.
	d = parallel()
	d.SetLink("2", Link{Capacity: 99 * gbit, Up: true})
	grant(t, d, start, request("low", func(r *Request) { r.Paths, r.Bandwidth = 2, 39*gbit }))
	grant(t, d, start, request("high", func(r *Request) { r.Priority, r.Bandwidth = 1, 61*gbit }))
	d.SetLink("1", Link{})
	breaks := 0
	for _, c := range on(t, d, map[string]topology.LinkID{"low": "", "high": "2"}) {
		if c.Name == "low" && c.What == Breaks && strings.Contains(c.Reason, "has taken link 2") {
			breaks++
		} else if c.Name == "low" {
			t.Errorf("%+v", c)
		}
	}
	if l, _ := d.Lease("low"); breaks != 1 || !strings.Contains(l.Reason, "has taken link 2") {
		t.Errorf("%d times: %s", breaks, l.Reason)
	}
}

// TestPriorityMovesWhole: an attempt that fails over a lease's protected path changes nothing, and
// a lease that takes one path keeps the second former path until the client has followed.
func TestPriorityMovesWhole(t *testing.T) {
	d := square()
	grant(t, d, start, request("low", func(r *Request) { r.Pairs = []Endpoints{{"c", "b"}} }))
	two := func(r *Request) {
		r.Priority, r.Paths, r.Disjointness, r.Bandwidth = 5, 2, DisjointPlane, 60*gbit
	}
	grant(t, d, start, request("high", two)) // over ay, yb and ax, zb
	d.Keeps = func(of, _ *Lease) bool { return of.Name == "low" }
	d.SetLink("zb", Link{})
	d.leases["high"].From = []string{"before"}
	d.Settle(start)
	if l, _ := d.Lease("high"); l.Phase != Broken || !slices.Equal(l.From, []string{"before"}) ||
		len(l.Paths) != 1 || len(l.Paths[0]) != 2 {
		t.Errorf("%+v", l)
	}
	if l, _ := d.Lease("low"); l.Phase != Active || l.Taken != nil ||
		d.Holding("xb").Reserved != 60*gbit {
		t.Errorf("%+v", l)
	}
	d.SetLink("zb", Link{Capacity: 100 * gbit, Up: true})
	d.Settle(start)
	d.Keeps = nil
	d.SetLink("zb", Link{})
	d.Settle(start)
	high, _ := d.Lease("high")
	if high.Phase != Moving || len(high.Former[0]) != 1 || high.Former[0][0].Plane != 2 ||
		!slices.Equal(high.Paths[0][1].Links, []topology.LinkID{"ax", "xb"}) {
		t.Errorf("%+v", high)
	}
	if l, _ := d.Lease("low"); l.Phase != Broken || l.Taken == nil {
		t.Errorf("%+v", l)
	}
}

// TestPreemptedMoves: a lease that loses links gets replacement paths where possible, and keeps the
// working rest until the client has followed. The ledger takes nothing from a lease that must keep
// a path, and undoes the attempt completely.
func TestPreemptedMoves(t *testing.T) {
	d := square()
	grant(t, d, start, request("low", func(r *Request) { r.Disjointness = DisjointPlane }))
	high := func(name string, paths int) error {
		_, err := d.Request(start, request(name, func(r *Request) {
			r.Priority, r.Paths, r.Sharing, r.Disjointness = 5, paths, Exclusive, DisjointPlane
		}))
		return err
	}
	d.Keeps = func(of, _ *Lease) bool { return of.Name == "low" }
	before, _ := d.Lease("low")
	if err := high("both", 2); err == nil {
		t.Fatal("the last path of a lease that must have one was taken")
	}
	if l, _ := d.Lease("low"); l.Phase != Active || !same(l.Paths, before.Paths) || l.Taken != nil {
		t.Errorf("%+v after an attempt, before %+v", l, before)
	}
	if changes := d.Settle(start); len(changes) != 0 {
		t.Errorf("%+v after an attempt", changes)
	}
	// The other plane is taken: only the plane that "low" holds is left.
	grant(t, d, start, request("other", func(r *Request) {
		r.Priority, r.Bandwidth = 9, 50*gbit
	}))
	if err := high("one", 1); err == nil {
		t.Fatal("the last path of a lease that must have one was taken")
	}
	if err := d.Complete("other"); err != nil {
		t.Fatal(err)
	}
	d.Keeps = nil
	if err := high("both", 2); err != nil {
		t.Fatal(err)
	}
	if l, _ := d.Lease("low"); l.Phase != Broken || l.Taken == nil {
		t.Errorf("%+v", l)
	}
}
