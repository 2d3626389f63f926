package truth

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/test/seeds"
)

// TestDirections: the controller names the direction in which a link loses packets, or both, and
// never accuses a good direction. The link truth repeats the verdict for each direction.
func TestDirections(t *testing.T) {
	for _, c := range []struct {
		name     string
		up, down float64
		within   time.Duration
		seeds    uint64
	}{
		{"nothing passes up", 1, 0, 250 * time.Millisecond, 4},
		{"nothing passes down", 0, 1, 250 * time.Millisecond, 4},
		{"nothing passes", 1, 1, 250 * time.Millisecond, 4},
		{"5 % up", 0.05, 0, 2 * time.Second, 2},
		{"5 % down", 0, 0.05, 2 * time.Second, 2},
		{"5 % both ways", 0.05, 0.05, 2 * time.Second, 2},
		{"1 % up", 0.01, 0, 8 * time.Second, 1},
		{"1 % down", 0, 0.01, 8 * time.Second, 1},
		{"1 % both ways", 0.01, 0.01, 8 * time.Second, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, count := seeds.Range(t, 1, c.seeds)
			var took []time.Duration
			bad := 0
			for seed := first; seed < first+count; seed++ {
				n := newThin(t, seed, small, eachMs, nil)
				l := pick(n, n.links())
				n.lose(l.from, l.to, c.up, c.down)
				at, want := n.Now(), l
				direction := "one"
				switch {
				case c.up == 0:
					want = wire{l.to, l.from}
				case c.down > 0:
					direction = "both"
				}
				for known := false; !known && n.Now() < at+2*c.within; {
					n.run(c.within / 50)
					s := n.core.Suspects()
					if len(s) == 0 || s[0].Direction == "" {
						continue
					}
					known = true
					took = append(took, n.Now()-at)
					if len(s) != 1 || s[0].Direction != direction || s[0].FromName != want.from ||
						s[0].ToName != want.to || len(s[0].Directions) != 2 ||
						(direction == "one") != slices.Equal(s[0].Links, s[0].Links[:1]) {
						bad++
						t.Logf("seed %d: %+v is bad, %+v is named", seed, want, s)
						continue
					}
					for _, x := range n.core.Links() {
						w := wire{x.Status.FromName, x.Status.ToName}
						concluded := x.Status.Truth.Concluded
						switch {
						case w == want || w == (wire{want.to, want.from}) && direction == "both":
							if concluded == nil || concluded.Direction != direction {
								t.Errorf("%v: %+v", w, concluded)
							}
						case w == (wire{want.to, want.from}):
							if concluded == nil || concluded.Direction != "other" {
								t.Errorf("%v: %+v", w, concluded)
							}
						case concluded != nil:
							t.Errorf("%v: %+v", w, concluded)
						}
					}
				}
			}
			slices.Sort(took)
			late := int(count) - len(took)
			for _, d := range took {
				if d > c.within {
					late++
				}
			}
			if len(took) > 0 {
				t.Logf("%d seeds, known after %v (median), %v (most); %d late, %d wrong", count,
					took[len(took)/2], took[len(took)-1], late, bad)
			}
			if bad > int(count)/100 || late > int(count)/20 {
				t.Errorf("%d wrong, %d late or unknown, of %d", bad, late, count)
			}
		})
	}
}

// TestNoOtherPath: without a second path back, the verdict names no direction, and stands.
func TestNoOtherPath(t *testing.T) {
	n := newThin(t, seeds.One(t, 1), lab.ClosConfig{Planes: 1, T0: 3, T1: 1, Hosts: 9}, eachMs, nil)
	l := pick(n, n.links())
	n.lose(l.from, l.to, 1, 0)
	n.run(200 * time.Millisecond)
	if s := n.core.Suspects(); len(s) != 1 || s[0].Direction != "" || s[0].Directions != nil ||
		len(s[0].Links) != 2 || s[0].Kind != "blackHole" {
		t.Errorf("%+v", s)
	}
}
