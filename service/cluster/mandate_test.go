package cluster

import (
	"context"
	"errors"
	"testing"
	"time"
	"unsafe"

	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/store"
)

// until is a lease that lasts until a time.
type until struct {
	store.Lease
	at time.Time
}

func (l until) Until() time.Time    { return l.at }
func (until) Done() <-chan struct{} { return nil }

// skew returns t with a wall clock that is off by whole seconds and with the monotonic reading of
// t: the result of [time.Now] before somebody set the clock. Package time cannot make such a time.
// skew relies on the layout of a [time.Time] with a monotonic reading: a flag, 33 bits of seconds
// since 1885, 30 bits of nanoseconds.
func skew(t time.Time, off time.Duration) time.Time {
	wall := (*uint64)(unsafe.Pointer(&t))
	*wall = uint64(int64(*wall) + int64(off/time.Second)<<30)
	return t
}

// TestWallClock: however the wall clock was set after a lease was renewed, a tenure lasts as long
// as the lease does by the monotonic clock.
func TestWallClock(t *testing.T) {
	for _, off := range []time.Duration{-24 * time.Hour, -2 * time.Hour, 0, 2 * time.Hour,
		24 * time.Hour} {
		now := time.Now()
		if d := skew(now, off).Round(0).Sub(now.Round(0)); d != off || skew(now, off).Sub(now) != 0 {
			t.Fatalf("the wall clock is off by %v, want %v, the monotonic one by %v", d, off,
				skew(now, off).Sub(now))
		}
		tenure := func(left time.Duration) *Tenure {
			return &Tenure{lease: until{at: skew(time.Now().Add(left), off)}, margin: time.Minute}
		}
		lasts, over := tenure(time.Hour), tenure(-time.Hour)
		if err := lasts.Check(); err != nil {
			t.Errorf("the clock is off by %v, and the lease lasts an hour: %v", off, err)
		}
		if err := over.Check(); !errors.Is(err, ErrMandate) {
			t.Errorf("the clock is off by %v, and the lease ended an hour ago: %v", off, err)
		}
		ctx, cancel, err := lasts.Bound(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if deadline, _ := ctx.Deadline(); time.Until(deadline) > 59*time.Minute ||
			time.Until(deadline) < 30*time.Minute || ctx.Err() != nil {
			t.Errorf("the clock is off by %v: a request ends after %v, want 59 minutes; %v", off,
				time.Until(deadline), context.Cause(ctx))
		}
		cancel()
		ended := make(chan error, 1)
		over.watch(nil, func(err error) { ended <- err })
		if err := <-ended; !errors.Is(err, ErrMandate) {
			t.Errorf("the clock is off by %v: %v", off, err)
		}
		stop := make(chan struct{})
		close(stop)
		lasts.watch(stop, func(err error) {
			t.Errorf("the clock is off by %v, and a lease of an hour ends: %v", off, err)
		})
	}
}

// lost is an hour's lease that the store has ended.
type lost struct{ until }

func (lost) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

// TestLostLease: a tenure ends with its lease, however long that was to last.
func TestLostLease(t *testing.T) {
	tenure := &Tenure{lease: lost{until{at: time.Now().Add(time.Hour)}}}
	if err := tenure.Check(); !errors.Is(err, ErrMandate) {
		t.Fatalf("Check: %v", err)
	}
	if _, _, err := tenure.Bound(t.Context()); !errors.Is(err, ErrMandate) {
		t.Errorf("Bound: %v", err)
	}
	ended := make(chan error, 1)
	tenure.watch(nil, func(err error) { ended <- err })
	if err := <-ended; !errors.Is(err, ErrMandate) {
		t.Errorf("watch: %v", err)
	}
}

// TestTenureEnds: a tenure is over at its end, not after it.
func TestTenureEnds(t *testing.T) {
	bubble.Test(t, func(t *testing.T) { // time stands still
		for left, over := range map[time.Duration]bool{time.Minute + 1: false, time.Minute: true,
			time.Minute - 1: true} {
			tenure := &Tenure{lease: until{at: time.Now().Add(left)}, margin: time.Minute}
			if err := tenure.Check(); errors.Is(err, ErrMandate) != over {
				t.Errorf("%v before the end of the lease, with a margin of a minute: %v", left, err)
			}
		}
	})
}

// TestUnevenFor: an uneven share is told from a minute on, whatever is uneven meanwhile.
func TestUnevenFor(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		n := New(Config{})
		is := func(want string) {
			t.Helper()
			if got := n.Uneven(); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		for range 2 { // the second minute begins anew
			is("")
			n.setUneven("a")
			time.Sleep(unevenFor / 2)
			n.setUneven("b")
			time.Sleep(unevenFor/2 - 1)
			is("")
			time.Sleep(time.Nanosecond)
			is("b")
			n.setUneven("c")
			is("c")
			n.setUneven("")
		}
	})
}

// TestBetterOff: a controller with an alarm yields to a present controller without an alarm that
// stays.
func TestBetterOff(t *testing.T) {
	self, alarm := Member{Name: "c1", Alarm: &Alarm{Message: "slow"}}, &Alarm{}
	for _, c := range []struct {
		other Member
		want  bool
	}{
		{Member{Name: "c2"}, true},
		{Member{Name: "c2", Alarm: alarm}, false},
		{Member{Name: "c2", Leaving: true}, false},
		{Member{Name: "c1"}, false},
	} {
		r := newRecords()
		r.members["self"], r.members["other"] = self, c.other
		l := &life{self: self, rec: r}
		if (l.yields() != "") != c.want {
			t.Errorf("one with an alarm, beside %+v, yields: %v", c.other, !c.want)
		}
		if l.self.Alarm = nil; l.yields() != "" {
			t.Errorf("one without an alarm, beside %+v, yields", c.other)
		}
	}
}
