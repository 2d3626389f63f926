package multicast

import (
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/weft-sdn/weft/dataplane/trace"
	"github.com/weft-sdn/weft/dataplane/trace/stream"
)

// TestTraces: an edge of the reference network is asked over HTTP what it does with a write to the
// group.
func TestTraces(t *testing.T) {
	ctx, d := startDemo(t, 1<<16)
	server := httptest.NewServer(d.Live.Traces())
	defer server.Close()
	found := errors.New("found")
	told := make(chan error, 1)
	go func() {
		told <- stream.Receive(ctx, server.Client(), server.URL+"/N1", trace.Filter{},
			func(i trace.Item) error {
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
	err := d.Write(ctx)
	for ; err == nil; err = d.Write(ctx) {
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
