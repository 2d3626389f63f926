//go:build linux

package bmv2

import (
	"bytes"
	"errors"
	"testing"
)

// TestRecord has frames pass a cable in both directions and arrive at ports as if they had.
func TestRecord(t *testing.T) {
	a, b, tap := Port{"a", 1}, Port{"b", 7}, Port{"b", 2}
	ctx, n, clients := pair(t, tap)
	frames := make(chan Frame, 64)
	r, err := n.Record(func(f Frame) { frames <- f })
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	frame := func(size int) []byte {
		f := bytes.Repeat([]byte{byte(size)}, size)
		copy(f[12:], []byte{0x88, 0xb5})
		return f
	}
	for i, c := range []struct {
		send     func(frame []byte)
		from, to Port
		octets   int
	}{
		{func(f []byte) { send(t, clients["a"], 1, f) }, a, b, 64},
		{func(f []byte) { send(t, clients["b"], 7, f) }, b, a, MaxFrame},
		{func(f []byte) { send(t, clients["b"], 2, f) }, tap, Port{}, 65},
		{func(f []byte) {
			if _, err := n.Tap(tap).Write(f); err != nil {
				t.Error(err)
			}
		}, Port{}, tap, 66},
		{func(f []byte) { inject(t, n, b, f) }, a, b, 67},
		{func(f []byte) { inject(t, n, tap, f) }, Port{}, tap, MaxFrame},
	} {
		want := frame(c.octets)
		c.send(want)
		select {
		case got := <-frames:
			if got.From != c.from || got.To != c.to || !bytes.Equal(got.Octets, want) {
				t.Errorf("frame %d: %d octets from %v to %v, want %d from %v to %v", i, len(got.Octets),
					got.From, got.To, c.octets, c.from, c.to)
			}
		case <-ctx.Done():
			t.Fatalf("frame %d went unrecorded", i)
		}
	}
	// Each frame has arrived at its destination, and frames injected at b have not appeared at a.
	for _, c := range []struct {
		client string
		port   int64
		want   int64
	}{{"b", 7, 2}, {"b", 2, 2}, {"a", 1, 1}} {
		for {
			got := received(ctx, t, clients[c.client], c.port)
			if got == c.want {
				break
			}
			if got > c.want || ctx.Err() != nil {
				t.Fatalf("%s received %d frames on port %d, want %d", c.client, got, c.port, c.want)
			}
		}
	}
	if err := n.Inject(Port{"a", 9}, frame(64)); !errors.Is(err, ErrTopology) {
		t.Errorf("injecting at a port there is not: %v", err)
	}
}

func inject(t *testing.T, n *Network, to Port, frame []byte) {
	t.Helper()
	if err := n.Inject(to, frame); err != nil {
		t.Error(err)
	}
}
