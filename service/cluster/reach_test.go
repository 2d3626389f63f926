package cluster_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weft-sdn/weft/internal/bubble"
)

// TestUnreachedDecider: a decider with the store gives up within two TTLs when the peers cannot
// reach the decider, the decider cannot reach the peers, or the peers refuse the decider. After its
// return the controller does not take the lead again. All controllers know what the decider and the
// others reported about each other.
func TestUnreachedDecider(t *testing.T) {
	expired := errors.New("its certificate expired")
	for name, c := range map[string]struct {
		out, in bool
		why     error
	}{
		"both ways": {true, true, errSilent}, "does not reach": {true, false, errSilent},
		"is not reached": {false, true, errSilent}, "refused": {true, true, expired},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				w := newBed(t, 3, 1)
				t.Cleanup(w.stop)
				w.run(10 * time.Second)
				w.whole()
				first := w.decider()
				before, _ := first.node.View()
				w.cutOff(first, c.out, c.in, c.why)
				w.run(2 * ttl)
				second := w.decider()
				if second == nil || second == first {
					t.Fatalf("%v decides two TTLs after %s was cut off", second, first.name)
				}
				if after, _ := first.node.View(); after.Instance != before.Instance {
					t.Error("it has lost its lease")
				}
				v, _ := second.node.View()
				from, to := first.name, second.name
				if c.in {
					from, to = to, from
				}
				a, _ := v.Member(from)
				b, _ := v.Member(to)
				if got := a.Lost(b); got != c.why.Error() {
					t.Errorf("%s says of %s: %q, want %q", from, to, got, c.why)
				}
				if !v.Served() {
					t.Error("two of three are said not to be served")
				}
				w.run(20 * time.Second) // its switches move
				w.mu.Lock()
				if n := len(first.sessions); n > 0 {
					t.Errorf("%s, which the decider does not reach, has sessions with %d switches", first.name, n)
				}
				w.owned(t)
				terms := w.terms
				w.mu.Unlock()
				w.mend()
				w.run(20 * ttl)
				w.whole()
				w.mu.Lock()
				defer w.mu.Unlock()
				if w.terms != terms || w.controllers == nil {
					t.Errorf("%d terms begin when it is back", w.terms-terms)
				}
				if len(first.sessions) == 0 {
					t.Errorf("%s gets no switch when it is back", first.name)
				}
			})
		})
	}
}

// TestNobodyReached: if no controller reaches another, the decider goes on and owns all switches;
// the controllers do not take turns.
func TestNobodyReached(t *testing.T) {
	for _, n := range []int{2, 3} {
		bubble.Test(t, func(t *testing.T) {
			w := newBed(t, n, 1)
			t.Cleanup(w.stop)
			w.run(10 * time.Second)
			w.whole()
			first := w.decider()
			for _, c := range w.controllers {
				w.cutOff(c, true, true, errSilent)
			}
			w.run(20 * ttl)
			w.mu.Lock()
			if w.terms != 1 || first.mandate == nil {
				t.Errorf("%d terms of %d controllers that do not reach each other", w.terms, n)
			}
			if len(first.sessions) != devices {
				t.Errorf("the decider, which reaches nobody, has %d of %d switches", len(first.sessions),
					devices)
			}
			w.owned(t)
			w.mu.Unlock()
			if v, _ := first.node.View(); v.Served() {
				t.Errorf("one of %d is said to be served", n)
			}
		})
	}
}

// TestMostReached: of three controllers, the controller that both others reach decides.
func TestMostReached(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newBed(t, 3, 1)
		t.Cleanup(w.stop)
		w.run(10 * time.Second)
		first := w.decider()
		var others []*replica
		for _, c := range w.controllers {
			if c != first {
				others = append(others, c)
			}
		}
		w.cut(others[0], others[1], errSilent)
		w.run(5 * ttl)
		if w.decider() != first {
			t.Error("it moved, and both others reach the decider")
		}
		w.mend()
		w.cut(others[0], first, errSilent)
		w.run(2 * ttl)
		if w.decider() != others[1] {
			t.Errorf("%v decides, and %s alone reaches both others", w.decider(), others[1].name)
		}
	})
}

// TestReach: whichever controllers cannot reach each other, in one direction or both, and whichever
// end or lose the store, one controller decides at a time, and every majority with connections
// between all members reaches a decider within seven TTLs: what was lost often counts again after
// four.
func TestReach(t *testing.T) {
	longest, most := time.Duration(0), 0
	defer func() {
		t.Logf("the longest time of a majority without a decider: %.1f TTLs; the most terms: %d",
			longest.Seconds()/ttl.Seconds(), most)
	}()
	worlds(t, 40, 17, func(w *bed, random *rand.Rand) {
		w.patience = 7 * ttl
		for range 5 {
			c := w.victim(random)
			why := errSilent
			if random.IntN(3) == 0 {
				why = errors.New("refused")
			}
			span := time.Duration(random.Int64N(int64(13 * ttl)))
			switch random.IntN(6) {
			case 0: // one way
				w.cut(c, w.controllers[random.IntN(len(w.controllers))], why)
			case 1: // any ways
				for _, a := range w.controllers {
					for _, b := range w.controllers {
						if random.IntN(3) == 0 {
							w.cut(a, b, why)
						}
					}
				}
			case 2:
				w.cutOff(c, true, true, why)
			case 3:
				w.cutOff(c, random.IntN(2) == 0, true, why)
				other := w.controllers[random.IntN(len(w.controllers))]
				other.kill()
				w.run(span)
				other.start()
			case 4:
				w.cutOff(c, true, random.IntN(2) == 0, why)
				other := w.controllers[random.IntN(len(w.controllers))]
				other.lose(true)
				w.run(span)
				other.lose(false)
			case 5: // it comes and goes
				for range 4 {
					w.cutOff(c, true, true, why)
					w.run(2 * ttl)
					w.mend()
					w.run(ttl / 2)
				}
			}
			w.run(span)
			if random.IntN(2) == 0 {
				w.mend()
			}
		}
		w.mend()
		w.run(12 * ttl)
		w.whole()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.owned(w.t)
		longest, most = max(longest, w.longest), max(most, w.terms)
	})
}
