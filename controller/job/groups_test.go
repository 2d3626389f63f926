package job

import (
	"fmt"
	"testing"

	"github.com/weft-sdn/weft/api"
)

// TestMatch: a job uses the group with its own name that it has made, or a group with equal members
// that is not about to change. The name alone does not suffice, because two jobs may derive the
// same name.
func TestMatch(t *testing.T) {
	spec := func(qpn uint32) api.MulticastGroupSpec {
		return api.MulticastGroupSpec{DesignatedQPN: qpn}
	}
	for _, c := range []struct {
		name string
		all  []*wanted
		made []Group
		want string
	}{
		{"its own", []*wanted{{job: "a", own: "a-b-c", spec: spec(1)}},
			[]Group{{"a-b-c", "a", spec(1)}}, "map[a-b-c:[a]]"},
		{"its own, to be changed", []*wanted{{job: "a", own: "a-b-c", spec: spec(2)}},
			[]Group{{"a-b-c", "a", spec(1)}}, "map[a-b-c:[a]]"},
		{"another job's of that name", []*wanted{{job: "a", own: "a-b-c", spec: spec(2)}},
			[]Group{{"a-b-c", "a-b", spec(1)}}, "map[]"},
		{"another job's with equal members", []*wanted{{job: "a", own: "a-x", spec: spec(1)}},
			[]Group{{"b-y", "b", spec(1)}}, "map[b-y:[a]]"},
		{"one that changes", []*wanted{{job: "a", own: "a-x", spec: spec(1)},
			{job: "b", own: "b-y", spec: spec(2)}}, []Group{{"b-y", "b", spec(1)}}, "map[b-y:[b]]"},
		{"one whose job waits", []*wanted{{job: "a", own: "a-x", spec: spec(1)},
			{job: "b", own: "b-y", waits: "no NIC"}}, []Group{{"b-y", "b", spec(1)}}, "map[b-y:[b a]]"},
	} {
		if got := fmt.Sprint(new(grouping).match(c.all, c.made)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
