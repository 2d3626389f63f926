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
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/mrc/suspect"
	"github.com/weft-sdn/weft/topology"
)

// addRack adds a host h4 at leaf2 in a rack separate from h3's, and the profile from the rack of h1
// and h2 to the rack of h4.
func addRack(t *testing.T, p *Prover, there *Profile) *Profile {
	t.Helper()
	host := p.hosts["h3"].Attached.Host
	host.Name, host.Address = "h4", host.Address.Next()
	host.At = ev.Attachment{leaf2, leaf2}
	at, err := p.State.PutHost(host)
	if err != nil {
		t.Fatal(err)
	}
	p.Attach(at).tokens = 1000
	held := *there.evs.Held()
	held.Name = "to h4"
	x := NewProfile(there.from, at.Rack(), heldEVs{&held})
	p.Profiles = append(p.Profiles.(listed), x)
	return x
}

// TestProfilesOfLinkInTurn: the profiles whose paths cross a link probe it in turn. A profile with
// a connected peer goes first.
func TestProfilesOfLinkInTurn(t *testing.T) {
	for name, want := range map[string]string{"": "h3 h4 h3 h4 ", "h3": "h4 h4 h4 h4 ",
		"h4": "h3 h3 h3 h3 "} {
		p := newProver(t, "stev", nil)
		there, _, _ := addProfiles(t, p)
		addRack(t, p, there)
		connectAll(p)
		if name != "" {
			p.Gone(p.hosts[name])
		}
		i, _ := p.State.Fabric().Place(linkBetween(p, leaf1, spine1))
		got := ""
		for range 4 {
			p.prober.probeLink(i, 1)
			got += p.prober.pending[p.prober.id].peer + " "
		}
		if got != want {
			t.Errorf("without %q: hosts are probed over the link in the order %s, want %s", name, got, want)
		}
	}
}

// TestLooksOverProfiles: a closer look goes on with the next profile, and with the next path when
// all have been used; one that has no probes is passed over.
func TestLooksOverProfiles(t *testing.T) {
	for _, without := range []bool{false, true} {
		p := newProver(t, "stev", nil)
		there, _, _ := addProfiles(t, p)
		other := addRack(t, p, there)
		connectAll(p)
		if without {
			there.evs = heldEVs{}
		}
		look := &closerLook{counts: make(map[string]suspect.Counts),
			end: hostEnd{rack: there.from.rack.Name(), port: 1, leaf: leaf1}}
		got := ""
		paths := make(map[string]int)
		for range 8 {
			if !p.prober.look(look, p.Settle().Lost()) {
				t.Fatal("no probe")
			}
			r := p.prober.pending[p.prober.id]
			if got += "a"; r.profile == other {
				got = got[:len(got)-1] + "b"
			}
			paths[fmt.Sprint(r.links)]++
		}
		want := "aabbaabb" // both hosts by each
		if without {
			want = "bbbbbbbb"
		}
		if got != want || len(paths) != 2 {
			t.Errorf("profiles %s over paths %v, want %s", got, paths, want)
		}
	}
}

// TestOneLookOfTwo: a closer look that can send goes on while there is something to spend, whether
// or not another can.
func TestOneLookOfTwo(t *testing.T) {
	for _, blocked := range []topology.LinkID{"x1", "x2"} {
		p := newProver(t, "stev", nil)
		there, _, sent := addProfiles(t, p)
		connectAll(p)
		for _, id := range []topology.LinkID{"x1", "x2"} {
			l := &closerLook{counts: make(map[string]suspect.Counts),
				end: hostEnd{rack: there.from.rack.Name(), port: 1, leaf: leaf1}}
			if id == blocked {
				l.end.port = 2 // which there is not
			}
			p.suspects.looks[id] = l
		}
		p.prober.tokens = 24
		if p.prober.lookCloser(p.Settle().Lost()); len(*sent) != 3 {
			t.Errorf("%s cannot send: %d requests, want 3 of 8 probes", blocked, len(*sent))
		}
	}
}

