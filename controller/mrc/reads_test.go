package mrc

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/topology"
)

// TestLinksThatPathsCross: links that no path crosses are not listed, nor found.
func TestLinksThatPathsCross(t *testing.T) {
	w := newBed(t, 1, nil).clos(1, 2, 2, 1)
	w.connect(spineID(1, 2), spineID(1, 1)) // of one tier
	w.start()
	page, _ := w.core.LinkPage(api.LinkFilter{}, Page{})
	stray := w.both(spineID(1, 2), spineID(1, 1))
	if len(w.core.Links()) != 8 || len(page) != 8 || len(stray) != 2 {
		t.Errorf("%d links, in pages %d, want 8", len(w.core.Links()), len(page))
	}
	for _, l := range stray {
		if v, ok := w.core.Link(l.ID); ok {
			t.Errorf("%+v is found", v)
		}
	}
}

// TestWrongLinks: a denied link is wrong, and so is a link with a port reported down by the switch.
func TestWrongLinks(t *testing.T) {
	for name, change := range map[string]func(w *bed, l topology.Link){
		"drained": func(w *bed, l topology.Link) { _ = w.core.Drain(Target{Link: l.ID}) },
		"down":    func(w *bed, l topology.Link) { w.remove([]topology.Link{l}) },
		"its port is down": func(w *bed, l topology.Link) {
			w.core.SetPorts(l.Local, map[uint32]bool{l.LocalID: false})
		},
		"its far port is down": func(w *bed, l topology.Link) {
			w.core.SetPorts(l.Remote, map[uint32]bool{l.RemoteID: false})
		},
	} {
		w := newBed(t, 1, nil).clos(1, 2, 2, 1).start()
		wrong := func() []api.Link {
			out, _ := w.core.LinkPage(api.LinkFilter{Wrong: true}, Page{})
			return out
		}
		l := w.both(leafID(1, 1), spineID(1, 1))[0]
		if before := wrong(); len(before) != 0 {
			t.Fatalf("%+v are wrong", before)
		}
		if change(w, l); len(wrong()) != 2 {
			t.Errorf("%s: %d directions are wrong, want both", name, len(wrong()))
		}
	}
}

// TestStreamOfHost: what the stream to a host says is in a view, in UTC.
func TestStreamOfHost(t *testing.T) {
	since := time.Date(2026, 5, 1, 12, 0, 0, 0, time.FixedZone("", 7200))
	var v api.Host
	SetStream(&v, &Stream{Since: since, Err: errors.New("reset"), Current: true,
		Applied: hostapi.Version{Epoch: 10, Number: 3}})
	if v.Since != since.UTC() || v.Error != "reset" || !v.Versions.Current ||
		*v.Versions.Held != (api.HostVersion{Epoch: "0xa", Number: 3}) {
		t.Errorf("%+v", v)
	}
	v = api.Host{}
	if SetStream(&v, &Stream{}); !v.Since.IsZero() || v.Error != "" || v.Versions.Held != nil ||
		v.Refusals != nil {
		t.Errorf("of nothing: %+v", v)
	}
}

