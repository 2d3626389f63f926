package cluster

import (
	"fmt"
	"testing"
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
func settled(t *testing.T, members []Member, switches []Switch, owners map[string]Owner, moves int) (rounds, moved int) {
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

// TestShare: every controller gets a fair part; those of one that goes go to the others and no
// other switch moves; those of one that joins come from all others, a few at a time.
func TestShare(t *testing.T) {
	switches := someSwitches(1000, 0)
	three := crew("c1", "c2", "c3")
	owners := make(map[string]Owner)
	settled(t, three, switches, owners, 16)
	for name, n := range counts(owners) {
		if n < 280 || n > 390 {
			t.Errorf("%s has %d of 1000 switches", name, n)
		}
	}
	before := counts(owners)
	if rounds, moved := settled(t, three[:2], switches, owners, 16); rounds != 1 || moved != 0 {
		t.Errorf("after c3 went %d switches of others moved, in %d rounds", moved, rounds)
	}
	back := append(crew("c1", "c2"), Member{Name: "c3", Instance: 9})
	rounds, moved := settled(t, back, switches, owners, 16)
	if moved != before["c3"] || rounds != (moved+15)/16 {
		t.Errorf("after c3 came back %d switches moved in %d rounds, want %d, 16 a round", moved, rounds, before["c3"])
	}
	back[0].Leaving = true
	settled(t, back, switches, owners, 16)
	if n := counts(owners)["c1"]; n != 0 {
		t.Errorf("c1 leaves with %d switches", n)
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

// TestShareUnknownPlane: as long as planes are not known, no switch leaves an owner that lives.
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
	if _, moved := settled(t, members[:2], switches, owners, 16); moved != 0 || counts(owners)["c3"] != 0 {
		t.Errorf("%v after %v: %d switches of others moved", counts(owners), before, moved)
	}
}

// TestShareFrom: a new owner waits for the last one that may hold the session, through any number of
// owners in between that did not begin.
func TestShareFrom(t *testing.T) {
	switches := []Switch{{Name: "n1"}}
	members := crew("c1", "c2", "c3")
	best := heaviest("n1", members)
	var others []Member
	for _, m := range members {
		if m.Name != best.Name {
			others = append(others, m)
		}
	}
	owners := map[string]Owner{"n1": {Name: others[0].Name, Instance: others[0].Instance}}
	next := share(members, switches, owners, 1)["n1"]
	if !next.is(best) || next.From != others[0].Instance {
		t.Fatalf("%+v moves to %+v", owners["n1"], next)
	}
	owners["n1"] = next
	if again := share(members, switches, owners, 1); len(again) != 0 {
		t.Errorf("%+v moves on to %+v before it has begun", next, again)
	}
	// The new owner dies before the old one has let go.
	after := share(others, switches, owners, 1)["n1"]
	if after.From != 0 && after.From != others[0].Instance || after.From == 0 && after.Instance != others[0].Instance {
		t.Errorf("the third owner is %+v, want it to wait for instance %d", after, others[0].Instance)
	}
	// All before have gone.
	if last := share([]Member{{Name: "c9", Instance: 99}}, switches, owners, 1)["n1"]; last.From != 0 {
		t.Errorf("the owner %+v waits for one that is gone", last)
	}
}
