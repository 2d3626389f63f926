package mrc

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/topology"
)

var pathModes = []ev.Mode{ev.ModeStructured, ev.ModeF3216, ev.ModeF1616, ev.ModeSRH,
	ev.ModeUSIDStructured}

// TestDeny: a failure or drain is denied at once, in every profile across the lost element, and in
// no other profile; only the hosts of these profiles get new states.
func TestDeny(t *testing.T) {
	type outage struct {
		name  string
		do    func(w *bed)
		links func(l *topology.Link) bool // lost, in this direction
		nodes func(topology.NodeID) bool
		hosts int // that are told
	}
	between := func(a, b topology.NodeID) func(l *topology.Link) bool {
		return func(l *topology.Link) bool {
			return l.Local == a && l.Remote == b || l.Local == b && l.Remote == a
		}
	}
	at := func(n topology.NodeID) func(l *topology.Link) bool {
		return func(l *topology.Link) bool { return l.Local == n || l.Remote == n }
	}
	inPlane := func(p string) func(l *topology.Link) bool {
		return func(l *topology.Link) bool {
			return strings.HasPrefix(string(l.Local), "leaf"+p) ||
				strings.HasPrefix(string(l.Local), "spine"+p)
		}
	}
	drained := func(target Target) func(w *bed) {
		return func(w *bed) {
			if err := w.core.Drain(target); err != nil {
				w.t.Fatal(err)
			}
			w.pump()
		}
	}
	for _, o := range []outage{
		{"nothing", func(w *bed) { w.publish() }, func(*topology.Link) bool { return false }, none, 0},
		{"link withdrawn", func(w *bed) { w.remove(w.both("leaf1-2", "spine1-1")) },
			between("leaf1-2", "spine1-1"), none, 8},
		{"one direction withdrawn", func(w *bed) { w.remove(w.both("leaf1-2", "spine1-1")[:1]) },
			between("leaf1-2", "spine1-1"), none, 8},
		{"switch withdrawn", func(w *bed) { w.net.RemoveNode("spine2-1"); w.publish() }, at("spine2-1"),
			none, 8},
		{"leaf withdrawn", func(w *bed) { w.net.RemoveNode("leaf2-3"); w.publish() }, at("leaf2-3"),
			func(n topology.NodeID) bool { return n == "leaf2-3" }, 8},
		{"switch overloaded",
			func(w *bed) { w.net.SetNode(topology.Node{ID: "spine2-1", Overload: true}); w.publish() },
			at("spine2-1"), none, 8},
		{"port down", func(w *bed) {
			l := w.both("leaf1-1", "spine1-2")[0]
			w.core.SetPorts(l.Local, map[uint32]bool{l.LocalPort: false, 99: true})
			w.pump()
		}, between("leaf1-1", "spine1-2"), none, 8},
		{"link drained", func(w *bed) { drained(Target{Link: w.both("leaf1-2", "spine1-1")[0].ID})(w) },
			between("leaf1-2", "spine1-1"), none, 8},
		{"switch drained", drained(Target{Node: "spine1-2"}), at("spine1-2"), none, 8},
		{"leaf drained", drained(Target{Node: "leaf1-4"}), at("leaf1-4"),
			func(n topology.NodeID) bool { return n == "leaf1-4" }, 8},
		{"plane drained", drained(Target{Plane: 1}), inPlane("1"),
			func(n topology.NodeID) bool { return strings.HasPrefix(string(n), "leaf1") }, 8},
		{"unknown port", func(w *bed) {
			w.core.SetPorts("leaf1-1", map[uint32]bool{99: false})
			w.core.SetPorts("elsewhere", map[uint32]bool{1: false})
			w.pump()
		}, func(*topology.Link) bool { return false }, none, 0},
	} {
		for _, mode := range pathModes {
			for _, explicit := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%v/explicit=%v", o.name, mode, explicit), func(t *testing.T) {
					w := newBed(t, 1, func(c *Config) { c.Mode, c.Explicit = mode.String(), explicit }).clos(2, 4,
						2, 2).start()
					snap := w.net.Build()
					if n := w.check(func(topology.LinkID) bool { return false }, none); n != 0 {
						t.Fatalf("%d EVs are denied before", n)
					}
					before := len(w.sets)
					if before != 8 {
						t.Fatalf("%d hosts have a state, want all 8", before)
					}
					clear(w.sets)
					o.do(w)
					denied := w.check(func(id topology.LinkID) bool { return o.links(snap.Link(id)) }, o.nodes)
					if o.hosts > 0 && denied == 0 {
						t.Error("nothing is denied")
					}
					if len(w.sets) != o.hosts {
						t.Errorf("%d hosts are told, want %d", len(w.sets), o.hosts)
					}
					for name, n := range w.sets {
						if len(n) != 1 {
							t.Errorf("host %s is told %d times", name, len(n))
						}
					}
					w.valid()
				})
			}
		}
	}
}

