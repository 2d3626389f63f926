package mrc

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/topology"
)

func (w *bed) drained(t Target) (done bool, awaits []string) {
	w.t.Helper()
	for _, d := range w.core.Drains() {
		if d.Target == t.String() {
			return d.Drained, d.Awaits
		}
	}
	w.t.Fatalf("%v is not drained", t)
	return false, nil
}

// TestDrain: a link is drained when every host has applied the denial, and its
// packets have had the time to arrive; it comes back with a probe.
func TestDrain(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 3, 2, 1).start()
	w.run(time.Second)
	links := w.both("leaf1-1", "spine1-1")
	target := Target{Link: links[1].ID}
	slow := 0
	w.delay = func() time.Duration {
		slow++
		return time.Duration(slow) * 100 * time.Millisecond
	}
	if err := w.core.Drain(target); err != nil {
		t.Fatal(err)
	}
	w.pump()
	w.check(isOf(links), none)
	if done, awaits := w.drained(target); done || len(awaits) != 3 {
		t.Errorf("drained: %v, awaits %v", done, awaits)
	}
	w.run(299 * time.Millisecond)
	if done, awaits := w.drained(target); done || len(awaits) != 1 {
		t.Errorf("drained: %v, awaits %v", done, awaits)
	}
	w.run(time.Millisecond)
	if done, awaits := w.drained(target); done || len(awaits) != 0 {
		t.Errorf("drained: %v, awaits %v: packets are on their way", done, awaits)
	}
	w.run(50 * time.Millisecond)
	if done, _ := w.drained(target); !done {
		t.Error("not drained")
	}
	// A link that was never down has no back-off.
	if err := w.core.Undrain(target); err != nil {
		t.Fatal(err)
	}
	w.pump()
	w.check(isOf(links), none)
	w.run(300 * time.Millisecond)
	w.check(never, none)
	if n := len(w.core.Drains()); n != 0 {
		t.Errorf("%d drains", n)
	}
}

// TestDrainAwaits: a host without a connection may still use the link, and so may a host that never
// connected; a removed host may not.
func TestDrainAwaits(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 3, 2, 1).start()
	w.run(time.Second)
	w.host(2, 3, 2) // does not connect
	w.pump()
	w.run(100 * time.Millisecond)
	gone := hostName(2, 1)
	w.hosts[gone].up = false
	if err := w.core.Gone(gone); err != nil {
		t.Fatal(err)
	}
	target := Target{Node: "spine2-2"}
	if err := w.core.Drain(target); err != nil {
		t.Fatal(err)
	}
	w.pump()
	w.run(time.Minute)
	if done, awaits := w.drained(target); done || len(awaits) != 2 || awaits[0] != gone ||
		awaits[1] != hostName(3, 2) {
		t.Errorf("drained: %v, awaits %v", done, awaits)
	}
	w.hosts[gone].up = true
	if err := w.core.Hello(gone, &hostapi.Hello{Name: gone, Instance: 1,
		Capabilities: w.capabilities()}); err != nil {
		t.Fatal(err)
	}
	if err := w.core.Applied(gone, w.core.hosts.byName[gone].seq); err != nil {
		t.Fatal(err)
	}
	if err := w.core.RemoveHost(hostName(3, 2)); err != nil {
		t.Fatal(err)
	}
	delete(w.made, hostName(3, 2))
	if _, awaits := w.drained(target); len(awaits) != 0 {
		t.Errorf("awaits %v, of which none is there and behind", awaits)
	}
	w.pump()
	w.run(time.Second)
	if done, awaits := w.drained(target); !done {
		t.Errorf("not drained, awaits %v", awaits)
	}
}

