package northbound

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/topology"
)

// TestJourney: a packet is followed over a link, by port and frame, to the host that was asked for;
// a journey copes with foreign packets, traces in any order, and switches without traces.
func TestJourney(t *testing.T) {
	const s1 = "20010db8000500000000000000000001"
	record := func(port int, in string, outcomes ...string) json.RawMessage {
		text := fmt.Sprintf(`{"origin":"received","port":%d,"frame":%q,`+
			`"outcome":{"result":"replicated"},`+
			`"copies":[%s]}`, port, in, strings.Join(outcomes, ","))
		return json.RawMessage(text)
	}
	sent := func(port int, frame string) string {
		return fmt.Sprintf(`{"origin":"replica","outcome":{"result":"transmitted","port":%d,"length":60,`+
			`"frame":%q}}`, port, frame)
	}
	const dropped = `{"origin":"replica","outcome":{"result":"dropped","reason":"no route"}}`
	says := map[string][]json.RawMessage{}
	bubble.Test(t, func(t *testing.T) {
		server, f, _ := newTestServer(t, func(c *Config) {
			c.Traces = func(ctx context.Context, sw string, want TraceFilter,
				take func(api.PacketTrace, uint64) error) error {
				all, ok := says[sw]
				if !ok {
					return ErrNoTraces
				}
				if want != (TraceFilter{}) {
					t.Errorf("asked %s for %+v", sw, want)
				}
				if sw == "n6" {
					time.Sleep(time.Second) // the next switch is first
				}
				for _, r := range all {
					if err := take(api.PacketTrace{Record: r}, 1); err != nil {
						return err
					}
				}
				<-ctx.Done()
				return ctx.Err()
			}
		})
		b := f.Snapshot.Builder()
		for _, l := range f.Snapshot.Links {
			b.RemoveLink(l.ID)
		}
		b.SetLink(topology.Link{Local: "64512:10.0.0.6", Remote: "64512:10.0.0.1", LocalID: 2,
			LocalPort: 2, RemoteID: 9, RemotePort: 9})
		f.Snapshot = b.Build()
		get := func(query string, code int) (j api.Journey, text string) {
			t.Helper()
			w := do(server, "GET", "/v1/journeys"+query, "")
			if w.Code != code {
				t.Fatalf("%s: %d %s, want %d", query, w.Code, w.Body, code)
			}
			_ = json.Unmarshal(w.Body.Bytes(), &j)
			return j, w.Body.String()
		}
		says["n6"] = []json.RawMessage{
			record(11, "ff00", sent(7, "aa")),    // of another
			record(7, "ff"+s1, sent(11, "ab")),   // comes from the network
			record(11, "01"+s1, sent(7, "lost")), // n1 has not seen it
			record(11, "02"+s1, sent(7, "b1")),   // to r2 only
			record(11, "03"+s1, sent(7, "c1"), dropped),
		}
		says["n1"] = []json.RawMessage{record(9, "c1", sent(11, "c2"), sent(13, "c3")),
			record(9, "b1", sent(12, "b2"))}
		start := time.Now()
		j, _ := get("?from=s1&to=r1", 200)
		if !j.Complete || len(j.Hops) != 2 || j.Hops[0].Switch != "n6" || j.Hops[0].Port != 11 ||
			j.Hops[0].Before != -1 || len(j.Hops[0].Drops) != 1 || j.Hops[0].Drops[0] != "no route" ||
			j.Hops[1].Switch != "n1" || j.Hops[1].Port != 9 || j.Hops[1].Before != 0 ||
			!strings.HasPrefix(j.Hops[1].Link, "64512:10.0.0.6,2~") ||
			strings.Join(j.Delivered, " ") != "r1 r2" || j.Lost == 0 ||
			j.Hops[0].Sent[0] != (api.JourneySent{Port: 7, Length: 60, Switch: "n1"}) {
			t.Errorf("%+v", j)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("a complete journey took %v", took)
		}
		if j, _ = get("?from=s1&to=r2&wait=3s", 200); !j.Complete ||
			strings.Join(j.Delivered, " ") != "r2" {
			t.Errorf("%+v", j)
		}
		// The time is over: what there is of a packet is shown.
		says["n6"], start = says["n6"][:3], time.Now()
		if j, _ = get("?from=s1&wait=3s", 200); j.Complete || len(j.Hops) != 1 ||
			time.Since(start) != 3*time.Second {
			t.Errorf("%+v after %v", j, time.Since(start))
		}
		// A switch that gives no traces ends the journey.
		delete(says, "n1")
		if j, _ = get("?from=s1&wait=3s", 200); !j.Complete || len(j.Dark) != 1 || j.Dark[0] != "n1" {
			t.Errorf("%+v", j)
		}
		delete(says, "n6")
		if _, text := get("?from=s1", 501); !strings.Contains(text, "n6 gives no traces") {
			t.Error(text)
		}
		for query, want := range map[string]string{
			"": `query.from is \"\"`, "?from=nobody": `query.from is \"nobody\": want the name of a host`,
			"?from=s1&to=s1": `query.to is \"s1\": want another host`, "?from=s1&to=x": "query.to",
			"?from=s1&wait=1h": "query.wait",
		} {
			if _, text := get(query, 422); !strings.Contains(text, want) {
				t.Errorf("%s: %s", query, text)
			}
		}
		get("?group=nothing", 404)
	})
}
