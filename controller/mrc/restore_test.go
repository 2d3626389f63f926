package mrc

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/topology"
)

func never(topology.LinkID) bool { return false }

func isOf(links []topology.Link) func(topology.LinkID) bool {
	return func(id topology.LinkID) bool {
		for _, l := range links {
			if l.ID == id {
				return true
			}
		}
		return false
	}
}

// TestRestore: a link that comes back stays denied for its back-off, and until a probe has come
// through in its direction.
func TestRestore(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 4, 2, 2).start()
	w.run(time.Second)
	links := w.both("leaf1-1", "spine1-1")
	w.remove(links)
	w.run(10 * time.Second)
	w.check(isOf(links), none)

	w.restore(links)
	w.check(isOf(links), none)
	w.run(999 * time.Millisecond)
	w.check(isOf(links), none) // the back-off of a first failure
	w.run(300 * time.Millisecond)
	w.check(never, none)

	// Advertised, and it carries nothing one way: only the other comes back.
	w.black[links[0].ID] = 1
	w.remove(links)
	w.run(10 * time.Second)
	w.restore(links)
	w.run(10 * time.Second)
	w.check(isOf(links[:1]), none)
	if s := w.status(links[0].ID); !s.Denied || s.Phase == "up" || s.Phase == "down" {
		t.Errorf("%+v", s)
	}
	delete(w.black, links[0].ID)
	w.run(2 * time.Minute)
	w.check(never, none)
	if s := w.status(links[0].ID); s.Denied || s.Phase != "up" || s.Cause != "" {
		t.Errorf("%+v", s)
	}
}

// TestRestoreOfLeaf: a lost leaf takes down the paths between its own hosts; these paths are held
// too when the leaf returns.
func TestRestoreOfLeaf(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 3, 2, 2).start()
	w.run(time.Second)
	var links []topology.Link
	for s := 1; s <= 2; s++ {
		links = append(links, w.both("leaf2-1", spineID(2, s))...)
	}
	gone := func(id topology.NodeID) bool { return id == "leaf2-1" }
	w.net.RemoveNode("leaf2-1")
	w.publish()
	w.check(isOf(links), gone)
	w.run(5 * time.Second)
	w.net.SetNode(topology.Node{ID: "leaf2-1"})
	w.publish()
	w.check(isOf(links), gone)
	w.run(900 * time.Millisecond)
	w.check(isOf(links), gone)
	w.run(time.Second)
	w.check(never, none)
}

// TestFlap: however fast a link flaps, hosts get only a few updates, and the link comes back after
// a calm period that matches its past.
func TestFlap(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 4, 2, 2).start()
	w.run(time.Second)
	clear(w.sets)
	links := w.both("leaf1-1", "spine1-1")
	for range 100 { // ten a second
		w.remove(links)
		w.check(isOf(links), none)
		w.run(50 * time.Millisecond)
		w.restore(links)
		w.run(50 * time.Millisecond)
	}
	for name, at := range w.sets {
		if len(at) != 1 {
			t.Errorf("host %s was told %d times in 10 s of flapping, want once: %v", name, len(at), at)
		}
	}
	clear(w.sets)
	w.check(isOf(links), none)
	w.run(59 * time.Second)
	w.check(isOf(links), none)
	w.run(2 * time.Second)
	w.check(never, none)
	for name, at := range w.sets {
		if len(at) != 1 {
			t.Errorf("host %s was told %d times that it is over: %v", name, len(at), at)
		}
	}
	// It is calm for long enough to be trusted again.
	w.run(6 * time.Minute)
	w.remove(links)
	w.run(time.Second)
	w.restore(links)
	w.run(1200 * time.Millisecond)
	w.check(never, none)
}

