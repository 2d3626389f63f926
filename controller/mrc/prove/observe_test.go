package prove

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/mrc/suspect"
	"github.com/weft-sdn/weft/topology"
)

// theseEVs implements EVs: what hosts hold, and no other EV.
type theseEVs struct{ heldEVs }

func (e theseEVs) With(v hostapi.EV) *hostapi.Profile {
	if e.held != nil && e.held.Has(v) {
		return e.held
	}
	return nil
}

// unbuilt implements EVs: a profile that cannot be made.
type unbuilt struct{ heldEVs }

func (unbuilt) Built() *hostapi.Profile { return nil }

// evOver returns an EV of a profile that crosses a link, or an EV that avoids the link.
func evOver(p *Prover, x *Profile, link topology.LinkID, crosses bool) hostapi.EV {
	evs := x.evs.Held().EVs
	return evs[slices.IndexFunc(evs, func(v hostapi.EV) bool {
		return slices.Contains(p.linksOf(x, v), link) == crosses
	})]
}

// TestEVEvents: an EV that a host found bad stands for three lost packets, until it is good again.
// Wrong reports are counted, give an error, and do not hold up the rest.
func TestEVEvents(t *testing.T) {
	p := newProver(t, "stev", nil)
	there, back, _ := addProfiles(t, p)
	there.evs = theseEVs{there.evs.(heldEVs)}
	h, link := p.hosts["h1"], linkBetween(p, leaf1, spine1)
	v, name := evOver(p, there, link, true), there.evs.Held().Name
	bad := hostapi.EVEvent{Profile: name, EV: v, State: hostapi.EVAssumedBad}
	for _, c := range []struct {
		name    string
		first   hostapi.EVEvent
		kind    error
		unknown uint64
		events  uint64
	}{
		{"no such profile", hostapi.EVEvent{Profile: "x", EV: v, State: hostapi.EVAssumedBad},
			ErrUnknownEV, 1, 0},
		{"one of another rack", hostapi.EVEvent{Profile: back.evs.Held().Name,
			EV: back.evs.Held().EVs[0], State: hostapi.EVAssumedBad}, ErrUnknownEV, 1, 0},
		{"no such EV", hostapi.EVEvent{Profile: name, EV: hostapi.EV{Port: 1},
			State: hostapi.EVAssumedBad}, ErrUnknownEV, 1, 0},
		{"no such state", hostapi.EVEvent{Profile: name, EV: v, State: 99}, fabric.ErrMalformed, 0, 1},
		{"nothing wrong", bad, nil, 0, 0},
	} {
		*p.Counters = api.FabricCounters{}
		p.suspects.locator.Forget(link)
		h.Restart(false)
		m := &hostapi.EVEvents{Dropped: 5, Events: []hostapi.EVEvent{c.first, bad}}
		err := p.EVEvents(h, m)
		if !errors.Is(err, c.kind) || (err == nil) != (c.kind == nil) {
			t.Errorf("%s: %v, want %v", c.name, err, c.kind)
		}
		if n := *p.Counters; n.LostEvents != 5 || n.UnknownEVs != c.unknown || n.BadEvents != c.events {
			t.Errorf("%s: %+v", c.name, n)
		}
		want := uint64(3)
		if c.kind == nil {
			want = 6
		}
		if got := p.suspects.locator.Across(link); got != (suspect.Counts{Sent: want, Lost: want}) {
			t.Errorf("%s: %+v of the link, want %d lost of as many", c.name, got, want)
		}
		found := maps.Collect(h.AssumedBad())
		if len(found) != 1 || found[name] != v || !p.prober.assuming[h] {
			t.Errorf("%s: EVs found bad: %v", c.name, found)
		}
	}
	other := hostapi.EVEvent{Profile: name, EV: evOver(p, there, link, false),
		State: hostapi.EVAssumedBad}
	good := bad
	good.State = hostapi.EVGood
	if err := p.EVEvents(h, &hostapi.EVEvents{Events: []hostapi.EVEvent{other, good}}); err != nil {
		t.Fatal(err)
	}
	if found := maps.Collect(h.AssumedBad()); len(found) != 1 || found[name] != other.EV {
		t.Errorf("EVs found bad: %v, want %v", found, other.EV)
	}
	h.Forget("another profile")
	for range h.AssumedBad() {
		break
	}
	if h.Forget(name); len(maps.Collect(h.AssumedBad())) != 0 {
		t.Error("EVs of a profile that the host does not have any more are found bad")
	}
}

