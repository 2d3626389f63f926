package spray

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/packet"
)

// twin is §11.2.2 on a list, without a clever thing.
type twin struct {
	order []int // whose turn it is first
	state map[int]State
	port  func(i int) int
}

// alive are the values, in order, that would be used if their ports had room.
func (w *twin) alive(order []int) (list []int) {
	for _, i := range order {
		if w.state[i] == Good || w.state[i] == Skip {
			list = append(list, i)
		}
	}
	return list
}

func (w *twin) next(ports packet.PortMask, maxSkips int) (int, bool) {
	usable := func(i int) bool {
		return (w.state[i] == Good || w.state[i] == Skip) && ports.Has(w.port(i))
	}
	if !slices.ContainsFunc(w.order, usable) {
		return 0, false
	}
	reset := -1
	for skips := 0; ; skips++ {
		at := slices.IndexFunc(w.order, usable)
		i := w.order[at]
		w.order = append(slices.Delete(w.order, at, at+1), i)
		if w.state[i] == Good || skips == maxSkips {
			return i, true
		}
		if reset < 0 {
			reset = i
			w.state[i] = Good
		}
	}
}

// turns are the values of a set in the order of their turns.
func turns(s *Set) (order []int) {
	for k := range s.Len() {
		order = append(order, s.data.at(k))
	}
	return order
}

// TestAgainstTwin: the same choices as the twin, and the same turns after them, over random
// feedback, denials and ports.
func TestAgainstTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 80 {
		n, ports, skips := 1+rng.IntN(20), 1+rng.IntN(3), 1+rng.IntN(6)
		p := profile(n, ports)
		s := newSet(t, p, func(c *Config) { c.MaxSkips, c.BadAfter, c.Seed = skips, 1, rng.Uint64() })
		w := &twin{state: map[int]State{}, port: func(i int) int { return i%ports + 1 }}
		base := s.evs[0].path.ID
		for range 300 {
			i := rng.IntN(s.Len())
			id := base + mrc.PathID(i)
			free := AllPorts
			if rng.IntN(3) == 0 {
				free = packet.PortMask(rng.Uint32())
			}
			switch rng.IntN(9) {
			case 0, 1:
				s.Feedback(0, id, mrc.SignalMarked)
				if w.state[i] == Good {
					w.state[i] = Skip
				}
			case 2:
				s.Feedback(0, id, mrc.SignalLost)
				if w.state[i] != Denied {
					w.state[i] = AssumedBad
				}
			case 3:
				s.Feedback(0, id, mrc.SignalProbeOK)
				if w.state[i] == AssumedBad {
					w.state[i] = Good
				}
			case 4:
				if err := s.Deny(i); err != nil {
					t.Fatal(err)
				}
				w.state[i] = Denied
			case 5:
				if err := s.Allow(i); err != nil {
					t.Fatal(err)
				}
				w.state[i] = Good
			default:
				w.order = turns(s)
				got, ok := s.Next(0, mrc.UseData, free)
				want, wantOK := w.next(free, skips)
				if ok != wantOK || ok && index(got.ID) != want {
					t.Fatalf("chose %d %v, want %d %v", index(got.ID), ok, want, wantOK)
				}
				if a, b := w.alive(turns(s)), w.alive(w.order); !slices.Equal(a, b) {
					t.Fatalf("then the turns are %v, want %v", a, b)
				}
			}
			usable := 0
			for j := range s.Len() {
				wantState(t, s, j, w.state[j])
				usable += alive(w.state[j])
			}
			if s.Usable() != usable || t.Failed() {
				t.Fatalf("%d usable, want %d", s.Usable(), usable)
			}
		}
	}
}