// TestDenyThreeTiers: a link between upper tiers is crossed by some pairs only, and
// the hosts of others hear nothing.
func TestDenyThreeTiers(t *testing.T) {
	for _, mode := range pathModes {
		t.Run(mode.String(), func(t *testing.T) {
			w := newBed(t, 1, func(c *Config) { c.Mode = mode.String() }).pods(1, 3, 1).start()
			clear(w.sets)
			out := func(id topology.LinkID) bool {
				l := w.core.state.Fabric().Snapshot().Link(id)
				return l.Local == "agg1-1-1" && l.Remote == "leaf1-1" || l.Local == "leaf1-1" &&
					l.Remote == "agg1-1-1"
			}
			w.remove(w.both("leaf1-1", "agg1-1-1"))
			if w.check(out, none) == 0 {
				t.Error("nothing is denied")
			}
			profiles := 0
			for _, p := range w.core.Profiles() {
				if touched := len(p.Outcome.Profile.Denied) > 0; touched != (p.Source[0] != p.Destination[0] &&
					(p.Source[0] == "leaf1-1" || p.Destination[0] == "leaf1-1")) {
					t.Errorf("profile %s has denials: %v", p.Name, touched)
				} else if touched {
					profiles++
				}
			}
			if profiles != 10 { // 5 other leaves, both ways
				t.Errorf("%d profiles have denials, want 10", profiles)
			}
		})
	}
}

// TestUntouchedStaysTheSame: states share what does not change.
func TestUntouchedStaysTheSame(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 4, 2, 2).start()
	before := map[string]*hostapi.Profile{}
	for _, p := range w.core.Profiles() {
		before[p.Name] = p.Outcome.Profile
	}
	w.remove(w.both("leaf1-2", "spine1-1"))
	for _, p := range w.core.Profiles() {
		touches := p.Source[0] != p.Destination[0] &&
			(p.Source[0] == "leaf1-2" || p.Destination[0] == "leaf1-2")
		if (before[p.Name] != p.Outcome.Profile) != touches {
			t.Errorf("profile %s changed: %v, want %v", p.Name, !touches, touches)
		}
	}
	hosts := w.core.Hosts()
	if hosts[0].State != hosts[1].State {
		t.Error("hosts of a leaf do not share their state")
	}
}

// TestReplace: when too few EVs are left, EVs of surviving paths replace the lost EVs. The
// remaining EVs keep their places, and the profile is reported as degraded. After recovery the
// profile is as before.
func TestReplace(t *testing.T) {
	w := newBed(t, 1, func(c *Config) { c.MaxEVs, c.MinActive, c.Explicit = 4, 3, true }).clos(1, 2, 8,
		1).start()
	const name = "leaf1-1:leaf1-2"
	was, _ := w.core.Profile(name)
	if n := len(was.Outcome.Profile.EVs); n != 4 || was.Outcome.Degraded != "" {
		t.Fatalf("%d EVs, %q", n, was.Outcome.Degraded)
	}
	spine := func(v hostapi.EV) topology.NodeID {
		route, err := w.core.Assignment().Decode("leaf1-1", "leaf1-2", v.Value)
		if err != nil {
			t.Fatal(err)
		}
		return route.Hops[0].Links[0].Remote
	}
	for i := range 2 { // one may be lost
		w.net.RemoveNode(spine(was.Outcome.Profile.EVs[i]))
		w.publish()
		is, _ := w.core.Profile(name)
		p := is.Outcome.Profile
		switch i {
		case 0:
			if is.Outcome.Replaced != 0 || len(p.Denied) != 1 || is.Outcome.Active != 3 ||
				is.Outcome.Degraded != "" {
				t.Errorf("one lost: %+v", is.Outcome)
			}
		case 1:
			if is.Outcome.Replaced != 2 || len(p.Denied) != 0 || is.Outcome.Active != 4 ||
				!strings.Contains(is.Outcome.Degraded, "2 of 4 EVs are replaced") {
				t.Errorf("two lost: %+v", is.Outcome)
			}
			if !slices.Equal(p.EVs[2:], was.Outcome.Profile.EVs[2:]) ||
				slices.Contains(p.EVs, was.Outcome.Profile.EVs[0]) {
				t.Errorf("%v, want %v with others in the first two places", p.EVs, was.Outcome.Profile.EVs)
			}
		}
		w.valid()
	}
	// All but two spines: fewer paths than EVs that must be left.
	for s := 1; s <= 8; s++ {
		if id := spineID(1, s); id != spine(was.Outcome.Profile.EVs[2]) &&
			id != spine(was.Outcome.Profile.EVs[3]) {
			w.net.RemoveNode(id)
		}
	}
	w.publish()
	is, _ := w.core.Profile(name)
	if is.Outcome.Active != 2 || len(is.Outcome.Profile.Denied) != 2 ||
		!strings.Contains(is.Outcome.Degraded, "2 of 4 EVs are left, want 3; there is no other path") {
		t.Errorf("two paths: %+v", is.Outcome)
	}
	w.valid()
}

