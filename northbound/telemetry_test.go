package northbound

import (
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/northbound/northboundtest"
	"github.com/weft-sdn/weft/southbound/gnmi"
	"github.com/weft-sdn/weft/telemetry"
)

// measured returns the API of a controller to which a port reported 1 Mbit/s for two minutes, with
// a sample missing, and the time of the last sample.
func measured(t *testing.T, speed uint64) (get func(path string, into any) int, now time.Time) {
	t.Helper()
	st := telemetry.New(telemetry.Config{})
	if speed > 0 {
		st.SetSwitch("s1", time.Second, map[uint32]uint64{7: speed})
	}
	now = northboundtest.Began
	var octets uint64
	for i := range 120 {
		now, octets = now.Add(time.Second), octets+125_000
		if 50 <= i && i < 60 {
			continue
		}
		s := gnmi.Sample{Switch: "s1", Port: 7, Time: now, Arrived: now}
		s.In.Octets = gnmi.Count{Value: octets, OK: true}
		s.Queues = []gnmi.Queue{{Name: "3", Longest: gnmi.Count{Value: uint64(i), OK: true}}}
		st.Take([]gnmi.Sample{s})
	}
	server, _, _ := newTestServer(t,
		func(c *Config) { c.Telemetry, c.Now = st, func() time.Time { return now } })
	return func(path string, into any) int {
		t.Helper()
		w := do(server, http.MethodGet, path, "")
		if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
			t.Fatalf("%s: %v in %s", path, err, w.Body)
		}
		return w.Code
	}, now
}

// TestHistory: a history has times and values of one length, null in gaps, and the step that was
// asked for.
func TestHistory(t *testing.T) {
	get, now := measured(t, 1e9)
	var h api.History
	if status := get("/v1/telemetry/history?name=s1/7&since=90s&step=5s",
		&h); status != http.StatusOK {
		t.Fatal(status)
	}
	if h.Kind != "port" || h.Name != "s1/7" || h.Speed != 1e9 || h.Step != 5 || len(h.Series) != 1 ||
		h.Series[0].Metric != "inBits" || h.Series[0].Unit != "bit/s" {
		t.Fatalf("%+v", h)
	}
	values := h.Series[0].Values
	if len(values) != len(h.Times) || len(values) < 17 || h.Times[len(h.Times)-1] > now.Unix() {
		t.Fatalf("%d values at %v", len(values), h.Times)
	}
	gaps := 0
	for i, v := range values {
		switch {
		case v == nil:
			gaps++
		case *v < 999_000 || *v > 1_001_000:
			t.Errorf("%g at %d", *v, h.Times[i])
		}
	}
	if gaps < 1 || gaps > 2 { // steps do not begin where the gap does
		t.Errorf("%d gaps: %v", gaps, h)
	}
	since := url.QueryEscape(now.Add(-5 * time.Second).Format(time.RFC3339))
	if status := get("/v1/telemetry/history?kind=queue&name=s1/7/3&metric=longest&since="+since,
		&h); status != http.StatusOK || h.Step != 1 || len(h.Times) != 6 {
		t.Errorf("%d, %+v", status, h)
	}
}

// TestTop: the default metric is the utilization where speeds are known, and else the rate.
func TestTop(t *testing.T) {
	for speed, want := range map[uint64]string{0: "outBits", 1e9: "utilization"} {
		get, _ := measured(t, speed)
		var top api.Top
		if status := get("/v1/telemetry/top", &top); status != http.StatusOK || top.Metric != want ||
			top.Over != 10 || top.Items == nil {
			t.Errorf("%d, %+v, want %s", status, top, want)
		}
		if speed > 0 && (len(top.Items) != 1 || top.Items[0].Name != "s1/7" ||
			math.Abs(top.Items[0].In-0.001) > 1e-6 || top.Items[0].Value != top.Items[0].In ||
			top.Items[0].Speed != 1e9) {
			t.Errorf("%+v", top.Items)
		}
		if get("/v1/telemetry/top?kind=queue&metric=longest&over=1m", &top); len(top.Items) != 1 ||
			top.Items[0].Name != "s1/7/3" || top.Items[0].Value != 119 {
			t.Errorf("%+v", top)
		}
	}
}

// TestTelemetryRefusals: the refusal of a wrong query names the parameter, the value, and the
// correct form.
func TestTelemetryRefusals(t *testing.T) {
	get, _ := measured(t, 0)
	for path, want := range map[string]string{
		"history?name=s1/8":                            `404 there are no values of a port "s1/8"`,
		"history?name=s1/7&kind=lamp":                  "422 kind",
		"history?name=s1/7&since=tomorrow":             `422 query.since is "tomorrow": want a time such as`,
		"history?name=s1/7&since=2999-01-01T00:00:00Z": `422 query.since is "2999-01-01T00:00:00Z"`,
		"history?name=s1/7&since=1m&until=2m":          `422 query.since is "1m": want a time before`,
		"history?name=s1/7&step=100ms":                 `422 query.step is "100ms": want whole seconds`,
		"history?name=s1/7&metric=warmth":              `422 query.metric is "warmth": want one of utilization, inBits`,
		"history":                                      "400 query.name",
		"top?over=1h":                                  `422 query.over is "1h": want whole seconds from 1s to 15m0s`,
		"top?kind=queue&metric=inBits":                 `422 query.metric is "inBits": want one of bits`,
		"top?until=1h":                                 `422 query.until is "1h": want a time in`,
		"top?limit=0":                                  "422 limit",
	} {
		var p api.Problem
		status := get("/v1/telemetry/"+path, &p)
		code, text, _ := strings.Cut(want, " ")
		all, _ := json.Marshal(p)
		if strconv.Itoa(status) != code || !strings.Contains(strings.ReplaceAll(string(all), `\"`, `"`),
			text) {
			t.Errorf("%s: %d %s, want %s", path, status, all, want)
		}
	}
}