// TestDrainLastPath: what would part two hosts is refused, with their names, and
// changes nothing.
func TestDrainLastPath(t *testing.T) {
	for _, c := range []struct {
		name   string
		before func(w *bed)
		target func(w *bed) Target
		want   string
	}{
		{"the last link",
			func(w *bed) {
				w.remove(w.both("leaf1-1", "spine1-1"))
				w.net.RemoveNode("leaf2-1")
				w.publish()
			},
			func(w *bed) Target { return Target{Link: w.both("leaf1-1", "spine1-2")[0].ID} },
			"host h1-1 (leaf1-1)"},
		{"the last switch", func(w *bed) {
			if err := w.core.Drain(Target{Plane: 2}); err != nil {
				w.t.Fatal(err)
			}
			w.remove(w.both("leaf1-3", "spine1-1"))
		}, func(*bed) Target { return Target{Node: "spine1-2"} }, "host h3-1 (leaf1-3)"},
		{"the last plane", func(w *bed) {
			if err := w.core.Drain(Target{Plane: 2}); err != nil {
				w.t.Fatal(err)
			}
		}, func(*bed) Target { return Target{Plane: 1} }, "the last path from host"},
		{"a leaf of the last plane", func(w *bed) {
			if err := w.core.Drain(Target{Plane: 1}); err != nil {
				w.t.Fatal(err)
			}
		}, func(*bed) Target { return Target{Node: "leaf2-2"} }, "(leaf1-2)"},
		{"the last port", func(w *bed) {
			if err := w.core.Drain(Target{Host: "h2-1", Port: 2}); err != nil {
				w.t.Fatal(err)
			}
		}, func(*bed) Target { return Target{Host: "h2-1", Port: 1} }, "h2-1 (leaf1-2)"},
		{"the other port of a peer", func(w *bed) {
			if err := w.core.PortStatus("h1-1", hostapi.Ports(1)); err != nil {
				w.t.Fatal(err)
			}
		}, func(*bed) Target { return Target{Host: "h2-1", Port: 1} }, "h1-1"},
		{"a plane that one host needs", func(w *bed) {
			if err := w.core.PortStatus("h1-1", hostapi.Ports(1)); err != nil {
				w.t.Fatal(err)
			}
		}, func(*bed) Target { return Target{Plane: 1} }, "h1-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newBed(t, 1, nil).clos(2, 3, 2, 1).start()
			target := c.target(w)
			c.before(w)
			w.pump()
			clear(w.sets)
			n := len(w.core.Drains())
			err := w.core.Drain(target)
			if !errors.Is(err, ErrLastPath) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			w.pump()
			if len(w.sets) > 0 || len(w.core.Drains()) != n {
				t.Errorf("told: %v, drains: %v", w.sets, w.core.Drains())
			}
		})
	}
}

// TestDrainOfLinkThatIsDown: a link that is down carries no packets. So the link is drained at
// once, and remains drained when it comes up.
func TestDrainOfLinkThatIsDown(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 3, 2, 1).start()
	w.run(time.Second)
	links := w.both("leaf1-1", "spine1-1")
	w.remove(links)
	w.run(time.Second)
	target := Target{Link: links[0].ID}
	if err := w.core.Drain(target); err != nil {
		t.Fatal(err)
	}
	if _, awaits := w.drained(target); len(awaits) != 0 {
		t.Errorf("awaits %v", awaits)
	}
	w.restore(links)
	w.run(10 * time.Second)
	w.check(isOf(links), none)
	if err := w.core.Undrain(target); err != nil {
		t.Fatal(err)
	}
	w.run(5 * time.Second)
	w.check(never, none)
}

// TestBadTargets: an impossible drain returns an error with the reason.
func TestBadTargets(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 3, 2, 1).start()
	for _, c := range []struct {
		target Target
		err    error
	}{
		{Target{}, fabric.ErrMalformed},
		{Target{Node: "leaf1-1", Plane: 1}, fabric.ErrMalformed},
		{Target{Link: "nothing"}, ErrUnknownTarget},
		{Target{Node: "nothing"}, ErrUnknownTarget},
		{Target{Plane: 3}, ErrUnknownTarget},
		{Target{Plane: -1}, ErrUnknownTarget},
		{Target{Host: "h1-1"}, ErrUnknownTarget},
		{Target{Host: "h1-1", Port: 3}, ErrUnknownTarget},
		{Target{Host: "nobody", Port: 1}, ErrUnknownTarget},
	} {
		if err := w.core.Drain(c.target); !errors.Is(err, c.err) {
			t.Errorf("%+v: %v, want %v", c.target, err, c.err)
		}
		if err := w.core.Undrain(c.target); !errors.Is(err, c.err) {
			t.Errorf("undrain %+v: %v, want %v", c.target, err, c.err)
		}
	}
	if n := len(w.core.Drains()); n > 0 {
		t.Errorf("%d drains", n)
	}
}