// TestAssumedInTurn: after a timeout, the prober probes an EV that a host found bad again. The
// probing host must be connected and able to probe, and the EV's profile and port must still exist.
func TestAssumedInTurn(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(p *Prover, x *Profile, h *Host)
		want   int
	}{
		{"all is well", func(*Prover, *Profile, *Host) {}, 1},
		{"gone", func(p *Prover, _ *Profile, h *Host) { p.Gone(h) }, 0},
		{"it cannot", func(p *Prover, _ *Profile, h *Host) { h.canProbe = false }, 0},
		{"no budget", func(_ *Prover, _ *Profile, h *Host) { h.tokens = 0.9 }, 0},
		{"not yet", func(p *Prover, _ *Profile, h *Host) { h.assumedAt = p.now + 1 }, 0},
		{"just now", func(p *Prover, _ *Profile, h *Host) { h.assumedAt = p.now }, 1},
		{"no profile", func(p *Prover, _ *Profile, _ *Host) { p.Profiles = noProfiles{} }, 0},
		{"nothing held", func(p *Prover, x *Profile, _ *Host) {
			p.Profiles = oneProfile{of: x}
			x.evs = heldEVs{}
		}, 0},
		{"its port is down", func(p *Prover, _ *Profile, _ *Host) { _ = p.State.PortStatus("h1", 0) }, 0},
		{"no peer", func(p *Prover, _ *Profile, _ *Host) { _ = p.State.PortStatus("h3", 0) }, 0},
	} {
		p := newProver(t, "stev", nil)
		there, _, sent := addProfiles(t, p)
		connectAll(p)
		h := p.hosts["h1"]
		for _, v := range there.evs.Held().EVs {
			h.assumed[counterKey{there.evs.Held().Name, v}] = true
		}
		p.prober.assuming[h] = true
		p.now = time.Second
		c.change(p, there, h)
		if p.prober.probeAssumed(); len(*sent) != c.want {
			t.Errorf("%s: %d probes, want %d", c.name, len(*sent), c.want)
		}
		if c.want == 0 {
			continue
		}
		if h.assumedAt != p.now+100*time.Millisecond || (*sent)[0].Count != 1 {
			t.Errorf("%s: probed again at %v, %d probes", c.name, h.assumedAt, (*sent)[0].Count)
		}
		p.now = h.assumedAt
		if p.prober.probeAssumed(); len(*sent) != 2 || (*sent)[1].EV == (*sent)[0].EV {
			t.Errorf("%s: %d probes, want the next EV", c.name, len(*sent))
		}
	}
}

// TestGroupsInTurn: the groups of hosts probe their EVs in turn, the first of new ones first.
func TestGroupsInTurn(t *testing.T) {
	p := newProver(t, "stev", nil)
	there, back, _ := addProfiles(t, p)
	there.from.SetProfiles([]*Profile{there})
	connectAll(p)
	for range 2 {
		p.SetTurns([]*Group{there.from, back.from})
		got := ""
		for range 3 {
			p.prober.tokens = 1
			p.prober.probeInTurn(p.Settle().Lost())
			got += map[*Profile]string{there: "1", back: "2"}[p.prober.pending[p.prober.id].profile]
		}
		if got != "121" {
			t.Errorf("groups %s probe, want 1, 2 and 1", got)
		}
	}
}