// TestKeptInOrder: the core carries out a client's request when the store has kept the writes of
// this request: not with earlier writes, and not before the writes are under way.
func TestKeptInOrder(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 3, 2, 1).start()
	want := w.want()
	drained := func() int { return len(w.core.Drains()) }
	drain := func(plane int) {
		t.Helper()
		if err := want.setAdmin(Target{Plane: plane}, api.AdminSpec{Admin: api.AdminDrained},
			resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
	}
	if r := want.Ready(1); len(r.Saves) != 0 || want.busy() {
		t.Errorf("writes of nothing: %+v", r.Saves)
	}
	drain(1)
	if want.Kept(1); drained() != 0 || !want.busy() {
		t.Error("done before its writes are under way")
	}
	if r := want.Ready(3); len(r.Saves) == 0 {
		t.Error("no writes")
	}
	want.Ready(4) // has nothing of it
	if want.Kept(2); drained() != 0 || !want.busy() {
		t.Error("done with writes of before")
	}
	if want.Kept(3); drained() != 1 || want.busy() {
		t.Error("not done though its writes are kept")
	}
	if want.Kept(5); drained() != 1 {
		t.Error("done twice")
	}
	if err := want.setAdmin(Target{Plane: 1}, api.AdminSpec{Admin: api.AdminUp},
		resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	if want.Kept(9); drained() != 1 || !want.busy() {
		t.Error("the next change is done before its writes are under way")
	}
	want.Ready(10)
	if want.Kept(12); drained() != 0 || want.busy() {
		t.Error("the next change is not done")
	}
}

// TestDrainedOnceAfterRestart: what a client has drained and a maintenance holds is one drain.
func TestDrainedOnceAfterRestart(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 2, 2, 1).start()
	want := w.want()
	records := map[string][]byte{}
	keep := func() {
		for _, op := range keepAll(want) {
			records[op.Key] = op.Value
		}
	}
	if err := want.setAdmin(Target{Plane: 1}, api.AdminSpec{Admin: api.AdminDrained},
		resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	keep()
	both := []api.Part{{Kind: api.PartPlane, Name: "1"}, {Kind: api.PartPort, Name: "h1-1/2"}}
	if _, why := want.hold(both); why != "" {
		t.Fatal(why)
	}
	keep()
	var kept []store.Record
	for key, value := range records {
		kept = append(kept, store.Record{Key: key, Value: value})
	}
	again := newBed(t, 1, nil).clos(2, 2, 2, 1)
	if _, err := newWanted(again.core, time.Now, kept); err != nil {
		t.Fatal(err)
	}
	for _, of := range []Target{{Plane: 1}, {Host: "h1-1", Port: 2}} {
		n := 0
		for _, d := range again.core.drains.list {
			if d.Target == of {
				n++
			}
		}
		if want := w.core.drains.index(of) >= 0; (n == 1) != want || n > 1 {
			t.Errorf("%v is drained %d times", of, n)
		}
	}
}

// TestHoldBeforeSync: maintenances hold nothing before the first fabric, nor while the store is
// keeping another change.
func TestHoldBeforeSync(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 2, 2, 1)
	want := w.want()
	hold := func() string {
		t.Helper()
		states, why := want.hold([]api.Part{{Kind: api.PartPlane, Name: "1"}})
		if (why == "") != (len(states) == 1) {
			t.Errorf("%+v, %q", states, why)
		}
		return why
	}
	if why := hold(); why != "the topology is not in sync" {
		t.Error(why)
	}
	w.core.InSync()
	if why := hold(); why != "the topology is not in sync" {
		t.Errorf("in sync, without a fabric: %q", why)
	}
	w.start()
	if why := hold(); why != "" {
		t.Error(why)
	}
	if why := hold(); why != "another change is being kept" {
		t.Error(why)
	}
	keepAll(want)
	if why := hold(); why != "" {
		t.Error(why)
	}
}

