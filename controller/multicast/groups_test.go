package multicast

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/multicast/tree"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/controller/resource"
)

// TestMadeAgain: a group recreated during its removal keeps its index. The controller deletes the
// record of the removal.
func TestMadeAgain(t *testing.T) {
	d := newDesk(t)
	g := d.typed("s1", "r1", "r3")
	index, spec := g.index, g.item.Spec
	if _, leaves := d.writes()[leavingPrefix+"typed"]; leaves {
		t.Error("a new group has a record of its removal")
	}
	if err := d.Groups().Delete("typed", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	const leaving = leavingPrefix + "typed"
	if w := d.writes(); !w[leaving] {
		t.Errorf("removed: writes %v", w)
	}
	r, created, err := d.Groups().Put("typed", spec, resource.Precondition{})
	if err != nil || !created || d.groups["typed"] != g || g.index != index ||
		len(r.Status.Conditions) != 0 {
		t.Errorf("made again: error %v, created %v, index %d, %+v", err, created, g.index, r.Status)
	}
	if w := d.writes(); w[leaving] || !w[Kind.Prefix+"typed"] {
		t.Errorf("made again: writes %v", w)
	} else if _, gone := w[leaving]; !gone {
		t.Errorf("the record of the removal stays: writes %v", w)
	}
	for _, r := range d.Records() {
		if r.Key == leaving {
			t.Error("a group that was made again is being removed in the records")
		}
	}
	d.pass(time.Minute)
	if err := d.Groups().Delete("typed", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	d.pass(time.Minute)
	w := d.writes()
	if _, gone := w[leaving]; !gone || w[leaving] || len(d.groups) != 0 || len(d.byIndex) != 0 {
		t.Errorf("gone: writes %v, groups %v", w, d.groups)
	}
}

// TestTokenOfSpec: writing the spec of a group without a token, or with the present token, changes
// nothing. A different token changes the group. A recreated group has no token.
func TestTokenOfSpec(t *testing.T) {
	d := newDesk(t)
	g := d.group(1, func(s *api.MulticastGroupSpec) { s.Connect.Token = "sesame" })
	if got := g.item.Spec.Connect.Token; got != "" || g.token != "sesame" {
		t.Errorf("token %q in the spec, %q beside it", got, g.token)
	}
	version := g.item.Version
	for _, c := range []struct {
		token, want string
		changed     bool
	}{{"", "sesame", false}, {"sesame", "sesame", false}, {"open", "open", true}, {"", "open",
		false}} {
		r := d.put(g, func(s *api.MulticastGroupSpec) { s.Connect.Token = c.token })
		if g.token != c.want || (r.Version != version) != c.changed || r.Spec.Connect.Token != "" {
			t.Errorf("written with token %q: %q, changed %v", c.token, g.token, r.Version != version)
		}
		version = r.Version
	}
	spec := g.item.Spec.Clone()
	d.put(g, func(s *api.MulticastGroupSpec) {
		s.Connect, s.Source = nil, api.GroupSource{Address: d.net.Address("s1"), QPN: 9}
		s.Receivers = []api.GroupReceiver{{Address: d.net.Address("r1"), QPN: 10}}
	})
	if g.token != "" {
		t.Errorf("a group whose hosts do not connect has token %q", g.token)
	}
	d.put(g, func(s *api.MulticastGroupSpec) { *s = spec.Clone(); s.Connect.Token = "again" })
	if err := d.Groups().Delete(g.name, resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.Groups().Put(g.name, spec, resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	if g.token != "" {
		t.Errorf("a group that was made anew has token %q", g.token)
	}
}

// TestOwn: Own gives a job's group to another job, and saves the group; unknown and deleted groups
// stay unchanged.
func TestOwn(t *testing.T) {
	d := newDesk(t)
	spec := d.net.Spec(1, "s1", "r1")
	if err := d.PutOf("one", "g", spec, resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	d.pass(time.Second)
	g := d.groups["g"]
	d.writes()
	for _, c := range []struct {
		job   string
		saved bool
	}{{"one", false}, {"two", true}, {"two", false}} {
		d.Own("g", c.job)
		if got := d.OfJobs(); len(got) != 1 || got[0].Name != "g" || got[0].Job != c.job ||
			!got[0].Spec.Equal(&spec) {
			t.Errorf("of job %s: %+v", c.job, got)
		}
		if saved := d.saved(g); saved != c.saved {
			t.Errorf("of job %s: saved %v", c.job, saved)
		}
	}
	d.Own("other", "one")
	if d.DeleteOf("g"); g.job != "" || len(d.OfJobs()) != 0 {
		t.Errorf("deleted: of job %q, groups of jobs %v", g.job, d.OfJobs())
	}
	if d.Own("g", "one"); g.job != "" {
		t.Errorf("a group that goes is made job %q's", g.job)
	}
	d.DeleteOf("other")
}

// TestReset: a reset gives a group a new epoch, all receivers, and a sound plan.
func TestReset(t *testing.T) {
	d := newDesk(t)
	g := d.typed("s1", "r1", "r3")
	g.evicted[d.net.Address("r3")] = true
	d.place(g, false)
	d.pass(time.Minute)
	if _, b := g.target.FindReceiver(d.net.Address("r3")); b != nil {
		t.Fatal("an evicted receiver is in the tree")
	}
	g.planErr = &api.Error{Code: api.CodeNotPlannable}
	epoch := g.target.Epoch
	d.writes()
	if err := d.Reset("typed", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	_, b := g.target.FindReceiver(d.net.Address("r3"))
	if b == nil || g.target.Epoch <= epoch || len(g.evicted) != 0 || g.planErr != nil || !d.saved(g) {
		t.Errorf("branch %v, epoch %d after %d, evicted %v, error %v", b, g.target.Epoch, epoch,
			g.evicted,
			g.planErr)
	}
	d.epochs[g.index] = lastEpoch
	g.evicted[d.net.Address("r3")] = true
	target := g.target
	if err := d.Reset("typed", resource.Precondition{}); err == nil || g.target != target ||
		len(g.evicted) != 1 {
		t.Errorf("no epoch is left: error %v, evicted %v", err, g.evicted)
	}
	if d.Reset("other", resource.Precondition{}) == nil ||
		d.Reset("typed", resource.Precondition{Version: math.MaxUint64}) == nil {
		t.Error("a group that is not there, or has another version, is reset")
	}
}

// TestStillEvicted: a new spec leaves those receivers out that it does not change, but not all.
func TestStillEvicted(t *testing.T) {
	d := newDesk(t)
	g := d.typed("s1", "r1", "r3", "r4")
	a := func(host string) netip.Addr { return d.net.Address(host) }
	other := func(s *api.MulticastGroupSpec) { s.Receivers[0].QPN++ }
	fewer := func(s *api.MulticastGroupSpec) { s.Receivers = s.Receivers[:2] }
	for i, c := range []struct {
		evicted []string
		change  func(*api.MulticastGroupSpec)
		want    []netip.Addr
	}{
		{nil, func(*api.MulticastGroupSpec) {}, nil},
		{[]string{"r1"}, func(*api.MulticastGroupSpec) {}, []netip.Addr{a("r1")}},
		{[]string{"r1", "r3"}, func(*api.MulticastGroupSpec) {}, []netip.Addr{a("r1"), a("r3")}},
		{[]string{"r1", "r3"}, other, []netip.Addr{a("r3")}},
		{[]string{"r1", "r4"}, fewer, []netip.Addr{a("r1")}},
		{[]string{"r1", "r3"}, fewer, nil},
	} {
		clear(g.evicted)
		for _, host := range c.evicted {
			g.evicted[a(host)] = true
		}
		spec := g.item.Spec.Clone()
		c.change(&spec)
		out := g.stillEvicted(&spec)
		g2 := group{evicted: out}
		if got := g2.evictedList(); !slices.Equal(got, c.want) {
			t.Errorf("case %d: %v, want %v", i, got, c.want)
		}
	}
	spec := g.item.Spec
	g.item = nil
	if out := g.stillEvicted(&spec); len(out) != 0 {
		t.Errorf("a group that is made anew leaves out %v", out)
	}
}

// TestWhoseGroup: only the creator of a group writes the group: a client, or a job. The refusal
// names the job if the client may know the job.
func TestWhoseGroup(t *testing.T) {
	d := newDesk(t)
	spec := d.net.Spec(1, "s1", "r1")
	other := d.net.Spec(1, "s1", "r1", "r3")
	if err := d.PutOf("one", "g", spec, resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	for _, sees := range []bool{true, false} {
		pre := resource.Precondition{Sees: func(string) bool { return sees }}
		_, _, put := d.Groups().Put("g", other, pre)
		for what, err := range map[string]error{"a client writes": put,
			"a client deletes": d.Groups().Delete("g", pre), "a job writes": d.PutOf("two", "g", other,
				pre)} {
			if err == nil || strings.Contains(err.Error(), `"one"`) != sees ||
				!d.groups["g"].item.Spec.Equal(&spec) {
				t.Errorf("%s, sees the job %v: %v", what, sees, err)
			}
		}
	}
	if err := d.PutOf("one", "g", other, resource.Precondition{}); err != nil {
		t.Error(err)
	}
	d.DeleteOf("g")
	d.pass(time.Minute)
	if _, _, err := d.Groups().Put("g", spec, resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	err := d.PutOf("one", "g", other, resource.Precondition{})
	if err == nil || !strings.Contains(err.Error(), "a client has made") {
		t.Errorf("a job writes: %v", err)
	}
}

// TestTaken: a proxy address and a queue pair belong to one group.
func TestTaken(t *testing.T) {
	d := newDesk(t)
	a := d.typed("s1", "r1")
	for what, c := range map[string]struct {
		change func(*api.MulticastGroupSpec)
		want   string
	}{
		"nothing": {func(*api.MulticastGroupSpec) {}, ""},
		"the proxy address": {func(s *api.MulticastGroupSpec) {
			s.ProxyAddress = a.item.Spec.ProxyAddress
		}, "spec.proxyAddress"},
		"the queue pair of a source": {func(s *api.MulticastGroupSpec) {
			s.Source.QPN = a.item.Spec.Source.QPN
		}, "spec.source.qpn"},
		"the queue pair of receivers": {func(s *api.MulticastGroupSpec) {
			s.Receivers[0].QPN = a.item.Spec.Receivers[0].QPN
		}, "spec.receivers[0].qpn"},
	} {
		for _, sees := range []bool{true, false} {
			spec := d.net.Spec(2, "s1", "r1")
			c.change(&spec)
			err := api.ValidateGroup(&spec, d.validation("b", resource.Precondition{
				Sees: func(string) bool { return sees }}))
			var refused *api.Error
			if errors.As(err, &refused) != (c.want != "") {
				t.Errorf("%s: %v", what, err)
			} else if refused != nil && (refused.Fields[0].Field != c.want ||
				strings.Contains(err.Error(), "typed") != sees) {
				t.Errorf("%s, seen %v: %v", what, sees, err)
			}
			if err := api.ValidateGroup(&spec, d.validation("typed", resource.Precondition{})); err != nil {
				t.Errorf("%s, of the group itself: %v", what, err)
			}
		}
	}
}

// TestList has the groups that clients have made, by index.
func TestList(t *testing.T) {
	d := newDesk(t)
	if got := d.Groups().List(); got == nil || len(got) != 0 {
		t.Errorf("%#v", got)
	}
	for i, name := range []string{"z", "y", "x", "w"} {
		d.typedAs(name, i+1, "s1", "r1")
	}
	d.away("n1")
	if err := d.Groups().Delete("y", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, g := range d.Groups().List() {
		names = append(names, fmt.Sprint(g.Name, g.Status.Index))
		if got, err := d.Groups().Get(g.Name); err != nil || !reflect.DeepEqual(got, g) {
			t.Errorf("%s: %+v, %v; listed %+v", g.Name, got, err, g)
		}
	}
	if want := []string{"z0", "x2", "w3"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	if _, err := d.Groups().Get("y"); err == nil {
		t.Error("a group that was deleted is found")
	}
	if err := d.Groups().Delete("y", resource.Precondition{}); err == nil {
		t.Error("a group that was deleted is deleted")
	}
}

// TestFreeIndex: a group takes the lowest index at which there is no group, no orphan and an epoch
// left; the highest one while there may be orphans that were not read.
func TestFreeIndex(t *testing.T) {
	d := newDesk(t)
	d.inv().Limits.Groups = 4
	spec := d.net.Spec(1, "s1", "r1")
	p, err := tree.Place(d.env.Net, tree.Request{Name: "g", Group: 1, Spec: &spec, Epoch: 9})
	if err != nil {
		t.Fatal(err)
	}
	take := func(want uint16) {
		t.Helper()
		i, err := d.freeIndex()
		if err != nil || i != want {
			t.Errorf("index %d, error %v; want %d", i, err, want)
		}
		d.byIndex[i] = newGroup("g", i)
	}
	d.reads(p, "n1")
	take(0)
	take(2)
	d.epochs[3] = lastEpoch - 1
	if !d.free(3) {
		t.Error("an index with one epoch left is not free")
	}
	d.epochs[3] = lastEpoch
	for _, orphans := range []bool{true, false} {
		i, err := d.freeIndex()
		var refused *api.Error
		if !errors.As(err, &refused) || refused.Code != api.CodeLimit || i != 0 {
			t.Fatalf("index %d, %v", i, err)
		}
		if f := refused.Fields[0]; f.Want != "at most 4 multicast groups" || f.Limit == nil {
			t.Errorf("%+v", f)
		}
		if got := refused.Message == "orphans on switches occupy 1 indexes"; got != orphans {
			t.Errorf("orphans %v: %q", orphans, refused.Message)
		}
		d.byIndex[1] = newGroup("g", 1)
	}

	d = newDesk(t)
	d.inv().Limits.Groups = 4
	names := map[string]bool{"unread": true}
	for _, sw := range d.env.Switches.Switches() {
		names[sw] = true
	}
	d.events.SetSwitches(names, reconcile.Intervals{})
	take = func(want uint16) {
		t.Helper()
		if i, err := d.freeIndex(); err != nil || i != want {
			t.Errorf("a switch was not read: index %d, error %v; want %d", i, err, want)
		} else {
			d.byIndex[i] = newGroup("g", i)
		}
	}
	take(3)
	take(2)
}
