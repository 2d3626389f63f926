package multicast

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/lab"
)

// TestTraffic kills a receiver, which holds the source up, and a switch on the way to others, and
// revives both: the source writes on.
func TestTraffic(t *testing.T) {
	if testing.Short() {
		t.Skip("in real time")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	live, err := lab.StartLive(ctx, lab.LiveOptions{Network: lab.Figure1(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := live.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := live.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	in, out := io.Pipe()
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		err := Traffic(running, live, Options{Bytes: 1 << 20, Out: out}, 10*time.Millisecond)
		out.CloseWithError(errors.Join(err, io.EOF))
		ended <- err
	}()
	lines := bufio.NewScanner(in)
	writes := func() {
		t.Helper()
		for range 3 { // of which one may have begun before
			for lines.Scan() && !strings.HasPrefix(lines.Text(), "S1 writes") {
			}
		}
		if lines.Err() != nil {
			t.Fatal(lines.Err())
		}
	}
	writes()
	for _, p := range []lab.Part{{Kind: lab.PartHost, Name: "R1"},
		{Kind: lab.PartSwitch, Name: "N5"}} {
		if err := live.Kill(ctx, p); err != nil {
			t.Fatal(err)
		}
		if err := live.Revive(ctx, p); err != nil {
			t.Fatal(err)
		}
		writes()
	}
	stop()
	go func() { _, _ = io.Copy(io.Discard, in) }()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("traffic ended with %v", err)
	}
}