// TestEVCounts: the increase in the counts of an EV is evidence about its links, and adds to the
// carried packets of its profile. A wrong count is counted and returned as an error; the remaining
// counts still apply.
func TestEVCounts(t *testing.T) {
	p := newProver(t, "stev", nil)
	there, _, _ := addProfiles(t, p)
	h, link := p.hosts["h1"], linkBetween(p, leaf1, spine1)
	v, name := evOver(p, there, link, true), there.evs.Held().Name
	count := func(wrong *hostapi.EVCount, sent, lost uint64) error {
		m := &hostapi.EVCounts{Counts: []hostapi.EVCount{{Profile: name, EV: v, Sent: sent, Lost: lost}}}
		if wrong != nil {
			m.Counts = slices.Insert(m.Counts, 0, *wrong)
		}
		return p.EVCounts(h, m)
	}
	if err := count(&hostapi.EVCount{Profile: "x", EV: v, Sent: 1}, 1000, 7); !errors.Is(err,
		ErrUnknownEV) || p.Counters.UnknownEVs != 1 {
		t.Errorf("a profile that is unknown: %v, %d counted", err, p.Counters.UnknownEVs)
	}
	wrong := hostapi.EVCount{Profile: name, EV: v, Sent: 1, Lost: 2}
	if err := count(&wrong, 3000, 10); !errors.Is(err, fabric.ErrMalformed) ||
		p.Counters.BadCounts != 1 {
		t.Errorf("more lost than sent: %v, %d counted", err, p.Counters.BadCounts)
	}
	wrong.Sent, wrong.Lost = 3000, 10 // the same again
	if err := count(&wrong, 3000, 10); err != nil {
		t.Error(err)
	}
	want := suspect.Counts{Sent: 3000, Lost: 10}
	if got := p.suspects.locator.Across(link); got != want || there.Carried() != want {
		t.Errorf("the link has %+v, the profile carried %+v; want %+v", got, there.Carried(), want)
	}
	if who, n := p.suspects.witnesses.most(p.now, link); who != "h1" || n != want {
		t.Errorf("%s reports %+v", who, n)
	}
	if len(there.paths) != 1 || len(there.paths[v].links) != 2 || len(there.paths[v].id) != 1 {
		t.Errorf("known paths: %+v, want one of two links", there.paths)
	}
	if there.Rebuilt(); len(there.paths) != 0 {
		t.Errorf("known paths: %+v, of EVs that were made anew", there.paths)
	}
	if p.Moved(link); p.suspects.locator.Across(link) != (suspect.Counts{}) {
		t.Error("evidence of a link that has moved is kept")
	}
	// The profiles change: a host with counts continues, a host without counts begins.
	for _, c := range []struct {
		older, counted bool
		want           uint64
	}{{false, false, 5000}, {true, false, 0}, {false, true, 0}} {
		h.Restart(c.older)
		if c.counted {
			_ = count(nil, 10, 0)
		}
		h.Recount()
		there.carried = suspect.Counts{}
		if err := count(nil, 5000, 5); err != nil || there.Carried().Sent != c.want {
			t.Errorf("%+v: %v, the profile carried %+v", c, err, there.Carried())
		}
	}
}