// TestManyFlaps: every link of the fabric flaps, each at its own pace. A host is told
// of restored links at most once every RestoreEvery, and of all together seldom.
func TestManyFlaps(t *testing.T) {
	w := newBed(t, 3, nil).clos(2, 4, 2, 2).start()
	w.run(time.Second)
	clear(w.sets)
	type pair struct{ a, b topology.NodeID }
	all := map[pair][]topology.Link{}
	for p := 1; p <= 2; p++ {
		for l := 1; l <= 4; l++ {
			for s := 1; s <= 2; s++ {
				all[pair{leafID(p, l), spineID(p, s)}] = w.both(leafID(p, l), spineID(p, s))
			}
		}
	}
	for range 10 * 10 { // ten seconds
		for _, links := range all {
			if w.rng.IntN(2) == 0 {
				w.remove(links)
			} else {
				w.restore(links)
			}
		}
		w.run(100 * time.Millisecond)
	}
	for name, at := range w.sets {
		most := 0
		for i := range at {
			n := 0
			for _, o := range at[i:] {
				if o < at[i]+time.Second {
					n++
				}
			}
			most = max(most, n)
		}
		// 16 links, each denied once and restored hardly ever: what comes in one
		// second is bounded by the links, not by the flaps.
		if most > 2*len(all)+10 || len(at) > 5*len(all) {
			t.Errorf("host %s was told %d times, %d in a second", name, len(at), most)
		}
	}
	for _, links := range all {
		w.restore(links)
	}
	w.run(3 * time.Minute)
	w.check(never, none)
	w.valid()
}

// TestWithoutProbes: when no host can probe, time alone restores, and more of it.
func TestWithoutProbes(t *testing.T) {
	for _, c := range []struct {
		name  string
		make  func() *bed
		after time.Duration // at most
	}{
		{"nobody can", func() *bed {
			w := newBed(t, 1, nil).clos(1, 3, 2, 1)
			w.core.SetTopology(w.net.Build())
			w.core.InSync()
			for name := range w.made {
				caps := w.capabilities()
				caps.OptAttr &^= hostapi.OptEVProbe
				w.hosts[name] = &simHost{up: true}
				if err := w.core.Hello(name, &hostapi.Hello{Name: name, Instance: 1,
					Capabilities: caps}); err != nil {
					t.Fatal(err)
				}
			}
			w.pump()
			return w
		}, 62 * time.Second},
		{"nobody shall", func() *bed {
			return newBed(t, 1, func(c *Config) { c.Probes.Rate = 0 }).clos(1, 3, 2, 1).start()
		}, 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := c.make()
			w.run(time.Second)
			links := w.both("leaf1-1", "spine1-1")
			w.remove(links)
			w.run(time.Second)
			w.restore(links)
			w.run(900 * time.Millisecond)
			w.check(isOf(links), none)
			w.run(c.after)
			w.check(never, none)
			if len(w.probes) > 0 {
				t.Errorf("%d probes", len(w.probes))
			}
		})
	}
}

// TestRestart: a freshly started core sends hosts nothing before it is in sync. Hosts with a state
// from an earlier core keep this state until every link was probed. The core then denies a link
// that carries nothing, and never allowed this link.
func TestRestart(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 4, 2, 2)
	bad := w.both("leaf1-1", "spine1-1")
	w.black[bad[0].ID], w.black[bad[1].ID] = 1, 1
	// Half of the network at first.
	for _, l := range w.both("leaf1-2", "spine1-2") {
		w.net.RemoveLink(l.ID)
	}
	w.core.Tick(0)
	w.core.SetTopology(w.net.Build())
	fresh := hostName(3, 1)
	for name := range w.made {
		v := hostapi.Version{Epoch: epoch - 1, Number: 9}
		if name == fresh {
			v = hostapi.Version{}
		}
		w.hello(name, v)
	}
	w.pump()
	w.run(5 * time.Second)
	if len(w.sets) != 0 || len(w.probes) != 0 {
		t.Fatalf("before the topology is in sync: %v, %d probes", w.sets, len(w.probes))
	}
	w.connect("leaf1-2", "spine1-2")
	w.core.SetTopology(w.net.Build())
	w.core.InSync()
	w.pump()
	if len(w.sets) != 1 || len(w.sets[fresh]) != 1 {
		t.Errorf("told: %v, want %s, which holds nothing", w.sets, fresh)
	}
	w.run(3 * time.Second)
	if len(w.sets) != len(w.made) {
		t.Errorf("after the first round %d hosts are told, want all %d", len(w.sets), len(w.made))
	}
	if w.check(isOf(bad), none) == 0 {
		t.Error("nothing is denied")
	}
	for name, at := range w.sets {
		if name != fresh && at[0] < 5*time.Second {
			t.Errorf("host %s is told at %v", name, at[0])
		}
	}
}

