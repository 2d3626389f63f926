package mrc

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/store"
)

// want returns the desk's state of a world's core, without requests of clients.
func (w *bed) want() *wanted {
	w.t.Helper()
	made, err := newWanted(w.core,
		func() time.Time { return time.Unix(int64(w.Now()/time.Second), 0).UTC() }, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return made
}

// keepAll has all that has changed kept at once, and returns the writes.
func keepAll(w *wanted) []store.Op {
	ops := w.saves(1)
	w.Kept(1)
	return ops
}

func ccSpec() api.CCProfileSpec {
	return api.CCProfileSpecOf(ccProfiles([]string{"x"})[0])
}

// TestBadWishes: a wrong request is refused with a code and, where possible, the field and the
// expected value; it changes nothing.
func TestBadWishes(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 3, 2, 1)
	unsynced := w.want()
	if err := unsynced.setAdmin(Target{Plane: 1}, api.AdminSpec{Admin: api.AdminDrained},
		resource.Precondition{}); !is(err, api.CodeUnavailable) {
		t.Errorf("a drain before the topology is in sync: %v", err)
	}
	w.start()
	want := w.want()
	profile := w.core.Profiles()[1].Name
	if _, _, err := want.putCC("used", ccSpec(), resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	used, err := want.putProfile(profile, api.EVProfileSpec{CCProfile: "used"},
		resource.Precondition{})
	if err != nil {
		t.Fatal(err)
	}
	keepAll(want)
	w.pump()
	state := w.core.Hosts()[0].State
	bad := ccSpec()
	bad.NSCC.Gamma = 2
	put := func(name string, s api.EVProfileSpec, pre resource.Precondition) error {
		_, err := want.putProfile(name, s, pre)
		return err
	}
	cc := func(name string, s api.CCProfileSpec, pre resource.Precondition) error {
		_, _, err := want.putCC(name, s, pre)
		return err
	}
	drain := func(target Target) error {
		return want.setAdmin(target, api.AdminSpec{Admin: api.AdminDrained}, resource.Precondition{})
	}
	for name, c := range map[string]struct {
		err  error
		code api.Code
		text string
	}{
		"a link that is not there":  {drain(Target{Link: "x"}), api.CodeNotFound, "x"},
		"a plane that is not there": {drain(Target{Plane: 3}), api.CodeNotFound, "plane 3"},
		"a port that is not there": {drain(Target{Host: hostName(1, 1), Port: 3}),
			api.CodeNotFound, "port 3"},
		"the use of a plane that is not there": {want.setAdmin(Target{Plane: 3},
			api.AdminSpec{Admin: api.AdminUp}, resource.Precondition{}), api.CodeNotFound, "plane 3"},
		"nothing": {drain(Target{}), api.CodeNotFound,
			"want one of link, node, plane, and host with port"},
		"neither up nor drained": {want.setAdmin(Target{Plane: 1},
			api.AdminSpec{Admin: "off"}, resource.Precondition{}), api.CodeInvalid, `spec.admin is "off"`},
		"another version of a plane": {want.setAdmin(Target{Plane: 1},
			api.AdminSpec{Admin: api.AdminDrained}, resource.Precondition{Version: 7}), api.CodeVersion,
			"plane 1"},
		"a profile that is not there": {put("x:y", api.EVProfileSpec{},
			resource.Precondition{}), api.CodeNotFound, `"x:y"`},
		"another version of a profile": {put(profile, api.EVProfileSpec{MaxEVs: 1},
			resource.Precondition{Version: used.Version + 1}), api.CodeVersion, profile},
		"a mode that is none": {put(profile, api.EVProfileSpec{Mode: "ALL"},
			resource.Precondition{}), api.CodeInvalid, "spec.mode"},
		"EVs of the device's own": {put(profile, api.EVProfileSpec{Mode: api.EVModeAuto},
			resource.Precondition{}), api.CodeInvalid, "spec.mode"},
		"more active EVs than there are": {put(profile, api.EVProfileSpec{MinActive: 5},
			resource.Precondition{}), api.CodeInvalid, "spec.minActive is 5"},
		"a CC profile that is not there": {put(profile, api.EVProfileSpec{CCProfile: "x"},
			resource.Precondition{}), api.CodeInvalid, "spec.ccProfile"},
		"a CC profile that cannot be": {cc("bad", bad, resource.Precondition{}),
			api.CodeInvalid, "spec.nscc.gamma"},
		"a CC profile without a name": {cc("", ccSpec(), resource.Precondition{}),
			api.CodeInvalid, "name"},
		"a CC profile that must not be there": {cc("used", ccSpec(),
			resource.Precondition{Absent: true}), api.CodeExists, "used"},
		"a CC profile that must be there": {cc("new", ccSpec(), resource.Precondition{Version: 1}),
			api.CodeVersion, "new"},
		"the end of a CC profile in use": {want.deleteCC("used", resource.Precondition{}),
			api.CodeConflict, profile},
		"the end of a CC profile that is none": {want.deleteCC("x", resource.Precondition{}),
			api.CodeNotFound, "x"},
		"the end of wishes of no profile": {want.deleteProfile("x:y", resource.Precondition{}),
			api.CodeNotFound, "x:y"},
		"the end of wishes at another version": {want.deleteProfile(profile,
			resource.Precondition{Version: 1 << 40}), api.CodeVersion, profile},
		"the end of a CC profile at no version": {want.deleteCC("used",
			resource.Precondition{Version: 1 << 40}), api.CodeVersion, "used"},
	} {
		if !is(c.err, c.code) || !strings.Contains(c.err.Error(), c.text) {
			t.Errorf("%s: %v, want %s with %q", name, c.err, c.code, c.text)
		}
	}
	w.pump()
	if saves := keepAll(want); len(saves) != 0 || w.core.Hosts()[0].State != state ||
		len(w.core.Drains()) != 0 {
		t.Errorf("something has changed: %d records, drains %v", len(saves), w.core.Drains())
	}
}

func is(err error, code api.Code) bool {
	var e *api.Error
	return errors.As(err, &e) && e.Code == code
}

func admins(w *wanted) []resource.Item[api.AdminSpec, target] { return values(w.admins.All()) }

func values[T any](list []*T) []T {
	out := make([]T, len(list))
	for i, x := range list {
		out[i] = *x
	}
	return out
}

// TestWishesStay: what clients want is there again for the next core, with its versions; wanting it
// again changes nothing.
func TestWishesStay(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 3, 2, 1).start()
	want, records := w.want(), store.NewMemory()
	profile := w.core.Profiles()[1].Name
	link := w.both(leafID(1, 1), spineID(1, 1))
	none := resource.Precondition{}
	drained := api.AdminSpec{Admin: api.AdminDrained}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if err := records.Apply(context.Background(), keepAll(want)); err != nil {
			t.Fatal(err)
		}
	}
	wishes := func() {
		t.Helper()
		for _, l := range link { // both directions are one
			do(want.setAdmin(Target{Link: l.ID}, drained, none))
		}
		do(want.setAdmin(Target{Host: hostName(2, 1), Port: 1}, drained, none))
		_, _, err := want.putCC("cc", ccSpec(), none)
		do(err)
		_, err = want.putProfile(profile, api.EVProfileSpec{Mode: api.EVModeExplicit, MaxEVs: 2,
			CCProfile: "cc"}, none)
		do(err)
	}
	wishes()
	do(want.setAdmin(Target{Node: spineID(2, 2)}, drained, resource.Precondition{Absent: true}))
	do(want.setAdmin(Target{Node: spineID(2, 2)}, api.AdminSpec{Admin: api.AdminUp}, none))
	_, _, err := want.putCC("gone", ccSpec(), none)
	do(err)
	do(want.deleteCC("gone", none))
	before := admins(want)
	wishes()
	if saves := keepAll(want); len(saves) != 0 || !reflect.DeepEqual(before, admins(want)) ||
		len(before) != 3 {
		t.Errorf("wanting the same again changes something: %v, was %v", admins(want), before)
	}

	next := newBed(t, 2, nil).clos(2, 3, 2, 1)
	list, _, err := records.List(context.Background(), RecordPrefix)
	if err != nil {
		t.Fatal(err)
	}
	again, err := newWanted(next.core, want.now, list)
	if err != nil {
		t.Fatal(err)
	}
	next.start()
	if !reflect.DeepEqual(admins(again), admins(want)) ||
		!reflect.DeepEqual(values(again.profiles.All()), values(want.profiles.All())) ||
		!reflect.DeepEqual(values(again.cc.All()), values(want.cc.All())) ||
		again.versions.Next() != want.versions.Next() {
		t.Errorf("wanted is\n%+v, was\n%+v", again, want)
	}
	next.run(time.Second)
	for _, s := range next.core.Links() {
		if over := s.ID == link[0].ID || s.ID == link[1].ID; s.Status.Drained != over ||
			s.Status.Denied != over {
			t.Errorf("%s is drained: %v, denied: %v, want %v", s.ID, s.Status.Drained, s.Status.Denied, over)
		}
	}
	if p, _ := next.core.Profile(profile); p.Outcome.Profile.Mode != hostapi.ModeExplicit ||
		p.Outcome.Profile.Count != 2 || p.Outcome.Profile.CC != "cc" {
		t.Errorf("the profile is %+v", p.Outcome.Profile)
	}
	if h, _ := next.core.Host(hostName(2, 1)); h.Ports[0].Status.Usable ||
		!h.Ports[0].Status.Drained ||
		len(h.Ports[0].Status.Drains) != 1 || !h.Ports[0].Status.Drains[0].Drained ||
		!next.core.hosts.byName[h.Name].Denied().Has(1) {
		t.Errorf("the host with a drained port is %+v", h)
	}
	for _, d := range next.core.Drains() {
		if !d.Drained {
			t.Errorf("%v is not drained, awaits %v", d.Target, d.Awaits)
		}
	}
	if err := again.setAdmin(Target{Link: link[1].ID}, api.AdminSpec{Admin: api.AdminUp},
		none); err != nil {
		t.Error(err)
	}
	keepAll(again)
	next.run(5 * time.Second)
	if l, _ := next.core.Link(link[0].ID); l.Status.Denied {
		t.Errorf("the link is not used again: %+v", l)
	}
}

