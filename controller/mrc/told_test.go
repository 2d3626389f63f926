package mrc

import (
	"maps"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/api/hostapi"
)

// TestTold: Sets name each host with a changed state once, whether few hosts or all. New hosts are
// included; a removed host gets only a Set to hold nothing.
func TestTold(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 4, 2, 6).start()
	w.run(0)
	last := make(map[string]Set)
	told := func() (names []string) {
		for _, s := range w.core.Ready().Sets {
			names = append(names, s.Host)
			last[s.Host] = s
			if s.State != nil {
				if err := w.core.Applied(s.Host, s.Seq); err != nil {
					t.Fatal(err)
				}
			}
		}
		return names
	}
	check := func(what string, want []string) {
		t.Helper()
		if got := told(); !slices.Equal(got, want) {
			t.Errorf("%s: %q are told, want %q", what, got, want)
		}
	}
	all := func() []string { return slices.Sorted(maps.Keys(w.made)) }
	other := "x"
	change := func() {
		w.core.SetCC(ccProfiles([]string{other}))
		other += "x"
	}

	check("nothing has changed", nil)
	change()
	check("all have another state", all())
	for _, n := range []int{9, 8} {
		w.host(2, 2, n)
		w.hello(hostName(2, n), hostapi.Version{})
	}
	check("two have come, with peers of all", all())
	change()
	check("all, with those that came", all())
	gone := hostName(3, 1)
	w.core.RemoveHost(gone)
	delete(w.made, gone)
	before := last[gone].Seq
	check("one has gone", append([]string{gone}, all()...))
	if s := last[gone]; s.State != nil || s.Seq != before+1 {
		t.Errorf("who has gone is told %+v, want nothing as number %d", s, before+1)
	}
	few := []string{hostName(4, 6), hostName(1, 1), hostName(2, 3)}
	for _, name := range slices.Concat(few, few) {
		h := w.core.hosts.byName[name]
		h.state = nil // as if it held another
		w.core.hosts.touch(h)
	}
	w.core.hosts.tell(true)
	slices.Sort(few)
	check("few have another state", few)
	// One goes and comes back before anybody is told.
	w.core.RemoveHost(hostName(4, 2))
	w.host(2, 4, 2)
	w.hello(hostName(4, 2), hostapi.Version{})
	w.hello(hostName(4, 2), hostapi.Version{})
	check("one was away", []string{hostName(4, 2), hostName(4, 2)})
}