// TestFirstRoundEnds: hosts that answer no probe hold nobody up for ever, and do not
// make all links bad.
func TestFirstRoundEnds(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 4, 2, 2)
	for p := 1; p <= 2; p++ {
		for l := 1; l <= 4; l++ {
			for s := 1; s <= 2; s++ {
				for _, link := range w.both(leafID(p, l), spineID(p, s)) {
					w.black[link.ID] = 1
				}
			}
		}
	}
	w.restarted()
	w.run(9 * time.Second)
	if len(w.sets) == len(w.made) {
		w.run(0)
	}
	w.run(2 * time.Second)
	if len(w.sets) != len(w.made) {
		t.Errorf("%d hosts are told, want %d", len(w.sets), len(w.made))
	}
	w.check(never, none)
}

// restarted starts the core in the whole network, with hosts that hold a state of an earlier core.
func (w *bed) restarted() {
	w.core.Tick(0)
	w.core.SetTopology(w.net.Build())
	w.core.InSync()
	for name := range w.made {
		w.hello(name, hostapi.Version{Epoch: epoch - 1, Number: 1})
	}
	w.pump()
}

// TestFirstRoundWithRefusals: in the state of an earlier core, all hosts of a rack deny a port, and
// refuse to probe by the port. The first round ends before its time is over, and denies no link.
func TestFirstRoundWithRefusals(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 4, 2, 2)
	w.denied = func(host string) uint8 {
		if w.made[host].At[0] == "leaf1-1" && w.hosts[host].held == nil {
			return 2
		}
		return 0
	}
	w.restarted()
	w.run(5 * time.Second)
	if len(w.sets) != len(w.made) {
		t.Errorf("%d hosts are told, want %d", len(w.sets), len(w.made))
	}
	w.check(never, none)
}

// TestFirstRoundWithoutProbes: where hosts probe nothing, hosts with the state of an earlier core
// get another as soon as all hosts have reported their ports.
func TestFirstRoundWithoutProbes(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"ecmp":      func(c *Config) { c.MRC = inventory.DefaultMRC("ecmp") },
		"no probes": func(c *Config) { c.Probes.Rate = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			w := newBed(t, 1, change).clos(2, 4, 2, 2)
			w.core.Tick(0)
			w.core.SetTopology(w.net.Build())
			w.core.InSync()
			last := hostName(3, 1)
			for host := range w.made {
				if host != last {
					w.reports(host)
				}
			}
			w.pump()
			w.run(time.Second)
			if len(w.sets) != 0 {
				t.Errorf("%d hosts are told before %s is there", len(w.sets), last)
			}
			w.reports(last)
			w.pump()
			w.run(100 * time.Millisecond)
			if len(w.sets) != len(w.made) {
				t.Errorf("%d hosts are told, want %d", len(w.sets), len(w.made))
			}
		})
	}
}

// reports has a host with the state of an earlier core connect, and report its ports.
func (w *bed) reports(host string) {
	w.hello(host, hostapi.Version{Epoch: epoch - 1, Number: 1})
	if err := w.core.PortStatus(host, 0b110); err != nil {
		w.t.Fatal(err)
	}
}