// TestHostPort: a host port that goes down becomes a mask in the states of the host's peers, and
// profiles do not change. Flapping is sent once.
func TestHostPort(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 3, 2, 2).start()
	w.run(time.Second)
	clear(w.sets)
	address := w.made["h2-1"].Address
	all := hostapi.Ports(1, 2)
	peers := func(want hostapi.PortMask) {
		t.Helper()
		for _, h := range w.core.Hosts() {
			got := h.State.PeerPorts(address) & all
			if got != want {
				t.Errorf("%v: host %s may reach h2-1 by ports %v, want %v", w.Now(), h.Name, got, want)
			}
		}
		w.check(never, none)
		w.valid()
	}
	for range 20 {
		if err := w.core.PortStatus("h2-1", hostapi.Ports(2)); err != nil {
			t.Fatal(err)
		}
		w.run(50 * time.Millisecond)
		peers(hostapi.Ports(2))
		if err := w.core.PortStatus("h2-1", all); err != nil {
			t.Fatal(err)
		}
		w.run(50 * time.Millisecond)
		peers(hostapi.Ports(2))
	}
	for name, at := range w.sets {
		if len(at) != 1 {
			t.Errorf("host %s is told %d times", name, len(at))
		}
	}
	w.run(2 * time.Minute)
	peers(all)

	// A report of the leaf's side concerns the host as well.
	w.core.SetPorts("leaf2-2", map[uint32]bool{hostPortBase + 1: false})
	w.pump()
	peers(hostapi.Ports(1))
	for _, h := range w.core.Hosts() {
		want := hostapi.PortMask(0)
		if h.Name == "h2-1" {
			want = hostapi.Ports(2)
		}
		if h.Denied != want || h.State.DeniedPorts != want {
			t.Errorf("host %s must not send by %v, %v, want %v", h.Name, h.Denied, h.State.DeniedPorts, want)
		}
	}
	w.core.SetPorts("leaf2-2", map[uint32]bool{hostPortBase + 1: true})
	w.run(2 * time.Minute)
	peers(all)

	// Drained by hand.
	target := Target{Host: "h2-1", Port: 1}
	if err := w.core.Drain(target); err != nil {
		t.Fatal(err)
	}
	w.pump()
	peers(hostapi.Ports(2))
	w.run(time.Second)
	if done, awaits := w.drained(target); !done {
		t.Errorf("awaits %v", awaits)
	}
	if err := w.core.Undrain(target); err != nil {
		t.Fatal(err)
	}
	w.pump()
	peers(all)
}

// TestDrainLastPlaneOfALeaf: hosts behind one leaf reach each other without any link, and not
// without its plane.
func TestDrainLastPlaneOfALeaf(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 1, 2, 2).start()
	for _, target := range []Target{{Node: spineID(2, 1)}, {Node: spineID(2, 2)}, {Plane: 2}} {
		if err := w.core.Drain(target); err != nil {
			t.Fatal(err)
		}
	}
	denied := func(want bool) {
		t.Helper()
		for _, p := range w.core.Profiles() {
			for _, e := range allEVs(p.Outcome.Profile, p.Source, p.Destination) {
				if got := p.Outcome.Profile.IsDenied(e); got != (want && e.Port == 2) {
					t.Errorf("%s: EV %v is denied: %v", p.Name, e, got)
				}
			}
		}
	}
	denied(true)
	if err := w.core.Drain(Target{Plane: 1}); !errors.Is(err, ErrLastPath) {
		t.Errorf("%v, want the last path", err)
	}
	if err := w.core.Undrain(Target{Plane: 2}); err != nil {
		t.Fatal(err)
	}
	denied(false)
}