// TestEVsWithoutPath: an EV whose path a switch chooses is no evidence, and is counted.
func TestEVsWithoutPath(t *testing.T) {
	p := newProver(t, "stev", nil)
	there, _, _ := addProfiles(t, p)
	held := *there.evs.Held()
	held.Mode, held.EVs = hostapi.ModeAuto, nil
	there.evs = theseEVs{heldEVs{&held}}
	v := hostapi.EV{Port: 1}
	for n := range uint64(2) {
		p.observe(p.hosts["h1"], there, v, suspect.Counts{})
		if x, err := p.find(p.hosts["h1"], held.Name, v); x != there || err != nil {
			t.Fatal(err)
		}
		err := p.EVCounts(p.hosts["h1"], &hostapi.EVCounts{Counts: []hostapi.EVCount{
			{Profile: held.Name, EV: v, Sent: 10 * (n + 1)}}})
		if err != nil || p.Counters.UnknownPaths != n+1 || there.Carried().Sent != 10*(n+1) {
			t.Errorf("%v, %d paths unknown, carried %+v", err, p.Counters.UnknownPaths, there.Carried())
		}
	}
	there.evs = unbuilt{heldEVs{&held}}
	if _, err := p.find(p.hosts["h1"], held.Name, v); !errors.Is(err, ErrUnknownEV) {
		t.Errorf("a profile that there is not: %v", err)
	}
}

// TestLinksOfEVs: linksOf returns the links of an EV's path. It returns nil for a port without
// paths, for an unknown profile, and for an EV without a path.
func TestLinksOfEVs(t *testing.T) {
	p := newProver(t, "stev", nil)
	there, _, _ := addProfiles(t, p)
	v := there.evs.Held().EVs[0]
	links := p.linksOf(there, v)
	if len(links) != 2 || len(p.prober.placesOfEV(there, v)) != 2 {
		t.Errorf("the links of an EV are %v, want two", links)
	}
	other := v
	other.Port = 2
	bad := v
	bad.Value = [hostapi.EVBytes]byte{0xff, 0xff}
	for _, w := range []hostapi.EV{other, bad} {
		if links := p.linksOf(there, w); links != nil {
			t.Errorf("the links of %v are %v", w, links)
		}
	}
	there.evs = heldEVs{}
	if links := p.linksOf(there, v); links != nil {
		t.Errorf("the links of an EV of nothing are %v", links)
	}
	p = newProver(t, "ecmp", nil)
	there = NewProfile(NewGroup(p.State.Host("h1").Rack()), p.State.Host("h3").Rack(),
		heldEVs{&hostapi.Profile{Mode: hostapi.ModeAuto}})
	if links := p.linksOf(there, hostapi.EV{Port: 1}); links != nil {
		t.Errorf("the links of an EV that switches choose are %v", links)
	}
}

