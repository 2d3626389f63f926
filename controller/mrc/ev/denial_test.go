package ev

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// crosses reports whether every path that an EV may take crosses something lost,
// by walking all of them.
func crosses(
	t *testing.T, b *Built, e hostapi.EV, lost func(*topology.Link) bool,
	gone func(topology.NodeID) bool,
) bool {
	t.Helper()
	route, err := b.Route(e)
	if err != nil {
		t.Fatal(err)
	}
	reached := map[topology.NodeID]bool{route.Source: !gone(route.Source)}
	for _, hop := range route.Hops {
		next := map[topology.NodeID]bool{}
		for _, l := range hop.Links {
			if reached[l.Local] && !lost(l) && !gone(l.Remote) {
				next[l.Remote] = true
			}
		}
		reached = next
	}
	return !reached[route.Destination]
}

// TestUnderRandomLosses: with random fabrics, profiles and losses, exactly the EVs that cross a
// loss are denied, and replacements cross no loss. Without losses, the profile as built returns.
func TestUnderRandomLosses(t *testing.T) {
	replaced, denied, generated := 0, 0, 0
	for _, seed := range seeds(t, 80) {
		r := rand.New(rand.NewPCG(seed, 2))
		f := randomFabric(r)
		c := f.clos(t)
		links := c.Graph().Snapshot().Links
		if len(links) == 0 {
			continue
		}
		losses := topology.Losses{}
		for range r.IntN(4) {
			losses.Links = append(losses.Links, links[r.IntN(len(links))].ID)
		}
		if r.IntN(2) == 0 {
			losses.Directed = []topology.LinkID{links[r.IntN(len(links))].ID}
		}
		if r.IntN(3) == 0 {
			losses.Nodes = []topology.NodeID{links[r.IntN(len(links))].Local}
		}
		isLost := func(l *topology.Link) bool {
			back := c.Graph().Reverse(l)
			return slices.Contains(losses.Links, l.ID) || slices.Contains(losses.Links, back.ID) ||
				slices.Contains(losses.Directed, l.ID)
		}
		gone := func(n topology.NodeID) bool { return slices.Contains(losses.Nodes, n) }
		lost := c.Lost(losses)
		for _, format := range allFormats {
			a := assign(t, c, format)
			for set := range c.Pairs() {
				if set.Len() == 0 {
					continue
				}
				request := Request{
					Pair:   Pair{Attachment{set.Source().ID}, Attachment{set.Destination().ID}},
					MaxEVs: 1 + r.IntN(8), Explicit: r.IntN(2) == 0,
				}
				if n := mustBuild(t, a, request).Count; n > 0 {
					request.MinActive = 1 + r.IntN(n)
				}
				b := mustBuilt(t, a, request)
				out, err := b.Under(lost)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				p := out.Profile
				if err := p.Validate(); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				universe := b.Profile.EVs
				if p.Mode == hostapi.ModeGenerated {
					many := *p
					many.Count = 4 * set.Len()
					universe = many.Generate(hostapi.Ports(1))
					generated++
				}
				left := 0
				for i, e := range universe {
					bad := crosses(t, b, e, isLost, gone)
					if !bad {
						left++
					}
					now := e
					if p.Mode == hostapi.ModeExplicit {
						now = p.EVs[i]
					}
					if now == e && bad != p.IsDenied(e) {
						t.Fatalf("seed %d: EV %v is denied: %v, want %v", seed, e, p.IsDenied(e), bad)
					}
					if now != e {
						replaced++
						if !bad || crosses(t, b, now, isLost, gone) || p.IsDenied(now) || b.Profile.Has(now) {
							t.Fatalf("seed %d: %v (lost: %v) was replaced by %v, of the profile before: %v", seed, e,
								bad, now, b.Profile.Has(now))
						}
					}
				}
				denied += len(p.Denied)
				if p.Mode == hostapi.ModeExplicit {
					checkReplaced(t, out, b.Profile, left)
				}
				// A follower denies the same in the profile as it was built, but for the last EVs.
				switch followed, last, err := a.Deny(b.Profile, request.Pair, lost); {
				case err != nil:
					t.Fatalf("seed %d: %v", seed, err)
				case last != (left == 0):
					t.Fatalf("seed %d: %d of %d EVs are left, and the last are at stake: %v", seed, left,
						len(universe), last)
				case (left == 0 || left == len(universe)) && followed != b.Profile:
					t.Fatalf("seed %d: %d of %d EVs are left, and a follower denies %v", seed, left, len(universe),
						followed.Denied)
				case left > 0 && out.Replaced == 0 && !followed.Equal(p):
					t.Fatalf("seed %d: a follower denies %v, want %v", seed, followed.Denied, p.Denied)
				}
				if left == len(universe) && p != b.Profile {
					t.Fatalf("seed %d: nothing is lost, but the profile is another", seed)
				}
				if healed, err := b.Under(c.Lost(topology.Losses{})); err != nil ||
					healed.Profile != b.Profile || healed.Degraded != "" {
					t.Fatalf("seed %d: without losses %+v, %v", seed, healed, err)
				}
			}
		}
	}
	if replaced == 0 || denied == 0 || generated == 0 {
		t.Errorf("%d EVs replaced, %d denied, %d generated profiles: the test shows nothing", replaced,
			denied, generated)
	}
}