// TestGeneratedBecomesExplicit: if the device would generate too few working EVs, the profile lists
// EVs instead. A device that takes no list keeps its profile, and the profile says why.
func TestGeneratedBecomesExplicit(t *testing.T) {
	for _, c := range []struct {
		name  string
		modes uint32
		count int
		mode  hostapi.Mode
		want  string
		// reason is the reason of the condition Degraded.
		reason string
		format string // "": structured
	}{
		{"listed", hostapi.Modes(hostapi.ModeExplicit, hostapi.ModeGenerated), 4, hostapi.ModeExplicit,
			"explicit, as 1 of 4 generated EVs are left, want 3", reasonExplicit, ""},
		{"listed as containers", hostapi.Modes(hostapi.ModeExplicit, hostapi.ModeGenerated), 4,
			hostapi.ModeExplicit, "explicit, as ", reasonExplicit, ev.ModeF3216.String()},
		{"all are used", hostapi.Modes(hostapi.ModeExplicit, hostapi.ModeGenerated), 8,
			hostapi.ModeGenerated, "explicit EVs would be no more", reasonTooFew, ""},
		{"generated only", hostapi.Modes(hostapi.ModeGenerated), 4, hostapi.ModeGenerated,
			"it stays generated: ", reasonTooFew, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newBed(t, 1, func(cfg *Config) {
				cfg.Mode, cfg.MaxEVs, cfg.MinActive = cmp.Or(c.format, cfg.Mode), c.count, 3
			}).clos(1, 2, 8, 1)
			w.core.Tick(0)
			w.core.SetTopology(w.net.Build())
			w.core.InSync()
			for name := range w.made {
				caps := ev.Unlimited()
				caps.EVModes = c.modes
				if err := w.core.Hello(name, &hostapi.Hello{Name: name, Instance: 1,
					Capabilities: caps}); err != nil {
					t.Fatal(err)
				}
			}
			p, _ := w.core.Profile("leaf1-1:leaf1-2")
			if p.Outcome.Profile == nil || p.Outcome.Profile.Mode != hostapi.ModeGenerated {
				t.Fatalf("not generated: %+v", p.Outcome)
			}
			for s := 1; s <= 6; s++ {
				w.net.RemoveNode(spineID(1, s))
			}
			w.core.SetTopology(w.net.Build())
			q, _ := w.core.Profile("leaf1-1:leaf1-2")
			if q.Outcome.Profile.Mode != c.mode || !strings.Contains(q.Outcome.Degraded, c.want) {
				t.Errorf("%v, %q, want %v, %q", q.Outcome.Profile.Mode, q.Outcome.Degraded, c.mode, c.want)
			}
			if d := q.View().Conditions.Find(api.Degraded); d == nil || d.Reason != c.reason {
				t.Errorf("%+v, want reason %s", d, c.reason)
			}
			// The paths of both lists are known, whichever is in use.
			for _, held := range []*hostapi.Profile{p.Outcome.Profile, q.Outcome.Profile} {
				for _, e := range allEVs(held, p.Source, p.Destination) {
					if !held.Has(e) {
						continue
					}
					wire, err := held.Expand(e)
					if err != nil {
						t.Fatal(err)
					}
					route, err := w.core.Assignment().Decode("leaf1-1", "leaf1-2", wire.Value)
					if err != nil {
						t.Fatal(err)
					}
					path, err := q.Path(e)
					if want := string(route.Hops[0].Links[0].Remote); err != nil || path.Nodes[1] != want {
						t.Errorf("the path of %v is %v, %v; want one over %s", e, path.Nodes, err, want)
					}
				}
			}
			w.valid()
		})
	}
}

// TestECMPDeniesNothing: EVs of mode ecmp have no path, and the status says so.
func TestECMPDeniesNothing(t *testing.T) {
	w := newBed(t, 1, func(c *Config) { c.Mode = ev.ModeECMP.String() }).clos(2, 3, 2, 1).start()
	clear(w.sets)
	w.net.RemoveNode("spine1-1")
	w.publish()
	if len(w.sets) != 0 {
		t.Errorf("hosts are told: %v", w.sets)
	}
	for _, p := range w.core.Profiles() {
		if len(p.Outcome.Profile.Denied) > 0 || !strings.Contains(p.Note, "no known path") {
			t.Errorf("%s: %+v", p.Name, p)
		}
	}
}
