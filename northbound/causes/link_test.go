package causes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
)

// TestSuspectIsOne: a suspect is one cause before and after it is denied.
func TestSuspectIsOne(t *testing.T) {
	s := suspect(api.Suspect{FromName: "A", ToName: "B"}, "b,1~a,1")
	denied := s
	denied.Denied = true
	cut := link("b,1~a,1", func(l *api.Link) { dead(l); l.Status.Cause = "loses 0.5 of its packets" })
	const why = " It is in use still: too few paths are left."
	for want, k := range map[string]Known{
		"warning It loses 50 % of its packets, with a confidence of 99 %." +
			why: {Suspects: []api.Suspect{s}},
		"fault It loses 50 % of its packets, with a confidence of 99 %.": {
			Links: []api.Link{cut}, Suspects: []api.Suspect{denied},
		},
	} {
		all := Find(&k)
		if len(all) != 1 || all[0].ID != "link/a,1~b,1" || all[0].What != "Link A → B loses packets" ||
			fmt.Sprint(all[0].Severity, " ", all[0].Detail) != want {
			t.Errorf("got %+v, want %s", all, want)
		}
	}
}

// TestCutIsOne: the accusation that some host of a leaf loses packets follows from a failed link of
// the leaf. An accusation of a known host or of another link does not.
func TestCutIsOne(t *testing.T) {
	const at = "hosts of A port 1 receiving"
	unknown := suspect(api.Suspect{From: "a", FromName: "A", ToName: "a host"}, at)
	sending := suspect(api.Suspect{To: "a", ToName: "A", FromName: "a host"}, at)
	known := suspect(api.Suspect{From: "a", FromName: "A", Host: "h", HostPort: 1}, "a,9~h")
	link2 := suspect(api.Suspect{From: "a", FromName: "A", To: "c", ToName: "C"}, "a,2~c,1")
	held := func(l *api.Link) { l.Status.Phase = "held" }
	deny := func(l *api.Link) { l.Status.Denied = true }
	for _, c := range []struct {
		what    string
		links   []api.Link
		suspect api.Suspect
		want    string
	}{
		{"a cut", []api.Link{link("a,1~b,1", dead)}, unknown, "link/a,1~b,1[link/" + at + "]"},
		{"a cut from above", []api.Link{link("b,1~a,1", dead)}, unknown, "link/a,1~b,1[link/" + at + "]"},
		{"a cut, and a host that sends", []api.Link{link("a,1~b,1", dead)}, sending,
			"link/a,1~b,1[link/" + at + "]"},
		{"a link that comes back", []api.Link{link("a,1~b,1", held)}, unknown,
			"link/a,1~b,1[link/" + at + "]"},
		{"a cut elsewhere", []api.Link{link("x,1~y,1", dead)}, unknown,
			"link/x,1~y,1[] link/" + at + "[]"},
		{"a link that is denied", []api.Link{link("a,1~b,1", deny)},
			unknown, "link/a,1~b,1[] link/" + at + "[]"},
		{"a host that is known", []api.Link{link("a,1~b,1", dead)}, known, "link/a,1~b,1[] link/a,9~h[]"},
		{"another link", []api.Link{link("a,1~b,1", dead)}, link2, "link/a,1~b,1[] link/a,2~c,1[]"},
		{"no cut", nil, unknown, "link/" + at + "[]"},
	} {
		all := Find(&Known{Links: c.links, Suspects: []api.Suspect{c.suspect}})
		got := strings.Fields(shape(all))
		slices.Sort(got)
		want := strings.Fields(c.want)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("%s: %s, want %s", c.what, shape(all), c.want)
		}
	}
	if f := Find(&Known{Suspects: []api.Suspect{unknown}})[0]; f.Object != "nodes/a" {
		t.Errorf("a host of a leaf is %s", f.Object)
	}
}
