package ready

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
)

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// clos returns the facts of a job on a fabric without faults. Each rack of hosts has a T0 in each
// plane, every T0 has links to all T1s of its plane, and all racks talk.
func clos(planes, racks, hosts, nics, t1s int) *Facts {
	need := &Need{}
	f := &Facts{At: began, Need: need, Switches: make(map[string]Fact)}
	f.Fabric.Known = IsGood()
	for r := range racks {
		need.Racks = append(need.Racks, fmt.Sprintf("rack%d", r))
		for h := range hosts {
			for n := range nics {
				need.NICs = append(need.NICs, fmt.Sprintf("n%d-%d-%d", r, h, n))
				need.Hosts = append(need.Hosts, fmt.Sprintf("n%d-%d", r, h))
				need.Rack = append(need.Rack, int32(r))
				nic := NIC{Stream: IsGood(), Holds: IsGood()}
				for p := range planes {
					nic.Ports = append(nic.Ports, Port{Number: uint8(p + 1), Leaf: t0(p, r), Up: IsGood()})
				}
				f.Fabric.NICs = append(f.Fabric.NICs, nic)
			}
		}
		for p := range planes {
			f.Switches[t0(p, r)] = IsGood()
			for t := range t1s {
				t1 := fmt.Sprintf("p%d-t1-%d", p, t)
				f.Switches[t1] = IsGood()
				name := t0(p, r) + "~" + t1
				for i, ends := range [][2]string{{t0(p, r), t1}, {t1, t0(p, r)}} {
					f.Fabric.Links = append(f.Fabric.Links, Link{
						Name: name, ID: fmt.Sprintf("%s/%d", name, i), Plane: int32(p + 1), From: ends[0],
						To: ends[1], Use: IsGood(), Probed: began.Add(-time.Second), Answered: true,
					})
				}
			}
		}
	}
	for a := range racks {
		for b := range racks {
			for p := range planes {
				f.Fabric.Paths = append(f.Fabric.Paths, Path{Pair: int32(len(need.Pairs)),
					Plane: int32(p + 1), From: t0(p, a), To: t0(p, b), Active: 16, Of: 16, Want: 4})
			}
			need.Pairs = append(need.Pairs, [2]int32{int32(a), int32(b)})
		}
	}
	f.Others = []Other{{Kind: "lease", Object: "l", Fact: IsGood(), Want: "none"}}
	return f
}

func t0(plane, rack int) string { return fmt.Sprintf("p%d-t0-%d", plane, rack) }

func TestGo(t *testing.T) {
	r := Judge("j", clos(2, 3, 2, 4, 2), nil)
	if !r.Go || len(r.Blockers) > 0 || r.Left == nil || *r.Left != 1 {
		t.Errorf("readiness is %+v", r)
	}
	for _, c := range r.Checks {
		if c.Of == 0 || c.Good != c.Of {
			t.Errorf("check %+v", c)
		}
	}
}

