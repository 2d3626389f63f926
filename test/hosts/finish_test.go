package hosts_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/agent/agenttest"
	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/southbound/hosts"
)

// ended reports whether an agent has ended by itself.
func (h *host) ended() bool {
	synctest.Wait()
	select {
	case <-h.done:
		return true
	default:
		return false
	}
}

// TestLastWords: a host that shuts down while applying an update still answers the update, and
// reports the fate of EVs and their counters; then its stream ends.
func TestLastWords(t *testing.T) {
	for name, interval := range map[string]time.Duration{"counters": time.Hour, "no counters": 0} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				w := newBed(t, func(c *hosts.Config) { c.CountsInterval = interval })
				first := state(t, 3, 8)
				ev := first.Profiles[1].EVs[2]
				e := &agenttest.Endpoint{}
				e.SetCounts(hostapi.EVCount{Profile: "leaf0-leaf2", EV: ev, Sent: 10, Lost: 3})
				h := w.host("h1", e, nil)
				e.Applied = func(*hostapi.State) {
					h.agent.EVEvent(hostapi.EVEvent{Profile: "leaf0-leaf2", EV: ev, State: hostapi.EVGood})
					h.agent.Finish()
					h.agent.Finish() // the same
				}
				settle(time.Second)
				began := time.Now()
				if err := w.server.Set("h1", first); err != nil {
					t.Fatal(err)
				}
				if !h.ended() || time.Since(began) != 0 {
					t.Fatalf("ended: %v, after %v", h.ended(), time.Since(began))
				}
				want := []string{"hello none", "1 events, 0 dropped", "applied 1"}
				if interval > 0 {
					want = append(want, "1 counts")
				}
				said := w.observer.Said("h1")
				if len(said) > 2 {
					slices.Sort(said[1:3]) // the event may be sent before the endpoint is done
				}
				check(t, said, append(want, "gone")...)
			})
		})
	}
}

// TestFinishAlone: an agent without a stream ends at once.
func TestFinishAlone(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newBed(t, nil)
		deaf := make(chan struct{})
		defer close(deaf)
		h := w.host("h1", &agenttest.Endpoint{}, func(_ int, c *cuttable) { c.stalled = deaf })
		settle(time.Second)
		h.agent.Finish() // no welcome yet
		if !h.ended() {
			t.Error("waits for a welcome")
		}
		w.stop()
		h = w.host("h2", &agenttest.Endpoint{}, nil)
		settle(time.Minute)
		h.agent.Finish()
		if !h.ended() {
			t.Error("waits for a controller")
		}
	})
}

// TestFinishUnheard: an agent waits for a slow controller until somebody ends the agent.
func TestFinishUnheard(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newBed(t, nil)
		busy := make(chan struct{})
		w.observer.OnApplied = func(string, hostapi.Version) { <-busy }
		h := w.host("h1", &agenttest.Endpoint{}, nil)
		if err := w.server.Set("h1", state(t, 1, 8)); err != nil {
			t.Fatal(err)
		}
		settle(time.Second)
		h.agent.Finish()
		settle(time.Second)
		if h.ended() {
			t.Error("ended before it was heard")
		}
		h.stop()
		close(busy)
	})
}
