package live_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/weft-sdn/weft/dataplane/live"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/dataplane/trace"
	"github.com/weft-sdn/weft/dataplane/trace/stream"
)

// TestTrace: an HTTP client receives the traces of the next packets of a port, and the packets
// still reach their destination.
func TestTrace(t *testing.T) {
	in, other, out := newTestPort(), newTestPort(), newTestPort()
	r := start(t, live.Config{Ports: map[uint32]live.Port{1: in, 3: other, 2: out}})
	program(t, r, forwardTo2)
	server := httptest.NewServer(stream.Handler(r, stream.DefaultStall))
	defer server.Close()
	answer, err := http.Get(server.URL + stream.Path + "?port=1&count=2")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	other.receive(frame)
	in.receive(frame)
	in.receive(frame)
	in.receive(frame)
	for range 4 {
		if got := <-out.sent; got != string(frame) {
			t.Errorf("got %x", got)
		}
	}
	lines := json.NewDecoder(answer.Body)
	for range 2 {
		var i trace.Item
		if err := lines.Decode(&i); err != nil {
			t.Fatal(err)
		}
		if i.Record == nil || i.Port != 1 || string(i.Frame) != string(frame) || i.Outcome == nil ||
			i.Outcome.Result != trace.Transmitted || *i.Outcome.Port != 2 {
			t.Errorf("%+v", i.Record)
		}
	}
	if lines.More() {
		t.Error("more than was asked for")
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestTraceEnds: the channel is closed with the context and with the switch, and
// a switch that is closed refuses.
func TestTraceEnds(t *testing.T) {
	in, out := newTestPort(), newTestPort()
	r := start(t, live.Config{Ports: map[uint32]live.Port{1: in, 2: out}})
	program(t, r, forwardTo2)
	ctx, cancel := context.WithCancel(t.Context())
	first, err := r.Trace(ctx, trace.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := r.Trace(t.Context(), trace.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	in.receive(frame)
	for _, c := range []<-chan trace.Item{first, second} {
		if i := <-c; i.Record == nil {
			t.Errorf("%+v", i)
		}
	}
	cancel()
	if i, more := <-first; more {
		t.Errorf("%+v after the end", i)
	}
	// A new program: the switch loses packets under way, and reports these traces as lost.
	if err := r.WithDevice(t.Context(), func(_ time.Duration, d *p4rt.Device) {
		d.Switch().SetProgram(d.Switch().Program())
	}); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if i, more := <-second; more {
		t.Errorf("%+v after the end", i)
	}
	if _, err := r.Trace(t.Context(), trace.Filter{}); !errors.Is(err, live.ErrClosed) {
		t.Errorf("%v, want %v", err, live.ErrClosed)
	}
}
