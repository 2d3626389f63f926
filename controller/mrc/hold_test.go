package mrc

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/store"
)

// TestHold: a target is drained exactly while a maintenance holds it or a client drains it, and
// records show both. The last path is never drained.
func TestHold(t *testing.T) {
	b := newBed(t, 1, nil).clos(1, 2, 2, 2)
	b.start()
	b.run(3 * time.Second)
	w, err := newWanted(b.core, time.Now, nil)
	if err != nil {
		t.Fatal(err)
	}
	records := make(map[string][]byte)
	keep := func() {
		for _, op := range w.saves(1) {
			if records[op.Key] = op.Value; op.Value == nil {
				delete(records, op.Key)
			}
		}
		w.Kept(1)
	}
	spine := api.Part{Kind: api.PartSwitch, Name: string(spineID(1, 1))}
	target := Target{Node: spineID(1, 1)}
	hold := func(objects ...api.Part) []fabricview.Held {
		t.Helper()
		states, why := w.hold(objects)
		if why != "" {
			t.Fatal(why)
		}
		keep()
		return states
	}
	client := func(a api.AdminState) {
		t.Helper()
		err := w.setAdmin(target, api.AdminSpec{Admin: a}, resource.Precondition{})
		if err != nil {
			t.Fatal(err)
		}
		keep()
	}
	is := func(drained bool, when string) {
		t.Helper()
		if (b.core.drains.index(target) >= 0) != drained {
			t.Errorf("%s: drained is not %v", when, drained)
		}
	}
	hold(spine)
	is(true, "held")
	if _, ok := records["mrc/held/"+target.String()]; !ok {
		t.Errorf("no record of what is held: %v", records)
	}
	b.run(5 * time.Second)
	if s := hold(spine); len(s) != 1 || !s[0].Drained {
		t.Errorf("the states are %+v", s)
	}
	client(api.AdminDrained)
	hold()
	is(true, "a client has drained it, and the maintenance has ended")
	hold(spine)
	client(api.AdminUp)
	is(true, "the client uses it again while it is held")
	var kept []store.Record
	for key, value := range records {
		kept = append(kept, store.Record{Key: key, Value: value})
	}
	again := newBed(t, 1, nil).clos(1, 2, 2, 2)
	if _, err := newWanted(again.core, time.Now, kept); err != nil {
		t.Fatal(err)
	}
	if again.core.drains.index(target) < 0 {
		t.Error("after a restart it is not drained")
	}
	hold()
	is(false, "nobody wants it drained")
	if len(w.held.All()) != 0 {
		t.Error("records are left")
	}
	s := hold(spine, api.Part{Kind: api.PartSwitch, Name: string(spineID(1, 2))})
	if len(s) != 2 || s[1].Why == "" || b.core.drains.index(Target{Node: spineID(1, 2)}) >= 0 {
		t.Errorf("both spines: %+v", s)
	}
}

// TestHoldOfALink: a link is drained once, whichever direction a maintenance names.
func TestHoldOfALink(t *testing.T) {
	b := newBed(t, 1, nil).clos(2, 2, 2, 1).start()
	w := b.want()
	var drains []api.Drain
	for _, l := range b.both(leafID(1, 1), spineID(1, 1)) {
		states, why := w.hold([]api.Part{{Kind: api.PartLink, Name: string(l.ID)}})
		if why != "" || len(states) != 1 {
			t.Fatalf("%+v, %q", states, why)
		}
		keepAll(w)
		drains = append(drains, b.core.Drains()...)
	}
	if len(drains) != 2 || drains[0].Target != drains[1].Target {
		t.Errorf("drains %+v, want the same twice", drains)
	}
}

// TestLosses: what is lost without a spine, a leaf, a plane and a port is counted by pair of racks,
// and ranks without a port are cut off.
func TestLosses(t *testing.T) {
	b := newBed(t, 1, nil).clos(2, 2, 2, 2)
	b.start()
	b.run(3 * time.Second)
	need := &ready.Need{NICs: []string{"h1-1", "h2-1"}, Hosts: []string{"h1-1", "h2-1"},
		Rack: []int32{0, 1}, Racks: []string{"one", "two"}, Pairs: [][2]int32{{0, 1}, {1, 0}}}
	for name, x := range map[string]struct {
		objects []api.Part
		after   int32
		cut     int
	}{
		"spine": {[]api.Part{{Kind: api.PartSwitch, Name: string(spineID(1, 1))}}, 3, 0},
		"leaf":  {[]api.Part{{Kind: api.PartSwitch, Name: string(leafID(1, 1))}}, 2, 0},
		"plane": {[]api.Part{{Kind: api.PartPlane, Name: "1"}}, 2, 0},
		"both leaves": {[]api.Part{{Kind: api.PartSwitch, Name: string(leafID(1, 1))},
			{Kind: api.PartSwitch, Name: string(leafID(2, 1))}}, 0, 1},
		"port": {[]api.Part{{Kind: api.PartPort, Name: "h1-1/1"}}, 4, 0},
		"ports": {[]api.Part{{Kind: api.PartPort, Name: "h1-1/1"},
			{Kind: api.PartPort, Name: "h1-1/2"}}, 4, 1},
		"link": {[]api.Part{
			{Kind: api.PartLink, Name: string(b.both(leafID(1, 1), spineID(1, 1))[0].ID)}}, 3, 0},
	} {
		l := b.core.View().Losses
		for _, o := range x.objects {
			if unknown := l.Unknown(o); unknown != "" {
				t.Fatalf("%s: %q", name, unknown)
			}
		}
		got := l.Of(x.objects, need)
		if len(got.CutOff) != x.cut || x.after == 4 != (len(got.Pairs) == 0) {
			t.Errorf("%s: %+v", name, got)
		}
		for _, p := range got.Pairs {
			if p.Before != 4 || p.After != x.after {
				t.Errorf("%s: %+v, want %d of 4", name, p, x.after)
			}
		}
	}
	if b.core.View().Losses.Unknown(api.Part{Kind: api.PartSwitch, Name: "x"}) == "" {
		t.Error("an unknown node is known")
	}
}
