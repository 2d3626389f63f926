package cluster

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

func crew(names ...string) (out []Member) {
	for i, name := range names {
		out = append(out, Member{Name: name, Instance: int64(i + 1)})
	}
	return out
}

func someSwitches(n, planes int) (out []Switch) {
	for i := range n {
		sw := Switch{Name: fmt.Sprintf("n%d", i)}
		if planes > 0 {
			sw.Plane = 1 + i%planes
		}
		out = append(out, sw)
	}
	return out
}

// settled shares until nothing moves, each move being complete before the next.
func settled(t *testing.T, members []Member, switches []Switch, owners map[string]Owner,
	moves int) (rounds, moved int) {
	t.Helper()
	living := make(map[int64]bool)
	for _, m := range members {
		living[m.Instance] = !m.Leaving
	}
	for ; rounds < 10000; rounds++ {
		next := share(members, switches, owners, moves)
		if len(next) == 0 {
			return rounds, moved
		}
		live := 0
		for name, o := range next {
			if living[owners[name].Instance] {
				live++
			}
			o.From = 0
			owners[name] = o
		}
		if moved += live; live > moves {
			t.Fatalf("%d switches move at a time, want at most %d", live, moves)
		}
	}
	t.Fatal("switches move for ever")
	return 0, 0
}

func counts(owners map[string]Owner) map[string]int {
	out := make(map[string]int)
	for _, o := range owners {
		out[o.Name]++
	}
	return out
}

// spread returns how many switches more the controller with the most has than the one with the
// fewest.
func spread(members []Member, owners map[string]Owner) int {
	n := counts(owners)
	var of []int
	for _, m := range members {
		of = append(of, n[m.Name])
	}
	return slices.Max(of) - slices.Min(of)
}

// TestShare: all controllers own equally many switches, or one more; when a controller leaves, its
// switches go to the others and no other switch moves; when a controller joins, switches come from
// all others, a few at a time, and only up to the new controller's share.
func TestShare(t *testing.T) {
	for _, n := range []int{1, 2, 3, 6, 7, 1000} {
		switches := someSwitches(n, 0)
		three := crew("c1", "c2", "c3")
		owners := make(map[string]Owner)
		check := func(when string, members []Member) {
			t.Helper()
			if d := spread(members, owners); d > 1 {
				t.Errorf("%d switches, %s: they are shared out as %v", n, when, counts(owners))
			}
			if why := unevenness(members, switches, owners); why != "" {
				t.Errorf("%d switches, %s: %s", n, when, why)
			}
		}
		settled(t, three, switches, owners, 16)
		check("at first", three)
		had := min(1, counts(owners)["c3"]) // it had a switch
		if rounds, moved := settled(t, three[:2], switches, owners, 16); rounds != had || moved != 0 {
			t.Errorf("%d switches: after c3 went %d switches of others moved, in %d rounds", n, moved,
				rounds)
		}
		check("after c3 went", three[:2])
		back := append(crew("c1", "c2"), Member{Name: "c3", Instance: 9})
		if why := unevenness(back, switches, owners); (why != "") != (n > 2) {
			t.Errorf("%d switches, c3 has none: %q", n, why)
		}
		rounds, moved := settled(t, back, switches, owners, 16)
		if want := n / 3; moved != want || rounds != (moved+15)/16 {
			t.Errorf("%d switches: after c3 came back %d moved in %d rounds, want %d, 16 a round", n, moved,
				rounds, want)
		}
		check("after c3 came back", back)
		back[0].Leaving = true
		settled(t, back, switches, owners, 16)
		if n := counts(owners)["c1"]; n != 0 {
			t.Errorf("c1 leaves with %d switches", n)
		}
		check("after c1 left", back[1:])
	}
}

