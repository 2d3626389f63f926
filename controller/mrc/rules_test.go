package mrc

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/topology"
)

// TestWhatDrainsCover: a drain covers exactly its own node, plane, port, or link in both
// directions.
func TestWhatDrainsCover(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 2, 2, 1).start()
	f, ds := w.core.state.Fabric(), w.core.drains
	both := w.both(leafID(1, 1), spineID(1, 1))
	for _, c := range []struct {
		of    Target
		links int
		is    func() bool
	}{
		{Target{Link: both[0].ID}, 2, func() bool { return len(ds.Planes()) == 0 }},
		{Target{Link: both[1].ID}, 2, func() bool { return !ds.Node(leafID(1, 1)) }},
		{Target{Node: leafID(1, 1)}, 4, func() bool {
			return ds.Node(leafID(1, 1)) && !ds.Node(leafID(1, 2)) && !ds.Node("")
		}},
		{Target{Node: spineID(2, 1)}, 4, func() bool { return ds.Node(spineID(2, 1)) }},
		{Target{Plane: 2}, 8, func() bool { return slices.Equal(ds.Planes(), []int{2}) }},
		{Target{Host: "h1-1", Port: 2}, 0, func() bool {
			return ds.Port("h1-1", 2) && !ds.Port("h1-1", 1) && !ds.Port("h2-1", 2)
		}},
	} {
		links, err := w.core.find(c.of)
		if err != nil {
			t.Fatal(err)
		}
		ds.list = []*drain{{Target: c.of, links: links}}
		n := 0
		for i := range int32(f.Len()) {
			if ds.Link(f.Edge(i)) {
				if n++; !slices.Contains(links, i) {
					t.Errorf("%v covers %s, which is none of its links", c.of, f.Edge(i).ID)
				}
			}
		}
		if n != c.links || len(links) != c.links || !c.is() || ds.index(c.of) != 0 ||
			ds.index(Target{Plane: 9}) != -1 {
			t.Errorf("%v covers %d links, want %d, and has %d", c.of, n, c.links, len(links))
		}
	}
	ds.list = nil
	for _, bad := range []Target{{}, {Link: "x", Node: "y"}, {Plane: 1, Host: "h1-1"}, {Link: "x"},
		{Node: "x"}, {Plane: 3}, {Plane: -1}, {Host: "h1-1"}, {Host: "h1-1", Port: 3}, {Port: 1},
		{Host: "nosuch", Port: 1}} {
		if err := w.core.Drain(bad); err == nil || len(ds.list) != 0 {
			t.Errorf("%+v is drained: %v", bad, err)
		}
	}
}

// TestDrainThatNoneAwaits: what no host uses is drained at once where packets need no time to
// leave.
func TestDrainThatNoneAwaits(t *testing.T) {
	for linger, want := range map[api.Duration]bool{0: true, api.Duration(time.Millisecond): false} {
		w := newBed(t, 1, func(c *Config) { c.Restore.Linger = linger }).clos(1, 2, 2, 1).start()
		w.run(time.Second)
		for name := range w.made {
			h := w.core.hosts.byName[name]
			h.applied = h.seq
			if _, ok := h.behind(); ok {
				t.Errorf("%s has applied all, and is behind", name)
			}
		}
		w.core.state.RemoveHost("h2-1")
		if err := w.core.RemoveHost("h1-1"); err != nil {
			t.Fatal(err)
		}
		w.core.hosts.remove("h2-1", w.core.prover)
		if err := w.core.Drain(Target{Plane: 1}); err != nil {
			t.Fatal(err)
		}
		if done, awaits := w.drained(Target{Plane: 1}); done != want || len(awaits) != 0 {
			t.Errorf("packets take %v to leave: drained %v, awaits %v", linger, done, awaits)
		}
	}
}

