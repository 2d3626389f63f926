package northbound

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/bubble"
)

// TestTracePackets checks the server's request to a switch and the handling of the switch's
// answers: complete answers, too few packets in time, lost packets, too many octets, and failures.
func TestTracePackets(t *testing.T) {
	var asked TraceFilter
	var answer func(ctx context.Context, take func(api.PacketTrace, uint64) error) error
	s, _, _ := newTestServer(t, func(c *Config) {
		c.Traces = func(ctx context.Context, sw string, want TraceFilter,
			take func(api.PacketTrace, uint64) error) error {
			if sw != "n1" {
				return ErrNoTraces
			}
			asked = want
			return answer(ctx, take)
		}
	})
	packet := func(n uint64, text string) api.PacketTrace {
		return api.PacketTrace{Packet: n, Port: 3, Length: 60, Text: text,
			Record: json.RawMessage(`{"id":1}`)}
	}
	get := func(query string) api.PacketTraces {
		t.Helper()
		w := do(s, "GET", "/v1/switches/n1/traces"+query, "")
		var out api.PacketTraces
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != 200 {
			t.Fatalf("%d %s: %v", w.Code, w.Body, err)
		}
		return out
	}
	answer = func(_ context.Context, take func(api.PacketTrace, uint64) error) error {
		return errors.Join(take(packet(7, "seven"), 0), take(api.PacketTrace{}, 5),
			take(packet(9, "nine"), 0))
	}
	got := get("?count=2&port=3")
	if len(got.Items) != 2 || got.Items[1].Text != "nine" || !got.Complete || got.Lost != 5 ||
		asked.Count != 2 || asked.Port == nil || *asked.Port != 3 {
		t.Errorf("%+v, asked for %+v", got, asked)
	}
	answer = func(_ context.Context, take func(api.PacketTrace, uint64) error) error {
		for range 20 {
			if err := take(packet(1, strings.Repeat("x", 1<<20)), 0); err != nil {
				return err
			}
		}
		return nil
	}
	if got = get("?count=20"); got.Complete || len(got.Items) == 0 ||
		len(got.Items) > traceOctets>>20 {
		t.Errorf("%d packets of an octet over 1 MiB each", len(got.Items))
	}
	answer = func(context.Context,
		func(api.PacketTrace, uint64) error) error {
		return errors.New("gone")
	}
	problemIn(t, do(s, "GET", "/v1/switches/n1/traces", ""), 503, "unavailable")
	problemIn(t, do(s, "GET", "/v1/switches/n6/traces", ""), 501, "not_configured")
	problemIn(t, do(s, "GET", "/v1/switches/nosuch/traces", ""), 404, "not_found")
	for _, c := range []struct{ query, field string }{
		{"?port=x", "query.port"}, {"?port=4294967296", "query.port"}, {"?wait=1h", "query.wait"},
		{"?wait=-1s", "query.wait"}, {"?wait=soon", "query.wait"},
		{"?count=0", "query.count"}, {"?count=21", "query.count"},
	} {
		if p := problemIn(t, do(s, "GET", "/v1/switches/n1/traces"+c.query, ""), 422,
			"invalid"); p.Field != c.field {
			t.Errorf("%s: %+v", c.query, p)
		}
	}
	bubble.Test(t, func(t *testing.T) {
		answer = func(ctx context.Context, take func(api.PacketTrace, uint64) error) error {
			if err := take(packet(1, "one"), 0); err != nil {
				return err
			}
			<-ctx.Done()
			return ctx.Err()
		}
		begun := time.Now()
		if got := get("?count=2&wait=3s"); len(got.Items) != 1 || got.Complete {
			t.Errorf("%+v", got)
		}
		if d := time.Since(begun); d != 3*time.Second {
			t.Errorf("it waited for %v", d)
		}
	})
	none, _, _ := newTestServer(t)
	problemIn(t, do(none, "GET", "/v1/switches/n1/traces", ""), 501, "not_configured")
}
