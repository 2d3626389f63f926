package multicast

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/resource"
)

// TestSharedPairIsKept: records from before the rule may hold groups that share a queue pair. If
// one group leaves the queue pair, the other group keeps it.
func TestSharedPairIsKept(t *testing.T) {
	d := newDesk(t)
	var groups []*group
	for i, name := range []string{"a", "b"} {
		if _, _, err := d.Groups().Put(name, d.net.Spec(i+1, "s1", "r1"),
			resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
		groups = append(groups, d.groups[name])
	}
	pair := api.QueuePair{Address: d.net.Address("r1"), QPN: 77}
	for _, g := range groups {
		g.item.Spec.Receivers[0].QPN = pair.QPN
		d.takePairs(g)
	}
	if !slices.Equal(d.pairs[pair], groups) {
		t.Fatalf("%d groups have the queue pair", len(d.pairs[pair]))
	}
	clear(d.status)
	d.leavePairs(groups[0])
	if len(d.status) != 2 {
		t.Errorf("one leaves a pair of two: the status of %v is looked at", d.status)
	}
	if !slices.Equal(d.pairs[pair], groups[1:]) || len(groups[0].pairs) != 0 {
		t.Errorf("one has left: %d groups have the queue pair, want the other", len(d.pairs[pair]))
	}
	clear(d.status)
	d.leavePairs(groups[1])
	if len(d.status) != 0 {
		t.Errorf("one leaves a pair of its own: the status of %v is looked at", d.status)
	}
	if of, has := d.pairs[pair]; has {
		t.Errorf("both have left: noted for %d groups", len(of))
	}
}

// TestPairsOfTheOldTree: a group keeps the queue pairs of the old tree until the old tree carries
// no data.
func TestPairsOfTheOldTree(t *testing.T) {
	d := newDesk(t)
	g := d.typed("s1", "r1", "r3")
	source := api.QueuePair{Address: d.net.Address("s1"), QPN: g.item.Spec.Source.QPN}
	receiver := api.QueuePair{Address: d.net.Address("r1"), QPN: g.item.Spec.Receivers[0].QPN}
	d.put(g, func(s *api.MulticastGroupSpec) {
		s.Source.QPN, s.Receivers[0].QPN = 88, 99
	})
	d.carry()
	for _, c := range []struct {
		after time.Duration
		has   bool
	}{{0, true}, {time.Minute, false}} {
		d.pass(c.after)
		for _, p := range []api.QueuePair{source, receiver} {
			if has := slices.Contains(d.pairs[p], g); has != c.has {
				t.Errorf("%v, after %v: has %v, want %v", p, c.after, has, c.has)
			}
		}
		for _, p := range []api.QueuePair{{Address: source.Address, QPN: 88},
			{Address: receiver.Address, QPN: 99}} {
			if !slices.Contains(d.pairs[p], g) {
				t.Errorf("%v, after %v: it does not have its own", p, c.after)
			}
		}
	}
}

// TestSharedBySpecs: groups share a queue pair while both specs name the queue pair. A group whose
// spec no longer names the queue pair does not degrade the other group, though the old tree may
// still carry data.
func TestSharedBySpecs(t *testing.T) {
	d := newDesk(t)
	a, b := d.typedAs("a", 1, "s1", "r1"), d.typedAs("b", 2, "s1", "r1")
	pair := api.QueuePair{Address: d.net.Address("r1"), QPN: a.item.Spec.Receivers[0].QPN}
	b.item.Spec.Receivers[0].QPN = pair.QPN
	d.takePairs(b)
	if d.shared(a) == "" || d.shared(b) == "" {
		t.Errorf("both have it: %q, %q", d.shared(a), d.shared(b))
	}
	d.put(a, func(s *api.MulticastGroupSpec) { s.Receivers[0].QPN = 99 })
	if !slices.Contains(d.pairs[pair], a) {
		t.Fatal("the old tree is gone")
	}
	if d.shared(a) != "" || d.shared(b) != "" {
		t.Errorf("one has left it: %q, %q", d.shared(a), d.shared(b))
	}
}

// TestNoPairOfSourceToBe: a source without a connection has no queue pair yet, so the controller
// notes no queue pair for the source.
func TestNoPairOfSourceToBe(t *testing.T) {
	d := newDesk(t)
	g := d.typedAs("a", 1, "s1", "r1")
	source := api.QueuePair{Address: d.net.Address("s1")}
	for _, source.QPN = range []uint32{0, 2} {
		g.target.Source.QPN = source.QPN
		d.takePairs(g)
		if has := slices.Contains(g.pairs, source); has != (source.QPN != 0) {
			t.Errorf("the group has %+v: %v", source, has)
		}
	}
}
