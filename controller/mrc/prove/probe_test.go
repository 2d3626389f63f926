package prove

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/topology"
)

// listed implements Profiles.
type listed []*Profile

func (l listed) Named(name string) *Profile {
	i := slices.IndexFunc(l, func(p *Profile) bool { return p.evs.Held().Name == name })
	if i < 0 {
		return nil
	}
	return l[i]
}

func (l listed) at(leaf topology.NodeID, sending bool) listed {
	return slices.DeleteFunc(slices.Clone(l), func(p *Profile) bool {
		at := p.to.At()
		if sending {
			at = p.from.rack.At()
		}
		return !slices.Contains(at, leaf)
	})
}

func (l listed) Count(leaf topology.NodeID, sending bool) int { return len(l.at(leaf, sending)) }

func (l listed) At(leaf topology.NodeID, sending bool, n int) *Profile {
	return l.at(leaf, sending)[n]
}

func (listed) Needed([]topology.NodeID) bool { return true }

// connectAll connects all hosts.
func connectAll(p *Prover) {
	for _, h := range p.hosts {
		p.Connect(h, true)
	}
}

// holdAll connects all hosts with their states applied, and has all links probed.
func holdAll(p *Prover) {
	connectAll(p)
	for _, h := range p.hosts {
		h.SetHolds()
	}
	for i := range int32(p.links.Len()) {
		p.links.Result(i, 0, 1, 1)
	}
}

// addProfiles adds the profiles between the rack of h1 and h2 and the rack of h3, in both
// directions. It returns the probes requested from hosts, and gives each host enough budget for
// them.
func addProfiles(t *testing.T, p *Prover) (there, back *Profile, sent *[]*hostapi.Probe) {
	t.Helper()
	racks := [...]*fabric.Rack{p.State.Host("h1").Rack(), p.State.Host("h3").Rack()}
	var all listed
	for i, from := range racks {
		g := NewGroup(from)
		for _, name := range slices.Sorted(maps.Keys(p.hosts)) {
			if h := p.hosts[name]; h.Rack() == from {
				g.hosts = append(g.hosts, h)
				h.tokens = 1000
			}
		}
		g.SetHosts(g.hosts)
		to := racks[1-i]
		b, err := p.State.Assignment().Build(ev.Request{Name: from.Name() + ":" + to.Name(),
			Pair: ev.Pair{Source: from.At(), Destination: to.At()}, Explicit: true})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, NewProfile(g, to, heldEVs{b.Profile}))
		g.SetProfiles(all[i:])
	}
	p.Profiles = all
	sent = new([]*hostapi.Probe)
	p.Probe = func(host string, r *hostapi.Probe) {
		if err := r.Validate(); err != nil || r.ID == 0 || r.Source != p.hosts[host].Address {
			t.Errorf("host %s is asked for %+v: %v", host, r, err)
		}
		*sent = append(*sent, r)
	}
	p.prober.tokens, p.prober.round.done = 1000, true
	return all[0], all[1], sent
}

// probe has the next EV of a profile probed.
func (p *Prover) probe(t *testing.T, x *Profile) *probe {
	t.Helper()
	before := p.prober.id
	if sent, _ := p.prober.probeNext(x, p.Settle().Lost()); !sent || p.prober.id == before {
		t.Fatalf("no probe of profile %s", x.evs.Held().Name)
	}
	return p.prober.pending[p.prober.id]
}

// missed returns how many probes did not come through over links.
func (p *Prover) missed(places []int32) (n int) {
	for _, i := range places {
		n += int(p.links.At(i).Misses())
	}
	return n
}

// TestBadEVsAreProbedFirst: the prober probes an EV that a host found bad before all EVs in turn,
// and the result counts for the links of the EV.
func TestBadEVsAreProbedFirst(t *testing.T) {
	p := newProver(t, "stev", func(cfg *inventory.MRC) { cfg.Probes.Rate = 10 })
	there, _, sent := addProfiles(t, p)
	p.SetTurns([]*Group{there.from})
	p.prober.tokens = 0
	connectAll(p)
	h, held := p.hosts["h1"], there.evs.Held()
	bad := held.EVs[len(held.EVs)-1]
	if err := p.EVEvents(h, &hostapi.EVEvents{Events: []hostapi.EVEvent{
		{Profile: held.Name, EV: bad, State: hostapi.EVAssumedBad}}}); err != nil {
		t.Fatal(err)
	}
	p.Tick(time.Second) // there is budget for one
	wire, err := held.Expand(bad)
	if err != nil {
		t.Fatal(err)
	}
	if len(*sent) != 1 || (*sent)[0].EV != wire {
		t.Fatalf("the probes are %v, want one of %v", *sent, wire)
	}
	if err := p.Result(h, &hostapi.ProbeResult{ID: (*sent)[0].ID, Sent: 1}); err != nil {
		t.Fatal(err)
	}
	links := p.linksOf(there, bad)
	for i := range int32(p.links.Len()) {
		l := p.links.At(i)
		if lost := l.Misses() > 0; lost != slices.Contains(links, l.ID) {
			t.Errorf("link %s has lost a probe: %v; want those of %v", l.ID, lost, links)
		}
	}
}