// TestLossesOfUnknownNICs: the first known NIC of a rack determines where the rack is attached.
func TestLossesOfUnknownNICs(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 2, 2, 2).start()
	need := &ready.Need{NICs: []string{"nosuch", "h1-1", "h1-2", "nosuch", "h2-2", "nosuch"},
		Rack: []int32{0, 0, 0, 1, 1, 2}, Racks: []string{"one", "two", "three"},
		Pairs: [][2]int32{{0, 1}, {0, 2}}}
	need.Hosts = need.NICs
	w.core.View()
	l, spine := w.core.viewer.losses, api.Part{Kind: api.PartSwitch, Name: string(spineID(1, 1))}
	if unknown := l.Unknown(spine); unknown != "" {
		t.Fatal(unknown)
	}
	if at := l.attachments(need); !slices.Equal(at[0], ev.Attachment{leafID(1, 1), leafID(2, 1)}) ||
		!slices.Equal(at[1], ev.Attachment{leafID(1, 2), leafID(2, 2)}) {
		t.Errorf("the racks are at %v", at)
	}
	got := l.Of([]api.Part{spine}, need)
	if len(got.Pairs) != 1 || len(got.CutOff) != 0 || got.Pairs[0].Before != 4 ||
		got.Pairs[0].After != 3 {
		t.Errorf("%+v", got)
	}
}

// TestLeavesOfTalk: a rack needs its links if it talks to another rack, but not if its hosts talk
// only among themselves.
func TestLeavesOfTalk(t *testing.T) {
	w := newBed(t, 1, nil).clos(1, 3, 2, 2).start()
	for _, c := range []struct {
		pairs [][2]int32
		want  []int // leaves
	}{{nil, nil}, {[][2]int32{{0, 0}}, nil}, {[][2]int32{{0, 1}}, []int{1, 2}},
		{[][2]int32{{1, 0}, {0, 0}}, []int{1, 2}}, {[][2]int32{{0, 0}, {1, 2}}, []int{2, 3}}} {
		talk := talk{changed: true, needs: []*ready.Need{{NICs: []string{"h1-1", "h2-1", "h3-1"},
			Rack: []int32{0, 1, 2}, Racks: []string{"a", "b", "c"}, Pairs: c.pairs}}}
		talk.find(w.core.state.Racks(), w.core.hosts.rackOf)
		for leaf := 1; leaf <= 3; leaf++ {
			if talk.leaves[leafID(1, leaf)] != slices.Contains(c.want, leaf) {
				t.Errorf("pairs %v: leaves %v, want those of %v", c.pairs, talk.leaves, c.want)
			}
		}
		if talk.changed {
			t.Error("the pairs are to be found again")
		}
	}
}

// TestKindsOfDevices: hosts of a rack with different devices have separate profiles, numbered from
// the second kind of the rack on. A number is free again when its hosts are gone.
func TestKindsOfDevices(t *testing.T) {
	w := newBed(t, 1, nil).clos(1, 2, 2, 3).start()
	hello := func(name string, width int) {
		t.Helper()
		caps := ev.Unlimited()
		caps.EVMaxWidth = width
		if err := w.core.Hello(name, &hostapi.Hello{Name: name, Instance: 1, Capabilities: caps}); err !=
			nil {
			t.Fatal(err)
		}
	}
	kinds := func() (out string) {
		w.pump()
		for h := range 3 {
			x := w.core.hosts.byName[hostName(1, h+1)].sender
			out += fmt.Sprint(x.kind, x.profileTo(w.core.hosts.byName["h2-1"].Rack()), " ")
		}
		return out
	}
	const to = "leaf1-1:leaf1-2"
	for _, c := range []struct {
		host  string
		width int
		want  string
	}{
		{"h1-1", 256, "1" + to + " 1" + to + " 1" + to + " "},
		{"h1-2", 255, "1" + to + " 2" + to + ":2 1" + to + " "},
		{"h1-3", 254, "1" + to + " 2" + to + ":2 3" + to + ":3 "},
		{"h1-2", 254, "1" + to + " 3" + to + ":3 3" + to + ":3 "},
		{"h1-1", 253, "2" + to + ":2 3" + to + ":3 3" + to + ":3 "},
	} {
		hello(c.host, c.width)
		if got := kinds(); got != c.want {
			t.Errorf("%s has %d bits: %s, want %s", c.host, c.width, got, c.want)
		}
	}
	if x := w.core.hosts.byName["h2-1"].sender; x.kind != 1 {
		t.Errorf("the only kind of another rack has number %d", x.kind)
	}
}

