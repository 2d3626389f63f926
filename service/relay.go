package service

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// acceptPause follows a connection that could not be accepted.
const acceptPause = 10 * time.Millisecond

// relay takes the connections of hosts: it hands them to the planner of this process, or on to the
// controller that decides, whose certificate hosts see.
type relay struct {
	l    net.Listener
	dial func(context.Context) (net.Conn, error)

	mu      sync.Mutex
	planner *taken // nil: this controller does not decide
	onward  map[net.Conn]struct{}
}

func newRelay(l net.Listener, dial func(context.Context) (net.Conn, error)) *relay {
	return &relay{l: l, dial: dial, onward: make(map[net.Conn]struct{})}
}

// taken is a listener for connections that another one has accepted.
type taken struct {
	r      *relay
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// local returns the listener of the planner. Until it is closed, hosts come to it.
func (r *relay) local() net.Listener {
	t := &taken{r: r, conns: make(chan net.Conn), closed: make(chan struct{})}
	r.mu.Lock()
	r.planner = t
	r.mu.Unlock()
	r.reset()
	return t
}

// Accept implements [net.Listener].
func (t *taken) Accept() (net.Conn, error) {
	select {
	case c := <-t.conns:
		return c, nil
	case <-t.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (t *taken) Close() error {
	t.once.Do(func() {
		close(t.closed)
		t.r.mu.Lock()
		defer t.r.mu.Unlock()
		if t.r.planner == t {
			t.r.planner = nil
		}
	})
	return nil
}

// Addr implements [net.Listener].
func (t *taken) Addr() net.Addr { return t.r.l.Addr() }

// reset ends the connections that were handed on: hosts connect again.
func (r *relay) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.onward {
		_ = c.Close()
	}
}

// count returns how many connections are handed on.
func (r *relay) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.onward)
}

// serve accepts hosts until ctx ends.
func (r *relay) serve(ctx context.Context) error {
	var open sync.WaitGroup
	defer open.Wait()
	defer r.reset()
	stop := context.AfterFunc(ctx, func() { _ = r.l.Close() })
	defer stop()
	for {
		c, err := r.l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = c.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil: // of this one connection, or there are too many
			select {
			case <-time.After(acceptPause):
			case <-ctx.Done():
			}
			continue
		}
		r.mu.Lock()
		t := r.planner
		r.mu.Unlock()
		open.Go(func() {
			if t == nil {
				r.handOn(ctx, c)
				return
			}
			select {
			case t.conns <- c:
			case <-t.closed:
				_ = c.Close()
			case <-ctx.Done():
				_ = c.Close()
			}
		})
	}
}

// handOn copies both ways between a host and the decider until one of them ends.
func (r *relay) handOn(ctx context.Context, host net.Conn) {
	defer host.Close()
	r.mu.Lock()
	r.onward[host] = struct{}{} // before it is known who decides: a change of that closes it
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.onward, host)
		r.mu.Unlock()
	}()
	decider, err := r.dial(ctx)
	if err != nil {
		return // the host tries again, with pauses that grow
	}
	defer decider.Close()
	if ctx.Err() != nil {
		return
	}
	up := make(chan struct{})
	go func() {
		defer close(up)
		_, _ = io.Copy(decider, host)
		_ = decider.Close()
	}()
	_, _ = io.Copy(host, decider)
	_ = host.Close()
	<-up
}