// TestFilledViews: facts from outside the core are added only to views that are found.
func TestFilledViews(t *testing.T) {
	w := newBed(t, 1, nil).clos(1, 2, 1, 1).start()
	wrong := errors.New("there is none")
	filled := 0
	h := views[api.Host]{desk: &desk{core: w.core, by: direct{}},
		find: func(name string) (api.Host, error) {
			if name == "" {
				return api.Host{}, wrong
			}
			return api.Host{Name: name}, nil
		},
		page: func(kind.Query) ([]api.Host, bool) { return []api.Host{{Name: "a"}, {Name: "b"}}, true },
		fill: func(v *api.Host) { filled++; v.Software = "of " + v.Name },
	}
	if v, err := h.get(context.Background(), "x"); err != nil || v.Software != "of x" || filled != 1 {
		t.Errorf("%+v, %v, filled %d times", v, err, filled)
	}
	if v, err := h.Get(context.Background(), ""); !errors.Is(err, wrong) || filled != 1 {
		t.Errorf("%+v, %v, filled %d times", v, err, filled)
	}
	p, err := h.List(context.Background(), kind.Query{})
	if err != nil || !p.More || len(p.Items) != 2 || p.Items[1].(api.Host).Software != "of b" ||
		filled != 3 {
		t.Errorf("%+v, %v, filled %d times", p, err, filled)
	}
	h.fill = nil
	if v, err := h.get(context.Background(), "x"); err != nil || v.Software != "" {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestSetsOfHosts: a removed host with a state gets a Set to hold nothing. Hosts share states,
// except for the ports that a single host must not send by.
func TestSetsOfHosts(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 2, 2, 2).start()
	w.run(time.Second)
	a, b := w.core.hosts.byName["h1-1"], w.core.hosts.byName["h1-2"]
	if a.state != b.state || !a.current() {
		t.Error("hosts of a rack do not share a state")
	}
	seq := a.seq
	w.core.SetPorts(leafID(1, 1), map[uint32]bool{hostPortBase + 1: false})
	r := w.core.Ready()
	if a.state == b.state || a.state.DeniedPorts != hostapi.Ports(1) || b.state.DeniedPorts != 0 ||
		a.seq != seq+1 || a.current() || len(r.Sets) != 4 {
		t.Errorf("%d sets; port 1 is denied to h1-1: %#x, to h1-2: %#x", len(r.Sets),
			a.state.DeniedPorts, b.state.DeniedPorts)
	}
	mine := a.state
	if w.core.hosts.touch(a); len(w.core.Ready().Sets) != 0 || a.state != mine {
		t.Error("a state that is the same is sent again")
	}
	for _, seq := range []uint64{a.seq + 1, a.seq, 1} {
		err := w.core.Applied("h1-1", seq)
		if bad := seq > a.seq; errors.Is(err, fabric.ErrMalformed) != bad || !bad && a.applied != a.seq {
			t.Errorf("applied %d of %d: %v, %d", seq, a.seq, err, a.applied)
		}
	}
	late := w.made["h1-1"]
	late.Name, late.Address = "late", netip.MustParseAddr("2001:db8::99")
	if err := w.core.PutHost(late); err != nil {
		t.Fatal(err)
	}
	w.core.Ready()
	for name, want := range map[string]int{"h1-1": 1, "late": 0} {
		seq := w.core.hosts.byName[name].seq
		if err := w.core.RemoveHost(name); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, s := range w.core.Ready().Sets {
			if s.Host == name {
				if n++; s.State != nil || s.Seq != seq+1 {
					t.Errorf("%s is told %+v", name, s)
				}
			}
		}
		if n != want {
			t.Errorf("%s, which is gone, is told something %d times, want %d", name, n, want)
		}
	}
	before := w.core.Counters().UnknownHosts
	for i, err := range []error{w.core.RemoveHost("h1-1"), w.core.Applied("h1-1", 1),
		w.core.Gone("h1-1"), w.core.Refused("h1-1", "x"), w.core.PortStatus("h1-1", 2)} {
		if !errors.Is(err, fabric.ErrUnknownHost) {
			t.Errorf("call %d of a host that is gone: %v", i, err)
		}
	}
	if n := w.core.Counters().UnknownHosts - before; n != 4 {
		t.Errorf("%d calls of unknown hosts are counted, want 4", n)
	}
}

// TestRefusals: what a host refuses is an event once, until it refuses something else, or nothing.
func TestRefusals(t *testing.T) {
	w := newBed(t, 1, nil).clos(1, 2, 2, 1).start()
	w.core.Ready()
	for _, c := range []struct{ reason, event string }{{"", ""}, {"no room", "refused: no room"},
		{"no room", ""}, {"bad", "refused: bad"}, {"", "refuses nothing any more"}, {"", ""}} {
		if err := w.core.Refused("h1-1", c.reason); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, e := range w.core.Ready().Events {
			if e.Type != api.EventHostChanged || e.Object != "h1-1" {
				t.Errorf("%+v", e)
			}
			got += e.Message
		}
		if h := w.core.hosts.byName["h1-1"]; got != c.event || h.refusal != c.reason {
			t.Errorf("refused %q: event %q, want %q", c.reason, got, c.event)
		}
	}
}
