package spray

import (
	"testing"

	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/packet"
)

// TestRotationOfBusyPorts: a value whose port has no room keeps its turn. Ports of an overloaded
// host have room in turn, and still use all their values equally often, for data and for answers,
// even if a port has fewer values than another port.
func TestRotationOfBusyPorts(t *testing.T) {
	for seed := range uint64(20) {
		for k, denied := range [][]int{nil, {0, 2, 4}, nil, {0, 2, 4}} {
			use := []mrc.Use{mrc.UseData, mrc.UseControl}[k/2]
			s := newSet(t, profile(4, 2), func(c *Config) { c.Seed = seed })
			for _, i := range denied {
				if err := s.Deny(i); err != nil {
					t.Fatal(err)
				}
			}
			used := make(map[int]map[int]int) // by port, by value
			const packets = 400
			for i := range packets {
				port := 1 + i%2
				p, ok := s.Next(0, use, packet.PortMask(0).With(port))
				if !ok || p.Port != port {
					t.Fatalf("seed %d: port %d, %v, want %d", seed, p.Port, ok, port)
				}
				if used[port] == nil {
					used[port] = make(map[int]int)
				}
				used[port][index(p.ID)]++
			}
			for port, by := range used {
				values := 4
				if port == 1 {
					values -= len(denied)
				}
				for i, n := range by {
					if n != packets/2/values {
						t.Errorf("seed %d, use %d: port %d: %v: value %d was used %d times of %d, want %d", seed, use,
							port, by, i, n, packets/2, packets/2/values)
					}
				}
			}
		}
	}
}

// TestAgain: a packet may follow another packet along the path and counts there, until the value
// leaves GOOD, the port goes down, or the profile changes.
func TestAgain(t *testing.T) {
	other := profile(8, 2)
	for i := range other.EVs {
		other.EVs[i].Value += 100
	}
	for name, c := range map[string]struct {
		ends func(s *Set, i int) error
		want bool
	}{
		"goes on":   {func(*Set, int) error { return nil }, true},
		"denied":    {func(s *Set, i int) error { return s.Deny(i) }, false},
		"port down": {func(s *Set, i int) error { s.SetPorts(0); return nil }, false},
		"marked": {func(s *Set, i int) error {
			s.Feedback(0, s.evs[i].path.ID, mrc.SignalMarked)
			return nil
		}, false},
		"profile replaced": {func(s *Set, _ int) error { return s.Replace(other) }, false},
		"shorter profile":  {func(s *Set, _ int) error { return s.Replace(profile(1, 1)) }, false},
	} {
		s := newSet(t, profile(8, 2), func(c *Config) { c.AllActive = true })
		p := next(t, s)
		for index(p.ID) < 4 {
			p = next(t, s)
		}
		i := index(p.ID)
		if !s.Again(p.ID) {
			t.Errorf("%s: not at first", name)
		}
		if n, err := s.Counts(i); err != nil || n.Sent != 2 {
			t.Errorf("%s: %+v, %v: want 2 sent", name, n, err)
		}
		if err := c.ends(s, i); err != nil {
			t.Fatal(err)
		}
		_, _ = s.Next(0, mrc.UseData, AllPorts) // makes values active
		if got := s.Again(p.ID); got != c.want {
			t.Errorf("%s: again %v", name, got)
		}
	}
}
