package mrc

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/topology"
)

// TestPages: the pages of a list put together are the list, whatever their size.
func TestPages(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 3, 2, 2)
	w.start()
	w.run(3 * time.Second)
	lists := map[string]func(Page) ([]string, bool){
		"profiles": func(p Page) (keys []string, more bool) {
			items, more := w.core.ProfilePage(api.EVProfileFilter{}, p)
			for i := range items {
				keys = append(keys, items[i].Name)
			}
			return keys, more
		},
		"hosts": func(p Page) (keys []string, more bool) {
			items, more := w.core.HostPage(p)
			for i := range items {
				keys = append(keys, items[i].Name)
			}
			return keys, more
		},
		"links": func(p Page) (keys []string, more bool) {
			items, more := w.core.LinkPage(api.LinkFilter{}, p)
			for i := range items {
				keys = append(keys, string(items[i].ID))
			}
			return keys, more
		},
		"nodes": func(p Page) (keys []string, more bool) {
			items, more := w.core.NodePage(p)
			for i := range items {
				keys = append(keys, string(items[i].ID))
			}
			return keys, more
		},
		"cells": func(p Page) (keys []string, more bool) {
			items, more := w.core.ProbePage(api.EVProbeFilter{}, p)
			for i := range items {
				keys = append(keys, ProbeKey(&items[i]))
			}
			return keys, more
		},
	}
	sizes := map[string]int{"profiles": 9, "hosts": 6, "links": 24, "nodes": 10,
		"cells": len(w.core.Probes())}
	for name, list := range lists {
		whole, more := list(Page{})
		if len(whole) != sizes[name] || more || len(whole) < 2 {
			t.Errorf("%s: %d, and more: %v; want %d", name, len(whole), more, sizes[name])
		}
		for limit := 1; limit <= len(whole)+1; limit++ {
			var got []string
			for page, more := (Page{Limit: limit}), true; more; {
				var part []string
				part, more = list(page)
				if len(part) > limit || more && len(part) < limit || len(got) > len(whole) {
					t.Fatalf("%s: %d of at most %d, and more: %v", name, len(part), limit, more)
				}
				got = append(got, part...)
				page.After = got[len(got)-1]
			}
			if !slices.Equal(got, whole) {
				t.Errorf("%s by %d: %v\nwant %v", name, limit, got, whole)
			}
		}
	}
}

// TestPagesInNaturalOrder: lists are in natural order (numbers by value), and a page can continue
// behind any name.
func TestPagesInNaturalOrder(t *testing.T) {
	w := newBed(t, 1, nil).clos(1, 11, 1, 1)
	w.start()
	w.run(3 * time.Second)
	var hosts, profiles, links, nodes []string
	for page, more := (Page{Limit: 3}), true; more; page.After = hosts[len(hosts)-1] {
		var part []api.Host
		part, more = w.core.HostPage(page)
		for i := range part {
			hosts = append(hosts, part[i].Name)
		}
	}
	for page, more := (Page{Limit: 3}), true; more; page.After = profiles[len(profiles)-1] {
		var part []ProfileState
		part, more = w.core.ProfilePage(api.EVProfileFilter{}, page)
		for i := range part {
			profiles = append(profiles, part[i].Name)
		}
	}
	for page, more := (Page{Limit: 3}), true; more; page.After = links[len(links)-1] {
		var part []api.Link
		part, more = w.core.LinkPage(api.LinkFilter{}, page)
		for i := range part {
			links = append(links, string(part[i].ID))
		}
	}
	for page, more := (Page{Limit: 3}), true; more; page.After = nodes[len(nodes)-1] {
		var part []api.Node
		part, more = w.core.NodePage(page)
		for i := range part {
			nodes = append(nodes, string(part[i].ID))
		}
	}
	var all []string
	for _, h := range w.core.Hosts() {
		all = append(all, h.Name)
	}
	for _, c := range []struct {
		list []string
		n    int
	}{{hosts, 11}, {all, 11}, {profiles, 121}, {links, 22}, {nodes, 12}} {
		if len(c.list) != c.n || !slices.IsSortedFunc(c.list, natural.Compare) {
			t.Errorf("%d, want %d in natural order: %v", len(c.list), c.n, c.list)
		}
	}
	if !slices.Equal(hosts[:3], []string{"h1-1", "h2-1", "h3-1"}) || hosts[9] != "h10-1" {
		t.Errorf("hosts %v", hosts)
	}
}

