package multipath

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/hostapi"
)

func ccProfile(name string) *hostapi.CCProfile {
	return &hostapi.CCProfile{Name: name, Algorithm: hostapi.AlgorithmNSCC, NSCC: hostapi.NSCC{Gamma: 0.8, MaxMDJump: 0.5, MaxCwnd: 1 << 20, TargetDelay: time.Microsecond}}
}

// TestWishes: one profile is as somebody wants it, the others stay, and without
// the wish all is as before.
func TestWishes(t *testing.T) {
	w := newWorld(t, 1, func(c *Config) { c.CCProfile = "all" }).clos(2, 3, 4, 2)
	w.start()
	w.run(time.Second)
	const name = "leaf1-1:leaf1-2"
	held := func() *hostapi.Profile {
		t.Helper()
		w.run(100 * time.Millisecond)
		p, ok := w.core.Profile(name)
		if !ok {
			t.Fatalf("no profile %s", name)
		}
		for _, h := range p.Hosts {
			if !w.hosts[h].held.Profile(name).Equal(p.Outcome.Profile) {
				t.Fatalf("%s holds %+v, want %+v", h, w.hosts[h].held.Profile(name), p.Outcome.Profile)
			}
		}
		return p.Outcome.Profile
	}
	others := func() (out []*hostapi.Profile) {
		for _, p := range w.core.Profiles() {
			if p.Name != name {
				out = append(out, p.Outcome.Profile)
			}
		}
		return out
	}
	plain, rest := held(), others()
	if plain.Mode != hostapi.ModeGenerated || plain.Count != 8 || plain.MinActive != 2 || plain.CC != "" {
		t.Fatalf("plain: %+v", plain)
	}
	if err := w.core.SetWish(name, Wish{Mode: hostapi.ModeExplicit, MaxEVs: 6, MinActive: 5}); err != nil {
		t.Fatal(err)
	}
	if p := held(); p.Mode != hostapi.ModeExplicit || p.Count != 6 || p.MinActive != 5 {
		t.Errorf("wished for: %+v", p)
	}
	for reason, bad := range map[string]Wish{
		"min_active: 9, want 0 to count, 6": {MaxEVs: 6, MinActive: 9}, "mode: AUTO": {Mode: hostapi.ModeAuto}, ErrUnknownCC.Error(): {CC: "nope"},
	} {
		if err := w.core.SetWish(name, bad); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%+v: %v, want %q", bad, err, reason)
		}
	}
	if p := held(); p.Mode != hostapi.ModeExplicit || p.Count != 6 || w.core.Wishes()[name].MaxEVs != 6 {
		t.Errorf("after refusals: %+v", p)
	}
	if err := w.core.SetWish("leaf9:leaf9", Wish{MaxEVs: 3}); err != nil {
		t.Errorf("of a pair that may come: %v", err)
	}
	if err := w.core.SetWish(name, Wish{}); err != nil {
		t.Fatal(err)
	}
	if p := held(); !p.Equal(plain) {
		t.Errorf("without the wish: %+v", p)
	}
	if !slices.Equal(others(), rest) {
		t.Error("other profiles were made anew")
	}
}

// TestGeneratedStaysAsWished: who asks for generated EVs gets no others, whatever
// is lost.
func TestGeneratedStaysAsWished(t *testing.T) {
	w := newWorld(t, 1, func(c *Config) { c.MinActive = 2 }).clos(2, 2, 2, 1)
	w.start()
	w.run(time.Second)
	const name = "leaf1-1:leaf1-2"
	if err := w.core.SetWish(name, Wish{Mode: hostapi.ModeGenerated, MinActive: 4}); err != nil {
		t.Fatal(err)
	}
	w.remove(w.both(leafID(1, 1), spineID(1, 1)))
	w.run(time.Second)
	p, _ := w.core.Profile(name)
	if p.Outcome.Profile.Mode != hostapi.ModeGenerated || p.Outcome.Degraded == "" || p.Outcome.Active >= 4 {
		t.Errorf("%+v", p.Outcome)
	}
}

// TestCCProfiles: hosts hold the CC profiles that there are; the one of the
// configuration counts from when it is there, and one that is wished for stays.
func TestCCProfiles(t *testing.T) {
	w := newWorld(t, 1, func(c *Config) { c.CCProfile = "all" }).clos(1, 2, 2, 1)
	w.start()
	w.run(time.Second)
	const name = "leaf1-1:leaf1-2"
	cc := func() (profiles int, of string) {
		w.run(100 * time.Millisecond)
		for _, h := range w.hosts {
			profiles = len(h.held.CC)
		}
		p, _ := w.core.Profile(name)
		return profiles, p.Outcome.Profile.CC
	}
	check := func(step string, profiles int, of string) {
		t.Helper()
		if n, is := cc(); n != profiles || is != of {
			t.Errorf("%s: %d CC profiles, %q for the profile; want %d and %q", step, n, is, profiles, of)
		}
		w.valid()
	}
	set := func(names ...string) error {
		var all []*hostapi.CCProfile
		for _, n := range names {
			all = append(all, ccProfile(n))
		}
		return w.core.SetCC(all)
	}
	check("none", 0, "")
	if err := set("some", "all"); err != nil {
		t.Fatal(err)
	}
	check("two", 2, "all")
	if err := w.core.SetWish(name, Wish{CC: "some"}); err != nil {
		t.Fatal(err)
	}
	check("wished for", 2, "some")
	if err := set("all"); !errors.Is(err, ErrInUse) {
		t.Errorf("removing one in use: %v", err)
	}
	if err := set("some"); err != nil {
		t.Fatal(err)
	}
	check("one", 1, "some")
	if err := w.core.SetWish(name, Wish{}); err != nil {
		t.Fatal(err)
	}
	check("without the wish", 1, "")
	if err := w.core.SetCC([]*hostapi.CCProfile{{Name: "x"}}); err == nil {
		t.Error("a bad CC profile was taken")
	}
	check("a bad one", 1, "")
}
