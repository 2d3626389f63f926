package stream_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-sdn/weft/dataplane/trace"
	"github.com/weft-sdn/weft/dataplane/trace/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// source gives what it has, and then waits unless so many were wanted.
type source struct {
	items []trace.Item
	want  trace.Filter
	err   error
}

func (s *source) Trace(ctx context.Context, want trace.Filter) (<-chan trace.Item, error) {
	s.want = want
	c := make(chan trace.Item, len(s.items))
	for _, i := range s.items {
		c <- i
	}
	if want.Count > 0 {
		close(c)
	} else {
		context.AfterFunc(ctx, func() { close(c) })
	}
	return c, s.err
}

func serve(t *testing.T, s *source) string {
	t.Helper()
	server := httptest.NewServer(stream.Handler(s, stream.DefaultStall))
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		server.Close()
	})
	return server.URL
}

func TestReceive(t *testing.T) {
	s := &source{items: []trace.Item{
		{Record: &trace.Record{Packet: trace.Packet{ID: 7, Origin: trace.Received, Port: 3,
			Frame: trace.Octets{0xab}}}},
		{Lost: 12},
		{Record: &trace.Record{Packet: trace.Packet{ID: 20},
			Steps: []trace.Step{{Note: &trace.Note{Text: "a < b"}}}}},
	}}
	base := serve(t, s)
	port := uint32(3)
	var lines []string
	take := func(i trace.Item) error {
		if i.Record == nil {
			lines = append(lines, fmt.Sprintf("lost %d", i.Lost))
		} else {
			lines = append(lines, fmt.Sprintf("%d %x %d", i.ID, []byte(i.Frame), len(i.Steps)))
		}
		return nil
	}
	if err := stream.Receive(t.Context(), nil, base, trace.Filter{Port: &port, Count: 2},
		take); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(lines, ", "), "7 ab 0, lost 12, 20  1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if s.want.Port == nil || *s.want.Port != 3 || s.want.Count != 2 {
		t.Errorf("asked for %+v", s.want)
	}

	// Without a count it ends when the caller has enough, or its context ends.
	enough := errors.New("enough")
	if err := stream.Receive(t.Context(), nil, base, trace.Filter{}, func(trace.Item) error {
		return enough
	}); !errors.Is(err, enough) {
		t.Errorf("%v, want %v", err, enough)
	}
	ctx, cancel := context.WithCancel(t.Context())
	seen := 0
	err := stream.Receive(ctx, nil, base, trace.Filter{}, func(trace.Item) error {
		if seen++; seen == len(s.items) {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}

func TestErrors(t *testing.T) {
	s := &source{}
	base := serve(t, s)
	for _, c := range []struct {
		query, want string
		status      int
	}{
		{"port=x", `port is "x": want a port number`, http.StatusBadRequest},
		{"port=", `port is "": want a port number`, http.StatusBadRequest},
		{"port=4294967296", `port is "4294967296"`, http.StatusBadRequest},
		{"count=0", `count is "0": want 1 or more`, http.StatusBadRequest},
		{"count=-1", `count is "-1"`, http.StatusBadRequest},
		{"vlan=3", `parameter "vlan": want port or count`, http.StatusBadRequest},
		{"port=1&count=1", "", http.StatusOK},
	} {
		w := httptest.NewRecorder()
		stream.Handler(s, stream.DefaultStall).ServeHTTP(w, httptest.NewRequest(http.MethodGet,
			stream.Path+"?"+c.query, nil))
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s; want %d %s", c.query, w.Code, w.Body, c.status, c.want)
		}
	}
	none := func(trace.Item) error { return nil }
	s.err = errors.New("the switch is closed")
	if err := stream.Receive(t.Context(), nil, base, trace.Filter{Count: 1}, none); !errors.Is(err,
		stream.ErrRefused) || !strings.Contains(err.Error(),
		"503 Service Unavailable: the switch is closed") {
		t.Errorf("%v", err)
	}
	if err := stream.Receive(t.Context(), nil, "http://127.0.0.1:1", trace.Filter{},
		none); !errors.Is(err, stream.ErrUnreachable) {
		t.Errorf("%v, want %v", err, stream.ErrUnreachable)
	}
}

// endless delivers traces as fast as the client takes them.
type endless struct{ gone chan struct{} }

func (s *endless) Trace(ctx context.Context, _ trace.Filter) (<-chan trace.Item, error) {
	c := make(chan trace.Item)
	frame := make(trace.Octets, 9000)
	go func() {
		defer close(s.gone)
		defer close(c)
		for {
			select {
			case c <- trace.Item{Record: &trace.Record{Packet: trace.Packet{Frame: frame}}}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return c, nil
}

// TestStalledClient: the switch gives up a client that asks for traces and reads none.
func TestStalledClient(t *testing.T) {
	s := &endless{gone: make(chan struct{})}
	server := httptest.NewServer(stream.Handler(s, 100*time.Millisecond))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: switch\r\n\r\n",
		stream.Path); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.gone:
	case <-time.After(time.Minute):
		t.Error("the traces go on for a client that does not read")
	}
}
