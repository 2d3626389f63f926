package topology_test

import (
	"testing"

	"github.com/weft-sdn/weft/topology"
)

// TestScope: a peer may describe what its scope has.
func TestScope(t *testing.T) {
	for _, c := range []struct {
		rules []string
		id    topology.NodeID
		want  bool
	}{
		{nil, "64512:10.0.0.6", true},
		{[]string{"10.0.0.6"}, "64512:10.0.0.6", true},
		{[]string{"10.0.0.6"}, "64513:10.0.0.6@7", true},
		{[]string{"10.0.0.6"}, "64512:10.0.0.6-10.1.1.1", true},
		{[]string{"10.0.0.6"}, "64512:10.0.0.60", false},
		{[]string{"64512:10.0.0.6"}, "64512:10.0.0.6", true},
		{[]string{"64512:10.0.0.6"}, "64513:10.0.0.6", false},
		{[]string{"64512:*"}, "64512:0102.0304.0506", true},
		{[]string{"64512:*"}, "645120:10.0.0.6", false},
		{[]string{"10.0.0.0/24"}, "64512:10.0.0.255", true},
		{[]string{"10.0.0.0/24"}, "64512:10.0.1.0", false},
		{[]string{"64513:10.0.0.0/24", "10.0.1.0/24"}, "64512:10.0.1.9", true},
		{[]string{"10.0.0.0/8"}, "64512:0102.0304.0506", false},
		{[]string{"0102.0304.0506"}, "64512:0102.0304.0506", true},
		{[]string{"0102.0304.0506"}, "64512:0102.0304.0506.01", true},
		{[]string{"0102.0304.0506"}, "64512:0102.0304.0507", false},
	} {
		s, err := topology.ParseScope(c.rules)
		if err != nil {
			t.Fatalf("%q: %v", c.rules, err)
		}
		if got := s.Has(c.id); got != c.want {
			t.Errorf("%q has %s: %t, want %t", c.rules, c.id, got, c.want)
		}
	}
	for _, bad := range []string{"", "*", "n6", "0:10.0.0.6", "x:10.0.0.6", "64512:", "10.0.0.1/24",
		"fd00::/64", "64512:*/8", "10.0.0.6-10.0.0.7"} {
		if _, err := topology.ParseScope([]string{bad}); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
