package tunnel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/test/seeds"
	"github.com/weft-sdn/weft/topology"
)

func q(n int) Queue {
	return Queue{Node: topology.NodeID(fmt.Sprintf("n%03d", n)), Port: 1, Priority: 3}
}

func chain(nodes ...int) (deps []Dependency) {
	for i := range nodes[1:] {
		deps = append(deps, Dependency{q(nodes[i]), q(nodes[i+1])})
	}
	return deps
}

// TestDeadlockRing: the third policy of a ring closes the circle, and the error names the queues.
func TestDeadlockRing(t *testing.T) {
	d := NewDependencies()
	d.Add(chain(1, 2, 3))
	d.Add(chain(3, 4))
	if c := d.Check(chain(0, 1, 2)); c != nil {
		t.Errorf("no circle: %v", c)
	}
	if got, want := fmt.Sprint(d.Check(chain(4, 5, 1))),
		fmt.Sprint([]Queue{q(1), q(2), q(3), q(4), q(5)}); got != want {
		t.Errorf("circle %s, want %s", got, want)
	}
	if d.Len() != 3 {
		t.Errorf("a check has left %d dependencies, want 3", d.Len())
	}
	if c := d.Check(chain(7, 7)); len(c) != 1 {
		t.Errorf("a queue that waits for itself: %v", c)
	}
	other := []Dependency{{Queue{"n004", 1, 4}, Queue{"n001", 1, 4}}}
	if c := d.Check(other); c != nil {
		t.Errorf("another priority: %v", c)
	}
	d.Remove(chain(2, 3))
	if c := d.Check(chain(4, 5, 1)); c != nil {
		t.Errorf("after the circle was opened: %v", c)
	}
}

// TestCycleOfAdded: Cycle looks at dependencies that have been added, and at no others, known to it
// or not.
func TestCycleOfAdded(t *testing.T) {
	d := NewDependencies()
	d.Add(chain(1, 2, 3))
	if c := d.Cycle(chain(3, 1)); c != nil {
		t.Errorf("between known queues: %v", c)
	}
	d.Add(chain(2, 1))
	if c := d.Cycle(chain(2, 1)); len(c) != 2 {
		t.Errorf("of the added ones: %v", c)
	}
	for _, deps := range [][]Dependency{chain(9, 2), chain(2, 9)} {
		if c := d.Cycle(deps); c != nil {
			t.Errorf("%v, one of which is unknown: %v", deps, c)
		}
	}
}

// twin reports by looking at everything, from every queue, whether one of some dependencies is in a
// circle.
func twin(all, deps []Dependency) bool {
	on := make(map[Queue][]Queue)
	for _, x := range slices.Concat(all, deps) {
		on[x.Queue] = append(on[x.Queue], x.On)
	}
	var reaches func(from, to Queue, seen map[Queue]bool) bool
	reaches = func(from, to Queue, seen map[Queue]bool) bool {
		if from == to {
			return true
		}
		seen[from] = true
		for _, next := range on[from] {
			if !seen[next] && reaches(next, to, seen) {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(deps,
		func(x Dependency) bool { return reaches(x.On, x.Queue, make(map[Queue]bool)) })
}

// TestDeadlockTwin holds the check against one that looks at everything.
func TestDeadlockTwin(t *testing.T) {
	first, count := seeds.Range(t, 1, 40)
	for seed := first; seed < first+count; seed++ {
		rng := rand.New(rand.NewPCG(seed, 7))
		d := NewDependencies()
		var owners [][]Dependency
		nodes := 4 + rng.IntN(20)
		found := 0
		for step := range 120 {
			if len(owners) > 0 && rng.IntN(4) == 0 {
				i := rng.IntN(len(owners))
				d.Remove(owners[i])
				owners = slices.Delete(owners, i, i+1)
				continue
			}
			path := rng.Perm(nodes)[:2+rng.IntN(min(4, nodes-2))]
			deps := chain(path...)
			all := slices.Concat(owners...)
			cycle := d.Check(deps)
			if (cycle != nil) != twin(all, deps) {
				t.Fatalf("seed %d step %d: %v beside %d: circle %v", seed, step, path, len(owners), cycle)
			}
			for i := range cycle {
				x := Dependency{cycle[i], cycle[(i+1)%len(cycle)]}
				if !slices.Contains(all, x) && !slices.Contains(deps, x) {
					t.Fatalf("seed %d step %d: %v is no dependency", seed, step, x)
				}
			}
			if cycle != nil {
				found++
			}
			if cycle == nil || rng.IntN(8) == 0 { // now and then one is allowed
				d.Add(deps)
				owners = append(owners, deps)
			}
		}
		if found == 0 {
			t.Errorf("seed %d: no circle at all", seed)
		}
	}
}