// TestWhatHostsHold: a job learns for each of its hosts whether the host holds the state sent to
// it, and if not why.
func TestWhatHostsHold(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 2, 2, 2).start()
	w.run(time.Second)
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	need := &ready.Need{NICs: []string{"h1-1", "nosuch"}, Hosts: []string{"h1-1", "nosuch"},
		Rack: []int32{0, 1}, Racks: []string{"one", "two"}}
	h := w.core.hosts.byName["h1-1"]
	for _, c := range []struct {
		name   string
		change func()
		holds  ready.Fact
	}{
		{"all", func() {}, ready.IsGood()},
		{"not yet", func() { h.applied = h.seq - 1 },
			ready.Fact{State: ready.Bad, Why: "its host has not applied what it was told yet"}},
		{"a later one", func() { h.applied = h.seq }, ready.IsGood()},
		{"told nothing", func() { h.told = false }, ready.Fact{Why: "its host was told nothing yet"}},
		{"refused", func() { h.refusal = "no room" },
			ready.Fact{State: ready.Bad, Why: "its host refuses what it was told: no room"}},
	} {
		c.change()
		for _, connected := range []bool{true, false} {
			if !connected {
				_ = w.core.Gone("h1-1")
			}
			out := &ready.Fabric{NICs: make([]ready.NIC, 2)}
			j := w.core.ReadJob(need, nil, func(host string) (Stream, bool) {
				return Stream{Since: since}, host == "h1-1"
			}, out)
			j.NIC(0)
			j.NIC(1)
			stream := ready.IsGood()
			if !connected {
				stream = ready.Fact{State: ready.Bad, Why: "its host has no stream to the controller",
					Since: since.UTC()}
			}
			if got := out.NICs[0]; got.Holds != c.holds || got.Stream != stream || len(got.Ports) != 2 ||
				got.Ports[1].Number != 2 || got.Ports[1].Leaf != string(leafID(2, 1)) {
				t.Errorf("%s, connected %v: %+v", c.name, connected, got)
			}
			if got := out.NICs[1]; got.Holds.State != ready.Bad || got.Stream != got.Holds {
				t.Errorf("a host that there is not: %+v", got)
			}
			f, at := j.Fabric()
			if !j.Current() || f != w.core.state.Fabric() || at[1] != nil ||
				!slices.Equal(at[0], w.made["h1-1"].At) {
				t.Errorf("the racks are at %v", at)
			}
		}
		w.core.prover.Connect(h.Host, true)
	}
}

// TestNothingToRead: before the first fabric, a job learns that no fabric exists, even with the
// topology in sync.
func TestNothingToRead(t *testing.T) {
	w := newBed(t, 1, nil).clos(1, 2, 1, 1)
	out := &ready.Fabric{}
	for _, want := range []string{"the topology is not in sync", "no fabric was found yet"} {
		if j := w.core.ReadJob(needOf(1, 2), nil, nil, out); j != nil ||
			out.Known != (ready.Fact{Why: want}) {
			t.Errorf("%+v, want %q", out.Known, want)
		}
		w.core.InSync()
	}
	if newBed(t, 1, nil).core.View().Wiring != nil {
		t.Error("the wiring is known before the topology is in sync")
	}
}