// TestGrowth: new links and leaves are tried before EVs over them are allowed; present links remain
// in use meanwhile.
func TestGrowth(t *testing.T) {
	w := newBed(t, 1, func(c *Config) { c.Explicit = true }).clos(1, 3, 2, 1).start()
	w.run(time.Second)
	w.net.SetNode(topology.Node{ID: spineID(1, 3)})
	var fresh []topology.Link
	for l := 1; l <= 3; l++ {
		w.connect(leafID(1, l), spineID(1, 3))
		fresh = append(fresh, w.both(leafID(1, l), spineID(1, 3))...)
	}
	w.publish()
	if w.check(isOf(fresh), none) == 0 {
		t.Error("new links are in use before they are tried")
	}
	w.run(time.Second)
	w.check(never, none)
	if p, _ := w.core.Profile("leaf1-1:leaf1-2"); len(p.Outcome.Profile.EVs) != 3 {
		t.Errorf("%d EVs, want 3", len(p.Outcome.Profile.EVs))
	}
	// A leaf, and hosts there.
	w.net.SetNode(topology.Node{ID: leafID(1, 4)})
	for s := 1; s <= 3; s++ {
		w.connect(leafID(1, 4), spineID(1, s))
	}
	w.publish()
	w.host(1, 4, 1)
	w.hello(hostName(4, 1), hostapi.Version{})
	w.pump()
	w.run(time.Second)
	w.check(never, none)
	if n := len(w.core.Profiles()); n != 16 {
		t.Errorf("%d profiles, want 16", n)
	}
	if err := w.core.RemoveHost(hostName(4, 1)); err != nil {
		t.Fatal(err)
	}
	delete(w.made, hostName(4, 1))
	w.pump()
	if n := len(w.core.Profiles()); n != 9 {
		t.Errorf("%d profiles, want 9", n)
	}
	w.valid()
}

// TestProbeAcrossGrowth: a probe sent before the fabric grew says nothing about the links that now
// have the places of the probed links.
func TestProbeAcrossGrowth(t *testing.T) {
	w := newBed(t, 1, nil).clos(1, 3, 2, 1).start()
	w.run(time.Second)
	links := w.both(leafID(1, 2), spineID(1, 2))
	w.remove(links)
	w.run(time.Second)
	w.restore(links)
	w.silent = true
	w.run(2 * time.Second)
	if s := w.status(links[0].ID); s.Phase != "trying" {
		t.Fatalf("%+v, want it tried", s)
	}
	before := w.net.Build()
	w.net.SetNode(topology.Node{ID: "a"}) // its links are the first of all
	for l := 1; l <= 3; l++ {
		w.connect("a", leafID(1, l))
	}
	after := w.net.Build()
	places := map[int]bool{}
	for _, l := range links {
		places[after.LinkPlace(l.ID)] = true
	}
	crossed := 0
	probes := w.probes
	w.publish()
	for _, p := range probes {
		ids, err := w.links(p.host, p.Destination, p.EV)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(ids,
			func(id topology.LinkID) bool { return places[before.LinkPlace(id)] }) {
			continue
		}
		r := &hostapi.ProbeResult{ID: p.ID, Sent: p.Count, Received: p.Count, RTTMin: 1, RTTMean: 2,
			RTTMax: 3, Port: p.EV.Port}
		if w.core.ProbeResult(p.host, r) == nil {
			crossed++
		}
	}
	if crossed == 0 {
		t.Fatal("no probe was under way")
	}
	w.run(time.Second)
	if s := w.status(links[0].ID); !s.Denied || s.Phase != "trying" {
		t.Errorf("%+v, want it tried still", s)
	}
}

// TestIncompleteTopologyDeniesNothing: what a peer has yet to say for the first time is not lost.
func TestIncompleteTopologyDeniesNothing(t *testing.T) {
	w := newBed(t, 1, nil).clos(1, 3, 2, 1).start()
	clear(w.sets)
	w.net.SetStale(&topology.Staleness{Reason: "no peer", Incomplete: true})
	w.net.RemoveNode("spine1-1")
	w.publish()
	w.check(never, none)
	if len(w.sets) > 0 {
		t.Errorf("told: %v", w.sets)
	}
}

