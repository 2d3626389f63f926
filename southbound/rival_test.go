package southbound

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weft-sdn/weft/internal/bubble"
)

// stranger is a client of another installation at a fake switch.
type stranger struct {
	f  *fakeSwitch
	at *fakeStream
}

func newStream() *fakeStream {
	return &fakeStream{send: make(chan *p4v1.StreamMessageResponse, 64), quit: make(chan error, 64)}
}

// rise makes the stranger primary, with an id above all others. With cut, all other connections are
// lost just before.
func (x *stranger) rise(cut bool) {
	f := x.f
	f.mu.Lock()
	defer f.mu.Unlock()
	top := f.highest()
	if cut {
		for s := range f.streams {
			if s != x.at {
				delete(f.streams, s)
				s.quit <- status.Error(codes.Unavailable, "lost")
			}
		}
	}
	f.streams[x.at] = NewElectionID(uint32(top.Low>>identityBits)+1, 0xbb)
	f.arbitrate()
	for len(x.at.send) > 0 {
		<-x.at.send
	}
}

// leave ends the stranger. The fake remembers no id, and tells a client without an id that the
// client is primary, as BMv2 does.
func (x *stranger) leave() {
	x.f.with(func() {
		delete(x.f.streams, x.at)
		x.f.arbitrate()
	})
}

// TestRivals: a session takes its switch back from a stranger that became primary while the session
// had no connection, at once the first time and ever later after that, and leaves the switch to a
// stranger that took it while the session was connected.
func TestRivals(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFakeSwitch(t)
		x := &stranger{f, newStream()}
		var holds []bool
		cfg := f.config()
		cfg.Claim, cfg.Election = ClaimVacant, NewElectionID(1, 0xaa)
		cfg.Holds = func(is bool) { holds = append(holds, is) }
		s, ev := open(t, cfg)
		next[Ready](t, ev)
		is := func(want State, when string) {
			t.Helper()
			synctest.Wait()
			if state, err := s.State(); state != want {
				t.Fatalf("%s: %v (%v), want %v", when, state, err, want)
			}
		}
		// It connects again within milliseconds.
		for i, pause := range []time.Duration{0, 60, 120, 240, 480, 600, 600} {
			x.rise(true)
			time.Sleep(time.Second)
			if pause > 0 {
				is(StateBackup, "before its time")
				if b := next[Backup](t, ev); !b.Foreign || b.Pause <= 0 {
					t.Errorf("%+v: %v", b, b)
				}
				time.Sleep(pause*time.Second - 5*time.Second)
				is(StateBackup, "just before its time")
				time.Sleep(4 * time.Second)
			}
			is(StateReady, "when it takes the switch back")
			if i == 0 {
				x.rise(true) // as fast as it can
				time.Sleep(28 * time.Second)
				is(StateBackup, "soon after it took the switch back")
				time.Sleep(2 * time.Second)
				is(StateReady, "after the first pause")
			}
		}
		if !slices.Equal(holds, []bool{true}) {
			t.Errorf("held %v", holds)
		}
		x.rise(true)
		time.Sleep(time.Second)
		is(StateBackup, "before its time")
		x.leave()
		time.Sleep(time.Second)
		is(StateReady, "when the stranger has left what it is to give back")
		time.Sleep(backCalm)
		x.rise(true)
		time.Sleep(time.Second)
		is(StateReady, "after a calm")

		x.rise(false)
		time.Sleep(10 * time.Hour)
		is(StateBackup, "deposed while it was connected")
		if !slices.Equal(holds, []bool{true, false}) {
			t.Errorf("held %v", holds)
		}
		x.rise(true)
		time.Sleep(10 * time.Hour)
		is(StateBackup, "deposed, and connected again")
		// The stranger goes: the session leaves it time to come back.
		x.leave()
		time.Sleep(DefaultConfig().Courtesy - time.Second)
		is(StateBackup, "before the courtesy is over")
		time.Sleep(time.Second)
		is(StateReady, "after the courtesy")
		_ = s.Close()
	})
}

// TestRivalPauses: the session takes a switch back at once, then 30 s after the last time, twice as
// long each time up to 10 minutes, and at once again after an hour.
func TestRivalPauses(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r, cfg := rival{held: true, begun: time.Now()}, DefaultConfig()
		pauses := func(want time.Duration, when string) {
			t.Helper()
			if pause, ok := r.met(&cfg, true, false, false); pause != want || !ok {
				t.Errorf("%s: %v, %t, want %v", when, pause, ok, want)
			}
		}
		pauses(0, "first")
		for i, want := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute,
			4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute} {
			r.back()
			pauses(want, fmt.Sprintf("after %d times", i+1))
			time.Sleep(want - time.Nanosecond)
			pauses(time.Nanosecond, "just before its time")
			time.Sleep(time.Hour - want) // a nanosecond less than a calm
			pauses(0, "long after its time")
		}
		time.Sleep(time.Nanosecond)
		r.back()
		pauses(30*time.Second, "after a calm")
	})
}

// TestVacant: only a session that has lost the switch to another installation, and does not claim
// it anyway, leaves the other time to come back, and only when nobody is primary.
func TestVacant(t *testing.T) {
	for name, c := range map[string]struct {
		r               rival
		claim           Claim
		foreign, vacant bool
		pause           time.Duration
		ok              bool
	}{
		"lost":                    {rival{seen: true}, ClaimVacant, false, true, 10 * time.Second, true},
		"never lost":              {rival{}, ClaimVacant, false, true, 0, true},
		"held":                    {rival{seen: true, held: true}, ClaimVacant, false, true, 0, true},
		"claimed anyway":          {rival{seen: true}, ClaimAnyway, false, true, 0, true},
		"its own has the switch":  {rival{seen: true}, ClaimVacant, false, false, 0, true},
		"another has the switch":  {rival{}, ClaimVacant, true, false, 0, false},
		"another has what it has": {rival{held: true}, ClaimVacant, true, false, 0, true},
	} {
		cfg := DefaultConfig()
		cfg.Claim, cfg.Courtesy = c.claim, 10*time.Second
		c.r.begun = time.Now()
		if pause, ok := c.r.met(&cfg, c.foreign, c.vacant, false); pause != c.pause || ok != c.ok {
			t.Errorf("%s: %v, %t, want %v, %t", name, pause, ok, c.pause, c.ok)
		}
	}
}

// TestNoRival: a session that did not hold the switch leaves it to the primary, and so does a
// session against a stranger with the highest possible id. A later generation of the same
// installation is no stranger.
func TestNoRival(t *testing.T) {
	for name, c := range map[string]struct {
		held    bool
		id      ElectionID
		foreign bool
	}{
		"nothing held": {false, NewElectionID(7, 0xbb), true},
		"top":          {true, ElectionID{High: 1<<64 - 1, Low: 1<<64 - 1}, true},
		"later self":   {true, NewElectionID(7, 0xaa), false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				f := newFakeSwitch(t)
				f.streams[newStream()] = c.id
				cfg := f.config()
				cfg.Claim, cfg.Election, cfg.Held = ClaimVacant, NewElectionID(1, 0xaa), c.held
				s, ev := open(t, cfg)
				b := next[Backup](t, ev)
				if b.Foreign != c.foreign || errors.Is(b.Err(), ErrForeign) != c.foreign || b.Pause != 0 {
					t.Errorf("%+v: %v", b, b)
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if state, _ := s.State(); state != StateBackup {
					t.Errorf("%v, want backup", state)
				}
				_ = s.Close()
			})
		})
	}
}