// TestEndsOfPaths: with up to 128 hosts, paths start at the link of the sending host; with more, at
// a link shared by its rack. If the receiving rack has one host, paths end at the link of the host.
func TestEndsOfPaths(t *testing.T) {
	p := newProver(t, "stev", nil)
	h1, h3 := p.hosts["h1"], p.hosts["h3"]
	rack := h1.Rack()
	links := []topology.LinkID{"a", "b"}
	for _, n := range []int{128, 129} {
		for i := len(p.hosts); i < n; i++ {
			p.Attach(&fabric.Attached{Host: fabric.Host{Name: fmt.Sprint("more", i)}})
		}
		first := hostEnd{host: "h1", rack: rack.Name(), port: 1, leaf: leaf1}
		if n > 128 {
			first.host = ""
		}
		path := p.ends(h1, h3.Rack(), 1, links)
		back := p.ends(h3, rack, 1, links)
		if len(path) != 4 || !slices.Equal(path[1:3], links) || p.named[path[0]] != first ||
			p.named[path[3]] != (hostEnd{"h3", h3.Rack().Name(), 1, leaf2, true}) ||
			p.named[back[3]] != (hostEnd{"", rack.Name(), 1, leaf1, true}) {
			t.Errorf("%d hosts: %v, from %+v to %+v; back to %+v", n, path, p.named[path[0]],
				p.named[path[3]], p.named[back[3]])
		}
		x := NewProfile(NewGroup(rack), h3.Rack(), heldEVs{})
		x.paths = map[hostapi.EV]pathOf{{Port: 1}: {links: links, id: map[string]suspect.PathID{}}}
		for range 2 {
			p.observe(h1, x, hostapi.EV{Port: 1}, suspect.Counts{Sent: 10})
			p.observe(p.hosts["h2"], x, hostapi.EV{Port: 1}, suspect.Counts{Sent: 10})
		}
		if got := len(x.paths[hostapi.EV{Port: 1}].id); got != 130-n && n == 128 || n == 129 && got != 1 {
			t.Errorf("%d hosts: %d paths are told apart by who sends", n, got)
		}
	}
	names := make(map[topology.LinkID]bool)
	for _, receiving := range []bool{false, true} {
		for port := uint8(1); port <= 2; port++ {
			names[p.named.host(h1.Attached, port, receiving)] = true
			names[p.named.host(p.hosts["h2"].Attached, port, receiving)] = true
			names[p.named.of(rack, port, receiving)] = true
			names[p.named.of(h3.Rack(), port, receiving)] = true
		}
	}
	if len(names) != 16 {
		t.Errorf("16 ends have %d names", len(names))
	}
}

// TestCountersOfLink: packets on the way are missing once, and no more are lost than were sent.
func TestCountersOfLink(t *testing.T) {
	p := newProver(t, "stev", nil)
	link := linkBetween(p, leaf1, spine1)
	var want suspect.Counts
	for _, c := range []struct {
		sent, received uint64
		more, lost     uint64
	}{
		{1000, 900, 0, 0},     // 100 are on the way
		{1000, 950, 0, 0},     // half of them came in
		{2000, 1900, 1000, 0}, // as many are on the way again
		{2010, 1700, 0, 0},    // the receiver has started again
		{2020, 1600, 0, 0},    // and again
		{2030, 1600, 10, 10},  // nothing arrives
		{2040, 1601, 10, 9},
		{2050, 1601, 10, 10},
	} {
		p.LinkCounts(link, c.sent, c.received)
		want.Sent += c.more
		want.Lost += c.lost
		if got := p.suspects.locator.Across(link); got != want {
			t.Fatalf("%d sent, %d received: %+v of the link, want %+v", c.sent, c.received, got, want)
		}
	}
}

