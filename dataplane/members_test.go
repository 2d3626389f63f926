package dataplane

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/dataplane/engine"
)

func (r *bed) profile(name string) int {
	r.t.Helper()
	i := slices.IndexFunc(r.p.Profiles(), func(p engine.ProfileInfo) bool { return p.Name == name })
	if i < 0 {
		r.t.Fatalf("no profile %q", name)
	}
	return i
}

func TestActionProfile(t *testing.T) {
	r := newBed(t, "state")
	p, tab := r.profile("I.profile"), r.table("via_profile")
	for id := range uint32(8) {
		if err := r.s.InsertMember(p,
			engine.Member{ID: id + 1, Action: r.call("choose", fmt.Sprintf("%04x", id+100))}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.s.InsertMember(p, engine.Member{ID: 9, Action: r.call("NoAction")}); !errors.Is(err,
		engine.ErrFull) {
		t.Errorf("a ninth member of eight: %v", err)
	}
	if err := r.s.InsertMember(p, engine.Member{ID: 1, Action: r.call("NoAction")}); !errors.Is(err,
		engine.ErrExists) {
		t.Errorf("member 1 again: %v", err)
	}
	e := engine.Entry{Match: []engine.Match{match(t, "00000007")},
		Target: engine.Target{Kind: engine.TargetMember, Member: 3}}
	if err := r.s.InsertEntry(tab, e); err != nil {
		t.Fatal(err)
	}
	if _, v := r.result(14, 7, zero); v != 102 {
		t.Errorf("member 3 set %d", v)
	}
	if _, v := r.result(14, 8, zero); v != 0 {
		t.Errorf("a miss set %d", v)
	}
	if err := r.s.ModifyMember(p, engine.Member{ID: 3, Action: r.call("choose", "0009")}); err != nil {
		t.Fatal(err)
	}
	if _, v := r.result(14, 7, zero); v != 9 {
		t.Errorf("the changed member set %d", v)
	}
	if err := r.s.DeleteMember(p, 3); !errors.Is(err, engine.ErrInUse) {
		t.Errorf("a member in use: %v", err)
	}
	bad := engine.Entry{Match: []engine.Match{match(t, "00000009")},
		Target: engine.Target{Action: r.call("NoAction")}}
	if err := r.s.InsertEntry(tab, bad); !errors.Is(err, engine.ErrBadValue) {
		t.Errorf("an action in a table of members: %v", err)
	}
	bad.Target = engine.Target{Kind: engine.TargetMember, Member: 77}
	if err := r.s.InsertEntry(tab, bad); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("an unknown member: %v", err)
	}
	bad.Target = engine.Target{Kind: engine.TargetGroup, Group: 1}
	if err := r.s.InsertEntry(tab, bad); !errors.Is(err, engine.ErrBadValue) {
		t.Errorf("a group in a table without selector: %v", err)
	}
	if err := r.s.DeleteEntry(tab, e.Match, 0); err != nil {
		t.Fatal(err)
	}
	if err := r.s.DeleteMember(p, 3); err != nil {
		t.Error(err)
	}
}

// spread counts which values a selector chooses over many packets.
func (r *bed) spread(index int) map[uint64]int {
	n := map[uint64]int{}
	for i := range 600 {
		_, v := r.result(15, index, fmt.Sprintf("%032x", i*7919))
		n[v]++
	}
	return n
}

func TestSelectorGroups(t *testing.T) {
	r := newBed(t, "state")
	p, tab := r.profile("I.chooser"), r.table("via_selector")
	for id := range uint32(3) {
		if err := r.s.InsertMember(p,
			engine.Member{ID: id + 1, Action: r.call("choose", fmt.Sprintf("%04x", id+1))}); err != nil {
			t.Fatal(err)
		}
	}
	g := engine.Group{ID: 10, Members: []engine.GroupMember{{Member: 1, Weight: 1,
		WatchPort: engine.NoPort}, {Member: 2, Weight: 1, WatchPort: 20},
		{Member: 3, Weight: 4, WatchPort: engine.NoPort}}}
	if err := r.s.InsertGroup(p, g); err != nil {
		t.Fatal(err)
	}
	e := engine.Entry{Match: []engine.Match{match(t, "00000001")},
		Target: engine.Target{Kind: engine.TargetGroup, Group: 10}}
	if err := r.s.InsertEntry(tab, e); err != nil {
		t.Fatal(err)
	}
	n := r.spread(1)
	if len(n) != 3 || n[3] < 3*n[1] || n[3] < 3*n[2] || n[1] < 50 || n[2] < 50 {
		t.Errorf("weights 1, 1, 4 chose %v", n)
	}
	r.s.SetPortUp(20, false)
	if n := r.spread(1); n[2] != 0 || n[1] == 0 || n[3] == 0 {
		t.Errorf("with member 2's port down: %v", n)
	}
	r.s.SetPortUp(20, true)
	if n := r.spread(1); n[2] == 0 {
		t.Errorf("with member 2's port up again: %v", n)
	}
	if err := r.s.ModifyGroup(p,
		engine.Group{ID: 10, Members: []engine.GroupMember{{Member: 2, Weight: 1,
			WatchPort: engine.NoPort}}}); err != nil {
		t.Fatal(err)
	}
	if n := r.spread(1); n[2] != 600 {
		t.Errorf("a group of one chose %v", n)
	}
	if err := r.s.DeleteGroup(p, 10); !errors.Is(err, engine.ErrInUse) {
		t.Errorf("a group in use: %v", err)
	}
	if err := r.s.DeleteMember(p, 2); !errors.Is(err, engine.ErrInUse) {
		t.Errorf("a member in a group: %v", err)
	}
	if err := r.s.DeleteMember(p, 1); err != nil {
		t.Error(err)
	}
	// An empty group: no action, and the entry was hit all the same.
	if err := r.s.ModifyGroup(p, engine.Group{ID: 10}); err != nil {
		t.Fatal(err)
	}
	if n := r.spread(1); n[0] != 600 {
		t.Errorf("an empty group chose %v", n)
	}
	if err := r.s.InsertGroup(p, engine.Group{ID: 11, MaxSize: 2,
		Members: []engine.GroupMember{{Member: 2, Weight: 3, WatchPort: engine.NoPort}}}); !errors.Is(err,
		engine.ErrFull) {
		t.Errorf("weight 3 in a group of 2: %v", err)
	}
	got, err := r.s.Group(p, 10)
	if err != nil || got.ID != 10 || len(got.Members) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestOneShotSelector(t *testing.T) {
	r := newBed(t, "state")
	tab := r.table("via_selector")
	set := []engine.WeightedAction{
		{ActionCall: r.call("choose", "0021"), Weight: 1, WatchPort: engine.NoPort},
		{ActionCall: r.call("choose", "0022"), Weight: 2, WatchPort: 9},
	}
	e := engine.Entry{Match: []engine.Match{match(t, "00000002")},
		Target: engine.Target{Kind: engine.TargetActionSet, Set: set}}
	if err := r.s.InsertEntry(tab, e); err != nil {
		t.Fatal(err)
	}
	if n := r.spread(2); n[0x21] < 100 || n[0x22] < 300 {
		t.Errorf("weights 1 and 2 chose %v", n)
	}
	r.s.SetPortUp(9, false)
	if n := r.spread(2); n[0x21] != 600 {
		t.Errorf("with the other's port down: %v", n)
	}
	got, err := r.s.Entry(tab, e.Match, 0)
	if err != nil || len(got.Target.Set) != 2 || got.Target.Set[1].Weight != 2 ||
		got.Target.Set[1].WatchPort != 9 {
		t.Errorf("%+v, %v", got, err)
	}
}