// TestDownEndsOfLeases: the end of a path at a port is down if the switch or the host reports the
// port down, or if the port is drained or held. An unconnected host does not make an end down.
func TestDownEndsOfLeases(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 2, 2, 2).start()
	port := func(up bool) {
		w.core.SetPorts(leafID(2, 1), map[uint32]bool{hostPortBase + 1: up})
	}
	for _, c := range []struct {
		name   string
		change func()
		down   bool
	}{
		{"up", func() {}, false}, {"not connected", func() { _ = w.core.Gone("h1-1") }, false},
		{"its switch says so", func() { port(false) }, true}, {"held", func() { port(true) }, true},
		{"restored", func() { w.run(2 * time.Second) }, false},
		{"its host says so", func() { _ = w.core.PortStatus("h1-1", hostapi.Ports(1)) }, true},
		{"its host says otherwise", func() {
			_ = w.core.PortStatus("h1-1", hostapi.Ports(1, 2))
			w.run(5 * time.Second)
		}, false},
		{"drained", func() { _ = w.core.Drain(Target{Host: "h1-1", Port: 2}) }, true},
	} {
		c.change()
		facts, why := leaseFacts(w.core, "h1-1", "h2-1")
		if why != "" || facts.Down["h1-1/2"] != c.down || len(facts.Down) > 1 || len(facts.At) != 2 {
			t.Errorf("%s: %q, down %v, want %v", c.name, why, facts.Down, c.down)
		}
	}
}

// TestVerbsOfKinds: what can be drained can be listed, read and written; ports of hosts have no
// list of their own.
func TestVerbsOfKinds(t *testing.T) {
	for k, want := range map[*kind.Kind]kind.Verbs{
		CCKind: kind.List | kind.Get | kind.Put | kind.Delete, SuspectKind: kind.List,
		EVProfileKind: kind.List | kind.Get | kind.Put | kind.Delete, EVProbeKind: kind.List,
		HostKind: kind.List | kind.Get, HostPortKind: kind.Get | kind.Put,
		LinkKind: kind.List | kind.Get | kind.Put, NodeKind: kind.List | kind.Get | kind.Put,
		PlaneKind: kind.List | kind.Get | kind.Put,
	} {
		for _, v := range []kind.Verbs{kind.List, kind.Get, kind.Put, kind.Delete} {
			if k.Has(v) != (want&v != 0) {
				t.Errorf("%s: operation %d is there: %v", k.One, v, k.Has(v))
			}
		}
	}
	if len(Kinds()) != 9 {
		t.Errorf("%d kinds", len(Kinds()))
	}
}

// TestOverrideOfNewProfile: an override is checked against what follows from the last input, and
// changes nothing where it cannot be.
func TestOverrideOfNewProfile(t *testing.T) {
	const name = "leaf1-1:leaf1-2"
	for mode, ok := range map[hostapi.Mode]bool{hostapi.ModeExplicit: true, hostapi.ModeAuto: false} {
		w := newBed(t, 1, nil).clos(1, 2, 2, 1)
		w.core.SetTopology(w.net.Build())
		w.hello("h1-1", hostapi.Version{})
		w.core.InSync()
		err := w.core.SetOverride(name, Override{Mode: mode})
		if (err == nil) != ok || len(w.core.profiles.overrides) != map[bool]int{true: 1}[ok] {
			t.Errorf("mode %v: %v, overrides %v", mode, err, w.core.profiles.overrides)
		}
	}
}