// TestBadRecords: a store that holds something else is an error that names the record.
func TestBadRecords(t *testing.T) {
	for _, key := range []string{versionsKey, adminKind.Prefix + "plane 1",
		EVProfileKind.Prefix + "a:b", CCKind.Prefix + "c"} {
		w := newBed(t, 1, nil)
		if _, err := newWanted(w.core, time.Now,
			[]store.Record{{Key: key, Value: []byte("{")}}); err == nil ||
			!strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// TestDryWishes: a dry run says what the write would, and changes nothing.
func TestDryWishes(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 3, 2, 1)
	w.start()
	want := w.want()
	profile := w.core.Profiles()[1].Name
	dry := resource.Precondition{Trial: &resource.Trial{}}
	before := w.core.Hosts()[0].Set
	spec := api.EVProfileSpec{MaxEVs: 2}
	said, err := want.putProfile(profile, spec, dry)
	if err != nil || said.Spec != spec {
		t.Errorf("a profile: %+v, %v", said, err)
	}
	cc, created, err := want.putCC("x", ccSpec(), dry)
	if err != nil || !created || cc.Version != said.Version {
		t.Errorf("a CC profile: %+v, %v, %v", cc, created, err)
	}
	for _, target := range []Target{{Plane: 1}, {Host: hostName(1, 1), Port: 1}} {
		for _, state := range []api.AdminState{api.AdminDrained, api.AdminUp} {
			if err := want.setAdmin(target, api.AdminSpec{Admin: state}, dry); err != nil {
				t.Errorf("%v %s: %v", target, state, err)
			}
		}
	}
	if err := want.setAdmin(Target{Plane: 9}, api.AdminSpec{Admin: api.AdminUp}, dry); !is(err,
		api.CodeNotFound) {
		t.Errorf("a plane that is not there: %v", err)
	}
	if _, err := want.putProfile(profile, api.EVProfileSpec{MaxEVs: 1, MinActive: 2}, dry); !is(err,
		api.CodeInvalid) {
		t.Errorf("more active EVs than there are: %v", err)
	}
	if saves := keepAll(want); len(saves) > 0 || len(w.core.drains.list) > 0 ||
		want.profiles.Len()+want.cc.Len()+want.admins.Len() > 0 || w.core.Hosts()[0].Set != before {
		t.Errorf("dry runs changed something: %v", saves)
	}
	real, err := want.putProfile(profile, spec, resource.Precondition{})
	if err != nil || real.Version != said.Version {
		t.Errorf("the write has version %d, the dry run %d: %v", real.Version, said.Version, err)
	}
	if _, _, err := want.putCC("x", ccSpec(), resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	keepAll(want)
	for what, err := range map[string]error{"profile": want.deleteProfile(profile, dry),
		"CC profile": want.deleteCC("x", dry)} {
		if saves := keepAll(want); err != nil || len(saves) > 0 {
			t.Errorf("the dry deletion of a %s: %v, saves %v", what, err, saves)
		}
	}
	if now, _ := w.core.Profile(profile); want.profiles.Get(profile) == nil ||
		want.cc.Get("x") == nil || now.Outcome.Profile.Count != 2 {
		t.Errorf("dry deletions deleted something: %+v", now.Outcome.Profile)
	}
	if err := want.setAdmin(Target{Plane: 1}, api.AdminSpec{Admin: api.AdminDrained},
		resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	keepAll(want)
	if err := want.setAdmin(Target{Plane: 2}, api.AdminSpec{Admin: api.AdminDrained}, dry); !is(err,
		api.CodeLastPath) {
		t.Errorf("the last path: %v", err)
	}
}

// TestUseOfWhatHasGone: a client can take back the drain of a port after its host has gone, and a
// dry run agrees.
func TestUseOfWhatHasGone(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 3, 2, 1).start()
	want, real := w.want(), resource.Precondition{}
	port := Target{Host: hostName(1, 1), Port: 2}
	if err := want.setAdmin(port, api.AdminSpec{Admin: api.AdminDrained}, real); err != nil {
		t.Fatal(err)
	}
	keepAll(want)
	if err := w.core.RemoveHost(port.Host); err != nil {
		t.Fatal(err)
	}
	for _, pre := range []resource.Precondition{{Trial: &resource.Trial{}}, real} {
		if err := want.setAdmin(port, api.AdminSpec{Admin: api.AdminUp}, pre); err != nil {
			t.Errorf("dry %v: %v", pre.Trial != nil, err)
		}
	}
	keepAll(want)
	if d := w.core.Drains(); len(d) > 0 {
		t.Errorf("drains %v", d)
	}
}

// TestMostCCProfiles: clients can create as many CC profiles as a host holds, and then still change
// or replace each.
func TestMostCCProfiles(t *testing.T) {
	want, none := newBed(t, 1, nil).want(), resource.Precondition{}
	put := func(i int, gamma float32) error {
		s := ccSpec()
		s.NSCC.Gamma = gamma
		_, created, err := want.putCC(fmt.Sprintf("cc%d", i), s, none)
		if err == nil {
			keepAll(want)
		}
		if created != (err == nil && gamma == 0.5) {
			t.Errorf("profile %d was created: %v", i, created)
		}
		return err
	}
	for i := range hostapi.MaxCCProfiles {
		if err := put(i, 0.5); err != nil {
			t.Fatal(err)
		}
	}
	if err := put(hostapi.MaxCCProfiles, 0.5); !is(err, api.CodeLimit) {
		t.Errorf("one too many: %v", err)
	}
	if err := put(0, 0.25); err != nil {
		t.Errorf("another spec of one of them: %v", err)
	}
	if err := want.deleteCC("cc1", none); err != nil {
		t.Fatal(err)
	}
	keepAll(want)
	if err := put(hostapi.MaxCCProfiles, 0.5); err != nil {
		t.Errorf("another one instead: %v", err)
	}
}
