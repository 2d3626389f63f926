package faults

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/dataplane/p4rt"
)

// slow is what a run should not take; those that do are told, as something to look at.
const slow = 2 * time.Second

// mostRetries bounds consecutive retries without progress. The remaining retries are mostly the
// source's own timeouts, 2.1 ms apart, while a receiver is dead; without a growing hold-off there
// would be thousands.
const mostRetries = 500

// each runs a story for every seed, on all processors, and reports what failed. It returns the
// longest run of retries without progress that a source saw.
func each(t *testing.T, story func(seed uint64, cache *p4rt.Cache) (*scenario, error)) {
	t.Helper()
	var longest, intrusions, refused atomic.Uint64
	var virtual atomic.Int64
	n := sweep(t, standardSeeds, func(seed uint64, cache *p4rt.Cache) ([]string, error) {
		s, err := story(seed, cache)
		if s == nil {
			return nil, err
		}
		if s.group != nil {
			for run := s.group.SourceQP.Counters().MaxRetryRun; ; {
				old := longest.Load()
				if run <= old || longest.CompareAndSwap(old, run) {
					break
				}
			}
			virtual.Add(int64(s.world.Now()))
			intrusions.Add(uint64(s.hostile.sent))
			refused.Add(s.hostile.refused())
		}
		if err == nil && s.world.Now() > slow {
			t.Logf("seed %d took %v of virtual time:\n  %s", seed, s.world.Now(),
				strings.Join(s.story, "\n  "))
		}
		return s.story, err
	})
	t.Logf("%v of virtual time; longest run of retries without progress: %d; of %d forged packets "+
		"%d were refused as addressed to a SID or encapsulated", time.Duration(virtual.Load()),
		longest.Load(), intrusions.Load(), refused.Load())
	if longest.Load() > mostRetries {
		t.Errorf("%d retries in a row without progress, want at most %d", longest.Load(), mostRetries)
	}
	// Other packets have a forged source, or are plain; the counters of switches that restart are lost.
	if n >= 20 && (intrusions.Load() == 0 || refused.Load() < intrusions.Load()/10) {
		t.Errorf("of %d forged packets %d were refused as addressed to a SID or encapsulated: they "+
			"attack too little", intrusions.Load(), refused.Load())
	}
}

// kinds are the kinds of trouble; a seed is of the kind of its last digits.
const kinds = 10

// story is the scenario of a seed, ready to run.
func story(seed uint64, cache *p4rt.Cache) (*scenario, error) {
	kind := seed % kinds
	o := options{mode: api.ModeProvisioned, send: kind == 7}
	if seed/kinds%4 == 0 {
		o.mode = api.ModeInband
	}
	if kind == 8 {
		o.evict = 50 * time.Millisecond
	}
	s, err := newScenario(seed, cache, o)
	if err != nil {
		return s, err
	}
	if seed/kinds%3 > 0 {
		s.runPrograms()
	}
	s.noise([]float64{0, 0.01, 0.05}[s.rng.IntN(3)])
	at := func() float64 { return 0.05 + 0.7*s.rng.Float64() }
	edge := func() string { return []string{"N1", "N2", "N3"}[s.rng.IntN(3)] }
	anySwitch := func() string { return []string{"N1", "N2", "N3", "N4", "N5", "N6"}[s.rng.IntN(6)] }
	ms := func(lo, hi int) time.Duration {
		return s.between(time.Duration(lo)*time.Millisecond, time.Duration(hi)*time.Millisecond)
	}
	switch kind {
	case 0, 7: // noise only; SENDs to receivers that post late
	case 1:
		for range 1 + s.rng.IntN(3) {
			s.restart(anySwitch(), at(), ms(1, 60))
		}
	case 2:
		s.cut(edge(), at(), ms(0, 100))
		if s.rng.IntN(2) == 0 {
			s.cut(edge(), at(), ms(1, 50))
		}
	case 3:
		s.die(edge(), at())
	case 4:
		s.inTurn(s.join("R6"), s.join("R8"), s.remove("R2", false), s.remove("R4", true))
	case 5:
		s.inTurn(s.recreate("R3"), s.join("R6"), s.recreate("R5"))
		s.restartController(at(), ms(1, 30))
	case 6:
		s.inTurn(s.remove("R1", s.rng.IntN(2) == 0), s.join("R6"))
		s.restart(anySwitch(), at(), ms(1, 60))
		s.cut("N2", at(), ms(10, 50))
		s.restartController(at(), ms(1, 30))
	case 8:
		s.kill([]string{"R1", "R3", "R5"}[s.rng.IntN(3)], at())
	case 9:
		s.inTurn(s.join("R8"), s.loseController(ms(1, 30)), s.remove("R2", false))
	}
	return s, nil
}

// TestFaults: whatever happens to the network in the middle of a transfer, and whatever hosts that
// are no members send, every receiver's memory is the source's, no ACK was early, and the transfer
// came to its end.
func TestFaults(t *testing.T) {
	each(t, func(seed uint64, cache *p4rt.Cache) (*scenario, error) {
		s, err := story(seed, cache)
		if err != nil {
			return s, err
		}
		return s, s.run()
	})
}

// TestReplay: a seed gives the same run again, to the last event, whatever its kind.
func TestReplay(t *testing.T) {
	cache := new(p4rt.Cache)
	for seed := uint64(4710); seed < 4710+replays; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			trail := func() string {
				s, err := story(seed, cache)
				if err != nil {
					t.Fatal(err)
				}
				err = s.run()
				var b strings.Builder
				fmt.Fprintln(&b, err, s.world.Now(), s.story, s.group.SourceQP.Counters())
				for _, w := range s.world.Wires() {
					fmt.Fprintln(&b, w.Name(), w.Sent, w.Lost, w.Duplicated)
				}
				return b.String()
			}
			if one, two := trail(), trail(); one != two {
				t.Errorf("gave two runs:\n%s\n%s", one, two)
			}
		})
	}
}
