package lab

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/weft-sdn/weft/dataplane/trace"
	"github.com/weft-sdn/weft/dataplane/trace/stream"
)

// TestTraces: an edge of the reference network is asked over HTTP what it does with a write to the
// group.
func TestTraces(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	live, err := StartLive(ctx, LiveOptions{Network: Figure1(), Listen: "127.0.0.1:0", Progress: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := live.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := live.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(live.Traces())
	defer server.Close()
	d := &demo{DemoOptions: DemoOptions{Bytes: 1 << 16}.withDefaults(), live: live, say: t.Logf}
	if err := d.begin(ctx); err != nil {
		t.Fatal(err)
	}
	found := errors.New("found")
	told := make(chan error, 1)
	go func() {
		told <- stream.Receive(ctx, server.URL+"/N1", trace.Filter{}, func(i trace.Item) error {
			if i.Record == nil {
				return nil
			}
			out := 0
			for _, r := range i.All() {
				if r.Outcome.Result == trace.Transmitted {
					out++
				}
			}
			if i.Outcome.Result == trace.Replicated && out == 2 { // R1 and R2
				return found
			}
			return nil
		})
	}()
	for err = d.transfer(ctx); err == nil; err = d.transfer(ctx) {
		select {
		case err = <-told:
			if !errors.Is(err, found) {
				t.Error(err)
			}
			return
		default: // it had not subscribed yet
		}
	}
	t.Fatal(err)
}
