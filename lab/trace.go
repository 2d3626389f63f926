package lab

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/dataplane/trace"
	"github.com/weft-sdn/weft/dataplane/trace/stream"
)

// SetTracer sets who observes the switch's packets, also after a restart; nil is nobody.
func (n *SwitchNode) SetTracer(t trace.Tracer) {
	n.config.Switch.Trace = t
	n.device.Switch().SetTracer(t)
}

// Traces answers GET /NAME/v1/trace with the traces of the switch of that name, as package stream
// has them. It may be asked until Close.
func (l *Live) Traces() http.Handler {
	handlers := map[string]http.Handler{}
	for _, s := range l.World.Network.Switches {
		if node := l.World.switches[s.Name]; node.away == nil {
			handlers[s.Name] = stream.Handler(traces{trace.NewFeed(node.SetTracer), l.Clock})
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/"), stream.Path)
		h := handlers[name]
		switch {
		case !ok || h == nil:
			http.Error(w, "want /NAME"+stream.Path+" with the name of a switch: "+strings.Join(slices.Sorted(maps.Keys(handlers)), ", "), http.StatusNotFound)
		case r.Method != http.MethodGet:
			http.Error(w, "want GET", http.StatusMethodNotAllowed)
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// traces is the stream.Source of one switch.
type traces struct {
	feed  *trace.Feed
	clock *Clock
}

func (t traces) Trace(ctx context.Context, want trace.Filter) (<-chan trace.Item, error) {
	return t.feed.Follow(ctx, t.clock.Do, want)
}
