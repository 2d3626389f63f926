package prove

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/suspect"
	"github.com/weft-sdn/weft/topology"
)

// TestProbesByUrgency: the budget goes, in this order, to links that wait to be restored, links
// never tried, links that jobs depend on, EVs that hosts found bad, closer looks, and all EVs in
// turn. Less than one probe is not spent.
func TestProbesByUrgency(t *testing.T) {
	const now = 10 * time.Second
	spines := []topology.NodeID{spine1, spine2, "spine3", "spine4", "spine5", "spine6"}
	uplink := func(p *Prover, n int) int32 {
		i, _ := p.State.Fabric().Place(linkBetween(p, leaf1, spines[n]))
		return i
	}
	crosses := func(n int) func(*Prover, *probe) bool {
		return func(p *Prover, r *probe) bool {
			return slices.Contains(r.links, uplink(p, n)) && r.look == nil
		}
	}
	steps := []struct {
		name string
		wait func(p *Prover, there *Profile)
		is   func(p *Prover, r *probe) bool
	}{
		{"in turn", func(p *Prover, there *Profile) {
			there.next = 5
			p.SetTurns([]*Group{there.from})
		}, crosses(5)},
		{"a closer look", func(p *Prover, there *Profile) {
			p.suspects.looks["x"] = &closerLook{counts: make(map[string]suspect.Counts),
				end: hostEnd{rack: there.from.rack.Name(), port: 1, leaf: leaf1}}
		}, func(_ *Prover, r *probe) bool { return r.look != nil }},
		{"an EV found bad", func(p *Prover, there *Profile) {
			h, held := p.hosts["h1"], there.evs.Held()
			key := counterKey{held.Name, held.EVs[3]}
			h.assumed[key], p.prober.assuming[h] = true, true
		}, func(_ *Prover, r *probe) bool {
			return r.ev == r.profile.evs.Held().EVs[3] && r.look == nil
		}},
		{"a link that jobs depend on", func(p *Prover, _ *Profile) { p.Want(uplink(p, 2)) }, crosses(2)},
		{"a link that was never tried", func(p *Prover, _ *Profile) { p.prober.round.done = false },
			crosses(1)},
		{"a link to be restored", func(p *Prover, _ *Profile) {
			p.links.Fail(uplink(p, 0), "of the test")
		}, crosses(0)},
	}
	for n := range steps {
		for _, rate := range []int{99, 100} { // for a hundredth of a second
			p := newProverBelow(t, "stev", spines, func(cfg *inventory.MRC) { cfg.Probes.Rate = rate })
			there, _, sent := addProfiles(t, p)
			for _, h := range p.hosts {
				p.Connect(h, true)
			}
			for i := range int32(p.links.Len()) {
				if i != uplink(p, 1) {
					p.links.Result(i, 0, 1, 1)
				}
			}
			p.now = now - 2*time.Second
			p.State.Tick(p.now)
			for _, s := range steps[:n+1] {
				s.wait(p, there)
			}
			p.prober.tokens, p.prober.at = 0, now-probeEvery
			p.State.Tick(now)
			p.Tick(now)
			if rate < 100 {
				if len(*sent) != 0 {
					t.Errorf("%s: a probe is sent though there is budget for less", steps[n].name)
				}
				continue
			}
			if len(*sent) != 1 || !steps[n].is(p, p.prober.pending[p.prober.id]) {
				t.Errorf("%s is not what is probed, but %d: %+v", steps[n].name, len(*sent),
					p.prober.pending[p.prober.id])
			}
			if (*sent)[0].Count != 1 {
				t.Errorf("%s: %d probes of a request, want 1", steps[n].name, (*sent)[0].Count)
			}
		}
	}
}