// TestResultsOfProbes: a result counts for the EV, for a closer look and as evidence if its loss
// accuses links that are still in use; and for its links, unless none may have been there to
// answer.
func TestResultsOfProbes(t *testing.T) {
	for _, c := range []struct {
		name           string
		change         func(p *Prover, r *probe)
		received       int
		evidence, look bool
		heard          bool
	}{
		{"lost", func(*Prover, *probe) {}, 1, true, true, true},
		{"all lost", func(*Prover, *probe) {}, 0, true, true, true},
		{"tells nothing", func(_ *Prover, r *probe) { r.telling = false }, 1, false, false, true},
		{"a link has gone out of use", func(p *Prover, r *probe) {
			p.links.Fail(r.links[0], "of the test")
		}, 1, false, true, true},
		{"the fabric is another", func(p *Prover, _ *probe) { p.Renewed(p.State.Fabric()) }, 1, false,
			true, false},
		{"the peer is gone", func(p *Prover, _ *probe) { p.Gone(p.hosts["h3"]) }, 0, true, true, false},
		{"the peer is gone, and has answered",
			func(p *Prover, _ *probe) { p.Gone(p.hosts["h3"]) }, 1, true, true, true},
	} {
		p := newProver(t, "stev", nil)
		there, _, _ := addProfiles(t, p)
		holdAll(p)
		set, _ := p.pathsOf(there, 1)
		ref, _ := set.At(1)
		links := p.State.Fabric().PlacesOf(set, ref)
		p.State.Tick(time.Second)
		p.now = time.Second
		h := p.hosts["h1"]
		p.prober.send(h, path{profile: there, port: 1, set: set, ref: ref, links: links}, 4)
		r := p.prober.pending[p.prober.id]
		r.look, r.of = &closerLook{counts: make(map[string]suspect.Counts)}, "h1"
		look := r.look
		c.change(p, r)
		id := p.State.Fabric().Edge(links[0]).ID
		if err := p.Result(p.hosts["h2"], &hostapi.ProbeResult{ID: p.prober.id, Sent: 4}); !errors.Is(err,
			ErrUnknownProbe) || p.Counters.UnknownProbes != 1 {
			t.Errorf("%s: the result of another host: %v", c.name, err)
		}
		err := p.Result(h, &hostapi.ProbeResult{ID: p.prober.id, Sent: 4, Received: c.received,
			RTTMin: 1, RTTMean: 2, RTTMax: 3})
		n := suspect.Counts{Sent: 4, Lost: uint64(4 - c.received)}
		if rep := p.Reported(); err != nil || rep.Sent != 4 || rep.Answered != uint64(c.received) {
			t.Errorf("%s: %v, reported %+v", c.name, err, rep)
		}
		if cell := there.cells[r.ev]; cell == nil || cell.sent != 4 ||
			cell.received != uint64(c.received) || cell.source != "h1" || cell.destination != "h3" ||
			cell.at != time.Second {
			t.Errorf("%s: the EV has %+v", c.name, cell)
		}
		who, accused := p.suspects.witnesses.most(p.now, id)
		if got := p.suspects.locator.Across(id); (got == n) != c.evidence ||
			(who == "h1" && accused == n) != c.evidence || !c.evidence && got.Sent != 0 {
			t.Errorf("%s: the link has %+v, accused by %s: %+v", c.name, got, who, accused)
		}
		if (look.counts["h1"] == n) != c.look || !c.look && len(look.counts) != 0 {
			t.Errorf("%s: the closer look has %+v", c.name, look.counts)
		}
		if heard := p.links.At(links[1]).Heard() == time.Second; heard != c.heard {
			t.Errorf("%s: the link was heard of: %v", c.name, heard)
		}
	}
}

// TestForgottenRequests: requests to a removed host are over, and the prober probes their links
// again before an answer would have come. Requests to other hosts continue.
func TestForgottenRequests(t *testing.T) {
	p := newProver(t, "stev", nil)
	there, back, _ := addProfiles(t, p)
	connectAll(p)
	i, _ := p.State.Fabric().Place(linkBetween(p, leaf1, spine1))
	p.prober.probeLink(i, 1)
	if r := p.prober.pending[p.prober.id]; r.profile != there || p.links.Untried(i) {
		t.Fatalf("%+v, untried %v", r, p.links.Untried(i))
	}
	left := p.probe(t, back)
	p.Gone(p.hosts["h1"])
	if len(p.prober.pending) != 1 || p.prober.pending[p.prober.id] != left ||
		p.hosts["h1"].Connected() || !p.hosts["h2"].Connected() {
		t.Errorf("requests under way: %v", p.prober.pending)
	}
	for at, want := range map[time.Duration]bool{100*time.Millisecond - 1: false,
		100 * time.Millisecond: true} {
		q := newProver(t, "stev", nil)
		addProfiles(t, q)
		q.Connect(q.hosts["h1"], true)
		q.prober.probeLink(i, 1)
		q.Gone(q.hosts["h1"])
		if q.State.Tick(at); q.links.Untried(i) != want {
			t.Errorf("the link may be probed after %v: %v", at, !want)
		}
	}
}