// TestLinksOfPaths: a link that no path crosses, here between two spines, is in no list.
func TestLinksOfPaths(t *testing.T) {
	w := newBed(t, 1, nil).clos(1, 3, 2, 1)
	w.connect(spineID(1, 1), spineID(1, 2))
	w.start()
	w.run(time.Second)
	list, more := w.core.LinkPage(api.LinkFilter{}, Page{})
	if len(list) != 12 || more || w.core.state.Fabric().Len() != 14 {
		t.Errorf("%d of %d links listed, want 12 of 14; more: %v", len(list), w.core.state.Fabric().Len(),
			more)
	}
}

// TestFilters: a filter keeps the matching items, also if no item matches.
func TestFilters(t *testing.T) {
	w := newBed(t, 1, func(c *Config) { c.MinActive = 4 }).clos(2, 3, 2, 2)
	w.start()
	w.run(3 * time.Second)
	leaf, spine := leafID(1, 1), spineID(1, 1)
	profiles := func(f api.EVProfileFilter) int {
		p, _ := w.core.ProfilePage(f, Page{})
		return len(p)
	}
	links := func(f api.LinkFilter) int { l, _ := w.core.LinkPage(f, Page{}); return len(l) }
	host := w.core.Hosts()[0].Name
	for name, c := range map[string]struct{ got, want int }{
		"profiles of a source": {profiles(api.EVProfileFilter{Source: string(leaf)}), 3},
		"profiles of a pair": {profiles(api.EVProfileFilter{Source: string(leaf),
			Destination: string(leafID(2, 2))}), 1},
		"profiles of a host":         {profiles(api.EVProfileFilter{Host: host}), 3},
		"profiles of no host":        {profiles(api.EVProfileFilter{Host: "nobody"}), 0},
		"degraded profiles":          {profiles(api.EVProfileFilter{Degraded: true}), 0},
		"links of a spine":           {links(api.LinkFilter{Node: string(spine)}), 6},
		"links of a plane":           {links(api.LinkFilter{Plane: 2}), 12},
		"links of a spine elsewhere": {links(api.LinkFilter{Node: string(spine), Plane: 2}), 0},
		"denied links":               {links(api.LinkFilter{Denied: true}), 0},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", name, c.got, c.want)
		}
	}
	if err := w.core.Drain(Target{Node: spine}); err != nil {
		t.Fatal(err)
	}
	if n := links(api.LinkFilter{Denied: true}); n != 6 {
		t.Errorf("%d links are denied, want 6", n)
	}
	if n := profiles(api.EVProfileFilter{Degraded: true}); n != 6 {
		t.Errorf("%d profiles are degraded, want 6", n)
	}
	if p, _ := w.core.Profile("leaf1-1:leaf1-2"); len(p.Lost) != 2 ||
		p.Lost[0] != w.both(leaf, spine)[0].ID {
		t.Errorf("lost to the profile: %v, want the links from its source up and down to its destination",
			p.Lost)
	}
	n, ok := w.core.Node(spine)
	if !ok || *n.Status.Tier != 1 || n.Status.Links != 6 || n.Status.DeniedLinks != 6 ||
		!slices.Equal(n.Status.Planes, []int{1}) || len(n.Status.Drains) != 1 || !n.Status.Present {
		t.Errorf("the drained spine is %+v", n)
	}
	planes := w.core.Planes()
	if len(planes) != 2 || planes[0].Status.Links != 12 || planes[0].Status.DeniedLinks != 6 ||
		planes[1].Status.DeniedLinks != 0 {
		t.Errorf("planes are %+v", planes)
	}
	for _, id := range []topology.NodeID{"nobody", ""} {
		if _, ok := w.core.Node(id); ok {
			t.Errorf("there is a node %q", id)
		}
	}
	f := w.core.Fabric()
	if f.Planes != 2 || f.Tiers != 2 || f.Leaves != 6 || f.Links.All != 24 || f.Hosts.All != 6 ||
		f.Hosts.Connected != 6 || f.Profiles.All != 9 || !f.InSync {
		t.Errorf("the fabric is %+v", f)
	}
}

// TestPlainFilters: without a fabric too a filter keeps what it is for.
func TestPlainFilters(t *testing.T) {
	link := func(phase, from, to string) *api.Link {
		l := &api.Link{}
		l.Status.From, l.Status.FromName, l.Status.To, l.Status.ToName = "0001", "a", "0002", "b"
		l.Status.Phase, l.Status.FromPort, l.Status.ToPort = phase, from, to
		return l
	}
	for _, c := range []struct {
		link *api.Link
		by   api.LinkFilter
		want bool
	}{
		{link("up", "up", "up"), api.LinkFilter{}, true},
		{link("up", "up", "up"), api.LinkFilter{Node: "a"}, true},
		{link("up", "up", "up"), api.LinkFilter{Node: "0002"}, true},
		{link("up", "up", "up"), api.LinkFilter{Node: "c"}, false},
		{link("up", "up", "up"), api.LinkFilter{Plane: 1}, false},
		{link("up", "up", "up"), api.LinkFilter{Denied: true}, false},
		{link("up", "up", "up"), api.LinkFilter{Wrong: true}, false},
		{link("down", "up", "up"), api.LinkFilter{Wrong: true}, true},
		{link("up", "down", "up"), api.LinkFilter{Wrong: true}, true},
		{link("up", "up", "down"), api.LinkFilter{Wrong: true}, true},
		{link("down", "up", "up"), api.LinkFilter{Node: "c", Wrong: true}, false},
	} {
		if got := plainLink(c.link, c.by); got != c.want {
			t.Errorf("%+v of %+v: %v, want %v", c.by, c.link.Status, got, c.want)
		}
	}
}

