package faults

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/test/seeds"
)

// sweep runs a story for each seed from 1 on, count by default, on all processors. sweep reports
// what failed, and stops after five failures. run returns what has happened, for the report. sweep
// returns the number of seeds.
func sweep(
	t *testing.T, count uint64, run func(seed uint64, cache *p4rt.Cache) (told []string, err error),
) (n uint64) {
	t.Helper()
	first, n := seeds.Range(t, 1, count)
	cache := new(p4rt.Cache)
	var next, failures atomic.Uint64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < n && failures.Load() < 5; i = next.Add(1) - 1 {
				told, err := run(first+i, cache)
				if err != nil {
					failures.Add(1)
					t.Errorf("seed %d (WEFT_SEED=%d go test -run '^%s$' ./test/faults): %v\n  %s", first+i,
						first+i, t.Name(), err, strings.Join(told, "\n  "))
				}
			}
		})
	}
	wg.Wait()
	return n
}

// fail records that a check has failed.
func (s *scenario) fail(format string, args ...any) {
	if s.broken == nil {
		s.broken = fmt.Errorf("at %v: "+format, append([]any{s.world.Now()}, args...)...)
	}
}

// stopped reports whether a check has failed.
func (s *scenario) stopped() bool { return s.broken != nil }

// ask has a client change a resource, or ask a question. A client that asks a running controller
// gets an answer, or an *api.Error.
func (s *scenario) ask(what string, f func(core *controller.Core) error) {
	err := s.control.Change(f)
	s.tell("client: %s: %v", what, err)
	var refused *api.Error
	if err != nil && s.control.Core() != nil && !errors.As(err, &refused) {
		s.fail("%s: %v", what, err)
	}
}

// again calls f at random times until the end of the trouble.
func (s *scenario) again(until, lo, hi time.Duration, f func()) {
	s.world.After(s.between(lo, hi), func() {
		if s.world.Now() < until {
			f()
			s.again(until, lo, hi, f)
		}
	})
}

// clientTrouble is the time until which clients act, and the network breaks.
const clientTrouble = 3 * time.Second

// play has clients act, and something break, until a time, and then lets a calm pass.
func (s *scenario) play(until time.Duration, act, harm func(), calm time.Duration) {
	s.again(until, 5*time.Millisecond, 100*time.Millisecond, act)
	s.again(until, 50*time.Millisecond, 400*time.Millisecond, harm)
	s.world.Run(until+calm, s.stopped)
}

// outcome returns what has failed.
func (s *scenario) outcome() error { return errors.Join(s.broken, s.control.Err()) }

// pauseController stops the controller, and starts another on the same records after a while. It
// does nothing between two controllers.
func (s *scenario) pauseController(off time.Duration) {
	if s.control.Core() == nil {
		return
	}
	s.tell("the controller stops for %v", off)
	s.control.Stop()
	s.world.After(off, func() {
		s.tell("a new controller starts")
		s.must(s.control.Start())
	})
}