// TestProbesInTurnWait: EVs are not probed in turn for 100 ms after hosts were told something, and
// while a closer look spends what there is.
func TestProbesInTurnWait(t *testing.T) {
	for _, c := range []struct {
		passed time.Duration
		looks  bool
		want   bool
	}{{99 * time.Millisecond, false, false}, {100 * time.Millisecond, false, true},
		{100 * time.Millisecond, true, false}} {
		p := newProver(t, "stev", nil)
		there, _, _ := addProfiles(t, p)
		connectAll(p)
		p.SetTurns([]*Group{there.from})
		p.now = time.Second
		p.Told()
		if c.looks {
			p.suspects.looks["x"] = &closerLook{counts: make(map[string]suspect.Counts),
				end: hostEnd{rack: there.from.rack.Name(), port: 1, leaf: leaf1}}
		}
		p.Tick(time.Second + c.passed)
		got := slices.ContainsFunc(slices.Collect(maps.Values(p.prober.pending)),
			func(r *probe) bool { return r.look == nil })
		if got != c.want {
			t.Errorf("%v after hosts were told, looks %v: EVs are probed in turn: %v", c.passed, c.looks,
				got)
		}
	}
}

// TestNextTickOfProver: the next tick is due when some host may send probes again, at the end of
// the first round, and when the prober looks for suspects.
func TestNextTickOfProver(t *testing.T) {
	for _, c := range []struct {
		name           string
		host, can      bool
		begun, done    bool
		mode           string
		rate, hostRate int
		active         bool
		want           time.Duration
	}{
		{"no host", false, false, false, false, "stev", 1, 1, false, time.Minute},
		{"a host", true, true, false, false, "stev", 1, 1, true, time.Second + 10*time.Millisecond},
		{"one that cannot", true, false, false, false, "stev", 1, 1, false, time.Minute},
		{"one that is gone", false, true, false, false, "stev", 1, 1, false, time.Minute},
		{"mode ecmp", true, true, false, false, "ecmp", 1, 1, false, time.Minute},
		{"no probes", true, true, false, false, "stev", 0, 1, false, time.Minute},
		{"none of a host", true, true, false, false, "stev", 1, 0, false, time.Minute},
		{"a round", false, false, true, false, "stev", 1, 1, false, 10 * time.Second},
		{"a round that is over", false, false, true, true, "stev", 1, 1, false, time.Minute},
		{"a round and a host", true, true, true, false, "stev", 1, 1, true,
			time.Second + 10*time.Millisecond},
	} {
		p := newProver(t, c.mode, func(cfg *inventory.MRC) {
			cfg.Probes.Rate, cfg.Probes.HostRate = c.rate, c.hostRate
		})
		if c.begun {
			p.Begin()
		}
		p.prober.round.done = c.done
		p.now = time.Second
		p.Renewed(nil)
		h := p.hosts["h1"]
		h.connected, h.canProbe = c.host, c.can
		if p.Active() != c.active || p.Tried() != c.done {
			t.Errorf("%s: a host probes: %v, tried %v", c.name, p.Active(), p.Tried())
		}
		if p.suspects.at != 1500*time.Millisecond || p.Next(time.Hour) > p.suspects.at {
			t.Errorf("%s: suspects are looked for at %v, and the next tick is at %v", c.name, p.suspects.at,
				p.Next(time.Hour))
		}
		p.suspects.at = time.Hour
		if got := p.Next(time.Minute); got != c.want {
			t.Errorf("%s: the next tick is at %v, want %v", c.name, got, c.want)
		}
		if got := p.Next(time.Second); got != time.Second {
			t.Errorf("%s: the next tick is at %v, after what else is due", c.name, got)
		}
		p.now = 20 * time.Second
		p.prober.at = p.now
		if got := p.Next(time.Minute); c.begun && !c.done && got != p.now+10*time.Millisecond {
			t.Errorf("%s: the next tick after the end of the round is at %v", c.name, got)
		}
	}
}

// TestNoHostProbes: while no host can probe links, those that wait are restored after a time.
func TestNoHostProbes(t *testing.T) {
	p := newProver(t, "stev", nil)
	p.links.Fail(0, "of the test")
	p.State.Tick(time.Second)
	at := p.State.Next(time.Hour)
	p.Tick(time.Second)
	if got := p.State.Next(time.Hour); at != time.Hour || got != 61*time.Second {
		t.Errorf("the link is restored at %v, want 61s; before at %v", got, at)
	}
	there, _, sent := addProfiles(t, p)
	p.Connect(p.hosts["h1"], true)
	p.Connect(p.hosts["h3"], false)
	p.Tick(2 * time.Second)
	if got := p.State.Next(time.Hour); got != time.Hour || len(*sent) != 1 ||
		p.prober.pending[p.prober.id].profile != there {
		t.Errorf("%d probes, and the link is restored at %v without one", len(*sent), got)
	}
}

