package cluster_test

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/internal/bubble"
)

// TestHeld: that the installation holds a switch goes from owner to owner for as long as some
// controller runs, also without leases, until an owner says otherwise; an installation that starts
// anew holds nothing.
func TestHeld(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newBed(t, 3, 1)
		t.Cleanup(w.stop)
		w.run(10 * time.Second)
		w.whole()
		owner := func() *replica {
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, c := range w.controllers {
				if c.sessions["n1"] != nil && !c.away {
					return c
				}
			}
			t.Fatal("n1 has no owner")
			return nil
		}
		say := func(held bool) {
			c := owner()
			w.mu.Lock()
			s := c.sessions["n1"]
			w.mu.Unlock()
			s.held(held)
			w.run(time.Second)
		}
		check := func(want bool, when string) {
			t.Helper()
			v, _ := owner().node.View()
			for name, o := range v.Owners {
				if is := want && name == "n1"; o.Held != is {
					t.Errorf("%s: %s held %v, want %v", when, name, o.Held, is)
				}
			}
		}
		check(false, "before anybody said so")
		say(true)
		check(true, "when its owner says so")
		first := owner()
		first.kill()
		w.run(2 * ttl)
		if owner() == first {
			t.Fatal("it has the owner that died")
		}
		check(true, "with another owner")
		first.start()
		w.run(10 * time.Second)
		check(true, "when the owner before is back")
		for _, c := range w.controllers {
			c.lose(true)
		}
		w.run(3 * ttl)
		for _, c := range w.controllers {
			c.lose(false)
		}
		w.run(4 * ttl)
		w.whole()
		check(true, "after a time without the store")
		say(false)
		check(false, "when a stranger took it")
		first = owner()
		first.stop()
		w.run(2 * ttl)
		check(false, "with the owner after that")
		first.start()
		w.run(2 * ttl)
		say(true)
		check(true, "when it is held again")
		for _, c := range w.controllers {
			c.kill()
		}
		time.Sleep(2 * ttl)
		for _, c := range w.controllers {
			c.start()
		}
		w.run(4 * ttl)
		w.whole()
		check(false, "after all have started anew")
	})
}