// TestFinishedProfiles: a profile has events if its hosts support them, the configured CC profile
// if any, and at most as many active EVs as EVs.
func TestFinishedProfiles(t *testing.T) {
	const name = "leaf1-1:leaf1-2"
	for _, c := range []struct {
		change  func(*Config)
		options uint32
		cc      string // that there is
		o       Override
		want    hostapi.Profile
	}{
		{nil, hostapi.OptEVEvent, "", Override{}, hostapi.Profile{Events: true, MinActive: 1}},
		{nil, hostapi.OptEVProbe, "", Override{}, hostapi.Profile{MinActive: 1}},
		{func(c *Config) { c.CCProfile = "x" }, 0, "x", Override{},
			hostapi.Profile{CC: "x", MinActive: 1}},
		{func(c *Config) { c.CCProfile = "x" }, 0, "y", Override{}, hostapi.Profile{MinActive: 1}},
		{func(c *Config) { c.CCProfile = "x" }, 0, "y", Override{CC: "y"},
			hostapi.Profile{CC: "y", MinActive: 1}},
		{func(c *Config) { c.MinActive = 3 }, 0, "", Override{}, hostapi.Profile{MinActive: 3}},
		{func(c *Config) { c.MinActive = 9 }, 0, "", Override{}, hostapi.Profile{MinActive: 4}},
		{func(c *Config) { c.MinActive = 3 }, 0, "", Override{MinActive: 2},
			hostapi.Profile{MinActive: 2}},
	} {
		w := newBed(t, 1, c.change).clos(1, 2, 4, 1)
		caps := ev.Unlimited()
		caps.OptAttr = c.options
		w.core.SetTopology(w.net.Build())
		w.core.InSync()
		if err := w.core.Hello("h1-1", &hostapi.Hello{Name: "h1-1", Instance: 1,
			Capabilities: caps}); err != nil {
			t.Fatal(err)
		}
		if c.cc != "" {
			w.core.SetCC(ccProfiles([]string{c.cc}))
		}
		w.pump()
		if err := w.core.SetOverride(name, c.o); err != nil {
			t.Fatal(err)
		}
		w.pump()
		all := w.core.hosts.byName["h1-1"].state.Profiles
		got := all[slices.IndexFunc(all, func(p *hostapi.Profile) bool { return p.Name == name })]
		if got.Events != c.want.Events || got.CC != c.want.CC || got.MinActive != c.want.MinActive ||
			!slices.Equal(got.Destinations, w.core.hosts.byName["h2-1"].Rack().Destinations()) {
			t.Errorf("options %#x, CC %q, %+v: events %v, CC %q, minActive %d; want %+v", c.options, c.cc,
				c.o, got.Events, got.CC, got.MinActive, c.want)
		}
	}
}

// TestEvidenceFollowsEVs: a host's reports about an EV apply to the links of the EV in the latest
// fabric.
func TestEvidenceFollowsEVs(t *testing.T) {
	w := newBed(t, 1, func(c *Config) { c.Explicit, c.Probes.Rate = true, 0 }).clos(1, 2, 2, 2).start()
	w.run(time.Second)
	p := w.core.profiles.byName["leaf1-1:leaf1-2"]
	v, other := p.built.Profile.EVs[0], p.built.Profile.EVs[1]
	first := func() topology.LinkID {
		r, err := p.built.Route(v)
		if err != nil {
			t.Fatal(err)
		}
		return r.Hops[0].Links[0].ID
	}
	sent := uint64(0)
	count := func() {
		sent += 1000
		for _, h := range []string{"h1-1", "h1-2"} {
			if err := w.core.EVCounts(h, &hostapi.EVCounts{Counts: []hostapi.EVCount{
				{Profile: p.name, EV: v, Sent: sent, Lost: sent / 10},
				{Profile: p.name, EV: other, Sent: sent}}}); err != nil {
				t.Fatal(err)
			}
		}
		w.run(time.Second)
	}
	before := first()
	if count(); !slices.ContainsFunc(w.core.Suspects(), func(s api.Suspect) bool {
		return slices.Contains(s.Links, before)
	}) {
		t.Fatalf("suspects %+v, want %s", w.core.Suspects(), before)
	}
	w.run(10 * time.Second)
	links := w.core.state.Fabric().Snapshot().LinksFrom(leafID(1, 1))
	for i, l := range links { // the two links change their ports
		m := *l
		m.LocalPort = links[1-i].LocalPort
		w.net.SetLink(m)
	}
	w.publish()
	after := first()
	if count(); before == after || !slices.ContainsFunc(w.core.Suspects(), func(s api.Suspect) bool {
		return slices.Contains(s.Links, after)
	}) {
		t.Errorf("suspects %+v, want %s, which was %s", w.core.Suspects(), after, before)
	}
}