// TestEveryHundredthOfASecond: probes are sent every 10 ms; the first round ends with what is heard
// by then, and requests at their deadline.
func TestEveryHundredthOfASecond(t *testing.T) {
	p := newProver(t, "stev", nil)
	for _, c := range [][2]time.Duration{{9, 0}, {10, 10}, {19, 10}, {20, 20}, {31, 31}, {40, 31}} {
		if p.Tick(c[0] * time.Millisecond); p.prober.at != c[1]*time.Millisecond {
			t.Errorf("after %d ms the last run was at %v, want %d ms", c[0], p.prober.at, c[1])
		}
	}
	p = newProver(t, "stev", nil)
	p.Awaited = func() bool { return true }
	p.Begin()
	for i := range int32(p.links.Len()) {
		p.links.Result(i, 0, 1, 1)
	}
	if p.Tick(9 * time.Millisecond); p.Tried() {
		t.Error("the round ends between two runs")
	}
	if p.Tick(10 * time.Millisecond); !p.Tried() {
		t.Error("the round goes on though all links are proven")
	}
	there, _, _ := addProfiles(t, p)
	p.Connect(p.hosts["h1"], true)
	p.Connect(p.hosts["h3"], true)
	deadline := p.probe(t, there).deadline
	for at, want := range map[time.Duration]int{deadline - probeEvery: 1, deadline: 0} {
		q := newProver(t, "stev", nil)
		x, _, _ := addProfiles(t, q)
		q.Connect(q.hosts["h1"], true)
		q.Connect(q.hosts["h3"], true)
		q.now = 10 * time.Millisecond
		q.probe(t, x)
		if q.Tick(at); len(q.prober.pending) != want {
			t.Errorf("%d requests are under way at %v, of a deadline at %v", len(q.prober.pending), at,
				deadline)
		}
	}
}

// TestPathsOfPortsInTurn: each port goes over all of its paths, also where some are lost.
func TestPathsOfPortsInTurn(t *testing.T) {
	p := newProverBelow(t, "stev", []topology.NodeID{spine1, spine2, "spine3"}, nil)
	there, _, _ := addProfiles(t, p)
	connectAll(p)
	var hosts []*fabric.Attached
	for i, leaf := range []topology.NodeID{leaf1, leaf2} {
		host := p.hosts["h3"].Attached.Host
		host.Name, host.At = fmt.Sprint("h", 4+i), ev.Attachment{leaf, leaf}
		for range i + 1 {
			host.Address = host.Address.Next()
		}
		at, err := p.State.PutHost(host)
		if err != nil {
			t.Fatal(err)
		}
		x := p.Attach(at)
		x.tokens = 1000
		p.Connect(x, true)
		hosts = append(hosts, at)
	}
	g := NewGroup(hosts[0].Rack())
	g.SetHosts([]*Host{p.hosts["h4"]})
	x := NewProfile(g, hosts[1].Rack(), there.evs)
	seen := make(map[string]int)
	for range 12 {
		r := p.probe(t, x)
		seen[fmt.Sprint(r.ev.Port, r.links)]++
	}
	if len(seen) != 6 {
		t.Errorf("%d paths of two ports are probed, want 6: %v", len(seen), seen)
	}
	i, _ := p.State.Fabric().Place(linkBetween(p, leaf1, spine2))
	p.links.Deny(i, "of the test")
	clear(seen)
	for range 12 {
		before := p.prober.id
		p.prober.probeNext(x, p.Settle().Lost())
		if p.prober.id != before {
			r := p.prober.pending[p.prober.id]
			seen[fmt.Sprint(r.ev.Port, r.links)]++
		}
	}
	if len(seen) != 4 {
		t.Errorf("%d paths of two ports are probed while one of three is lost: %v", len(seen), seen)
	}
}

// TestWantedLinkHeardOf: the prober skips a due link if a result has arrived meanwhile.
func TestWantedLinkHeardOf(t *testing.T) {
	p := newProver(t, "stev", nil)
	_, _, sent := addProfiles(t, p)
	connectAll(p)
	p.State.Tick(time.Second)
	p.now = time.Second
	i, _ := p.State.Fabric().Place(linkBetween(p, leaf1, spine1))
	p.Want(i)
	p.prober.tokens = 0
	p.prober.probeWanted()
	p.links.Result(i, time.Second, 1, 1)
	p.prober.tokens = 5
	if p.prober.probeWanted(); len(*sent) != 0 {
		t.Error("it is probed")
	}
}

