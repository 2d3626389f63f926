package cluster

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
)

// sampled returns the times at which a controller says that a port received something.
func (c *controller) sampled(port string) (times []time.Time) {
	query := url.Values{"kind": {"port"}, "name": {port}, "since": {"2m"}}
	answer, err := c.rest.Do(c.b.t.Context(), http.MethodGet, "/v1/telemetry/history?"+query.Encode(),
		nil, nil)
	if err != nil {
		return nil
	}
	var h api.History
	if err := json.Unmarshal(answer.Body, &h); err != nil {
		c.b.t.Fatal(err)
	}
	for _, s := range h.Series {
		for i, v := range s.Values {
			if s.Metric == "inBits" && v != nil {
				times = append(times, time.Unix(h.Times[i], 0))
			}
		}
	}
	return times
}

// decides returns the controller that decides, and since when.
func (b *bed) decides() (c *controller, since time.Time) {
	b.t.Helper()
	b.until("a controller decides, and says since when", func() bool {
		c = b.decider()
		is, err := c.rest.Controllers().Get(b.t.Context(), c.name)
		if err != nil || is.Role != api.RoleDecider {
			return false
		}
		since = is.Since
		return true
	})
	return c, since
}

// TestTelemetry: from the start of its term, a decider collects samples of all switches, and any
// other controller returns the samples too. A controller that decides again also holds its earlier
// samples, with a gap.
func TestTelemetry(t *testing.T) {
	b := newBed(t, 3)
	port := b.network.World.Network.Switches[0].Name + "/1"
	// awaitSamples waits for samples of some seconds after a time, by what a controller says.
	awaitSamples := func(c *controller, after time.Time, seconds int) (times []time.Time) {
		t.Helper()
		b.until("there are samples of "+port, func() bool {
			times = c.sampled(port)
			n := 0
			for _, at := range times {
				if at.After(after) {
					n++
				}
			}
			return n >= seconds
		})
		return times
	}
	// On a busy machine a decider may lose its lease at any time: then another one is cut off.
	var first, second *controller
	var began, lost, took time.Time
	for {
		first, began = b.decides()
		awaitSamples(b.other(first), began, 6)
		lost = time.Now()
		first.client.Cut()
		b.until("another one decides", func() bool {
			second, took = b.decides()
			return second != first
		})
		if took.After(lost) {
			break // the first one decided until it was cut off
		}
		first.client.Mend()
	}
	third := b.other(second)
	if third == first {
		for _, c := range b.controllers {
			if c != first && c != second {
				third = c
			}
		}
	}
	for _, at := range awaitSamples(third, took, 2) {
		if at.After(began.Add(2*time.Second)) && at.Before(lost.Add(-2*time.Second)) {
			t.Errorf("%s has samples of %v, and %s decided from %v to %v", second.name, at, first.name,
				began, lost)
		}
	}

	first.client.Mend()
	third.stop()
	second.kill()
	if d := b.decider(); d != first {
		t.Fatalf("%s decides, and %s alone is left", d.name, first.name)
	}
	again := time.Now()
	before, gap := 0, false
	times := awaitSamples(first, again, 2)
	for i, at := range times {
		if at.Before(lost) {
			before++
		}
		gap = gap || i > 0 && at.Sub(times[i-1]) > time.Second
	}
	if before == 0 || !gap {
		t.Errorf("the first decider has samples of %v: want some before %v, and a gap", times, lost)
	}
}
