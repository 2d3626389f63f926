package lab

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/dataplane/trace"
	"github.com/weft-sdn/weft/dataplane/trace/stream"
	"github.com/weft-sdn/weft/northbound"
)

// SetTracer sets who observes the switch's packets, also after a restart; nil is nobody.
func (n *SwitchNode) SetTracer(t trace.Tracer) {
	n.config.Switch.Trace = t
	n.device.Switch().SetTracer(t)
}

// Traces answers GET /NAME/v1/trace with the traces of the named switch, in the format of package
// stream. Callers may use it until Close.
func (l *Live) Traces() http.Handler {
	handlers := map[string]http.Handler{}
	for name, t := range l.traces {
		handlers[name] = stream.Handler(t, stream.DefaultStall)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/"), stream.Path)
		h := handlers[name]
		switch {
		case !ok || h == nil:
			http.Error(w, "want /NAME"+stream.Path+" with the name of a switch: "+
				strings.Join(slices.Sorted(maps.Keys(handlers)), ", "), http.StatusNotFound)
		case r.Method != http.MethodGet:
			http.Error(w, "want GET", http.StatusMethodNotAllowed)
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// makeTraces makes the feeds of all switches that run in this process.
func (l *Live) makeTraces() {
	l.traces = map[string]traces{}
	for _, s := range l.World.Network.Switches {
		if node := l.World.switches[s.Name]; node.away == nil && !s.IsKernel() {
			l.traces[s.Name] = traces{trace.NewFeed(node.SetTracer), l.Clock}
		}
	}
}

// trace is the northbound.Tracer of the lab's switches.
func (l *Live) trace(ctx context.Context, sw string, want northbound.TraceFilter,
	take func(api.PacketTrace, uint64) error) error {
	t, ok := l.traces[sw]
	if !ok {
		return northbound.ErrNoTraces
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	items, err := t.Trace(ctx, trace.Filter{Port: want.Port, Count: want.Count})
	if err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case i, more := <-items:
			if !more {
				return nil
			}
			if err := TakeTrace(i, take); err != nil {
				return err
			}
		}
	}
}

// TakeTrace calls take with a trace as the API has it.
func TakeTrace(i trace.Item, take func(t api.PacketTrace, lost uint64) error) error {
	if i.Record == nil {
		return take(api.PacketTrace{}, i.Lost)
	}
	var text strings.Builder
	if err := trace.Write(&text, i.Record, trace.Options{}); err != nil {
		return err
	}
	record, err := json.Marshal(i.Record)
	if err != nil {
		return err
	}
	return take(api.PacketTrace{Packet: uint64(i.ID), Port: i.Port, Length: len(i.Frame),
		Text: text.String(), Record: record}, i.Lost)
}

// traces is the stream.Source of one switch.
type traces struct {
	feed  *trace.Feed
	clock *Clock
}

func (t traces) Trace(ctx context.Context, want trace.Filter) (<-chan trace.Item, error) {
	return t.feed.Follow(ctx, t.clock.Do, want)
}
