package prove

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/mrc/suspect"
	"github.com/weft-sdn/weft/topology"
)

// noTime has times of a Prover as those since the zero time.
func noTime(at time.Duration) time.Time { return time.Time{}.Add(at) }

// TestSuspectsComeAndGo: a link that loses packets gives one event, and is a suspect since then. If
// suspects are denied, it remains a suspect until it is back in use, and is not denied twice
// meanwhile; otherwise it goes with its evidence. The prober asks the locator every half second.
func TestSuspectsComeAndGo(t *testing.T) {
	for _, deny := range []bool{true, false} {
		p := newProver(t, "stev", func(cfg *inventory.MRC) {
			cfg.Suspects.Deny, cfg.Suspects.DenyLoss = deny, 0.01
		})
		events := ""
		p.Event = func(e api.EventType, object, _ string, says ...api.EventFields) {
			if n := says[0].Numbers; *n.Loss != 0.05 || *n.Confidence <= 0.5 ||
				says[0].Objects[0].Kind != "link" || len(says[0].Objects) != 1 {
				t.Errorf("%s says %+v, %+v", object, says[0], n)
			}
			events += fmt.Sprintf("%v of %s\n", e, object)
		}
		bad := linkBetween(p, leaf1, spine1)
		i, _ := p.State.Fabric().Place(bad)
		observe := func(now time.Duration) {
			p.now = now
			path := []topology.LinkID{bad, linkBetween(p, spine1, leaf2)}
			p.suspects.observe(p.suspects.locator.Path(path), suspect.Counts{Sent: 10_000, Lost: 500})
			for _, l := range []topology.LinkID{path[1], linkBetween(p, leaf1, spine2)} {
				p.suspects.observe(p.suspects.locator.Path([]topology.LinkID{l}),
					suspect.Counts{Sent: 10_000})
			}
		}
		tick := func(now time.Duration) {
			p.State.Tick(now)
			p.Tick(now)
		}
		p.Renewed(nil)
		observe(0)
		if tick(499 * time.Millisecond); len(p.Suspects(noTime)) != 0 {
			t.Error("there are suspects before they are looked for")
		}
		for _, at := range []time.Duration{500 * time.Millisecond, 700 * time.Millisecond,
			1000 * time.Millisecond} {
			tick(at)
			got := p.Suspects(noTime)
			if len(got) != 1 || got[0].Denied != deny || (got[0].Why == "") != deny ||
				!slices.Equal(got[0].Links, []topology.LinkID{bad}) || got[0].From != leaf1 ||
				got[0].To != spine1 || !got[0].Since.Equal(noTime(500*time.Millisecond)) ||
				got[0].Evidence != (api.SuspectEvidence{Sent: 10_000, Lost: 500, Paths: 1}) {
				t.Fatalf("%v, denied %v: %+v", at, deny, got)
			}
			l := p.links.At(i)
			if held := l.Phase() == fabric.Held; held != deny || deny && (l.Since() !=
				500*time.Millisecond || l.Cause() != "loses 0.05 of its packets") {
				t.Errorf("%v: the link is %v since %v: %q", at, l.Phase(), l.Since(), l.Cause())
			}
			if want := fmt.Sprintf("%v of [%s]\n", api.EventSuspectChanged, bad); events != want {
				t.Errorf("%v: events %q, want %q", at, events, want)
			}
		}
		tick(1700 * time.Millisecond)
		if p.suspects.at != 2*time.Second {
			t.Errorf("the locator is asked again at %v, want 2s", p.suspects.at)
		}
		p.Moved(bad)
		tick(2 * time.Second)
		if got := p.Suspects(noTime); len(got) != map[bool]int{true: 1}[deny] {
			t.Errorf("denied %v: without evidence there are %+v", deny, got)
		}
		if deny {
			p.links.Result(i, p.links.At(i).Since(), 1, 1)
			tick(time.Minute)
			p.links.Result(i, time.Minute, 512, 512)
			p.State.Tick(2 * time.Minute)
			if p.Tick(2 * time.Minute); len(p.Suspects(noTime)) != 0 ||
				p.links.At(i).Phase() != fabric.Up {
				t.Errorf("the link is %v: %+v", p.links.At(i).Phase(), p.Suspects(noTime))
			}
		}
	}
}