// TestEveryFactCounts: a single bad or unknown fact gives a NO-GO with this fact as its only cause.
func TestEveryFactCounts(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range 4 {
		planes, racks, hosts := 1+rnd.IntN(3), 2+rnd.IntN(3), 2+rnd.IntN(2)
		make1 := func() *Facts { return clos(planes, racks, hosts, 2, 2+rnd.IntN(2)) }
		f := make1()
		for _, state := range []State{Unknown, Bad} {
			flip := func(of *Fact) func() {
				was := *of
				*of = Fact{State: state, Why: "flipped"}
				return func() { *of = was }
			}
			want := func(kind, object string, back func()) {
				t.Helper()
				r := Judge("j", f, nil)
				back()
				if r.Go || len(r.Blockers) != 1 {
					t.Fatalf("%s %s is %d: readiness is %+v", kind, object, state, r)
				}
				b := r.Blockers[0]
				if b.Kind != kind || b.Object != object || b.Ranks == 0 || b.Want == "" ||
					b.Why == "" || b.Since.IsZero() || (b.State == "bad") != (state == Bad) {
					t.Fatalf("%s %s is %d: the blocker is %+v", kind, object, state, b)
				}
			}
			want(KindFabric, "", flip(&f.Fabric.Known))
			for i := range f.Fabric.NICs {
				n := &f.Fabric.NICs[i]
				want(KindNIC, f.Need.NICs[i], flip(&n.Stream))
				want(KindNIC, f.Need.NICs[i], flip(&n.Holds))
				for p := range n.Ports {
					want(KindNIC, f.Need.NICs[i], flip(&n.Ports[p].Up))
				}
			}
			for i := range f.Fabric.Links {
				l := &f.Fabric.Links[i]
				want(KindLink, l.Name, flip(&l.Use))
				was := *l
				if state == Bad {
					l.Answered = false
				} else if l.Probed = began.Add(-ProbeAge - 1); rnd.IntN(2) == 0 {
					l.Probed = time.Time{}
				}
				want(KindLink, l.Name, func() { *l = was })
			}
			for i := range f.Fabric.Paths {
				p := &f.Fabric.Paths[i]
				was := *p
				if p.Active = p.Want - 1; state == Unknown {
					p.Of = 0
				}
				pair := f.Need.Pairs[p.Pair]
				want(KindPath, f.Need.Racks[pair[0]]+":"+f.Need.Racks[pair[1]], func() { *p = was })
			}
			for name, was := range f.Switches {
				f.Switches[name] = Fact{State: state, Why: "flipped"}
				want(KindSwitch, name, func() { f.Switches[name] = was })
			}
			want("lease", "l", flip(&f.Others[0].Fact))
		}
		// A pair without any known fact.
		gone := f.Fabric.Paths
		f.Fabric.Paths = slices.DeleteFunc(slices.Clone(gone), func(p Path) bool { return p.Pair == 1 })
		if r := Judge("j", f, nil); r.Go || len(r.Blockers) != 1 || r.Blockers[0].Kind != KindPath {
			t.Errorf("without paths of a pair: %+v", r)
		}
		f.Fabric.Paths = gone
	}
}

// TestDeadSwitchIsOneBlocker: a T0 that is gone takes ports, links and paths with it.
func TestDeadSwitchIsOneBlocker(t *testing.T) {
	for _, known := range []bool{true, false} {
		f := clos(2, 3, 16, 4, 4)
		dead := t0(0, 1)
		if known {
			f.Switches[dead] = Fact{State: Bad, Why: "not connected"}
		}
		bad := Fact{State: Bad, Why: "down"}
		for i := range f.Fabric.NICs {
			for p := range f.Fabric.NICs[i].Ports {
				if port := &f.Fabric.NICs[i].Ports[p]; port.Leaf == dead {
					port.Up = bad
				}
			}
		}
		for i := range f.Fabric.Links {
			if l := &f.Fabric.Links[i]; l.From == dead || l.To == dead {
				l.Use, l.Probed = bad, time.Time{}
			}
		}
		for i := range f.Fabric.Paths {
			if p := &f.Fabric.Paths[i]; p.From == dead || p.To == dead {
				p.Active = 0
			}
		}
		r := Judge("j", f, nil)
		if len(r.Blockers) != 1 {
			t.Fatalf("known %v: blockers are %+v", known, r.Blockers)
		}
		b := r.Blockers[0]
		if b.Kind != KindSwitch || b.Object != dead || b.Ranks != 64 || len(b.NICs) != some ||
			!strings.HasPrefix(b.NICs[0], "n1-") || len(b.Also) != some {
			t.Errorf("known %v: the blocker is %+v", known, b)
		}
		if r.Left == nil || *r.Left != 0.5 {
			t.Errorf("left is %v", r.Left)
		}
	}
}

