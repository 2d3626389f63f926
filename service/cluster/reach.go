package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weft-sdn/weft/internal/damping"
)

// Reach reports whether a controller reaches another controller.
type Reach struct {
	// Instance is the instance of the other controller.
	Instance int64 `json:"instance"`
	// Fault is why the controller does not reach the other controller; "": no fault.
	Fault string `json:"fault,omitempty"`
}

// Times of the attempts to reach other controllers, in parts of the TTL. Two that fail, and a TTL
// without success, are a loss.
const (
	pingPauses = 4 // in a TTL, between two attempts that succeed; half of it after a failure
	pingTime   = 2 // in a TTL: an attempt fails after half of one
	// One that was lost counts again when it was reached for holdFirst TTLs, which double with each
	// loss up to holdMost, and begin anew after holdCalm.
	holdFirst, holdMost, holdCalm = 1, 4, 60
)

// reaches records whether the other controllers can be reached during a life.
type reaches struct {
	mu sync.Mutex
	to map[string]Reach // by name; absent: nothing is known yet
}

// said returns the content for the record.
func (r *reaches) said() map[string]Reach {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.to)
}

// say records whether a controller is reached, or that nothing is known.
func (r *reaches) say(name string, is Reach, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case known:
		r.to[name] = is
	case r.to[name].Instance == is.Instance:
		delete(r.to, name)
	}
}

// explore pings each other controller that is present, until ctx ends.
func (l *life) explore(ctx context.Context) {
	var pinging sync.WaitGroup
	defer pinging.Wait()
	ends := make(map[int64]context.CancelFunc) // by instance
	defer func() {
		for _, end := range ends {
			end()
		}
	}()
	for {
		v, changed := l.n.View()
		present := alive(v.Members)
		for instance, end := range ends {
			if !present[instance] {
				end()
				delete(ends, instance)
			}
		}
		for _, m := range v.Members {
			if m.Name == l.n.cfg.Self.Name || ends[m.Instance] != nil || v.Instance == 0 {
				continue
			}
			there, end := context.WithCancel(ctx)
			ends[m.Instance] = end
			pinging.Go(func() { l.ping(there, m) })
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// ping notes whether a controller is reached, until ctx ends.
func (l *life) ping(ctx context.Context, m Member) {
	defer l.reaches.say(m.Name, Reach{Instance: m.Instance}, false)
	w := attempts{ttl: l.n.cfg.TTL}
	begun := time.Now()
	for {
		asked := time.Since(begun)
		trying, cancel := context.WithTimeout(ctx, l.n.cfg.TTL/pingTime)
		err := l.n.cfg.Ping(trying, m)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if w.tried(asked, time.Since(begun), err) {
			l.reaches.say(m.Name, Reach{m.Instance, w.fault}, w.known)
		}
		pause := l.n.cfg.TTL / pingPauses
		if err != nil {
			pause /= 2
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// attempts are the attempts so far to reach one controller. Times count from the first attempt.
type attempts struct {
	ttl      time.Duration
	known    bool
	fault    string        // ""; with known: it is reached
	failures int           // since the last success
	failing  time.Duration // when the first of these began
	well     time.Duration // since when all succeed, after a loss
	losses   damping.Backoff
}

// tried takes an attempt that began and ended, and reports whether there is something to say. After
// one failure nothing is known: this process may have been paused.
func (w *attempts) tried(began, ended time.Duration, err error) (news bool) {
	fault, known := w.fault, w.known
	switch {
	case err == nil:
		if w.failures > 0 {
			w.well = began
		}
		w.failures, w.known = 0, true
		if ended-w.well >= w.losses.Hold(holdFirst*w.ttl, holdMost*w.ttl) {
			w.fault = ""
		}
	case w.failures == 0:
		w.failures, w.failing, w.known = 1, began, fault != ""
	default:
		w.failures++
		if ended-w.failing < w.ttl {
			break
		}
		if w.fault == "" {
			w.losses.Failed(ended, holdCalm*w.ttl)
		}
		w.known, w.fault = true, err.Error()
	}
	return w.fault != fault || w.known != known
}

// to returns a controller's report about another controller; false: no report.
func (m *Member) to(o *Member) (Reach, bool) {
	if r, ok := m.Reaches[o.Name]; ok && r.Instance == o.Instance {
		return r, true
	}
	return Reach{}, false // or of an earlier controller of that name
}

// Lost returns a controller's own reason for not reaching another controller; "": it reaches that
// controller, or does not know.
func (m *Member) Lost(o Member) string {
	r, _ := m.to(&o)
	return r.Fault
}

// meet reports whether both controllers say that they reach each other, and whether neither denies
// reaching the other.
func meet(a, b *Member) (proven, possible bool) {
	out, said := a.to(b)
	back, saidBack := b.to(a)
	possible = out.Fault == "" && back.Fault == ""
	if !said || !saidBack {
		return false, possible
	}
	return possible, possible
}

// met counts the other controllers that reach m and are reached by m: proven counts confirmed
// cases, possible also unknown cases.
func met(members []Member, m *Member) (proven, possible int) {
	for i := range members {
		o := &members[i]
		if o.Name == m.Name || o.Leaving {
			continue
		}
		is, may := meet(m, o)
		if is {
			proven++
		}
		if may {
			possible++
		}
	}
	return proven, possible
}

// Served reports whether the decider serves a majority: as far as known, the decider and the
// controllers in mutual contact with the decider are more than half of the present controllers.
// Without a decider, Served reports false.
func (v *View) Served() bool {
	d, ok := v.Member(v.Decider.Name)
	if !ok {
		return false
	}
	_, possible := met(v.Members, &d)
	return 2*(1+possible) > len(v.Members)
}

// better returns why a controller other than self should decide; "": self should. A better
// controller reaches more of the other controllers, and is reached by more; unknown cases count in
// favor of self. So each change moves the decider to a controller that more controllers can reach,
// and if no controller reaches any other, nothing changes. Between equally reachable controllers, a
// controller without an alarm is better.
func better(members []Member, self *Member) string {
	_, mine := met(members, self)
	for i := range members {
		o := &members[i]
		if o.Name == self.Name || o.Leaving {
			continue
		}
		switch proven, possible := met(members, o); {
		case proven > mine:
			return fmt.Sprintf("controller %s and %d others reach each other, and this one and %d", o.Name,
				proven, mine)
		case possible >= mine && self.Alarm != nil && o.Alarm == nil:
			return self.Alarm.Message
		}
	}
	return ""
}

// staying returns the members for [share], as the decider sees them: a member without mutual
// contact to the decider gets no switches, and leaves its switches to others.
func (v *View) staying() []Member {
	self, there := v.Member(v.Decider.Name)
	out := slices.Clone(v.Members)
	for i := range out {
		if _, possible := meet(&self, &out[i]); there && !possible {
			out[i].Leaving = true
		}
	}
	return out
}