// TestSuspectsInOtherPhases: the list shows a suspect out of use for an unrelated reason as spared,
// until the evidence is gone. A suspect denied before, and not to be denied again, counts as spared
// too.
func TestSuspectsInOtherPhases(t *testing.T) {
	p := newProver(t, "stev", func(cfg *inventory.MRC) {
		cfg.Suspects.Deny, cfg.Suspects.DenyLoss = true, 0.01
	})
	bad := linkBetween(p, leaf1, spine1)
	i, _ := p.State.Fabric().Place(bad)
	observe := func(at time.Duration) {
		p.now = at
		p.suspects.observe(p.suspects.locator.Path([]topology.LinkID{bad}),
			suspect.Counts{Sent: 10_000, Lost: 500})
		p.suspects.observe(p.suspects.locator.Path([]topology.LinkID{linkBetween(p, leaf1, spine2)}),
			suspect.Counts{Sent: 10_000})
		p.suspects.at = 0
		p.suspects.run()
	}
	check := func(what, why string, denied bool, since time.Duration) {
		t.Helper()
		got := p.Suspects(noTime)
		if len(got) != 1 || got[0].Why != why || got[0].Denied != denied ||
			!got[0].Since.Equal(noTime(since)) || got[0].FromName != "name of leaf1" {
			t.Errorf("%s: %+v, want %q, denied %v, since %v", what, got, why, denied, since)
		}
	}
	p.links.Fail(i, "of the test")
	observe(time.Second)
	check("held", "it is not in use", false, time.Second)
	observe(2 * time.Second)
	check("held still", "it is not in use", false, time.Second)
	p.Moved(bad)
	p.suspects.at = 0
	if p.suspects.run(); len(p.suspects.list) != 0 {
		t.Errorf("without evidence: %+v", p.suspects.list)
	}
	p.State.Tick(3 * time.Second)
	p.links.Result(i, 3*time.Second, 1, 1)
	p.State.Tick(4 * time.Second)
	observe(4 * time.Second)
	check("in use", "", true, 4*time.Second)
	p.State.Tick(time.Hour)
	p.links.Result(i, time.Hour, 512, 512)
	p.State.Tick(time.Hour + time.Second)
	p.LastPath = func(int32) string { return "it is the last path" }
	observe(time.Hour + time.Second)
	check("in use again", "it is the last path", false, 4*time.Second)

	p = newProver(t, "stev", func(cfg *inventory.MRC) { cfg.Suspects.Deny = true })
	rack := p.hosts["h1"].Rack()
	for id, want := range map[topology.LinkID]string{
		p.named.of(rack, 1, true): "the link of a host of the rack, and not known which",
		p.named.host(p.hosts["h1"].Attached, 1, true): "the link of a host: drain the host's port to " +
			"keep packets from it",
	} {
		x := &accused{Suspect: suspect.Suspect{Links: []topology.LinkID{id}, Loss: 0.5}}
		end, _ := p.suspects.endOf(&x.Suspect)
		if x.end = &end; p.suspects.spare(x) != want {
			t.Errorf("%s: %q, want %q", id, p.suspects.spare(x), want)
		}
	}
	if got := p.named.host(p.hosts["h1"].Attached, 1, true); got != "host h1 port 1 receiving" {
		t.Errorf("the link of a host is called %s", got)
	}
	x := &accused{Suspect: suspect.Suspect{Links: []topology.LinkID{bad, bad}}}
	if place, ok := x.place(p.State.Fabric()); place != 0 || ok {
		t.Errorf("several links are at place %d", place)
	}
}

