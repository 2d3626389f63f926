package stream

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/weft-sdn/weft/dataplane/trace"
)

// Path is where a Handler belongs.
const Path = "/v1/trace"

// Source is a running switch; live.Runner is one.
type Source interface {
	// Trace subscribes. The channel is closed when the packets wanted have
	// been told, when ctx ends and when the switch does.
	Trace(ctx context.Context, want trace.Filter) (<-chan trace.Item, error)
}

// DefaultStall is a suitable time for Handler.
const DefaultStall = 30 * time.Second

// Handler answers GET requests with the traces of a switch. It gives up a client that has not taken
// a trace within the stall time.
func Handler(s Source, stall time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		want, err := parseQuery(r.URL.Query())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		items, err := s.Trace(r.Context(), want)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		out := http.NewResponseController(w)
		w.Header().Set("Content-Type", "application/jsonl")
		// The client may send its packets when it has the header.
		if out.Flush() != nil {
			return
		}
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		for {
			select {
			case i, more := <-items:
				// Without deadlines, as in tests of the handler alone, the client decides.
				_ = out.SetWriteDeadline(time.Now().Add(stall))
				if !more || e.Encode(i) != nil || out.Flush() != nil {
					return // a client that has gone ends ctx
				}
			case <-r.Context().Done():
				return
			}
		}
	})
}

func parseQuery(q url.Values) (trace.Filter, error) {
	var want trace.Filter
	for name := range q {
		if name != "port" && name != "count" {
			return want, fmt.Errorf("parameter %q: want port or count", name)
		}
	}
	if text := q.Get("port"); q.Has("port") {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return want, fmt.Errorf("port is %q: want a port number", text)
		}
		p := uint32(n)
		want.Port = &p
	}
	if text := q.Get("count"); q.Has("count") {
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil || n == 0 {
			return want, fmt.Errorf("count is %q: want 1 or more", text)
		}
		want.Count = int(n)
	}
	return want, nil
}