// TestDistinctLeaves: an attachment names its leaves once each, in order.
func TestDistinctLeaves(t *testing.T) {
	got := distinct(ev.Attachment{"b", "", "a", "b"})
	if want := []topology.NodeID{"a", "b"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestWhyDegraded: a degraded profile has the first applicable reason.
func TestWhyDegraded(t *testing.T) {
	built, held := &ev.Built{}, &hostapi.Profile{Mode: hostapi.ModeExplicit, MinActive: 2}
	for _, c := range []struct {
		built, explicit *ev.Built
		active          int
		replaced        int
		profile         *hostapi.Profile
		want            string
	}{
		{nil, nil, 4, 1, held, reasonNoProfile}, {built, built, 0, 1, held, reasonNoPath},
		{built, built, 1, 1, held, reasonExplicit}, {built, nil, 1, 1, held, reasonTooFew},
		{built, nil, 2, 1, held, reasonReplaced}, {built, nil, 2, 0, held, reasonOverride},
		{built, nil, 0, 0, &hostapi.Profile{Mode: hostapi.ModeAuto}, reasonOverride},
	} {
		s := &ProfileState{Built: c.built, Explicit: c.explicit}
		s.Outcome.Degraded, s.Outcome.Profile = "why", c.profile
		s.Outcome.Active, s.Outcome.Replaced = c.active, c.replaced
		if got := s.conditions().Find(api.Degraded); !got.Status || got.Reason != c.want ||
			got.Message != "why" {
			t.Errorf("%+v: %+v, want %s", c, got, c.want)
		}
	}
	if got := (&ProfileState{Built: built}).conditions().Find(api.Degraded); got.Status {
		t.Errorf("%+v without a reason", got)
	}
}

// TestBehind: a host is behind until it has applied the last Set sent to it, or any state if no Set
// was sent.
func TestBehind(t *testing.T) {
	for _, c := range []struct {
		h       holding
		seq     uint64
		behind  bool
		current bool
	}{
		{holding{}, 1, true, false}, {holding{told: true, seq: 5, applied: 4}, 5, true, false},
		{holding{told: true, seq: 5, applied: 5}, 5, false, true},
		{holding{told: true, seq: 5, applied: 6}, 5, false, true},
		{holding{told: true, seq: 5, applied: 5, refusal: "no"}, 5, false, false},
	} {
		if seq, behind := c.h.behind(); seq != c.seq || behind != c.behind || c.h.current() != c.current {
			t.Errorf("%+v: behind %d, %v; current %v", c.h, seq, behind, c.h.current())
		}
	}
}

// TestProfilesInOrder: a host gets its profiles in text order of their names, whatever the order of
// racks.
func TestProfilesInOrder(t *testing.T) {
	w := newBed(t, 1, nil).clos(1, 11, 1, 1).start()
	other := w.capabilities() // of another kind of device, whose profiles have names with a number
	other.EVMaxCountProfile = 8
	if err := w.core.Hello(hostName(3, 1), &hostapi.Hello{Name: hostName(3, 1), Instance: 1,
		Capabilities: other}); err != nil {
		t.Fatal(err)
	}
	w.run(time.Second)
	for _, h := range w.core.Hosts() {
		if len(h.State.Profiles) != 11 || !slices.IsSortedFunc(h.State.Profiles,
			func(a, b *hostapi.Profile) int { return strings.Compare(a.Name, b.Name) }) {
			t.Errorf("%s has %d profiles, out of order", h.Name, len(h.State.Profiles))
		}
	}
}

// TestNoProfiles: a page without profiles is an empty list.
func TestNoProfiles(t *testing.T) {
	w := newBed(t, 1, nil).clos(1, 2, 1, 1).start()
	page, more := w.core.ProfilePage(api.EVProfileFilter{Source: "nosuch"}, Page{})
	if page == nil || len(page) != 0 || more {
		t.Errorf("%v, %v; want an empty list", page, more)
	}
}
