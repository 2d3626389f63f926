package access

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/weft-sdn/weft/access/audit"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/store"
)

const (
	goodPassword = "correct horse battery"
	badPassword  = "wrong horse battery"
	home         = "192.0.2.7"
)

// guessBed is a keeper with the users ann and bob and a clock.
type guessBed struct {
	t      *testing.T
	keeper *Keeper
	now    time.Time
}

func newGuessBed(t *testing.T) *guessBed {
	t.Helper()
	w := &guessBed{t: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	s := store.NewMemory()
	c := New(Config{Now: func() time.Time { return w.now }}, s, "server", nil)
	var err error
	cost := Cost{Passes: 1, Memory: 8, Lanes: 1}
	if w.keeper, err = NewKeeper(t.Context(), c.Authenticator, s, cost, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ann", "bob"} {
		if _, err := w.keeper.AddUser(w.ctx(),
			&api.UserRequest{Name: name, Grant: api.Grant{Role: api.RoleAdmin},
				Password: goodPassword}); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// ctx is the context of a request with an entry for the audit log.
func (w *guessBed) ctx() context.Context {
	ctx, _ := audit.With(w.t.Context(), api.AuditRecord{Timestamp: w.now})
	return ctx
}

func (w *guessBed) try(user, password, address string) error {
	_, _, err := w.keeper.SignIn(w.ctx(), user, password, address)
	return err
}

// wrong makes a number of attempts with a wrong password, and returns how many were looked at.
func (w *guessBed) wrong(n int, user string, address func(n int) string) (looked int) {
	w.t.Helper()
	for i := range n {
		switch err := w.try(user, badPassword, address(i)); {
		case errors.Is(err, ErrCredentials):
			looked++
		case !errors.Is(err, ErrTooMany):
			w.t.Fatal(err)
		}
	}
	return looked
}

func (w *guessBed) mustSignIn(user, address string) {
	w.t.Helper()
	if err := w.try(user, goodPassword, address); err != nil {
		w.t.Errorf("%s from %s: %v", user, address, err)
	}
}

func from(address string) func(int) string { return func(int) string { return address } }

// many is a different address each time.
func many(n int) string { return fmt.Sprintf("198.51.100.%d", n) }

// TestStrangersLockNobodyOut: 40 wrong passwords from one address use up the budget of that address
// alone; from 40 addresses they use up what unknown addresses have for the user, and nothing else.
func TestStrangersLockNobodyOut(t *testing.T) {
	w := newGuessBed(t)
	w.mustSignIn("ann", home)
	if n := w.wrong(40, "ann", from("198.51.100.1")); n != addressBurst {
		t.Errorf("%d passwords of a stranger were looked at, want %d", n, addressBurst)
	}
	w.mustSignIn("ann", home)
	w.mustSignIn("ann", "203.0.113.5") // where she was never before
	w.mustSignIn("bob", "203.0.113.6")
	if err := w.try("bob", goodPassword, "198.51.100.1"); !errors.Is(err, ErrTooMany) {
		t.Errorf("the stranger's address goes on with another user: %v", err)
	}

	w = newGuessBed(t)
	w.mustSignIn("ann", home)
	w.wrong(40, "ann", many)
	w.mustSignIn("ann", home)
	w.mustSignIn("bob", "203.0.113.6")
	if err := w.try("ann", goodPassword, "203.0.113.5"); !errors.Is(err, ErrTooMany) {
		t.Errorf("40 addresses may guess more than one: %v", err)
	}
	// A known address of one user is a stranger for another user.
	if err := w.try("ann", goodPassword, "203.0.113.6"); !errors.Is(err, ErrTooMany) {
		t.Errorf("the home of bob is one of ann: %v", err)
	}
}

// TestBudgets: at, below and above the bounds, and when there is room again.
func TestBudgets(t *testing.T) {
	for name, c := range map[string]struct {
		known   bool
		address func(int) string
		burst   int
		pause   time.Duration
	}{
		"address": {false, from("198.51.100.1"), addressBurst, addressPause},
		"/64": {false, func(n int) string { return fmt.Sprintf("2001:db8::%x", n) }, addressBurst,
			addressPause},
		"user":  {false, many, userBurst, userPause},
		"known": {true, from(home), knownBurst, knownPause},
	} {
		t.Run(name, func(t *testing.T) {
			w := newGuessBed(t)
			burst := c.burst
			if c.known {
				w.mustSignIn("ann", home)
			}
			if n := w.wrong(burst, "ann", c.address); n != burst {
				t.Fatalf("%d of %d", n, burst)
			}
			var pause *Pause
			if err := w.try("ann", badPassword, c.address(burst)); !errors.As(err, &pause) ||
				pause.After != c.pause || pause.Seconds() != int(c.pause/time.Second) {
				t.Fatalf("%v, want a pause of %v", err, c.pause)
			}
			w.now = w.now.Add(c.pause - time.Millisecond)
			if err := w.try("ann", badPassword, c.address(burst)); !errors.As(err, &pause) ||
				pause.Seconds() != 1 {
				t.Errorf("a moment early: %v", err)
			}
			w.now = w.now.Add(time.Millisecond)
			if n := w.wrong(2, "ann", c.address); n != 1 {
				t.Errorf("%d passwords after a pause, want 1", n)
			}
		})
	}
}

// TestKnownAddresses: how long an address stays known, how many known addresses a user has, and
// that a new password makes the addresses unknown.
func TestKnownAddresses(t *testing.T) {
	w := newGuessBed(t)
	knows := func(address string) bool {
		users, _, _ := w.keeper.authenticator.dir.snapshot()
		u := users["ann"]
		return u.knows(address, w.now)
	}
	w.mustSignIn("ann", home)
	w.now = w.now.Add(30*24*time.Hour - time.Nanosecond)
	if !knows(home) {
		t.Error("the address is forgotten early")
	}
	if w.now = w.now.Add(time.Nanosecond); knows(home) {
		t.Error("the address is known for too long")
	}
	const most = 16
	for n := range most + 1 {
		w.now = w.now.Add(time.Minute)
		w.mustSignIn("ann", many(n))
	}
	if knows(many(0)) || !knows(many(1)) || !knows(many(most)) {
		t.Error("it is not the oldest address that gives way")
	}
	if err := w.keeper.SetPassword(w.ctx(), &Principal{Name: "bob", Way: api.WayUser}, "ann",
		&api.PasswordRequest{Password: "another horse battery"}); err != nil {
		t.Fatal(err)
	}
	if knows(many(1)) {
		t.Error("addresses outlive the password that they were known by")
	}
	if err := w.try("ann", badPassword, "203.0.113.9"); !errors.Is(err, ErrCredentials) ||
		knows("203.0.113.9") {
		t.Errorf("a wrong password makes an address known (%v)", err)
	}
}

// TestBudgetsAreBounded: strangers who come from everywhere, with every name, take bounded memory,
// and take nothing from who is known.
func TestBudgetsAreBounded(t *testing.T) {
	w := newGuessBed(t)
	w.mustSignIn("ann", home)
	g := w.keeper.guesses
	for n := range 3 * maxBudgets {
		_ = g.stranger(w.now, fmt.Sprint("user ", n), fmt.Sprintf("10.%d.%d.1", n/256, n%256))
	}
	if len(g.addresses.by) > maxBudgets || len(g.users.by) > maxBudgets {
		t.Errorf("%d addresses and %d users are remembered", len(g.addresses.by), len(g.users.by))
	}
	w.mustSignIn("ann", home)
	if err := w.try("ann", goodPassword, "203.0.113.5"); !errors.Is(err, ErrTooMany) {
		t.Errorf("without room every new address has a budget of its own: %v", err)
	}
	w.now = w.now.Add(addressBurst * addressPause)
	w.mustSignIn("ann", "203.0.113.5")
	if len(g.addresses.by) > 2 {
		t.Errorf("%d whole budgets are remembered", len(g.addresses.by))
	}
}

// TestRoomForHashes: strangers who take all their room make other strangers wait, for a bounded
// time, and nobody else.
func TestRoomForHashes(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		h := newHasher(Cost{Passes: 1, Memory: 8, Lanes: 1})
		hash, err := h.hash(t.Context(), goodPassword)
		if err != nil {
			t.Fatal(err)
		}
		for range maxHashes {
			h.strangers <- struct{}{}
		}
		began := time.Now()
		var pause *Pause
		if _, err := h.check(t.Context(), h.strangers, badPassword, hash); !errors.As(err, &pause) ||
			!errors.Is(err, ErrBusy) || time.Since(began) != hashWait || pause.After != hashWait {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if good, err := h.check(t.Context(), h.own, goodPassword, hash); !good || err != nil {
			t.Errorf("who is known waits for strangers: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := h.check(ctx, h.strangers, badPassword, hash); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("a client that has left waits on: %v", err)
		}
		<-h.strangers
		if good, err := h.check(t.Context(), h.strangers, goodPassword, hash); !good || err != nil {
			t.Errorf("with room: %v", err)
		}
	})
}

// TestMemoryOfHashes: the memory of hashes is freed after a few, however seldom the garbage
// collector comes by itself.
func TestMemoryOfHashes(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	h := newHasher(Cost{Passes: 1, Memory: 8, Lanes: 1})
	cycles := func() uint32 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.NumGC
	}
	before := cycles()
	for n := range 5 * maxGarbage {
		if _, err := h.hash(t.Context(), goodPassword); err != nil {
			t.Fatal(err)
		}
		if got, want := cycles()-before, uint32((n+1)/maxGarbage); got < want || n == maxGarbage-2 &&
			got != 0 {
			t.Fatalf("%d collections after %d hashes, want %d", got, n+1, want)
		}
	}
}

// TestWhoWaitsForRoom: a sign-in from a known address does not wait for passwords of strangers, and
// one from elsewhere does.
func TestWhoWaitsForRoom(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newGuessBed(t)
		w.mustSignIn("ann", home)
		for range maxHashes {
			w.keeper.hasher.strangers <- struct{}{}
		}
		w.mustSignIn("ann", home)
		if err := w.try("ann", goodPassword, "203.0.113.5"); !errors.Is(err, ErrBusy) {
			t.Errorf("from elsewhere: %v", err)
		}
	})
}

// TestSweptOnceInAPause: whole budgets are forgotten where there is no room, and no sooner than a
// pause after the last time.
func TestSweptOnceInAPause(t *testing.T) {
	const pause = time.Second
	b := newBudgets(2, pause)
	start := time.Unix(1_700_000_000, 0)
	for n := range maxBudgets {
		b.of(fmt.Sprint(n), start.Add(time.Duration(n-maxBudgets)*pause))
	}
	if len(b.by) != maxBudgets {
		t.Fatalf("%d budgets are remembered while there is room, want %d", len(b.by), maxBudgets)
	}
	for _, l := range b.by {
		l.AllowN(start, 1)
	}
	for _, at := range []struct {
		after time.Duration
		room  bool
	}{
		{pause / 2, false},           // looked through, and none is whole
		{pause, false},               // all are whole, half a pause after that
		{pause + pause/2 - 1, false}, // not a whole pause after it
		{pause + pause/2, true},      // a pause after it
		{pause + pause/2 + 1, true},  // there is room
	} {
		if got := b.of(fmt.Sprint("late ", at.after), start.Add(at.after)) != b.rest; got != at.room {
			t.Errorf("after %v there is room: %v, want %v", at.after, got, at.room)
		}
	}
}