// TestBadLinksOfFirstRound: the first round takes links without a successful probe out of use. It
// leaves proven links and links already out of use alone.
func TestBadLinksOfFirstRound(t *testing.T) {
	p := newProver(t, "stev", nil)
	net := p.State.Fabric().Snapshot().Builder() // with a link that no path crosses
	net.SetLink(topology.Link{Local: spine1, Remote: spine2, LocalID: 9, RemoteID: 9})
	net.SetLink(topology.Link{Local: spine2, Remote: spine1, LocalID: 9, RemoteID: 9})
	p.State.SetTopology(net.Build())
	if !p.State.Settle() {
		t.Fatal(p.State.Failure())
	}
	p.Awaited = func() bool { return true }
	for i := range int32(p.links.Len()) {
		if l := p.links.At(i); l.LocalID == 9 { // it is new, and held
			p.State.Tick(time.Second)
			p.State.Tick(time.Minute)
			p.links.Result(i, p.State.Now(), 1, 1)
			p.State.Tick(2 * time.Minute)
		}
	}
	p.now = 2 * time.Minute
	p.Begin()
	place := func(a, b topology.NodeID) int32 {
		i, _ := p.State.Fabric().Place(linkBetween(p, a, b))
		return i
	}
	bad, proven, held := place(leaf1, spine1), place(leaf1, spine2), place(leaf2, spine1)
	for i := range int32(p.links.Len()) {
		switch received := 1; {
		case p.links.At(i).LocalID == 9:
		default:
			if i == bad || i == held {
				received = 0
			}
			p.links.Result(i, p.now, 1, received)
		}
	}
	for range 3 {
		for _, i := range []int32{bad, proven, held} {
			p.links.Result(i, p.now, 1, 0)
		}
	}
	p.links.Deny(held, "of the test")
	p.prober.runRound()
	if !p.Tried() {
		t.Error("the round goes on")
	}
	for i, want := range map[int32]string{bad: "no probe came through", proven: "",
		held: "of the test"} {
		if got := p.links.At(i).Cause(); got != want {
			t.Errorf("%s is out of use: %q, want %q", p.links.At(i).ID, got, want)
		}
	}
}

// TestResultWithoutLook: a result that accuses links and is of no closer look is evidence.
func TestResultWithoutLook(t *testing.T) {
	p := newProver(t, "stev", nil)
	there, _, _ := addProfiles(t, p)
	holdAll(p)
	r := p.probe(t, there)
	id := p.State.Fabric().Edge(r.links[0]).ID
	if err := p.Result(r.host, &hostapi.ProbeResult{ID: p.prober.id, Sent: 1}); err != nil {
		t.Fatal(err)
	}
	if got := p.suspects.locator.Across(id); got != (suspect.Counts{Sent: 1, Lost: 1}) {
		t.Errorf("the link has %+v", got)
	}
}

// TestWhatAHostFoundBad: each EV is found bad by itself, and good again by itself.
func TestWhatAHostFoundBad(t *testing.T) {
	p := newProver(t, "stev", nil)
	there, _, _ := addProfiles(t, p)
	h, held := p.hosts["h1"], there.evs.Held()
	say := func(v hostapi.EV, s hostapi.EVState) {
		t.Helper()
		if err := p.EVEvents(h, &hostapi.EVEvents{Events: []hostapi.EVEvent{
			{Profile: held.Name, EV: v, State: s}}}); err != nil {
			t.Fatal(err)
		}
	}
	found := func() (n int) {
		for range h.AssumedBad() {
			n++
		}
		return n
	}
	say(held.EVs[0], hostapi.EVAssumedBad)
	say(held.EVs[1], hostapi.EVAssumedBad)
	if h.Forget("another"); found() != 2 {
		t.Errorf("%d EVs are bad, want 2", found())
	}
	for range h.AssumedBad() {
		break
	}
	if say(held.EVs[0], hostapi.EVGood); found() != 1 ||
		!slices.Contains(slices.Collect(maps.Values(maps.Collect(h.AssumedBad()))), held.EVs[1]) {
		t.Errorf("%d EVs are bad, want the second", found())
	}
	if err := p.EVCounts(h, &hostapi.EVCounts{Counts: []hostapi.EVCount{
		{Profile: held.Name, EV: held.EVs[0], Sent: 5, Lost: 5}}}); err != nil {
		t.Errorf("all packets are lost: %v", err)
	}
}
