package southbound

import (
	"errors"
	"time"

	"github.com/weft-sdn/weft/internal/damping"
)

// ErrForeign reports a switch whose primary belongs to another installation: the identity in the
// primary's election id differs from this controller's.
var ErrForeign = errors.New("another installation programs the switch")

// Times of the rule for two installations at one switch.
const (
	// backFirst, backMost and backCalm bound how often a session takes its switch back: at once, then
	// backFirst after the last time, twice as long each time up to backMost, and at once again after
	// backCalm.
	backFirst, backMost, backCalm = 30 * time.Second, 10 * time.Minute, time.Hour
)

// rival follows another installation at the session's switch. One connection at a time uses it.
//
// A switch belongs to the installation that held the switch. A client of another installation may
// become primary while this installation is connected: somebody does that on purpose
// (ClaimAnyway), and this installation loses its hold. A client that becomes primary while this
// installation has no connection found a switch that looked free: this installation takes the
// switch back. An installation that waits for the end of another leaves it time to come back. So
// neither of two installations takes a switch from the other without an operator, except once for
// each connection that the holder lost.
type rival struct {
	// held: this installation holds the switch. seen: another installation was primary; seen counts
	// only while held is false.
	held, seen bool
	begun      time.Time
	backs      damping.Backoff // times that the session took the switch back
	free       time.Duration   // since begun: when it may take the switch back again
}

// met takes an answer of the switch, and returns how long the session waits before it claims the
// switch from a foreign primary, or claims a vacant switch; false: the session must not claim the
// switch. deposed reports that this connection was primary until now.
func (r *rival) met(cfg *Config, foreign, vacant, deposed bool) (pause time.Duration, ok bool) {
	switch {
	case foreign:
		if r.seen = true; deposed {
			r.hold(cfg, false)
		}
		if !r.held {
			return 0, false
		}
		return max(0, r.free-time.Since(r.begun)), true
	case vacant && r.seen && !r.held && cfg.Claim == ClaimVacant:
		return cfg.Courtesy, true
	}
	return 0, true
}

// back notes that the session takes the switch back.
func (r *rival) back() {
	now := time.Since(r.begun)
	r.backs.Failed(now, backCalm)
	r.free = now + r.backs.Hold(backFirst, backMost)
}

// hold notes that this installation holds the switch, or no longer.
func (r *rival) hold(cfg *Config, held bool) {
	if r.held != held && cfg.Holds != nil {
		cfg.Holds(held)
	}
	r.held = held
}
