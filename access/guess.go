package access

import (
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Budgets of attempts to sign in with a password: so many at once, and then one in every pause.
const (
	// For all users together, from an address without a recent sign-in as the user.
	addressBurst, addressPause = 10, 6 * time.Second
	// For a user, from all such addresses together. The budget exceeds the budget of one address, so
	// one stranger alone never locks out a user elsewhere.
	userBurst, userPause = 20, 3 * time.Second
	// For a user, from an address that has recently signed in as the user.
	knownBurst, knownPause = 10, 6 * time.Second
)

// A user knows an address for knownTime after a sign-in from the address. Each user has at most
// maxKnown known addresses, the latest.
const (
	knownTime = 30 * 24 * time.Hour
	maxKnown  = 16
)

// maxBudgets bounds the addresses, and the user names, with a budget of their own. Further
// addresses and names share one budget.
const maxBudgets = 4096

// Pause reports an attempt that comes too early. It wraps [ErrTooMany] or [ErrBusy].
type Pause struct {
	// After is when the next attempt may come.
	After time.Duration
	Why   error
}

func (p *Pause) Error() string {
	return fmt.Sprintf("%v: want a pause of %d s", p.Why, p.Seconds())
}

// Unwrap returns the reason.
func (p *Pause) Unwrap() error { return p.Why }

// Seconds returns the pause in whole seconds for Retry-After (RFC 9110, section 10.2.3).
func (p *Pause) Seconds() int { return max(1, int(math.Ceil(p.After.Seconds()))) }

// guesses bounds attempts to sign in with a password. Its methods may be called from any goroutine.
type guesses struct {
	mu                      sync.Mutex
	addresses, users, known budgets
}

func newGuesses() *guesses {
	return &guesses{
		addresses: newBudgets(addressBurst, addressPause), users: newBudgets(userBurst, userPause),
		known: newBudgets(knownBurst, knownPause),
	}
}

// stranger counts an attempt to sign in as a user from an address that is not known to the user;
// user is "" where no user is named. An attempt that the address may not make costs the user
// nothing.
func (g *guesses) stranger(now time.Time, user, address string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	of := []*rate.Limiter{g.addresses.of(addressKey(address), now)}
	if user != "" {
		of = append(of, g.users.of(user, now))
	}
	return take(now, of)
}

// friend counts an attempt to sign in as a user from where the user is known: an address, or a
// session. Strangers have no part in its budget.
func (g *guesses) friend(now time.Time, user, from string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return take(now, []*rate.Limiter{g.known.of(user+" "+from, now)})
}

// take takes one from each budget, or from none.
func take(now time.Time, of []*rate.Limiter) error {
	var wait time.Duration
	for _, l := range of {
		if lacks := 1 - l.TokensAt(now); lacks > 0 {
			wait = max(wait, time.Duration(lacks/float64(l.Limit())*float64(time.Second)))
		}
	}
	if wait > 0 {
		return &Pause{After: wait, Why: ErrTooMany}
	}
	for _, l := range of {
		l.AllowN(now, 1)
	}
	return nil
}

// budgets are budgets of one kind by key.
type budgets struct {
	burst int
	pause time.Duration
	by    map[string]*rate.Limiter
	rest  *rate.Limiter // of all for whom there is no room
	swept time.Time
}

func newBudgets(burst int, pause time.Duration) budgets {
	return budgets{burst: burst, pause: pause, by: make(map[string]*rate.Limiter),
		rest: rate.NewLimiter(rate.Every(pause), burst)}
}

// of returns the budget of a key. Whole budgets are forgotten when there are many: once in a pause,
// since no budget becomes whole sooner.
func (b *budgets) of(key string, now time.Time) *rate.Limiter {
	if l := b.by[key]; l != nil {
		return l
	}
	if len(b.by) >= maxBudgets && now.Sub(b.swept) >= b.pause {
		b.swept = now
		maps.DeleteFunc(b.by, func(_ string, l *rate.Limiter) bool {
			return l.TokensAt(now) >= float64(b.burst)
		})
	}
	if len(b.by) >= maxBudgets {
		return b.rest
	}
	l := rate.NewLimiter(rate.Every(b.pause), b.burst)
	b.by[key] = l
	return l
}

// addressKey returns the key of a budget: an IPv4 address, or the /64 of an IPv6 address.
func addressKey(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return clip(address)
	}
	if a = a.Unmap().WithZone(""); a.Is4() {
		return a.String()
	}
	p, _ := a.Prefix(64) // the bits fit
	return p.String()
}

// knows reports whether a user has signed in from an address lately.
func (u *user) knows(address string, now time.Time) bool {
	at, ok := u.Known[addressKey(address)]
	return ok && now.Sub(at) < knownTime
}

// learn notes that a user has signed in from an address.
func (u *user) learn(address string, now time.Time) {
	known := maps.Clone(u.Known)
	if known == nil {
		known = make(map[string]time.Time)
	}
	known[addressKey(address)] = now
	maps.DeleteFunc(known, func(_ string, at time.Time) bool { return now.Sub(at) >= knownTime })
	for len(known) > maxKnown {
		delete(known, slices.MinFunc(slices.Collect(maps.Keys(known)), func(a, b string) int {
			return known[a].Compare(known[b])
		}))
	}
	u.Known = known
}
