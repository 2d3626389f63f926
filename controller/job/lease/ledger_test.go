package lease

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const gbit = 1_000_000_000

// square has two ways from a to b, by x in plane 1 and by y in plane 2, and one that shares a link
// with the first.
func square() *Ledger {
	path := func(plane int, node topology.NodeID, links ...topology.LinkID) Path {
		return Path{Links: links, Nodes: []topology.NodeID{node}, Plane: plane}
	}
	d := New(func(from, to string) []Path {
		switch from + to {
		case "ab":
			return []Path{path(1, "x", "ax", "xb"), path(2, "y", "ay", "yb"), path(1, "z", "ax", "zb")}
		case "cb":
			return []Path{path(1, "x", "cx", "xb")}
		}
		return nil
	})
	for _, id := range []topology.LinkID{"ax", "xb", "ay", "yb", "zb", "cx"} {
		d.SetLink(id, Link{Capacity: 100 * gbit, Up: true})
	}
	return d
}

func after(d time.Duration) time.Time { return start.Add(d) }

func request(name string, change func(*Request)) Request {
	r := Request{Name: name, Pairs: []Endpoints{{"a", "b"}}, Bandwidth: 60 * gbit}
	if change != nil {
		change(&r)
	}
	return r
}

// grant requests a lease, and fails the test unless it is granted.
func grant(t *testing.T, d *Ledger, now time.Time, r Request) Lease {
	t.Helper()
	l, err := d.Request(now, r)
	if err != nil {
		t.Fatalf("%s: %v", r.Name, err)
	}
	return l
}

// plane returns the plane of the first path of a lease.
func plane(t *testing.T, d *Ledger, name string) int {
	t.Helper()
	l, ok := d.Lease(name)
	if !ok || len(l.Paths) == 0 || len(l.Paths[0]) == 0 {
		t.Fatalf("lease %s: %+v", name, l)
	}
	return l.Paths[0][0].Plane
}

func TestFullLink(t *testing.T) {
	d := square()
	grant(t, d, start, request("one", func(r *Request) { r.Duration = time.Hour }))
	grant(t, d, start, request("two", func(r *Request) { r.Duration = 2 * time.Hour }))
	if plane(t, d, "one") != 1 || plane(t, d, "two") != 2 {
		t.Errorf("two leases on planes %d and %d, want one each", plane(t, d, "one"), plane(t, d, "two"))
	}
	_, err := d.Request(start, request("three", nil))
	var full *Refusal
	if !errors.As(err, &full) || full.Cause != Full || full.Link != "ax" ||
		!full.Free.Equal(after(time.Hour)) || len(full.Holders) != 1 || full.Holders[0] != "one" {
		t.Fatalf("%+v, %v; want link ax, held by one for an hour", full, err)
	}
	for _, want := range []string{"a to b", "link ax", "60000000000 of 100000000000",
		"2026-01-01T01:00:00Z"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v has no %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "one") {
		t.Errorf("%v names another lease", err)
	}
	if _, err := d.Request(after(time.Hour-1), request("three", nil)); err == nil {
		t.Error("granted before the link was free")
	}
	grant(t, d, after(time.Hour), request("three", nil))
	if changes := d.Settle(after(time.Hour)); len(changes) != 1 || changes[0].Name != "one" ||
		changes[0].What != Expired {
		t.Errorf("%+v, want the end of one", changes)
	}
}