// TestSymptomsOfASwitch: a single bad port, link or path at a bad switch has the switch as its
// cause.
func TestSymptomsOfASwitch(t *testing.T) {
	f := clos(2, 3, 2, 2, 3)
	f.Switches[t0(0, 1)] = Fact{State: Bad, Why: "not connected"}
	f.Fabric.NICs[4].Ports[0].Up = Fact{Why: "its host does not report it"}
	toIt := func(l Link) bool { return l.To == t0(0, 1) }
	f.Fabric.Links[slices.IndexFunc(f.Fabric.Links, toIt)].Use =
		Fact{State: Bad, Why: "down"}
	f.Fabric.Paths[slices.IndexFunc(f.Fabric.Paths, func(p Path) bool {
		return p.From == t0(0, 1)
	})].Active = 3
	r := Judge("j", f, nil)
	if len(r.Blockers) != 1 || r.Blockers[0].Object != t0(0, 1) || len(r.Blockers[0].Also) != 3 {
		t.Errorf("blockers are %+v", r.Blockers)
	}
}

// TestDeadSpineIsOneBlocker: a dead T1 switch is one blocker, even when no report says that the
// switch is gone.
func TestDeadSpineIsOneBlocker(t *testing.T) {
	f := clos(2, 4, 2, 2, 4)
	for i := range f.Fabric.Links {
		if l := &f.Fabric.Links[i]; l.From == "p0-t1-0" || l.To == "p0-t1-0" {
			l.Use = Fact{State: Bad, Why: "down"}
		}
	}
	for i := range f.Fabric.Paths {
		if p := &f.Fabric.Paths[i]; p.Plane == 1 {
			p.Active = 3
		}
	}
	r := Judge("j", f, nil)
	if len(r.Blockers) != 1 || r.Blockers[0].Object != "p0-t1-0" || r.Blockers[0].Ranks != 16 {
		t.Errorf("blockers are %+v", r.Blockers)
	}
}

// TestDeadHostIsOneBlocker: the NICs of a dead host are one blocker. When the NICs of most hosts
// are dead, they are one blocker together.
func TestDeadHostIsOneBlocker(t *testing.T) {
	f := clos(2, 3, 8, 4, 2)
	for i := range 4 {
		f.Fabric.NICs[i].Stream = Fact{State: Bad, Why: "no stream"}
		f.Fabric.NICs[i].Holds = Fact{State: Bad, Why: "not applied"}
		f.Fabric.NICs[i].Ports[0].Up = Fact{Why: "its host does not report it"}
	}
	r := Judge("j", f, nil)
	if len(r.Blockers) != 1 || r.Blockers[0].Kind != KindHost || r.Blockers[0].Object != "n0-0" ||
		r.Blockers[0].Ranks != 4 {
		t.Errorf("blockers are %+v", r.Blockers)
	}
	for i := range f.Fabric.NICs {
		f.Fabric.NICs[i] = NIC{Ports: []Port{}}
	}
	f.Fabric.Paths = nil
	if r = Judge("j", f, nil); len(r.Blockers) != 1 || r.Blockers[0].Object != "hosts" ||
		r.Blockers[0].Ranks != len(f.Need.NICs) {
		t.Errorf("of no host: blockers are %+v", r.Blockers)
	}
}

// TestMostNICs: bad NICs share one cause if they exceed half of all NICs and the length of a
// blocker's list; otherwise each bad NIC is a cause.
func TestMostNICs(t *testing.T) {
	for _, c := range []struct{ of, bad, blockers int }{
		{2 * some, some, some},           // half
		{2*some - 1, some, some},         // most, but no more than are listed
		{2*some + 2, some + 1, some + 1}, // half
		{2*some + 1, some + 1, 1},        // most
	} {
		for what, spoil := range map[string]func(*NIC, Fact){
			"hosts":    func(n *NIC, f Fact) { n.Stream = f },
			"profiles": func(n *NIC, f Fact) { n.Holds = f },
		} {
			f := clos(1, 1, c.of, 1, 1)
			for i := range c.bad {
				spoil(&f.Fabric.NICs[i], Fact{State: Bad, Why: "gone"})
			}
			r := Judge("j", f, nil)
			if len(r.Blockers) != c.blockers || c.blockers == 1 && (r.Blockers[0].Object != what ||
				r.Blockers[0].Kind != KindFabric || r.Blockers[0].Ranks != c.bad) {
				t.Errorf("%d of %d %s: blockers are %+v", c.bad, c.of, what, r.Blockers)
			}
		}
	}
}