// TestStaleTopologyDenies: the loss of a session alone does not mean lost links. But a dead switch
// takes its session down, and elements withdrawn by its neighbors, then and later, are lost.
func TestStaleTopologyDenies(t *testing.T) {
	w := newBed(t, 1, nil).clos(1, 3, 3, 1).start()
	clear(w.sets)
	w.net.SetStale(&topology.Staleness{Reason: "the session of spine1-1 has ended"})
	w.publish()
	w.check(never, none)
	if len(w.sets) > 0 {
		t.Errorf("told of a session: %v", w.sets)
	}
	var lost []topology.Link
	for l := 1; l <= 3; l++ { // what the leaves say of their links; spine1-1 withdraws nothing
		lost = append(lost, w.both(leafID(1, l), spineID(1, 1))...)
		for _, link := range w.both(leafID(1, l), spineID(1, 1)) {
			if link.Local == leafID(1, l) {
				w.net.RemoveLink(link.ID)
			}
		}
	}
	w.publish()
	if w.check(isOf(lost), none) == 0 {
		t.Error("nobody is told that spine1-1 is gone")
	}
	another := w.both(leafID(1, 2), spineID(1, 2))
	w.remove(another)
	if w.check(isOf(append(lost, another...)), none) == 0 {
		t.Error("nobody is told of what is lost while a session is")
	}
}

// TestEvents: what happens to links and profiles is told.
func TestEvents(t *testing.T) {
	w := newBed(t, 1, func(c *Config) { c.MinActive = 2 }).clos(1, 2, 2, 1).start()
	w.run(time.Second)
	w.events = nil
	links := w.both("leaf1-1", "spine1-1")
	w.remove(links)
	w.run(5 * time.Second)
	w.restore(links)
	w.run(5 * time.Second)
	spine := Target{Node: "spine1-2"}
	if err := errors.Join(w.core.Drain(spine), w.core.Undrain(spine)); err != nil {
		t.Fatal(err)
	}
	full := w.capabilities()
	full.EVMaxCountProfile = 0
	if err := w.core.Hello(hostName(2, 1), &hostapi.Hello{Name: hostName(2, 1), Instance: 1,
		Capabilities: full}); err != nil {
		t.Fatal(err)
	}
	w.run(time.Second)
	var got []string
	for _, e := range w.events {
		got = append(got, fmt.Sprintf("%s %s: %s", e.Type, e.Object, e.Message))
		e.Say()
		got = append(got, e.Sentence)
	}
	text := strings.Join(got, "\n")
	for _, want := range []string{
		"Link " + strings.Replace(string(links[0].ID), "~", " → ", 1) + " is out of use: not advertised.",
		"Link " + strings.Replace(string(links[1].ID), "~", " → ", 1) + " is used again.",
		"EV profile leaf1-1:leaf1-2 is degraded: 1 of 2 EVs are left, want 2; there is no",
		"Switch spine1-2 is being drained.",
		"Switch spine1-2 is in use again.",
		fmt.Sprintf("link.changed %s: denied: not advertised", links[0].ID),
		fmt.Sprintf("link.changed %s: restored", links[1].ID),
		"ev-profile.changed leaf1-1:leaf1-2: degraded: 1 of 2 EVs are left, want 2",
		"ev-profile.changed leaf1-2:leaf1-1:2: degraded: profile leaf1-2:leaf1-1:2, " +
			"leaf1-2 to leaf1-1: count: the limits leave no EV",
		"ev-profile.changed leaf1-2:leaf1-1: as it should be",
		fmt.Sprintf("drain.changed %v: draining", spine),
		fmt.Sprintf("drain.changed %v: in use", spine),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	w.core.Event(api.EventHostChanged, "h", "x")
	want := api.Event{Time: w.core.Wall(), Type: api.EventHostChanged, Object: "h", Message: "x",
		EventFields: api.EventFields{Objects: []api.EventObject{{Kind: "host", ID: "h"}}}}
	if got := w.core.Ready().Events; len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("%+v, want %+v from the user of the core", got, want)
	}
}
