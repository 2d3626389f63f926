package multicast

import (
	"slices"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/resource"
)

// TestSharedPairIsKept: of groups that share a queue pair, as records of before the rule have it,
// one that leaves it takes it from no other.
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
	d.leavePairs(groups[0])
	if !slices.Equal(d.pairs[pair], groups[1:]) || len(groups[0].pairs) != 0 {
		t.Errorf("one has left: %d groups have the queue pair, want the other", len(d.pairs[pair]))
	}
	d.leavePairs(groups[1])
	if of, has := d.pairs[pair]; has {
		t.Errorf("both have left: noted for %d groups", len(of))
	}
}