func checkReplaced(t *testing.T, out Outcome, base *hostapi.Profile, left int) {
	t.Helper()
	p := out.Profile
	if out.Active != p.Active() || out.Active != left+out.Replaced {
		t.Fatalf("%d active, %d left, %d replaced; the profile has %d", out.Active, left, out.Replaced,
			p.Active())
	}
	if left >= base.MinActive && out.Replaced > 0 {
		t.Fatalf("%d EVs replaced while %d are left of at least %d", out.Replaced, left, base.MinActive)
	}
	if degraded := out.Active < base.MinActive || out.Replaced > 0; degraded != (out.Degraded != "") {
		t.Fatalf("%d active of at least %d, %d replaced: degraded %q", out.Active, base.MinActive,
			out.Replaced, out.Degraded)
	}
	if (out.Active == 0) != strings.Contains(out.Degraded, "no path") {
		t.Fatalf("%d active: degraded %q", out.Active, out.Degraded)
	}
}

// The story of one profile: links go one by one.
func TestUnder(t *testing.T) {
	f := leafSpine(2, 2, 8, 1)
	c := f.clos(t)
	a := assign(t, c, Format{Mode: ModeStructured})
	b := mustBuilt(t, a, Request{Pair: Pair{attach(2, 1), attach(2, 2)}, Explicit: true, MaxEVs: 8,
		MinActive: 6})
	linkUp := func(e hostapi.EV) topology.LinkID {
		route, err := b.Route(e)
		if err != nil {
			t.Fatal(err)
		}
		return route.Hops[0].Links[0].ID
	}
	under := func(l topology.Losses) Outcome {
		out, err := b.Under(c.Lost(l))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	evs := b.Profile.EVs
	two := topology.Losses{Links: []topology.LinkID{linkUp(evs[0]), linkUp(evs[1])}}
	if out := under(two); out.Active != 6 || out.Replaced != 0 || out.Degraded != "" ||
		!out.Profile.IsDenied(evs[0]) || !out.Profile.IsDenied(evs[1]) || len(out.Profile.Denied) != 2 {
		t.Errorf("two links lost: %+v", out)
	}
	three := topology.Losses{Links: append(two.Links, linkUp(evs[2]))}
	out := under(three)
	if out.Active != 8 || out.Replaced != 3 ||
		!strings.Contains(out.Degraded, "3 of 8 EVs are replaced") || len(out.Profile.Denied) != 0 ||
		!slices.Equal(out.Profile.EVs[3:], evs[3:]) {
		t.Errorf("three links lost: %+v", out)
	}
	if _, err := b.Route(out.Profile.EVs[0]); err != nil {
		t.Errorf("an EV that replaces another: %v", err)
	}
	plane := under(topology.Losses{Planes: []int{1}})
	for _, e := range plane.Profile.EVs {
		if e.Port == 1 && !plane.Profile.IsDenied(e) {
			t.Errorf("plane 1 lost: %v stays", e)
		}
	}
	if plane.Replaced != 4 || plane.Active != 8 {
		t.Errorf("plane 1 lost: %d replaced, %d active; want 4 by plane 2, 8", plane.Replaced,
			plane.Active)
	}
	all := under(topology.Losses{Nodes: []topology.NodeID{"leaf1-02", "leaf2-02"}})
	if all.Active != 0 || all.Degraded != "no path is left" || len(all.Profile.Denied) != 8 {
		t.Errorf("both leaves lost: %+v", all)
	}
	if _, err := b.Under(c.Without(three).Lost(two)); !errors.Is(err, ErrMalformed) {
		t.Errorf("losses of another fabric: %v", err)
	}
	for _, e := range []hostapi.EV{{Port: 1}, {Port: 3}, hostapi.NewEV(0xFFFFFFFF, 1),
		{Value: [32]byte{31: 1}, Port: 1}} {
		if _, err := b.Route(e); !errors.Is(err, ErrNoSuchEV) {
			t.Errorf("EV %v: %v", e, err)
		}
	}
	// A device that takes ranges only keeps its values.
	caps := Unlimited()
	caps.OptAttr |= hostapi.OptEVExplicitRange
	single := leafSpine(1, 2, 8, 1)
	sa := assign(t, single.clos(t), Format{Mode: ModeStructured})
	rb, err := sa.Build(Request{Name: "p", Pair: Pair{attach(1, 1), attach(1, 2)}, Capabilities: &caps,
		Explicit: true, MaxEVs: 1, MinActive: 1})
	if err != nil {
		t.Fatal(err)
	}
	used, err := rb.Route(rb.Profile.EVs[0])
	if err != nil {
		t.Fatal(err)
	}
	first := []topology.LinkID{used.Hops[0].Links[0].ID}
	ranged, err := rb.Under(sa.Clos().Lost(topology.Losses{Links: first}))
	if err != nil || ranged.Replaced != 0 || ranged.Active != 0 || len(ranged.Profile.Denied) != 1 {
		t.Errorf("ranges only: %+v, %v", ranged, err)
	}
	// In mode ecmp nobody knows which EVs a link carries.
	e := assign(t, c, Format{Mode: ModeECMP})
	eb := mustBuilt(t, e, Request{Pair: Pair{attach(2, 1), attach(2, 2)}})
	if out, err := eb.Under(c.Lost(three)); err != nil || out.Profile != eb.Profile {
		t.Errorf("ecmp: %+v, %v", out, err)
	}
	if _, err := eb.Route(hostapi.EV{Port: 1}); !errors.Is(err, ErrUnknownPath) {
		t.Errorf("ecmp: %v", err)
	}
	named := *b.Profile
	named.Name = "other"
	if out, err := b.With(&named).Under(c.Lost(two)); err != nil || out.Profile.Name != "other" ||
		len(out.Profile.Denied) != 2 {
		t.Errorf("another name: %+v, %v", out, err)
	}
}

// A generated profile's denials are the EVs its fields make over the lost link.
func TestUnderGenerated(t *testing.T) {
	f := threeTiers(1, 2, 2, 4, 4)
	c := f.clos(t)
	for _, mode := range []Mode{ModeStructured, ModeF3216, ModeF1616, ModeSRH} {
		a := assign(t, c, Format{Mode: mode})
		b := mustBuilt(t, a, Request{Pair: Pair{Attachment{"leaf1-01-01"}, Attachment{"leaf1-02-01"}}})
		if b.Profile.Mode != hostapi.ModeGenerated || b.Profile.Count != 16 {
			t.Fatalf("%v: %v with %d EVs", mode, b.Profile.Mode, b.Profile.Count)
		}
		for want, losses := range map[int]topology.Losses{
			0:  {Links: []topology.LinkID{c.Up("leaf1-01-02")[0].ID}},
			1:  {Links: []topology.LinkID{c.Up("agg1-01-02")[1].ID}},
			4:  {Nodes: []topology.NodeID{"agg1-02-03"}},
			16: {Nodes: []topology.NodeID{"leaf1-02-01"}},
		} {
			out, err := b.Under(c.Lost(losses))
			if err != nil || len(out.Profile.Denied) != want || out.Active != 16-want {
				t.Errorf("%v, %+v: %d denied, %d active, %v; want %d", mode, losses, len(out.Profile.Denied),
					out.Active, err, want)
			}
			if (want >= 13) != (out.Degraded != "") {
				t.Errorf("%v, %d denied: degraded %q", mode, want, out.Degraded)
			}
			for _, e := range b.Profile.Generate(hostapi.Ports(1)) {
				route, err := b.Route(e)
				if err != nil {
					t.Fatal(err)
				}
				hit := false
				for _, hop := range route.Hops {
					l := hop.Links[0]
					hit = hit || slices.Contains(losses.Links, l.ID) || slices.Contains(losses.Nodes, l.Remote)
				}
				if hit != out.Profile.IsDenied(e) {
					t.Errorf("%v: EV %v crosses a loss: %v, denied: %v", mode, e, hit, out.Profile.IsDenied(e))
				}
			}
		}
	}
}

// By comparison with Crossing: the reverse index and the denials agree.
func TestUnderAgreesWithCrossing(t *testing.T) {
	f := threeTiers(2, 2, 2, 2, 2)
	c := f.clos(t)
	a := assign(t, c, Format{Mode: ModeF3216})
	for _, l := range c.Graph().Snapshot().Links {
		want := map[string]int{}
		for set := range c.Crossing(l.ID) {
			want[fmt.Sprint(set.Source().ID, set.Destination().ID)]++
		}
		lost := c.Lost(topology.Losses{Directed: []topology.LinkID{l.ID}})
		for set := range c.Pairs() {
			b := mustBuilt(t, a, Request{Pair: Pair{Attachment{set.Source().ID},
				Attachment{set.Destination().ID}}, Explicit: true, MinActive: 1})
			out, err := b.Under(lost)
			if n := want[fmt.Sprint(set.Source().ID, set.Destination().ID)]; err != nil ||
				len(out.Profile.Denied) != n && out.Replaced != n {
				t.Fatalf("%s lost, %v: %d denied, %d replaced, %v; want %d", l.ID, b.Pair,
					len(out.Profile.Denied), out.Replaced, err, n)
			}
		}
	}
}
