package faults

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/intent"
	"github.com/weft-sdn/weft/dataplane/p4rt"
)

// seeds returns the seeds to run: one that WEFT_SEED names, or as many as WEFT_SEEDS says.
func seeds(t *testing.T) (first, n uint64) {
	t.Helper()
	if text := os.Getenv("WEFT_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("WEFT_SEED: %v", err)
		}
		return seed, 1
	}
	if text := os.Getenv("WEFT_SEEDS"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("WEFT_SEEDS: %v", err)
		}
		return 1, n
	}
	return 1, standardSeeds
}

// slow is what a run should not take; those that do are told, as something to look at.
const slow = 2 * time.Second

// each runs a story for every seed, on all processors, and reports what failed. It returns the
// longest run of retries without progress that a source saw.
func each(t *testing.T, story func(seed uint64, cache *p4rt.Cache) (*scenario, error)) {
	t.Helper()
	first, n := seeds(t)
	cache := new(p4rt.Cache)
	var next, failures, longest atomic.Uint64
	var virtual atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < n; i = next.Add(1) - 1 {
				seed := first + i
				s, err := story(seed, cache)
				if s != nil && s.group != nil {
					for run := s.group.SourceQP.Counters().MaxRetryRun; ; {
						old := longest.Load()
						if run <= old || longest.CompareAndSwap(old, run) {
							break
						}
					}
					virtual.Add(int64(s.world.Now()))
				}
				if err == nil && s.world.Now() > slow {
					t.Logf("seed %d took %v of virtual time:\n  %s", seed, s.world.Now(), strings.Join(s.story, "\n  "))
				}
				if err != nil {
					failures.Add(1)
					told := ""
					if s != nil {
						told = strings.Join(s.story, "\n  ")
					}
					t.Errorf("seed %d (WEFT_SEED=%d go test -run '^%s$' ./test/faults): %v\n  %s", seed, seed, t.Name(), err, told)
					if failures.Load() >= 5 {
						return
					}
				}
			}
		})
	}
	wg.Wait()
	t.Logf("seeds %d to %d: %d failed; %v of virtual time; longest run of retries without progress: %d", first, first+n-1, failures.Load(), time.Duration(virtual.Load()), longest.Load())
}

// TestFaults: whatever happens to the network, every receiver's memory is the source's, no ACK
// was early, and the transfer came to its end.
func TestFaults(t *testing.T) {
	each(t, func(seed uint64, cache *p4rt.Cache) (*scenario, error) {
		mode := intent.Provisioned
		if seed%4 == 0 {
			mode = intent.Inband
		}
		s, err := newScenario(seed, cache, mode)
		if err != nil {
			return s, err
		}
		s.noise([]float64{0, 0.01, 0.05}[s.rng.IntN(3)])
		start := s.world.Now()
		soon := func() time.Duration { return start + s.between(0, 10*time.Millisecond) }
		switches := []string{"N1", "N2", "N3", "N4", "N5", "N6"}
		switch seed % 7 {
		case 0: // noise only
		case 1:
			for range 1 + s.rng.IntN(3) {
				s.restart(switches[s.rng.IntN(len(switches))], soon(), s.between(time.Millisecond, 60*time.Millisecond))
			}
		case 2:
			spine, edge := []string{"N4", "N5"}[s.rng.IntN(2)], switches[s.rng.IntN(3)]
			s.cut(spine, edge, soon(), s.between(0, 100*time.Millisecond))
			if s.rng.IntN(2) == 0 {
				s.cut("N6", spine, soon(), 0)
			}
		case 3:
			s.die([]string{"N4", "N5"}[s.rng.IntN(2)], soon())
		case 4:
			s.inTurn(soon(), s.join("R6"), s.join("R7"), s.remove("R2", false), s.remove("R4", true))
		case 5:
			s.inTurn(soon(), s.recreate("R3"), s.join("R6"), s.recreate("R5"))
			s.restartController(soon(), s.between(time.Millisecond, 30*time.Millisecond))
		case 6:
			s.inTurn(soon(), s.remove("R1", s.rng.IntN(2) == 0), s.join("R7"))
			s.restart(switches[s.rng.IntN(len(switches))], soon(), s.between(time.Millisecond, 60*time.Millisecond))
			s.cut("N4", "N2", soon(), s.between(10*time.Millisecond, 50*time.Millisecond))
			s.restartController(soon(), s.between(time.Millisecond, 30*time.Millisecond))
		}
		return s, s.run()
	})
}

// TestReplay: a seed gives the same run again, to the last event.
func TestReplay(t *testing.T) {
	cache := new(p4rt.Cache)
	trail := func() string {
		s, err := newScenario(4711, cache, intent.Provisioned)
		if err != nil {
			t.Fatal(err)
		}
		s.noise(0.05)
		s.restart("N4", s.world.Now()+3*time.Millisecond, 20*time.Millisecond)
		if err := s.run(); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		fmt.Fprintln(&b, s.world.Now(), s.story, s.group.SourceQP.Counters())
		for _, w := range s.world.Wires() {
			fmt.Fprintln(&b, w.Name(), w.Sent, w.Lost, w.Duplicated)
		}
		return b.String()
	}
	if one, two := trail(), trail(); one != two {
		t.Errorf("the same seed gave two runs:\n%s\n%s", one, two)
	}
}