// TestLeastConfidence: a suspect is named that the configuration has enough confidence in.
func TestLeastConfidence(t *testing.T) {
	for confidence, want := range map[float64]int{0.5: 1, 0.999999: 0} {
		p := newProver(t, "stev", func(cfg *inventory.MRC) { cfg.Suspects.Confidence = confidence })
		for n, spine := range []topology.NodeID{spine1, spine2} {
			link := linkBetween(p, leaf1, spine)
			p.suspects.observe(p.suspects.locator.Path([]topology.LinkID{link}),
				suspect.Counts{Sent: 100, Lost: uint64(15 - 15*n)})
		}
		if p.Tick(time.Second); len(p.suspects.list) != want {
			t.Errorf("confidence %v: %+v", confidence, p.suspects.list)
		}
	}
}

// TestWitnessesThatCount: the report of one host alone is proof only if no further host has EVs
// across the link. The report of switch counters alone is proof.
func TestWitnessesThatCount(t *testing.T) {
	for _, c := range []struct {
		hosts  []string
		who    string
		proven bool
	}{
		{[]string{"h1", "h2"}, "h1", false}, {[]string{"h2", "h1"}, "h1", false},
		{[]string{"h1"}, "h1", true}, {[]string{"h2"}, "h1", false}, {nil, "h1", true},
		{[]string{"h1", "h2"}, "", true},
	} {
		p := newProver(t, "stev", func(cfg *inventory.MRC) {
			cfg.Suspects.Deny, cfg.Suspects.DenyLoss = true, 0.01
		})
		g := NewGroup(p.State.Host("h1").Rack())
		for _, name := range c.hosts {
			g.hosts = append(g.hosts, p.hosts[name])
		}
		p.Profiles = oneProfile{of: NewProfile(g, p.State.Host("h3").Rack(), heldEVs{})}
		links := []topology.LinkID{linkBetween(p, leaf1, spine1)}
		n := suspect.Counts{Sent: 1000, Lost: 500}
		if c.who != "" {
			p.suspects.accuse(c.who, links, n)
		}
		p.suspects.observe(p.suspects.locator.Path(links), n)
		x := &accused{Suspect: suspect.Suspect{Links: links, Loss: 0.5}}
		if got := p.suspects.spare(x); (got == "") != c.proven {
			t.Errorf("%v have EVs across the link, and %q reports: %q", c.hosts, c.who, got)
		}
	}
}

// TestCloserLooksSpend: while no host is found, closer looks spend the whole budget every second
// time; afterwards each look sends one request, in the order of names.
func TestCloserLooksSpend(t *testing.T) {
	for _, c := range []struct {
		name   string
		found  [2]bool
		tokens float64
		looked bool
		want   string // the looks that send, and again
		spent  bool
	}{
		{"at every other time", [2]bool{}, 20, false, "x2 x10 x2", true},
		{"between", [2]bool{}, 20, true, "x2 x10", false},
		{"one has found a host", [2]bool{true, false}, 20, false, "x2 x10 x2", true},
		{"the other has", [2]bool{false, true}, 20, false, "x2 x10 x2", true},
		{"both have", [2]bool{true, true}, 20, false, "x2 x10", false},
		{"for one alone", [2]bool{true, true}, 1, false, "x2", false},
		{"for none", [2]bool{}, 0.9, false, "", true},
	} {
		p := newProver(t, "stev", nil)
		there, _, _ := addProfiles(t, p)
		connectAll(p)
		looks := make(map[*closerLook]string)
		for i, id := range []topology.LinkID{"x2", "x10"} {
			l := &closerLook{counts: make(map[string]suspect.Counts),
				end: hostEnd{rack: there.from.rack.Name(), port: 1, leaf: leaf1}}
			if c.found[i] {
				l.note("h1", suspect.Counts{Sent: 300, Lost: 30})
				l.note("h2", suspect.Counts{Sent: 300})
			}
			p.suspects.looks[id], looks[l] = l, string(id)
		}
		var last uint32
		p.Probe = func(_ string, r *hostapi.Probe) { last = r.ID }
		p.prober.tokens, p.prober.looked = c.tokens, c.looked
		spent := p.prober.lookCloser(p.Settle().Lost())
		got := ""
		for id := uint32(1); id <= last; id++ {
			got += " " + looks[p.prober.pending[id].look]
		}
		if got != "" {
			got = got[1:]
		}
		if got != c.want || spent != c.spent {
			t.Errorf("%s: %q, spent %v; want %q, %v", c.name, got, spent, c.want, c.spent)
		}
	}
	p := newProver(t, "stev", nil)
	if p.prober.looked = false; p.prober.lookCloser(p.Settle().Lost()) {
		t.Error("no look spends what there is")
	}
}