// TestHostsWithBadEVs: the prober asks hosts with bad EVs in the order of their names. It skips
// hosts without budget, removed hosts, and hosts with a withdrawn report.
func TestHostsWithBadEVs(t *testing.T) {
	p := newProver(t, "stev", func(cfg *inventory.MRC) {
		cfg.Probes.Rate, cfg.Probes.HostRate = 10, 1
	})
	there, _, _ := addProfiles(t, p)
	held := there.evs.Held()
	asked := ""
	p.Probe = func(host string, _ *hostapi.Probe) { asked += host }
	find := func(name string) {
		t.Helper()
		if err := p.EVEvents(p.hosts[name], &hostapi.EVEvents{Events: []hostapi.EVEvent{
			{Profile: held.Name, EV: held.EVs[0], State: hostapi.EVAssumedBad}}}); err != nil {
			t.Fatal(err)
		}
	}
	connectAll(p)
	now := time.Second
	for _, c := range []struct {
		change func()
		tokens [2]float64 // of h1 and h2
		want   string
		left   int
	}{
		{func() { find("h2"); find("h1") }, [2]float64{1, 1}, "h1", 2}, // there is budget for one
		{func() {}, [2]float64{0.9, 1}, "h2", 2},
		{func() {}, [2]float64{0.9, 0.9}, "", 2},
		{func() { p.hosts["h1"].Restart(false) }, [2]float64{1, 0}, "", 1},
		{func() { p.Detach(p.hosts["h2"]) }, [2]float64{1, 1}, "", 0},
	} {
		for i, name := range []string{"h1", "h2"} {
			h := p.hosts[name]
			h.tokens, h.filledAt, h.assumedAt = c.tokens[i], now, 0
		}
		asked, p.prober.at, p.prober.tokens = "", now-probeEvery, 1
		c.change()
		p.Tick(now)
		if asked != c.want || len(p.prober.assuming) != c.left {
			t.Errorf("%v: asked %q, want %q; %d hosts are looked at, want %d", now, asked, c.want,
				len(p.prober.assuming), c.left)
		}
		now += time.Second
	}
}

// TestBudgetOfHost: a host may send probes at its rate, plus the probes saved up in a tenth of a
// second, within the budget of all hosts.
func TestBudgetOfHost(t *testing.T) {
	p := newProver(t, "stev", func(cfg *inventory.MRC) { cfg.Probes.HostRate = 20 })
	pr, h := p.prober, p.hosts["h1"]
	h.tokens, pr.tokens = 0, 1000
	for _, c := range []struct {
		at   time.Duration
		want float64
	}{{0, 0}, {25 * time.Millisecond, 0.5}, {25 * time.Millisecond, 0.5}, {95 * time.Millisecond, 1.9},
		{105 * time.Millisecond, 2}, {time.Hour, 2}} {
		pr.at = c.at
		if got := pr.budget(h); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("after %v a host may send %v probes, want %v", c.at, got, c.want)
		}
	}
	if pr.tokens = 1.5; pr.budget(h) != 1.5 {
		t.Errorf("a host may send %v probes, want 1.5, which are left to all", pr.budget(h))
	}
	if late := p.Attach(h.Attached); pr.budget(late) != 1 {
		t.Errorf("a host that has come just now may send %v probes, want 1", pr.budget(late))
	}
}

// TestPeersOfProbes: connected hosts probe each other. If no peer is connected, the probe goes to a
// disconnected peer, whose silence accuses no link; nor does the silence of a removed host.
func TestPeersOfProbes(t *testing.T) {
	p := newProver(t, "stev", nil)
	there, back, sent := addProfiles(t, p)
	h2, h3 := p.hosts["h2"], p.hosts["h3"]
	p.Connect(h2, true)
	p.Connect(h3, true)
	for range 4 {
		if r := p.probe(t, there); r.host != h2 || r.peer != "h3" {
			t.Errorf("%s probes %s, want h2, which is connected, to probe h3", r.host.Name, r.peer)
		}
		if r := p.probe(t, back); r.host != h3 || r.peer != "h2" {
			t.Errorf("%s probes %s, want h3 to probe h2, which is connected", r.host.Name, r.peer)
		}
	}
	result := func(received int) {
		t.Helper()
		if err := p.Result(h3, &hostapi.ProbeResult{ID: (*sent)[len(*sent)-1].ID, Sent: 1,
			Received: received}); err != nil {
			t.Fatal(err)
		}
	}
	r := p.probe(t, back)
	links := r.links
	if p.Detach(h2); len(links) != 2 {
		t.Fatalf("the links are %v, want two", links)
	}
	if result(0); p.missed(links) != 0 {
		t.Error("a host that was removed did not answer, and its links have lost a probe")
	}
	p.hosts["h2"] = h2
	p.Gone(h2)
	r = p.probe(t, back)
	if result(0); p.missed(r.links) != 0 {
		t.Errorf("%s is not connected and did not answer, and its links have lost a probe", r.peer)
	}
	r = p.probe(t, back)
	if result(1); !p.links.Proven(r.links) {
		t.Errorf("%s has answered, and its links are not proven", r.peer)
	}
}

