package northbound

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// Front serves the API of a controller while the controller's role changes. Front hands each
// request to the server in force, and requests that accept stale answers to the server for stale
// answers.
type Front struct {
	cfg Config

	mu     sync.Mutex
	server *Server // nil before the first Set
}

// NewFront returns a front that serves nothing yet.
func NewFront(cfg Config) *Front {
	if cfg.Requests == nil {
		cfg.Requests = NewRequests()
	}
	return &Front{cfg: cfg}
}

// Peers returns the API for other controllers, which have authenticated their clients. Peers
// forwards no request: a request travels between controllers once.
func (f *Front) Peers() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), peerKey{}, true)))
	})
}

// peerKey marks the context of a request that another controller forwarded.
type peerKey struct{}

func isForwarded(r *http.Request) bool { return r.Context().Value(peerKey{}) != nil }

// Set puts a server in force. Set ends the streams of the previous server and the requests that the
// previous server forwarded.
func (f *Front) Set(s *Server) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.server != nil {
		f.server.stop()
	}
	f.server = s
}

// ServeHTTP implements [http.Handler].
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	s := f.server
	f.mu.Unlock()
	if f.cfg.Stale != nil && asksOtherwise(r) {
		s = f.cfg.Stale
	}
	if s == nil {
		http.Error(w, "the controller starts", http.StatusServiceUnavailable)
		return
	}
	s.engine.ServeHTTP(w, r)
}

type connKey struct{}

// withConn keeps a connection in the context of its requests.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// Gather returns the metrics of the server in force and implements [prometheus.Gatherer].
func (f *Front) Gather(ctx context.Context) ([]*dto.MetricFamily, error) {
	f.mu.Lock()
	s := f.server
	f.mu.Unlock()
	if s == nil {
		return f.cfg.Requests.registry.Gather()
	}
	return s.metrics.gatherer(ctx).Gather()
}

// Serve answers requests on l, which it closes, until ctx ends; then it lets requests under way
// finish for a while.
func (f *Front) Serve(ctx context.Context, l net.Listener) error {
	tlsConfig, err := f.cfg.tlsConfig()
	if err != nil {
		return err
	}
	l = f.cfg.Requests.limiterOf(f.cfg.Limits).listen(l)
	server := &http.Server{
		Handler: f, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: f.cfg.RequestTimeout,
		WriteTimeout: f.cfg.RequestTimeout + f.cfg.WriteTimeout, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(f.cfg.Log.Handler(), slog.LevelWarn),
		ConnContext: withConn,
	}
	served := make(chan error, 1)
	go func() {
		if tlsConfig == nil {
			served <- server.Serve(l)
			return
		}
		server.TLSConfig = tlsConfig
		served <- server.ServeTLS(l, "", "") // the certificate is in TLSConfig
	}()
	select {
	case err := <-served:
		return fmt.Errorf("northbound: %w", err)
	case <-ctx.Done():
	}
	f.mu.Lock()
	if f.server != nil {
		f.server.stop()
	}
	f.mu.Unlock()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.cfg.Grace)
	defer cancel()
	err = server.Shutdown(grace)
	if err != nil {
		err = errors.Join(fmt.Errorf("northbound: requests did not finish within %v: %w", f.cfg.Grace,
			err), server.Close())
	}
	<-served
	return err
}