// TestProbeOfLink: a host below a link probes the link if some path crosses it, preferably towards
// a connected host, and probes again when an answer is overdue. The prober tries again later when
// no host can probe the link or the budget is spent.
func TestProbeOfLink(t *testing.T) {
	up := func(p *Prover) int32 {
		i, _ := p.State.Fabric().Place(linkBetween(p, leaf1, spine1))
		return i
	}
	for _, c := range []struct {
		name      string
		connected []string
		change    func(p *Prover)
		by, to    string
		again     time.Duration // when it may be probed again
	}{
		{"all connected", []string{"h1", "h2", "h3"}, nil, "h1", "h3", 2100 * time.Millisecond},
		{"one of two", []string{"h2", "h3"}, nil, "h2", "h3", 2100 * time.Millisecond},
		{"not the peer", []string{"h1"}, nil, "h1", "h3", 2100 * time.Millisecond},
		{"none below", []string{"h3"}, nil, "", "", time.Second},
		{"no budget", []string{"h1", "h2", "h3"}, func(p *Prover) {
			p.hosts["h1"].tokens, p.hosts["h2"].tokens = 0.9, 0.9
		}, "", "", 0},
		{"budget of one", []string{"h1", "h2", "h3"}, func(p *Prover) { p.hosts["h1"].tokens = 0.9 },
			"h2", "h3", 2100 * time.Millisecond},
		{"no profile held", []string{"h1", "h2", "h3"}, func(p *Prover) {
			for _, x := range p.Profiles.(listed) {
				x.evs = heldEVs{}
			}
		}, "", "", time.Second},
		{"the port is down", []string{"h1", "h2", "h3"}, func(p *Prover) {
			_ = p.State.PortStatus("h1", 0)
		}, "h2", "h3", 2100 * time.Millisecond},
		{"the peer's port is down", []string{"h1", "h2", "h3"}, func(p *Prover) {
			_ = p.State.PortStatus("h3", 0)
		}, "", "", time.Second},
		{"the way on is held", []string{"h1", "h2", "h3"}, func(p *Prover) {
			i, _ := p.State.Fabric().Place(linkBetween(p, spine1, leaf2))
			p.links.Deny(i, "of the test")
		}, "", "", time.Second},
	} {
		for _, count := range []int{1, 5} {
			p := newProver(t, "stev", nil)
			_, _, sent := addProfiles(t, p)
			for _, name := range c.connected {
				p.Connect(p.hosts[name], true)
			}
			if c.change != nil {
				c.change(p)
			}
			i := up(p)
			if p.prober.probeLink(i, count); c.by == "" {
				if len(*sent) != 0 {
					t.Errorf("%s: it is probed", c.name)
				}
			} else if r := p.prober.pending[p.prober.id]; len(*sent) != 1 || r.host.Name != c.by ||
				r.peer != c.to || r.count != count || !slices.Contains(r.links, i) {
				t.Errorf("%s: %d probes, %+v; want %d by %s", c.name, len(*sent), r, count, c.by)
			}
			for _, at := range []time.Duration{max(c.again-1, 0), c.again} {
				if p.State.Tick(at); p.links.Untried(i) != (at >= c.again) {
					t.Errorf("%s: it may be probed at %v: %v, want from %v on", c.name, at,
						p.links.Untried(i), c.again)
				}
			}
		}
	}
}

// TestLinksDown: hosts elsewhere probe a descending link towards hosts below the link.
func TestLinksDown(t *testing.T) {
	p := newProver(t, "stev", nil)
	there, _, _ := addProfiles(t, p)
	connectAll(p)
	i, _ := p.State.Fabric().Place(linkBetween(p, spine2, leaf2))
	p.prober.probeLink(i, 1)
	if r := p.prober.pending[p.prober.id]; r == nil || r.profile != there || r.peer != "h3" ||
		!slices.Contains(r.links, i) {
		t.Errorf("%+v, want a probe to h3 over the link", r)
	}
}