// TestEndsOfRequests: a request ends with its result, even with an error or an impossible result,
// or at its deadline, and then counts as lost. Afterwards its id, never 0, is unknown.
func TestEndsOfRequests(t *testing.T) {
	p := newProver(t, "stev", nil)
	there, _, sent := addProfiles(t, p)
	connectAll(p)
	over := func(r *probe, id uint32) {
		t.Helper()
		err := p.Result(r.host, &hostapi.ProbeResult{ID: id, Sent: 1})
		if len(p.prober.pending) != 0 || !errors.Is(err, ErrUnknownProbe) {
			t.Errorf("%d requests are under way, a second result: %v", len(p.prober.pending), err)
		}
	}
	p.prober.id = math.MaxUint32 - 1
	for i, good := range []hostapi.ProbeResult{{ID: math.MaxUint32, Err: "no such port"},
		{ID: 1, Sent: 1, Received: 1}} {
		r := p.probe(t, there)
		if id := (*sent)[i].ID; id != good.ID {
			t.Errorf("request %d has id %d, want %d", i, id, good.ID)
		}
		if err := p.Result(r.host, &good); err != nil {
			t.Error(err)
		}
		over(r, good.ID)
	}
	for i, bad := range []hostapi.ProbeResult{{}, {Sent: 2}, {Sent: 1, Received: -1},
		{Sent: 1, Received: 2}} {
		r := p.probe(t, there)
		bad.ID = p.prober.id
		if err := p.Result(r.host, &bad); !errors.Is(err, fabric.ErrMalformed) ||
			p.Counters.BadCounts != uint64(i+1) || p.missed(r.links) != 0 {
			t.Errorf("%+v: %v, %d counted, %d probes lost", bad, err, p.Counters.BadCounts,
				p.missed(r.links))
		}
		over(r, bad.ID)
	}
	r := p.probe(t, there)
	p.Tick(p.prober.cfg.Timeout.D() + answerGrace - time.Millisecond)
	if len(p.prober.pending) != 1 || p.Counters.LostProbes != 0 {
		t.Errorf("%d requests are under way and %d lost before the deadline, want 1, 0",
			len(p.prober.pending), p.Counters.LostProbes)
	}
	p.Tick(p.now + probeEvery)
	if p.Counters.LostProbes != 1 {
		t.Errorf("%d requests are lost, want 1", p.Counters.LostProbes)
	}
	over(r, p.prober.id)
}

// TestLinkOfManyPaths: the search for a path across a link goes on later where it has looked at
// many, and the link can be probed all the while.
func TestLinkOfManyPaths(t *testing.T) {
	var spines []topology.NodeID
	for i := range triesALink + 4 {
		spines = append(spines, topology.NodeID(fmt.Sprintf("spine%03d", i)))
	}
	p := newProverBelow(t, "stev", spines, nil)
	_, _, sent := addProfiles(t, p)
	connectAll(p)
	i, _ := p.State.Fabric().Place(linkBetween(p, leaf1, spines[len(spines)-1]))
	for n := range 4 {
		if p.prober.probeLink(i, 1); len(*sent) != 0 || !p.links.Untried(i) {
			t.Fatalf("search %d: %d probes, and the link waits for one: %v", n, len(*sent),
				p.links.Untried(i))
		}
	}
	p.prober.probeLink(i, 1)
	if len(*sent) != 1 || !slices.Contains(p.prober.pending[p.prober.id].links, i) {
		t.Errorf("%d probes, want one across the link", len(*sent))
	}
}

// TestLinkWithoutAPath: the prober leaves a link without an open path alone for a while, once it
// has looked at all paths, even if the number of paths equals the limit of one search.
func TestLinkWithoutAPath(t *testing.T) {
	for _, n := range []int{1, triesALink - 1, triesALink} {
		var spines []topology.NodeID
		for i := range n {
			spines = append(spines, topology.NodeID(fmt.Sprintf("spine%03d", i)))
		}
		p := newProverBelow(t, "stev", spines, nil)
		_, _, sent := addProfiles(t, p)
		connectAll(p)
		i, _ := p.State.Fabric().Place(linkBetween(p, leaf1, spines[n-1]))
		beyond, _ := p.State.Fabric().Place(linkBetween(p, spines[n-1], leaf2))
		p.links.Deny(beyond, "of the test")
		if p.prober.probeLink(i, 1); len(*sent) != 0 || p.links.Untried(i) {
			t.Errorf("%d paths, none open: %d probes, and the link waits for one: %v", n, len(*sent),
				p.links.Untried(i))
		}
	}
}
