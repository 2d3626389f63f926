package bgpls

import (
	"context"
	"log/slog"
	"net/netip"
	"regexp"

	"github.com/weft-sdn/weft/topology"
)

// innerNetwork has the addresses that GoBGP knows neighbors by.
var innerNetwork = netip.MustParsePrefix("127.83.0.0/16")

var innerText = regexp.MustCompile(`\b127\.83\.\d{1,3}\.\d{1,3}\b(:\d+)?`)

// A logHandler passes on GoBGP's log, with the configured addresses of peers in place of the
// relays' addresses. GoBGP's information level becomes debug, because the speaker itself reports
// the states of sessions.
type logHandler struct {
	to   slog.Handler
	name func(netip.Addr) (peerKey, bool) // of a neighbor
}

func demoted(l slog.Level) slog.Level {
	if l == slog.LevelInfo {
		return slog.LevelDebug
	}
	return l
}

// Enabled implements [slog.Handler].
func (h *logHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return h.to.Enabled(ctx, demoted(l))
}

// Handle implements [slog.Handler].
func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, demoted(r.Level), h.text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.attr(a))
		return true
	})
	return h.to.Handle(ctx, out)
}

// WithAttrs implements [slog.Handler].
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	out := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		out[i] = h.attr(a)
	}
	return &logHandler{h.to.WithAttrs(out), h.name}
}

// WithGroup implements [slog.Handler].
func (h *logHandler) WithGroup(name string) slog.Handler {
	return &logHandler{h.to.WithGroup(name), h.name}
}

func (h *logHandler) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindGroup:
		var of []slog.Attr
		for _, x := range v.Group() {
			of = append(of, h.attr(x))
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(of...)}
	case slog.KindString, slog.KindAny:
		if text := v.String(); innerText.MatchString(text) {
			return slog.String(a.Key, h.text(text))
		}
	}
	return slog.Attr{Key: a.Key, Value: v}
}

// text names peers in place of neighbors.
func (h *logHandler) text(s string) string {
	return innerText.ReplaceAllStringFunc(s, func(found string) string {
		a, err := netip.ParseAddr(found)
		if err != nil {
			p, err := netip.ParseAddrPort(found)
			if err != nil {
				return found
			}
			a = p.Addr()
		}
		if k, ok := h.name(a); ok {
			return topology.PeerName(k)
		}
		return found
	})
}
