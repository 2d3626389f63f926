package multicast

import (
	"reflect"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/store"
)

// TestRecords: in each phase, another controller continues from the records, and refuses damaged
// records.
func TestRecords(t *testing.T) {
	d := newDesk(t)
	d.typed("s1", "r1", "r3")
	gone := d.typedAs("gone", 2, "s1", "r4")
	c := d.group(3, nil)
	d.joins(c, "r1", 50)
	d.away("n3")
	if err := d.Groups().Delete("gone", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	loaded := func(records []store.Record) *Feature {
		to := New(d.env)
		for _, r := range records {
			if ok, err := to.Load(r); !ok || err != nil {
				t.Fatalf("%s: %v, %v", r.Key, ok, err)
			}
		}
		return to
	}
	for p := steady; p <= cleaning; p++ {
		g := d.groups["typed"]
		old, older, next := *g.target, *g.target, *g.target
		g.phase = p
		g.data, g.resp, g.oldData, g.oldResp, g.queued = &old, &older, &older, &old, &next
		g.evicted[d.net.Address("r3")] = true
		g.job, g.adopted = "job", true
		to := loaded(d.Records())
		if !reflect.DeepEqual(to.epochs, d.epochs) || len(to.groups) != 3 || len(to.byIndex) != 3 {
			t.Errorf("epochs %v, groups %v", to.epochs, to.groups)
		}
		got := to.groups["typed"]
		if got.phase != p || got.job != "job" || !got.adopted || !got.loaded || got.index != g.index ||
			!reflect.DeepEqual(got.evicted, g.evicted) || got.item == nil {
			t.Errorf("%v: %+v", p, got)
		}
		if !reflect.DeepEqual(got.change, g.change) || !reflect.DeepEqual(got.queued, g.queued) ||
			got.oldData != got.resp || got.data != got.oldResp || got.target == got.data {
			t.Errorf("%v: trees %+v, want %+v", p, got.change, g.change)
		}
		installed := got.data
		switch p {
		case steady, draining, cleaning:
			installed = got.target
		case switching:
			installed = got.oldData
		}
		if got.installed != installed {
			t.Errorf("%v: another tree was complete last", p)
		}
		left, was := to.groups["gone"], d.groups["gone"]
		if left.item != nil || left.index != gone.index || left.phase != was.phase ||
			left.target != nil ||
			!reflect.DeepEqual(left.oldData, was.oldData) {
			t.Errorf("gone: %+v", left)
		}
		other := to.groups["c"]
		if !reflect.DeepEqual(other.Connections, c.Connections) || !reflect.DeepEqual(other.Receivers,
			c.Receivers) {
			t.Errorf("connections %+v", other.Connections)
		}
		w := to.Changes()
		if len(w) != 0 {
			t.Errorf("%v: loaded, and writes %+v", p, w)
		}
	}
	to := New(d.env)
	for _, r := range []store.Record{
		{Key: epochPrefix + "x", Value: []byte("1")}, {Key: epochPrefix + "70000", Value: []byte("1")},
		{Key: epochPrefix + "1", Value: []byte("-1")}, {Key: epochPrefix + "1",
			Value: []byte("4294967296")},
		{Key: leavingPrefix + "g", Value: []byte("{")},
		{Key: leavingPrefix + "g", Value: []byte(`{"phase": 6}`)},
		{Key: leavingPrefix + "g", Value: []byte(`{"target": 0}`)},
		{Key: leavingPrefix + "g", Value: []byte(`{"target": -2}`)},
		{Key: Kind.Prefix + "g", Value: []byte("{")},
	} {
		if ok, err := to.Load(r); !ok || err == nil {
			t.Errorf("%s %s: %v, %v", r.Key, r.Value, ok, err)
		}
	}
	if len(to.groups) != 0 {
		t.Errorf("groups %v", to.groups)
	}
	if ok, err := to.Load(store.Record{Key: "other/x"}); ok || err != nil {
		t.Errorf("a record of others: %v, %v", ok, err)
	}
	for _, epoch := range []string{"7", "9", "8"} {
		if _, err := to.Load(store.Record{Key: epochPrefix + "65535", Value: []byte(epoch)}); err != nil {
			t.Error(err)
		}
	}
	if to.epochs[65535] != 9 {
		t.Errorf("epoch %d, want the highest", to.epochs[65535])
	}
}

// TestBothRecords: a group with both a resource and a removal record was being created again, or
// about to be removed. The resource counts, and the controller deletes the removal record. Two
// groups with the same index mean damage.
func TestBothRecords(t *testing.T) {
	d := newDesk(t)
	g := d.typed("s1", "r1")
	records := d.Records()
	item := g.item
	g.item = nil
	leaving := store.Record{Key: leavingPrefix + "typed", Value: resource.Encode(g)}
	another := store.Record{Key: leavingPrefix + "other", Value: resource.Encode(g)}
	g.item = item
	for _, first := range []bool{true, false} {
		to := New(d.env)
		all := append(slices.Clone(records), leaving)
		if first {
			all = append([]store.Record{leaving}, records...)
		}
		for _, r := range all {
			if _, err := to.Load(r); err != nil {
				t.Errorf("%s: %v", r.Key, err)
			}
		}
		if got := to.groups["typed"]; got.item == nil || to.byIndex[g.index] != got ||
			len(to.byIndex) != 1 {
			t.Errorf("the record of the removal first %v: %+v", first, got)
		}
		gone := false
		for _, op := range to.Changes() {
			gone = gone || op.Key == leaving.Key && op.Value == nil
		}
		if !gone {
			t.Errorf("the record of the removal first %v: it stays", first)
		}
		if _, err := to.Load(another); err == nil {
			t.Error("two groups have one index")
		}
	}
}
