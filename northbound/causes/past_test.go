package causes

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

// TestPast: each moment of the last day is as it was, changes come in order, and what is older than
// a day or more than the bound goes, the oldest first.
func TestPast(t *testing.T) {
	var p past
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	all := func(string, string) bool { return true }
	things := func(s int) string {
		var out []string
		for _, x := range p.view(at(s), at(s), all).Things {
			out = append(out, strings.TrimSpace(x.Kind+" "+x.ID+" "+x.State+" "+x.What))
		}
		return strings.Join(out, ", ")
	}
	take := func(s int, found map[subject]string) { p.take(at(s), found) }
	c := subject{"cause", "c"}
	take(0, nil)
	take(10, map[subject]string{{"link", "a"}: "down", {"switch", "s"}: "programming"})
	take(15, map[subject]string{{"link", "a"}: "down", {"switch", "s"}: "programming",
		c: "fault: it failed"})
	take(20, map[subject]string{{"link", "a"}: "drained", c: "fault: it failed"})
	take(30, map[subject]string{{"link", "a"}: "drained", c: "fault: it failed"})
	take(40, map[subject]string{c: "fault: it failed"})
	for s, want := range map[int]string{
		0: "", 9: "", 10: "link a down, switch s programming",
		15: "cause c fault it failed, link a down, switch s programming",
		20: "cause c fault it failed, link a drained", 39: "cause c fault it failed, link a drained",
		40: "cause c fault it failed",
	} {
		if got := things(s); got != want {
			t.Errorf("at %d s: %q, want %q", s, got, want)
		}
	}
	v := p.view(at(11), at(30), all)
	if text := fmt.Sprint(v.Changes); len(v.Changes) != 3 || v.Changes[0].Kind != "cause" ||
		v.Changes[1] != (api.PastChange{Time: at(20), Kind: "link", ID: "a", Was: "down",
			Is: "drained"}) || v.Changes[0].What != "it failed" ||
		v.Changes[2].Is != "" || !v.Since.Equal(start) {
		t.Error(text, v.Since)
	}
	one := func(kind, _ string) bool { return kind == "switch" }
	if v = p.view(start, at(30), one); len(v.Changes) != 2 || len(v.Things) != 0 {
		t.Errorf("%+v of one kind", v)
	}
	// A day later nothing but the present is left.
	take(86_400+39, map[subject]string{c: "fault: it failed"})
	if v = p.view(start, at(86_400+39), all); len(v.Changes) != 1 || !v.Since.Equal(at(39)) ||
		len(v.Things) != 1 {
		t.Errorf("%+v a day later", v)
	}
	// The memory is bounded, and the states stay right.
	long := strings.Repeat("x", 10_000)
	for i := range 8_000 {
		p.take(at(90_000+i), map[subject]string{{"link", long}: fmt.Sprint(i), c: "fault: it failed"})
	}
	if p.octets > pastOctets || p.octets < pastOctets/2 {
		t.Errorf("%d octets are kept, want at most %d", p.octets, pastOctets)
	}
	if v = p.view(at(0), at(97_000), all); v.Things[1].State != "7000" || !v.Since.After(at(94_000)) {
		t.Errorf("%s since %v", v.Things[1].State, v.Since)
	}
}

// TestPastOfCauses: a change of a cause has the texts from before and after.
func TestPastOfCauses(t *testing.T) {
	var p past
	at := func(s int) time.Time { return time.Unix(int64(s), 0).UTC() }
	c := subject{"cause", "c"}
	p.take(at(40), map[subject]string{c: "fault: it failed"})
	p.take(at(50), map[subject]string{c: "warning: it fails often"})
	p.take(at(60), nil)
	v := p.view(at(41), at(60), func(string, string) bool { return true }).Changes
	if len(v) != 2 || v[0] != (api.PastChange{Time: at(50), Kind: "cause", ID: "c", Was: "fault",
		Said: "it failed", Is: "warning", What: "it fails often"}) ||
		v[1] != (api.PastChange{Time: at(60), Kind: "cause", ID: "c", Was: "warning",
			What: "it fails often"}) {
		t.Errorf("%+v", v)
	}
}

// TestStatesOf: a down link shows down even while drained, and a broken lease shows trouble.
func TestStatesOf(t *testing.T) {
	link := func(id string, s api.LinkStatus) api.Link {
		return api.Link{ID: topology.LinkID(id), Status: s}
	}
	k := &Known{Links: []api.Link{
		link("a", api.LinkStatus{Phase: "up", Drained: true, ToPort: "down"}),
		link("b", api.LinkStatus{Phase: "up", Drained: true}), link("c", api.LinkStatus{Phase: "up"}),
	}}
	for name, phase := range map[string]api.LeasePhase{"d": api.LeaseBroken, "e": api.LeaseActive} {
		l := api.PathLease{Name: name}
		l.Status.Phase = phase
		k.Leases = append(k.Leases, l)
	}
	want := map[subject]string{{"link", "a"}: "down", {"link", "b"}: "drained",
		{"path-lease", "d"}: "broken"}
	if got := statesOf(k, nil); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