func TestRefusals(t *testing.T) {
	for _, x := range []struct {
		about string
		first func(d *Ledger)
		of    func(*Request)
		cause Cause
		link  topology.LinkID
	}{
		{"nowhere", nil, func(r *Request) { r.Pairs[0].To = "q" }, NoPath, ""},
		{"too much", nil, func(r *Request) { r.Bandwidth = 101 * gbit }, Small, "ax"},
		{"all down", func(d *Ledger) {
			d.SetLink("xb", Link{})
			d.SetLink("ay", Link{})
			d.SetLink("zb", Link{})
		}, nil, Down, "xb"},
		{"three planes", nil, func(r *Request) { r.Paths, r.Disjointness = 3, DisjointPlane },
			NotApart, ""},
		{"three disjoint links", nil, func(r *Request) {
			r.Paths, r.Disjointness, r.Bandwidth = 3, DisjointLink, 0
		}, NotApart, ""},
		{"exclusive beside another", func(d *Ledger) {
			for _, name := range []string{"p", "q"} {
				if _, err := d.Request(start, request(name, nil)); err != nil {
					panic(err)
				}
			}
		}, func(r *Request) { r.Sharing, r.Bandwidth = Exclusive, 0 }, Full, "ax"},
		{"beside an exclusive one", func(d *Ledger) {
			if _, err := d.Request(start, request("p", func(r *Request) {
				r.Sharing, r.Bandwidth, r.Paths = Exclusive, 0, 2
				r.Disjointness = DisjointPlane
			})); err != nil {
				panic(err)
			}
		}, func(r *Request) { r.Bandwidth = 0 }, Full, "ax"},
		{"an unknown capacity", func(d *Ledger) { d.SetLink("cx", Link{Up: true}) },
			func(r *Request) { r.Pairs[0].From = "c" }, Small, "cx"},
	} {
		d := square()
		if x.first != nil {
			x.first(d)
		}
		_, err := d.Request(start, request("new", x.of))
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.Cause != x.cause || refusal.Link != x.link ||
			!refusal.Free.IsZero() || err.Error() == "" {
			t.Errorf("%s: %+v, %v; want %s of %q", x.about, refusal, err, x.cause, x.link)
		}
		if _, ok := d.Lease("new"); ok {
			t.Errorf("%s: there is a lease", x.about)
		}
	}
}

func TestDisjointness(t *testing.T) {
	for _, x := range []struct {
		of    Disjointness
		paths int
		ok    bool
	}{
		{"", 3, true}, {DisjointNone, 3, true}, {DisjointLink, 2, true}, {DisjointNode, 2, true},
		{DisjointPlane, 2, true}, {DisjointLink, 3, false}, {DisjointNode, 3, false}, {"", 4, false},
	} {
		d := square()
		l, err := d.Request(start, request("l", func(r *Request) {
			r.Paths, r.Disjointness, r.Bandwidth = x.paths, x.of, 10*gbit
		}))
		if (err == nil) != x.ok {
			t.Errorf("%d paths with disjointness %q: %v", x.paths, x.of, err)
		}
		if err == nil && len(l.Paths[0]) != x.paths {
			t.Errorf("%d paths with disjointness %q: %v", x.paths, x.of, l.Paths)
		}
	}
}

// TestMakeBeforeBreak: the ledger reserves a new path for a lease with a failed path before it
// gives up the former path. The working rest of the former path remains reserved until the client
// has followed.
func TestMakeBeforeBreak(t *testing.T) {
	d := square()
	grant(t, d, start, request("l", func(r *Request) { r.Paths, r.Bandwidth = 2, 30*gbit }))
	before, _ := d.Lease("l") // by x and by y, in one order or the other
	d.SetLink("xb", Link{Capacity: 100 * gbit})
	changes := d.Settle(after(1))
	if len(changes) != 1 || changes[0].What != Moves ||
		!strings.Contains(changes[0].Reason, "link xb is down") {
		t.Fatalf("%+v, want a move off link xb", changes)
	}
	l, _ := d.Lease("l")
	if l.Phase != Moving || len(l.Former[0]) != 1 || l.Former[0][0].Plane != 2 ||
		len(before.Paths[0]) != 2 {
		t.Fatalf("%+v, want it on the way to y and z, with y of before", l)
	}
	for link, want := range map[topology.LinkID]uint64{"ax": 30 * gbit, "xb": 0, "zb": 30 * gbit,
		"ay": 30 * gbit} {
		if h := d.Holding(link); h.Reserved != want {
			t.Errorf("link %s has %d reserved while it moves, want %d", link, h.Reserved, want)
		}
	}
	if err := d.Moved("l"); err != nil {
		t.Fatal(err)
	}
	if l, _ := d.Lease("l"); l.Phase != Active || l.Former != nil {
		t.Errorf("%+v after it followed", l)
	}
	if changes := d.Settle(after(2)); len(changes) != 0 {
		t.Errorf("%+v when nothing happened", changes)
	}
}

