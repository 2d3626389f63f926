package hostapi

import (
	"net/netip"
	"runtime"
	"testing"
)

// TestPool: a Pool merges equal states and their profiles, keeps different states apart, and drops
// unused states.
func TestPool(t *testing.T) {
	state := func(change func(*State, *Profile)) *State {
		ev := func(x byte) EV { return EV{Value: [EVBytes]byte{x}, Port: 1} }
		p := &Profile{
			Name: "a", Mode: ModeExplicit, Format: Format{Mode: FormatSTEV, Widths: []uint8{8}}, Count: 2,
			EVs: []EV{ev(1), ev(2)}, Denied: []EV{ev(1)},
			Destinations: []netip.Prefix{netip.MustParsePrefix("2001:db8::/64")},
		}
		s := State{Profiles: []*Profile{p}, DeniedPorts: Ports(1)}
		if change != nil {
			change(&s, p)
		}
		made, err := NewState(s)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	pool := NewPool()
	one := pool.Share(state(nil))
	if again := pool.Share(state(nil)); again != one {
		t.Error("an equal state is another one")
	}
	for what, change := range map[string]func(*State, *Profile){
		"denied EVs":   func(_ *State, p *Profile) { p.Denied = nil },
		"min active":   func(_ *State, p *Profile) { p.MinActive++ },
		"hints":        func(s *State, _ *Profile) { s.Hints.SendPeers = 1 },
		"denied ports": func(s *State, _ *Profile) { s.DeniedPorts = 0 },
	} {
		want := state(change)
		got := pool.Share(want)
		if got == one || !got.Equal(want) {
			t.Errorf("with other %s: %+v, want %+v", what, got, want)
		}
	}
	// A state that differs in one profile shares the others.
	if got := pool.Share(state(func(s *State,
		_ *Profile) {
		s.DeniedPorts = 0
	})); got.Profiles[0] != one.Profiles[0] {
		t.Error("an equal profile of another state is another one")
	}
	runtime.KeepAlive(one)
	one = nil
	runtime.GC()
	pool.profiles.clean()
	pool.states.clean()
	if n := len(pool.profiles.byHash) + len(pool.states.byHash); n != 0 {
		t.Errorf("%d hashes of values that nothing uses", n)
	}
}
