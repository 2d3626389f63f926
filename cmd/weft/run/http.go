package run

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/weft-sdn/weft/dataplane/clientlimit"
	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/internal/connlimit"
)

const (
	// headerTimeout bounds how long a client may take over the header of a request.
	headerTimeout = 5 * time.Second
	// httpTimeout bounds how long a client may take over a request, and over an answer that ends.
	httpTimeout = 30 * time.Second
	// maxHTTPHeader is the longest header of a request, in octets.
	maxHTTPHeader = 16 << 10
)

// HTTP serves what a switch shows of itself over HTTP.
type HTTP struct {
	// Address is where it listens.
	Address net.Addr

	server *http.Server
	served chan error
	cancel context.CancelFunc // of requests without end
}

// ListenHTTP serves at an address, with TLS unless files is empty, to as many clients as g allows.
func ListenHTTP(address string, handler http.Handler, files certs.Server, g *clientlimit.Limiter,
	log *slog.Logger) (*HTTP, error) {
	// Prometheus has a certificate without an identity, or one of a client.
	files.Kinds = certs.KindController | certs.KindClient
	conf, err := files.Config(tls.VersionTLS12, "http/1.1")
	if err != nil {
		return nil, fmt.Errorf("HTTP: %w", err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("HTTP: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	h := &HTTP{
		Address: l.Addr(), served: make(chan error, 1), cancel: cancel,
		server: &http.Server{
			Handler: trusting(handler), ReadHeaderTimeout: headerTimeout, ReadTimeout: httpTimeout,
			WriteTimeout: httpTimeout,
			IdleTimeout:  httpTimeout, MaxHeaderBytes: maxHTTPHeader,
			ErrorLog:    slog.NewLogLogger(log.Handler(), slog.LevelWarn),
			BaseContext: func(net.Listener) context.Context { return ctx },
			ConnContext: func(ctx context.Context, c net.Conn) context.Context {
				return context.WithValue(ctx, httpConnKey{}, connlimit.Of(c))
			},
		},
	}
	h.server.RegisterOnShutdown(cancel)
	bound := g.Bound(l)
	if conf != nil {
		bound = tls.NewListener(bound, conf)
	}
	go func() { h.served <- h.server.Serve(bound) }()
	return h, nil
}

// httpConnKey is the *connlimit.Conn in the context of a request.
type httpConnKey struct{}

// trusting has clients with certificates count as no strangers.
func trusting(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(httpConnKey{}).(*connlimit.Conn); ok && c != nil && r.TLS != nil &&
			len(r.TLS.VerifiedChains) > 0 {
			c.Trust()
		}
		h.ServeHTTP(w, r)
	})
}

// Close lets requests in progress finish for as long as ctx allows.
func (h *HTTP) Close(ctx context.Context) error {
	if h == nil {
		return nil
	}
	if h.server.Shutdown(ctx) != nil {
		_ = h.server.Close() // they had their time
	}
	if err := <-h.served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