// TestShareRandom: through any comings and goings of controllers, with and without planes, the
// switches are evenly shared out in the end.
func TestShareRandom(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("WEFT_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	t.Logf("WEFT_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 100 {
		planes := random.IntN(4)
		switches, owners := someSwitches(1+random.IntN(40), planes), make(map[string]Owner)
		for i := range switches {
			if random.IntN(4) == 0 {
				switches[i].Plane = 0
			}
		}
		var members []Member
		for step := range 12 {
			if len(members) > 1 && random.IntN(2) == 0 {
				members = slices.Delete(members, 0, 1)
			} else {
				members = append(members, Member{Name: fmt.Sprintf("c%d-%d", random.IntN(1000), step),
					Instance: int64(step + 1)})
			}
			settled(t, members, switches, owners, 1+random.IntN(8))
			if why := unevenness(members, switches, owners); why != "" {
				t.Fatalf("%d switches, %d planes, %d controllers: %s", len(switches), planes, len(members), why)
			}
			if d := spread(members, owners); d > 1 && (planes < 2 || len(members) < planes) {
				t.Fatalf("%d switches, %d planes, %d controllers: %v", len(switches), planes, len(members),
					counts(owners))
			}
		}
	}
}

// TestShareOfOneNameTwice: a controller that was killed and has started again is present twice
// until its first lease ends. Switches of several planes still have owners.
func TestShareOfOneNameTwice(t *testing.T) {
	members := []Member{{Name: "c1", Instance: 1}, {Name: "c2", Instance: 2},
		{Name: "c2", Instance: 3}}
	for planes := range 5 {
		switches := someSwitches(9, planes)
		owners := share(members, switches, nil, 9)
		for _, sw := range switches {
			if owners[sw.Name].Instance == 0 {
				t.Errorf("%d planes: switch %s has no owner", planes, sw.Name)
			}
		}
	}
}

// TestUnevenness: what is wrong with a share is said.
func TestUnevenness(t *testing.T) {
	members, switches := crew("c1", "c2"), someSwitches(4, 0)
	owned := func(by ...int64) map[string]Owner {
		out := make(map[string]Owner)
		for i, m := range by {
			if m != 0 {
				out[fmt.Sprintf("n%d", i)] = Owner{Name: fmt.Sprintf("c%d", m), Instance: m}
			}
		}
		return out
	}
	waiting := owned(1, 1, 2, 2)
	waiting["n2"] = Owner{Name: "c2", Instance: 2, From: 1}
	let := owned(1, 1, 2, 2)
	let["n2"] = Owner{Name: "c2", Instance: 2, From: 77}
	for want, owners := range map[string]map[string]Owner{
		"switch n3 has no owner that lives":                                      owned(1, 1, 2, 0),
		"controller c1 owns 3 switches, and controller c2 owns 1":                owned(1, 1, 1, 2),
		"controller c2 waits for switch n2, which its last owner has not let go": waiting,
	} {
		if got := unevenness(members, switches, owners); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, owners := range []map[string]Owner{owned(1, 2, 1, 2), let} {
		if got := unevenness(members, switches, owners); got != "" {
			t.Errorf("%v: %q, want nothing", owners, got)
		}
	}
}

// TestSharePlanes: with a controller a plane or more, no controller has switches of two planes.
func TestSharePlanes(t *testing.T) {
	for _, c := range []struct{ planes, members int }{{2, 2}, {2, 3}, {2, 5}, {4, 4}, {4, 7}, {3, 2}} {
		switches := someSwitches(400, c.planes)
		var names []string
		for i := range c.members {
			names = append(names, fmt.Sprintf("c%d", i))
		}
		owners := make(map[string]Owner)
		settled(t, crew(names...), switches, owners, 16)
		planes := make(map[string]map[int]bool)
		for _, sw := range switches {
			name := owners[sw.Name].Name
			if planes[name] == nil {
				planes[name] = make(map[int]bool)
			}
			planes[name][sw.Plane] = true
		}
		if len(planes) != c.members {
			t.Errorf("%d of %d controllers have switches", len(planes), c.members)
		}
		for name, has := range planes {
			if len(has) > 1 && c.members >= c.planes {
				t.Errorf("%d controllers, %d planes: %s has %d planes", c.members, c.planes, name, len(has))
			}
		}
	}
}

// TestShareUnknownPlane: while planes are unknown, no switch leaves a living owner.
func TestShareUnknownPlane(t *testing.T) {
	members, switches := crew("c1", "c2", "c3"), someSwitches(60, 3)
	owners := make(map[string]Owner)
	settled(t, members, switches, owners, 16)
	for i := range switches {
		switches[i].Plane = UnknownPlane
	}
	if next := share(members, switches, owners, 16); len(next) != 0 {
		t.Errorf("%d switches move", len(next))
	}
	before := counts(owners)
	if _, moved := settled(t, members[:2], switches, owners, 16); moved != 0 ||
		counts(owners)["c3"] != 0 {
		t.Errorf("%v after %v: %d switches of others moved", counts(owners), before, moved)
	}
}

// TestShareFrom: a new owner waits for the last one that may hold the session, through any number
// of owners in between that did not begin.
func TestShareFrom(t *testing.T) {
	switches := []Switch{{Name: "n1"}}
	members := crew("c1", "c2", "c3")
	leaving := Member{Name: "c0", Instance: 8, Leaving: true}
	owners := map[string]Owner{"n1": {Name: leaving.Name, Instance: leaving.Instance}}
	next := share(append(members, leaving), switches, owners, 1)["n1"]
	if next.Name == "" || next.From != leaving.Instance {
		t.Fatalf("%+v moves to %+v", owners["n1"], next)
	}
	owners["n1"] = next
	if again := share(append(members, leaving), switches, owners, 1); len(again) != 0 {
		t.Errorf("%+v moves on to %+v before it has begun", next, again)
	}
	// The new owner dies before the old one has let go.
	others := slices.DeleteFunc(append(members[:3:3], leaving), next.is)
	after := share(others, switches, owners, 1)["n1"]
	if after.Name == "" || after.From != leaving.Instance {
		t.Errorf("the third owner is %+v, want it to wait for instance %d", after, leaving.Instance)
	}
	// All before have gone.
	if last := share([]Member{{Name: "c9", Instance: 99}}, switches, owners, 1)["n1"]; last.From != 0 {
		t.Errorf("the owner %+v waits for one that is gone", last)
	}
}
