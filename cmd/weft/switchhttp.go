package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// headerTimeout bounds how long a client may take over the header of a request.
const headerTimeout = 5 * time.Second

// httpListener serves what a switch shows of itself over HTTP.
type httpListener struct {
	listener net.Listener
	server   *http.Server
	served   chan error
	cancel   context.CancelFunc // of requests without end
}

func listenHTTP(address string, handler http.Handler) (*httpListener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("HTTP: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	h := &httpListener{
		listener: l, served: make(chan error, 1), cancel: cancel,
		server: &http.Server{
			Handler: handler, ReadHeaderTimeout: headerTimeout, BaseContext: func(net.Listener) context.Context { return ctx },
		},
	}
	h.server.RegisterOnShutdown(cancel)
	go func() { h.served <- h.server.Serve(l) }()
	return h, nil
}

// close lets requests in progress finish for as long as ctx allows.
func (h *httpListener) close(ctx context.Context) error {
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