// TestDrainBetweenHostsThatAreParted: hosts that cannot reach each other anyway keep nothing from
// being drained.
func TestDrainBetweenHostsThatAreParted(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 2, 2, 1).start()
	for host, up := range map[string]hostapi.PortMask{"h1-1": hostapi.Ports(1),
		"h2-1": hostapi.Ports(2)} {
		if err := w.core.PortStatus(host, up); err != nil {
			t.Fatal(err)
		}
	}
	for _, target := range []Target{{Plane: 2}, {Host: "h1-1", Port: 1}} {
		if err := w.core.Drain(target); err != nil {
			t.Error(err)
		}
	}
}

// TestTargetsOfMaintenances: a maintenance names a switch by its id or its displayed name, and a
// link by either direction; one direction stands for both.
func TestTargetsOfMaintenances(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 2, 2, 1)
	w.net.SetNode(topology.Node{ID: spineID(1, 1), Name: "a spine"})
	named := api.Part{Kind: api.PartSwitch, Name: "a spine"}
	if got := w.core.TargetOf(named); got != (Target{Node: "a spine"}) {
		t.Errorf("before there is a fabric: %v", got)
	}
	w.start()
	links := w.both(leafID(1, 1), spineID(1, 1))
	link := Target{Link: min(links[0].ID, links[1].ID)}
	for _, c := range []struct {
		of   api.Part
		want Target
	}{
		{named, Target{Node: spineID(1, 1)}},
		{api.Part{Kind: api.PartSwitch, Name: string(spineID(1, 2))}, Target{Node: spineID(1, 2)}},
		{api.Part{Kind: api.PartSwitch, Name: "x"}, Target{Node: "x"}},
		{api.Part{Kind: api.PartLink, Name: string(links[0].ID)}, link},
		{api.Part{Kind: api.PartLink, Name: string(links[1].ID)}, link},
		{api.Part{Kind: api.PartLink, Name: "x"}, Target{Link: "x"}},
		{api.Part{Kind: api.PartPlane, Name: "2"}, Target{Plane: 2}},
		{api.Part{Kind: api.PartPort, Name: "h1-1/2"}, Target{Host: "h1-1", Port: 2}},
	} {
		if got := w.core.TargetOf(c.of); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.of, got, c.want)
		}
	}
}

// TestDrainedLinks: switches get both directions of each drained link once, an update only after a
// change, and the links of a drained plane again after a new fabric.
func TestDrainedLinks(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 3, 2, 1)
	w.core.ResumeDrain(Target{Node: spineID(1, 2)})
	if d := w.core.Drained(); d.Seq != 0 || d.Links != nil {
		t.Errorf("%+v before there is a fabric", d)
	}
	w.start()
	w.run(time.Second)
	first := w.core.Drained()
	if len(first.Links) != 6 || first.Seq == 0 {
		t.Errorf("of a spine with three leaves: %+v", first)
	}
	links := w.both("leaf1-1", "spine1-2")
	for _, target := range []Target{{Link: links[0].ID}, {Host: hostName(1, 1), Port: 1}} {
		if err := w.core.Drain(target); err != nil {
			t.Fatal(err)
		}
		if d := w.core.Drained(); d.Seq != first.Seq || len(d.Links) != 6 {
			t.Errorf("%v adds nothing: %+v", target, d)
		}
	}
	for _, target := range []Target{{Node: spineID(1, 2)}, {Host: hostName(1, 1), Port: 1}} {
		if err := w.core.Undrain(target); err != nil {
			t.Fatal(err)
		}
	}
	w.run(time.Second)
	second := w.core.Drained()
	if second.Seq <= first.Seq || len(second.Links) != 2 || !slices.IsSorted(second.Links) ||
		!slices.Contains(second.Links, links[0].ID) || !slices.Contains(second.Links, links[1].ID) {
		t.Errorf("a link is left: %+v", second)
	}
	if err := w.core.Drain(Target{Plane: 2}); err != nil {
		t.Fatal(err)
	}
	plane := w.core.Drained()
	if len(plane.Links) != 2+12 {
		t.Errorf("and a plane: %d links", len(plane.Links))
	}
	w.connect(leafID(2, 1), spineID(2, 1))
	w.publish()
	if d := w.core.Drained(); d.Seq <= plane.Seq || len(d.Links) != 2+14 {
		t.Errorf("the plane has a second link between two switches: %d links", len(d.Links))
	}
}