// TestFormerStaysReserved: no other lease gets a working link of the former path before the client
// has followed.
func TestFormerStaysReserved(t *testing.T) {
	d := square()
	grant(t, d, start, request("l", func(r *Request) {
		r.Pairs = []Endpoints{{"c", "b"}, {"a", "b"}}
		r.Bandwidth = 50 * gbit
	}))
	l, _ := d.Lease("l")
	if l.Paths[1][0].Plane != 2 { // beside its other path, by y
		t.Skip("the other way round")
	}
	d.SetLink("yb", Link{Capacity: 100 * gbit})
	d.Settle(after(1))
	l, _ = d.Lease("l")
	if l.Phase != Moving || len(l.Former[0]) != 1 || len(l.Former[1]) != 0 {
		t.Fatalf("%+v, want it moving, with the path of c as before", l)
	}
	if h := d.Holding("cx"); h.Reserved != 50*gbit {
		t.Errorf("link cx has %d reserved", h.Reserved)
	}
}

func TestBreaksAndReturns(t *testing.T) {
	d := square()
	grant(t, d, start, request("c", func(r *Request) { r.Pairs[0].From = "c" }))
	d.SetLink("cx", Link{Capacity: 100 * gbit})
	changes := d.Settle(after(1))
	if len(changes) != 1 || changes[0].What != Breaks ||
		!strings.Contains(changes[0].Reason, "link cx is down") {
		t.Fatalf("%+v, want it broken by cx", changes)
	}
	if l, _ := d.Lease("c"); l.Phase != Broken || l.Reason == "" || d.Holding("xb").Reserved != 0 {
		t.Errorf("%+v holds %d of xb, want nothing", l, d.Holding("xb").Reserved)
	}
	d.SetLink("cx", Link{Capacity: 100 * gbit, Up: true})
	if changes := d.Settle(after(2)); len(changes) != 1 || changes[0].What != Restored {
		t.Errorf("%+v, want it back", changes)
	}
	if l, _ := d.Lease("c"); l.Phase != Active || l.Reason != "" ||
		d.Holding("xb").Reserved != 60*gbit {
		t.Errorf("%+v", l)
	}
}

// TestShrunkLink: on a link with less capacity than its reservations, the earliest leases keep
// their part, and later leases move or break.
func TestShrunkLink(t *testing.T) {
	d := square()
	for _, name := range []string{"first", "second", "third"} {
		grant(t, d, start, request(name, func(r *Request) {
			r.Pairs[0].From, r.Bandwidth = "c", 30*gbit
		}))
	}
	d.SetLink("cx", Link{Capacity: 70 * gbit, Up: true})
	changes := d.Settle(after(1))
	if len(changes) != 1 || changes[0].Name != "third" || changes[0].What != Breaks {
		t.Errorf("%+v, want the third alone to break", changes)
	}
	if h := d.Holding("cx"); h.Reserved != 60*gbit || len(h.Holders) != 2 {
		t.Errorf("%+v", h)
	}
}

