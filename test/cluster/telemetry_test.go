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

// TestTelemetry: a controller that decides has samples of all switches from then on, which any
// other returns too. One that decides again also has those of before, with a gap.
func TestTelemetry(t *testing.T) {
	b := newBed(t, 3)
	first := b.decider()
	port := b.network.World.Network.Switches[0].Name + "/1"
	// awaitSamples waits for samples of two seconds after a time, by what a controller says.
	awaitSamples := func(c *controller, after time.Time) (times []time.Time) {
		t.Helper()
		b.until("there are samples of "+port, func() bool {
			times = c.sampled(port)
			n := 0
			for _, at := range times {
				if at.After(after) {
					n++
				}
			}
			return n >= 2
		})
		return times
	}
	began := time.Now()
	awaitSamples(b.other(first), began)

	lost := time.Now()
	first.client.Cut()
	var second *controller
	b.until("another one decides", func() bool {
		second = b.decider()
		return second != first
	})
	took := time.Now()
	third := b.other(second)
	if third == first {
		for _, c := range b.controllers {
			if c != first && c != second {
				third = c
			}
		}
	}
	for _, at := range awaitSamples(third, took) {
		if at.Before(lost.Add(-2 * time.Second)) {
			t.Errorf("the new decider has samples of %v, and the old one was lost at %v", at, lost)
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
	times := awaitSamples(first, again)
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