// TestPathsOfCloserLook: a closer look sends probes from, or to, its rack alone, over paths that
// are there and not lost, by a host that may send some.
func TestPathsOfCloserLook(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(p *Prover, l *closerLook, x *Profile)
		want   bool
	}{
		{"sending", func(*Prover, *closerLook, *Profile) {}, true},
		{"receiving", func(_ *Prover, l *closerLook, x *Profile) {
			l.end.receiving, l.end.rack, l.end.leaf = true, x.to.Name(), leaf2
		}, true},
		{"another rack", func(_ *Prover, l *closerLook, x *Profile) { l.end.rack = x.to.Name() }, false},
		{"within the rack", func(_ *Prover, _ *closerLook, x *Profile) { x.to = x.from.rack }, false},
		{"nothing is held", func(_ *Prover, _ *closerLook, x *Profile) { x.evs = heldEVs{} }, false},
		{"no such port", func(_ *Prover, l *closerLook, _ *Profile) { l.end.port = 2 }, false},
		{"the path is lost", func(p *Prover, _ *closerLook, _ *Profile) {
			i, _ := p.State.Fabric().Place(linkBetween(p, leaf1, spine1))
			p.links.Deny(i, "of the test")
		}, false},
		{"the other path is lost", func(p *Prover, _ *closerLook, _ *Profile) {
			i, _ := p.State.Fabric().Place(linkBetween(p, leaf1, spine2))
			p.links.Deny(i, "of the test")
		}, true},
		{"no host may send", func(p *Prover, _ *closerLook, _ *Profile) {
			p.hosts["h1"].tokens, p.hosts["h2"].tokens = 0.9, 0.9
		}, false},
		{"one may", func(p *Prover, _ *closerLook, _ *Profile) {
			p.hosts["h1"].tokens, p.hosts["h2"].tokens = 0.9, 1
		}, true},
	} {
		p := newProver(t, "stev", nil)
		there, _, sent := addProfiles(t, p)
		connectAll(p)
		l := &closerLook{counts: make(map[string]suspect.Counts),
			end: hostEnd{rack: there.from.rack.Name(), port: 1, leaf: leaf1}}
		c.change(p, l, there)
		got := p.prober.lookAlong(l, there, 0, p.Settle().Lost())
		if got != c.want || (len(*sent) == 1) != c.want || (l.turn == 1) != c.want {
			t.Errorf("%s: probes are sent: %v, %d requests, turn %d", c.name, got, len(*sent), l.turn)
		}
		if r := p.prober.pending[p.prober.id]; c.want && (r.look != l || r.of !=
			map[bool]string{true: r.peer, false: r.host.Name}[l.end.receiving]) {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}

// TestSuspectsOfCloserLook: suspects other than racks do not change, nor does their order, and a
// look for a removed host names no host.
func TestSuspectsOfCloserLook(t *testing.T) {
	p := newProver(t, "stev", nil)
	rack := p.hosts["h1"].Rack()
	own := p.named.host(p.hosts["h1"].Attached, 1, true)
	link := linkBetween(p, leaf1, spine1)
	found := []suspect.Suspect{{Links: []topology.LinkID{link}}, {Links: []topology.LinkID{own}},
		{Links: []topology.LinkID{link, own}}, {Links: []topology.LinkID{p.named.of(rack, 1, true)}}}
	got := p.suspects.closer(found)
	if fmt.Sprint(got) != fmt.Sprint(found) || len(p.suspects.looks) != 1 {
		t.Errorf("%+v, %d looks", got, len(p.suspects.looks))
	}
	look := p.suspects.looks[found[3].Links[0]]
	look.note("gone", suspect.Counts{Sent: 300, Lost: 30})
	look.note("h2", suspect.Counts{Sent: 300})
	if got := p.suspects.closer(found[3:]); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	for now, want := range map[time.Duration]int{30*time.Second - 1: 1, 30 * time.Second: 0} {
		p.now = time.Hour
		p.suspects.closer(found[3:])
		p.now += now
		if p.suspects.closer(nil); len(p.Looked()) != want {
			t.Errorf("%v after its rack was suspected last there are %d looks", now, len(p.Looked()))
		}
	}
}

// TestWantedLinks: for 5 s the prober probes links that jobs depend on every half second, links
// with the oldest results first. It chooses links every tenth of a second.
func TestWantedLinks(t *testing.T) {
	for range 5 { // links are asked for in any order
		testWantedLinks(t)
	}
}

func testWantedLinks(t *testing.T) {
	t.Helper()
	p := newProver(t, "stev", nil)
	_, _, sent := addProfiles(t, p)
	connectAll(p)
	f := p.State.Fabric()
	place := func(a, b topology.NodeID) int32 {
		i, _ := f.Place(linkBetween(p, a, b))
		return i
	}
	old, older, equal, young := place(leaf1, spine1), place(leaf2, spine1), place(leaf2, spine2),
		place(leaf1, spine2)
	at := time.Second
	heard := func(i int32, ago time.Duration) {
		p.State.Tick(at - ago)
		p.links.Result(i, at-ago, 1, 1)
	}
	heard(older, 800*time.Millisecond)
	heard(equal, 600*time.Millisecond)
	heard(old, 500*time.Millisecond)
	heard(young, 499*time.Millisecond)
	p.State.Tick(at)
	p.now = at
	for _, i := range []int32{old, older, equal, young, int32(f.Len()), int32(f.Len()) + 1} {
		p.Want(i)
	}
	probe := func(tokens float64) string {
		*sent = (*sent)[:0]
		before := p.prober.id
		p.prober.tokens = tokens
		p.prober.probeWanted()
		out := ""
		for id := before + 1; id <= p.prober.id; id++ {
			for name, i := range map[string]int32{"old": old, "older": older, "equal": equal,
				"young": young} {
				if slices.Contains(p.prober.pending[id].links, i) {
					out += name + " "
				}
			}
		}
		return out
	}
	if got := probe(0.9); got != "" {
		t.Errorf("probed is %s without budget", got)
	}
	if got := probe(2); got != "older equal " {
		t.Errorf("probed is %s, want older, equal", got)
	}
	if len(p.prober.wanted.until) != 4 {
		t.Errorf("%d links are wanted, want the four that there are", len(p.prober.wanted.until))
	}
	p.State.Tick(at + 99*time.Millisecond)
	p.now = at + 99*time.Millisecond
	if got := probe(5); got != "old " {
		t.Errorf("probed is %s, want what is left of the choice", got)
	}
	p.now++
	p.State.Tick(at + 100*time.Millisecond)
	p.now = at + 100*time.Millisecond
	if got := probe(5); got != "young " {
		t.Errorf("probed is %s, want what is old enough now", got)
	}
	if c := (*sent)[0].Count; c != 1 {
		t.Errorf("%d probes, want one", c)
	}
	for _, now := range []time.Duration{at + 5*time.Second - 1, at + 5*time.Second} {
		p.State.Tick(now)
		p.now, p.prober.wanted.at = now, 0
		got := probe(9)
		if (got != "") != (now < at+5*time.Second) {
			t.Errorf("%v after it was asked for, probed is %q", now-at, got)
		}
	}
	if len(p.prober.wanted.until) != 0 {
		t.Errorf("%d links are wanted after 5 s", len(p.prober.wanted.until))
	}
}

// needed implements Profiles: links of some leaves alone are needed.
type needed struct {
	noProfiles
	leaf topology.NodeID
}

func (n needed) Needed(leaves []topology.NodeID) bool { return slices.Contains(leaves, n.leaf) }

// TestEndOfFirstRound: the round is over when each link that is needed and in use was tried, or at
// its end; where no host waits for it, links over which no probe came have until then.
func TestEndOfFirstRound(t *testing.T) {
	const bad, good, open = 0, 1, 2
	for _, c := range []struct {
		name    string
		results [4]int // of the links of leaf1: two up, two down
		awaited bool
		change  func(p *Prover, places []int32)
		at      time.Duration
		done    bool
		failed  int
	}{
		{"all proven", [4]int{good, good, good, good}, false, nil, 0, true, 0},
		{"one is open", [4]int{good, good, good, open}, true, nil, 9*time.Second + 999, false, 0},
		{"one is open at the end", [4]int{good, good, good, open}, true, nil, 10 * time.Second, true, 0},
		{"one is bad", [4]int{good, good, good, bad}, false, nil, 9*time.Second + 999, false, 0},
		{"one is bad at the end", [4]int{good, good, good, bad}, false, nil, 10 * time.Second, true, 1},
		{"one is bad, awaited", [4]int{good, good, good, bad}, true, nil, 0, true, 1},
		{"most are bad, awaited", [4]int{good, bad, bad, bad}, true, nil, 0, true, 0},
		{"half are bad, awaited", [4]int{good, good, bad, bad}, true, nil, 0, true, 0},
		{"one is bad and open ones denied", [4]int{good, good, open, bad}, true,
			func(p *Prover, places []int32) { p.links.Deny(places[2], "of the test") }, 0, true, 1},
		{"the bad one is denied", [4]int{good, good, good, bad}, true,
			func(p *Prover, places []int32) { p.links.Deny(places[3], "of the test") }, 0, true, 0},
		{"over before", [4]int{good, good, good, bad}, true,
			func(p *Prover, _ []int32) { p.prober.round.done = true }, 0, true, 0},
		{"not begun", [4]int{good, good, good, bad}, true,
			func(p *Prover, _ []int32) { p.prober.round.ends = 0 }, 0, false, 0},
	} {
		p := newProver(t, "stev", nil)
		p.Profiles = needed{leaf: leaf1}
		p.Awaited = func() bool { return c.awaited }
		p.Begin()
		var places []int32
		for _, ends := range [][2]topology.NodeID{{leaf1, spine1}, {leaf1, spine2}, {spine1, leaf1},
			{spine2, leaf1}} {
			i, _ := p.State.Fabric().Place(linkBetween(p, ends[0], ends[1]))
			places = append(places, i)
			switch c.results[len(places)-1] {
			case good:
				p.links.Result(i, 0, 1, 1)
			case bad:
				for range 3 {
					p.links.Result(i, 0, 1, 0)
				}
			default:
				for range 2 {
					p.links.Result(i, 0, 1, 0)
				}
			}
		}
		if c.change != nil {
			c.change(p, places)
		}
		events := 0
		for i := range int32(p.links.Len()) {
			if p.links.At(i).Phase() != fabric.Up {
				events--
			}
		}
		p.now = c.at
		p.prober.runRound()
		for i := range int32(p.links.Len()) {
			if p.links.At(i).Phase() != fabric.Up {
				events++
			}
		}
		if p.Tried() != c.done || events != c.failed {
			t.Errorf("%s: the round is over: %v, %d links fail; want %v, %d", c.name, p.Tried(), events,
				c.done, c.failed)
		}
	}
}

// TestProbesOfProfile: probe results come in the order of EVs, as selected by a filter, starting
// after an EV.
func TestProbesOfProfile(t *testing.T) {
	x := &Profile{}
	for n := range uint8(5) {
		r := &probe{profile: x, host: &Host{Attached: &fabric.Attached{
			Host: fabric.Host{Name: fmt.Sprint("from", n%2)}}}, peer: fmt.Sprint("to", n%3),
			ev: hostapi.EV{Port: n + 1}}
		result := &hostapi.ProbeResult{Sent: 3}
		if n > 0 {
			result = &hostapi.ProbeResult{Sent: 3, Received: 2, RTTMin: 1, RTTMean: 2, RTTMax: 3}
		}
		r.note(time.Duration(n), result)
	}
	list := func(f api.EVProbeFilter, after *hostapi.EV) (out string) {
		for v := range x.Probes("p", f, after, noTime) {
			out += fmt.Sprint(v.Port)
			if v.Profile != "p" || v.EV != (hostapi.EV{Port: v.Port}).String() ||
				!v.At.Equal(noTime(time.Duration(v.Port-1))) || v.Sent != 3 ||
				v.Source != fmt.Sprint("from", (v.Port-1)%2) ||
				v.Destination != fmt.Sprint("to", (v.Port-1)%3) {
				t.Errorf("%+v", v)
			}
			if answered := v.Port > 1; answered && (v.Received != 2 || v.Loss != 0.333333 ||
				*v.RTTMin != 1 || *v.RTTMean != 2 || *v.RTTMax != 3) || !answered &&
				(v.Received != 0 || v.Loss != 1 || v.RTTMin != nil || v.RTTMax != nil) {
				t.Errorf("%+v", v)
			}
		}
		return out
	}
	for _, c := range []struct {
		f     api.EVProbeFilter
		after *hostapi.EV
		want  string
	}{
		{api.EVProbeFilter{}, nil, "12345"}, {api.EVProbeFilter{Source: "from1"}, nil, "24"},
		{api.EVProbeFilter{Destination: "to0"}, nil, "14"},
		{api.EVProbeFilter{Source: "from0", Destination: "to0"}, nil, "1"},
		{api.EVProbeFilter{Source: "nobody"}, nil, ""}, {api.EVProbeFilter{}, &hostapi.EV{Port: 3}, "45"},
		{api.EVProbeFilter{Source: "from1"}, &hostapi.EV{Port: 2}, "4"},
	} {
		if got := list(c.f, c.after); got != c.want {
			t.Errorf("%+v after %v: ports %s, want %s", c.f, c.after, got, c.want)
		}
	}
	for range x.Probes("p", api.EVProbeFilter{}, nil, noTime) {
		break
	}
}