// TestLinksOfASwitch: if more than two directions share a switch and all are bad, the switch is
// blamed. The two directions of one link blame the link. One good direction at the switch also
// leaves the blame with the links.
func TestLinksOfASwitch(t *testing.T) {
	for _, c := range []struct {
		racks, bad int
		kind       string
	}{{1, 2, KindLink}, {2, 4, KindSwitch}, {2, 3, KindLink}, {2, -3, KindSwitch}} {
		f := clos(1, c.racks, 2, 1, 2)
		at := func(l Link) bool { return l.From == "p0-t1-0" || l.To == "p0-t1-0" }
		if c.bad < 0 { // of one link the fabric knows one direction
			c.bad = -c.bad
			i := slices.IndexFunc(f.Fabric.Links, at)
			f.Fabric.Links = slices.Delete(f.Fabric.Links, i, i+1)
		}
		for i := range f.Fabric.Links {
			if l := &f.Fabric.Links[i]; at(*l) && c.bad > 0 {
				l.Use = Fact{State: Bad, Why: "down"}
				c.bad--
			}
		}
		for _, b := range Judge("j", f, nil).Blockers {
			if b.Kind != c.kind {
				t.Errorf("%+v: the blocker is %+v", c, b)
			}
		}
	}
}

// TestPathState: a good path needs the wanted number of active EVs, and at least one.
func TestPathState(t *testing.T) {
	for _, c := range []struct {
		active, of, want int32
		is               State
	}{{4, 16, 4, Good}, {3, 16, 4, Bad}, {1, 16, 0, Good}, {0, 16, 0, Bad}, {0, 0, 0, Unknown},
		{0, 0, 4, Unknown}} {
		if got := (&Path{Active: c.active, Of: c.of, Want: c.want}).state(); got != c.is {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestSilentProbes: probes that come from nowhere are no fault of links.
func TestSilentProbes(t *testing.T) {
	f := clos(1, 3, 2, 2, 2)
	for i := range f.Fabric.Links {
		f.Fabric.Links[i].Probed = time.Time{}
	}
	f.Fabric.Unprobed = "no host probes"
	r := Judge("j", f, nil)
	if len(r.Blockers) != 1 || r.Blockers[0].Object != "probes" ||
		!strings.Contains(r.Blockers[0].Why, "no host probes") {
		t.Errorf("blockers are %+v", r.Blockers)
	}
}

// TestSince: a cause keeps the time at which it was first seen, unless the facts know better.
func TestSince(t *testing.T) {
	f := clos(1, 2, 2, 2, 2)
	f.Fabric.NICs[0].Holds = Fact{Why: "x"}
	first := Judge("j", f, nil)
	f.At = began.Add(time.Minute)
	for i := range f.Fabric.Links {
		f.Fabric.Links[i].Probed = f.At
	}
	if r := Judge("j", f, &first); len(r.Blockers) != 1 || r.Blockers[0].Since != began {
		t.Errorf("blockers are %+v", r.Blockers)
	}
	f.Fabric.NICs[0].Holds.Since = began.Add(-time.Hour)
	if r := Judge("j", f, &first); r.Blockers[0].Since != began.Add(-time.Hour) {
		t.Errorf("blockers are %+v", r.Blockers)
	}
}

func TestSummary(t *testing.T) {
	r := api.JobReadiness{Blockers: []api.JobBlocker{
		{Kind: "switch", Object: "secret"}, {Kind: "link"}, {Kind: "switch"}, {Kind: "link"},
	}}
	if got := Summary(&r); got != "NO-GO: 2 switches, 2 links in the way" {
		t.Error(got)
	}
}

func BenchmarkJudge(b *testing.B) {
	f := clos(2, 128, 8, 8, 16) // 8,192 ranks
	for b.Loop() {
		if r := Judge("j", f, nil); !r.Go {
			b.Fatal(r.Blockers[0])
		}
	}
}
