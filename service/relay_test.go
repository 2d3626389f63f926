package service

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
)

// echo answers every connection with a name, and then with what comes.
func echo(l net.Listener, name string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			_, _ = io.WriteString(c, name)
			_, _ = io.Copy(c, c)
		}()
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// host connects to a relay, and returns the connection once somebody has answered, and who.
func host(t *testing.T, l net.Listener) (net.Conn, string) {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	name := make([]byte, 2)
	if _, err := io.ReadFull(c, name); err != nil {
		return c, ""
	}
	return c, string(name)
}

// TestRelay: hosts come to the decider wherever they connect, and connect again when it changes.
func TestRelay(t *testing.T) {
	decider := listen(t)
	go echo(decider, "d1")
	var gone atomic.Bool // there is no decider
	in := listen(t)
	r := newRelay(in, func(ctx context.Context) (net.Conn, error) {
		if gone.Load() {
			return nil, errors.New("nobody decides")
		}
		return new(net.Dialer).DialContext(ctx, "tcp", decider.Addr().String())
	})
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- r.serve(ctx) }()

	first, name := host(t, in)
	if name != "d1" || r.count() != 1 {
		t.Errorf("%q answers, %d connections are handed on", name, r.count())
	}
	if _, err := io.WriteString(first, "hi"); err != nil {
		t.Fatal(err)
	}
	back := make([]byte, 2)
	if _, err := io.ReadFull(first, back); err != nil || string(back) != "hi" {
		t.Errorf("%q came back, %v", back, err)
	}

	// This controller decides now: its hosts connect again, and come to its own planner.
	own := r.local()
	go echo(own, "me")
	if _, err := first.Read(back); err == nil {
		t.Error("a host stays with the decider before")
	}
	_, name = host(t, in)
	if name != "me" {
		t.Errorf("%q answers, want this controller's planner", name)
	}
	if err := own.Close(); err != nil {
		t.Fatal(err)
	}
	third, name := host(t, in)
	if name != "d1" {
		t.Errorf("%q answers after this controller has decided", name)
	}

	// Nobody decides: a host is hung up on, and tries again.
	r.reset()
	if _, err := third.Read(back); err == nil {
		t.Error("a host stays with a decider that is one no more")
	}
	gone.Store(true)
	if _, name = host(t, in); name != "" {
		t.Errorf("%q answers, and nobody decides", name)
	}
	cancel()
	if err := <-served; err != nil || r.count() != 0 {
		t.Errorf("%v, %d connections are left", err, r.count())
	}
}