func TestEnds(t *testing.T) {
	d := square()
	grant(t, d, start, request("beats", func(r *Request) { r.Heartbeat = time.Minute }))
	grant(t, d, start, request("ends", func(r *Request) { r.Duration = 10 * time.Minute }))
	if next, ok := d.Next(); !ok || !next.Equal(after(time.Minute)) {
		t.Errorf("next at %v, %t", next, ok)
	}
	if err := d.Renew(after(59*time.Second), "beats", 0); err != nil {
		t.Error(err)
	}
	if changes := d.Settle(after(time.Minute)); len(changes) != 0 {
		t.Errorf("%+v after a heartbeat", changes)
	}
	changes := d.Settle(after(119 * time.Second))
	if len(changes) != 1 || changes[0] != (Change{"beats", Expired, "no heartbeat for 1m0s"}) {
		t.Errorf("%+v, want the end of beats", changes)
	}
	if err := d.Renew(after(9*time.Minute), "ends", 10*time.Minute); err != nil {
		t.Error(err)
	}
	if changes := d.Settle(after(10 * time.Minute)); len(changes) != 0 {
		t.Errorf("%+v after it was renewed", changes)
	}
	if err := d.Renew(after(19*time.Minute), "ends", time.Hour); !errors.Is(err, ErrUnknown) {
		t.Errorf("renewed when it was over: %v", err)
	}
	d.Settle(after(19 * time.Minute))
	if _, ok := d.Next(); ok || len(d.Leases()) != 0 {
		t.Errorf("there are still leases: %+v", d.Leases())
	}
	for _, err := range []error{d.Complete("x"), d.Renew(start, "x", 0), d.Moved("x")} {
		if !errors.Is(err, ErrUnknown) {
			t.Errorf("%v, want %v", err, ErrUnknown)
		}
	}
}

func TestRequestAgain(t *testing.T) {
	d := square()
	one := grant(t, d, start, request("l", nil))
	two := grant(t, d, after(time.Hour), request("l", nil))
	if one.Number != two.Number || !two.Granted.Equal(start) || len(d.Leases()) != 1 {
		t.Errorf("%+v and %+v, want one lease", one, two)
	}
	_, err := d.Request(start, request("l", func(r *Request) { r.Bandwidth = 1 }))
	if !errors.Is(err, ErrExists) {
		t.Errorf("another request of the name: %v", err)
	}
}

func TestWrongRequests(t *testing.T) {
	for field, change := range map[string]func(*Request){
		"name":         func(r *Request) { r.Name = "" },
		"pairs":        func(r *Request) { r.Pairs = nil },
		"pairs[0]":     func(r *Request) { r.Pairs[0].To = "a" },
		"paths":        func(r *Request) { r.Paths = -1 },
		"disjointness": func(r *Request) { r.Disjointness = "srlg" },
		"sharing":      func(r *Request) { r.Sharing = "some" },
		"duration":     func(r *Request) { r.Duration = -1 },
		"heartbeat":    func(r *Request) { r.Heartbeat = -1 },
	} {
		_, err := square().Request(start, request("l", change))
		var wrong api.FieldError
		if !errors.As(err, &wrong) || strings.TrimPrefix(wrong.Field, "spec.") != field ||
			wrong.Want == "" {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// TestNames: refusals and reasons name links as the ledger is told to.
func TestNames(t *testing.T) {
	d := square()
	d.Name = func(id topology.LinkID) string {
		return fmt.Sprintf("the way %s to %s", id[:1], id[1:])
	}
	refused := func(want string, change func(*Request)) {
		t.Helper()
		_, err := d.Request(start, request("more", func(r *Request) {
			r.Pairs[0].From = "c"
			if change != nil {
				change(r)
			}
		}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	grant(t, d, start, request("low", func(r *Request) { r.Pairs[0].From, r.Priority = "c", 1 }))
	refused("the way c to x is full", nil)
	refused("has 100000000000 bit/s, which is less", func(r *Request) { r.Bandwidth = 200 * gbit })
	grant(t, d, start, request("high", func(r *Request) { r.Pairs[0].From, r.Priority = "c", 2 }))
	if l, _ := d.Lease("low"); !strings.Contains(l.Reason, "has taken the way c to x;") {
		t.Errorf("it lost its link: %q", l.Reason)
	}
	d.SetLink("cx", Link{Capacity: 100 * gbit})
	d.Settle(after(1))
	if l, _ := d.Lease("high"); !strings.Contains(l.Reason, "the way c to x is down; c to b: the way c "+
		"to x is down") {
		t.Errorf("its link is down: %q", l.Reason)
	}
	refused("the way c to x is down", nil)
}