// TestMostProbesOfRequest: a request has no more probes than a host takes.
func TestMostProbesOfRequest(t *testing.T) {
	p := newProver(t, "stev", nil)
	_, _, sent := addProfiles(t, p)
	p.prober.tokens = 10 * hostapi.MaxProbes
	for _, h := range p.hosts {
		p.Connect(h, true)
		h.tokens = 10 * hostapi.MaxProbes
	}
	if p.prober.probeLink(0, hostapi.MaxProbes+1); (*sent)[0].Count != hostapi.MaxProbes {
		t.Errorf("%d probes of a request, want %d", (*sent)[0].Count, hostapi.MaxProbes)
	}
}

// TestRequests: a request is paid for by its host and by all, is over 2 s after its last probe has
// timed out, and accuses links only if both hosts hold a state and each of its links was proven and
// is in use.
func TestRequests(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(p *Prover, links []int32)
		telling bool
	}{
		{"all known", func(*Prover, []int32) {}, true},
		{"the host holds nothing", func(p *Prover, _ []int32) { p.hosts["h1"].holds = false }, false},
		{"the peer holds nothing", func(p *Prover, _ []int32) { p.hosts["h3"].holds = false }, false},
		{"a link is tried", func(p *Prover, links []int32) {
			p.links.Fail(links[1], "of the test")
			p.State.Tick(time.Second)
		}, false},
		{"none proven", nil, false},
	} {
		p := newProver(t, "stev", nil)
		there, _, sent := addProfiles(t, p)
		p.Connect(p.hosts["h1"], true)
		p.Connect(p.hosts["h3"], true)
		for _, h := range p.hosts {
			h.SetHolds()
		}
		set, _ := p.pathsOf(there, 1)
		ref, _ := set.At(0)
		links := p.State.Fabric().PlacesOf(set, ref)
		if c.change != nil {
			for _, i := range links {
				p.links.Result(i, 0, 1, 1)
			}
			c.change(p, links)
		}
		p.now = 5 * time.Second
		h := p.hosts["h1"]
		p.prober.send(h, path{profile: there, port: 1, set: set, ref: ref, links: links}, 7)
		r := p.prober.pending[p.prober.id]
		if r.telling != c.telling {
			t.Errorf("%s: a loss accuses the links: %v", c.name, r.telling)
		}
		if h.tokens != 993 || p.prober.tokens != 993 || r.at != p.now ||
			r.deadline != p.now+6*time.Millisecond+2100*time.Millisecond {
			t.Errorf("%s: left are %v of the host and %v of all, at %v, deadline %v", c.name, h.tokens,
				p.prober.tokens, r.at, r.deadline)
		}
		if s := (*sent)[0]; s.Destination != p.hosts["h3"].Address || s.Interval != time.Millisecond ||
			s.Timeout != 100*time.Millisecond || s.Count != 7 || s.EV.Port != 1 ||
			s.DSCP != p.prober.dscp || s.Format.Mode != there.evs.Held().Format.Mode {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

// TestHostsTakeTurns: the hosts of a rack probe in turn, and the hosts that they probe are in turn
// each host's peers.
func TestHostsTakeTurns(t *testing.T) {
	p := newProver(t, "stev", nil)
	there, back, _ := addProfiles(t, p)
	connectAll(p)
	got := ""
	for range 4 {
		got += p.probe(t, there).host.Name + p.probe(t, back).peer + " "
	}
	if got != "h1h1 h2h2 h1h1 h2h2 " {
		t.Errorf("hosts that probe, and are probed: %s", got)
	}
	// The prober does not probe a host with an unusable port, and no host probes itself.
	_ = p.State.PortStatus("h1", 0)
	h1, h2, h3 := p.hosts["h1"], p.hosts["h2"], p.hosts["h3"]
	for range 3 {
		if r := p.probe(t, back); r.peer != "h2" {
			t.Errorf("%s is probed", r.peer)
		}
	}
	inside := NewProfile(there.from, there.from.rack, there.evs)
	if peer := p.prober.peerOf(h1, inside, 1); peer != h2 {
		t.Errorf("h1 probes %+v of its rack, want h2", peer)
	}
	if peer := p.prober.peerOf(h2, inside, 1); peer != nil {
		t.Errorf("h2 probes %s of its rack, want none", peer.Name)
	}
	p.Gone(h2)
	if peer := p.prober.peerOf(h3, back, 1); peer != h2 {
		t.Errorf("h3 probes %+v, want h2, which is not connected", peer)
	}
	// Who may send nothing now, and who cannot.
	h2.tokens = 0
	for _, c := range []struct {
		connected, can bool
		tokens         float64
		by             *Host
		full           bool
	}{{true, true, 1, h2, false}, {true, true, 0.9, nil, true}, {false, true, 1, nil, false},
		{true, false, 1, nil, false}, {false, true, 0, nil, false}} {
		h2.connected, h2.canProbe, h2.tokens = c.connected, c.can, c.tokens
		if by, full := p.prober.turn(there, 1, 1); by != c.by || full != c.full {
			t.Errorf("%+v: %v, full %v", c, by, full)
		}
	}
}

// TestPathsInTurn: the prober takes the EVs of a profile in turn and skips lost EVs. Without budget
// the turn waits at the same EV.
func TestPathsInTurn(t *testing.T) {
	p := newProver(t, "stev", nil)
	there, _, _ := addProfiles(t, p)
	connectAll(p)
	lost := p.Settle().Lost()
	links := func() string { return fmt.Sprint(p.probe(t, there).links) }
	first, second := links(), links()
	if again := links() + links(); first == second || again != first+second {
		t.Errorf("probed are the paths %s and %s, and again %s", first, second, again)
	}
	p.hosts["h1"].tokens, p.hosts["h2"].tokens = 0, 0
	for range 2 {
		if sent, full := p.prober.probeNext(there, lost); sent || !full {
			t.Errorf("without budget: sent %v, full %v", sent, full)
		}
	}
	p.hosts["h2"].tokens = 1
	if got := links(); got != first {
		t.Errorf("the path %s is probed once there is budget, want %s", got, first)
	}
	p.hosts["h1"].tokens = 10
	i, _ := p.State.Fabric().Place(linkBetween(p, leaf1, spine2))
	p.links.Deny(i, "of the test")
	got := ""
	for range 3 {
		got = first
		if sent, _ := p.prober.probeNext(there, p.Settle().Lost()); sent {
			got = fmt.Sprint(p.prober.pending[p.prober.id].links)
		}
		if got != first {
			t.Errorf("the path %s is probed, which is lost", got)
		}
	}
	for _, h := range p.hosts {
		p.Gone(h)
	}
	if sent, full := p.prober.probeNext(there, lost); sent || full {
		t.Errorf("no host is connected: sent %v, full %v", sent, full)
	}
}

// TestPortsInTurn: of a host with several ports, each is probed in turn; a port without attachment
// at both ends gets no probes.
func TestPortsInTurn(t *testing.T) {
	p := newProver(t, "stev", nil)
	p.prober.tokens = 1000
	twice := ev.Attachment{leaf1, "", leaf1}
	for i, name := range []string{"h4", "h5"} {
		h := *p.hosts[map[int]string{0: "h1", 1: "h3"}[i]]
		host := h.Attached.Host
		host.Name, host.At = name, slices.Clone(twice)
		if i == 1 {
			host.At = ev.Attachment{leaf2, leaf2, leaf2}
		}
		host.Address = host.Address.Next().Next().Next()
		at, err := p.State.PutHost(host)
		if err != nil {
			t.Fatal(err)
		}
		x := p.Attach(at)
		x.tokens = 1000
		p.Connect(x, true)
	}
	g := NewGroup(p.State.Host("h4").Rack())
	g.SetHosts([]*Host{p.hosts["h4"]})
	built, err := p.State.Assignment().Build(ev.Request{Name: "p", Explicit: true,
		Pair: ev.Pair{Source: g.rack.At(), Destination: p.State.Host("h5").Rack().At()}})
	if err != nil {
		t.Fatal(err)
	}
	x := NewProfile(g, p.State.Host("h5").Rack(), heldEVs{built.Profile})
	got := ""
	for range 4 {
		r := p.probe(t, x)
		got += fmt.Sprintf("%d:%v ", r.ev.Port, r.links[0])
	}
	r := func(n int) int32 {
		i, _ := p.State.Fabric().Place(linkBetween(p, leaf1, []topology.NodeID{spine1, spine2}[n]))
		return i
	}
	if want := fmt.Sprintf("1:%d 3:%d 1:%d 3:%d ", r(0), r(0), r(1), r(1)); got != want {
		t.Errorf("probed are ports and first links %s, want %s", got, want)
	}
}
