package mrc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/lab"
)

// TestTraffic kills a host, a switch and a BGP-LS session under traffic, each twice, and revives
// them: the others write on, and in the end all do.
func TestTraffic(t *testing.T) {
	if testing.Short() {
		t.Skip("in real time")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	network := lab.Clos(lab.ClosConfig{T0: 2, T1: 2, Hosts: 4, Rate: 10e6, Delay: time.Millisecond})
	live, err := lab.StartLive(ctx, lab.LiveOptions{Network: network, Listen: "127.0.0.1:0"})
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
		err := write(running, live, out, 300*time.Millisecond)
		out.CloseWithError(errors.Join(err, io.EOF))
		ended <- err
	}()
	lines := bufio.NewScanner(in)
	until := func(what string, is func(line string) bool) {
		t.Helper()
		for lines.Scan() {
			if is(lines.Text()) {
				return
			}
		}
		t.Fatalf("%s: no line says so: %v", what, lines.Err())
	}
	moves := func(line string) bool { return !strings.HasPrefix(line, "all-to-all: 0 MiB") }
	well := func(line string) bool { return moves(line) && !strings.Contains(line, "have ended") }
	part := func(kind lab.PartKind, name string) lab.Part { return lab.Part{Kind: kind, Name: name} }
	twice := func(do func(context.Context, lab.Part) error, p lab.Part) {
		t.Helper()
		for range 2 {
			if err := do(ctx, p); err != nil {
				t.Fatal(err)
			}
		}
	}
	until("all hosts write", well)
	twice(live.Kill, part(lab.PartSwitch, "P1-T1-1"))
	twice(live.Kill, part(lab.PartBGP, "P1-T0-1"))
	twice(live.Kill, part(lab.PartHost, "H1"))
	// Three flows each to and from the dead host.
	until("flows of H1 end, others write", func(line string) bool {
		return moves(line) && strings.Contains(line, "; 6 queue pairs have ended, 0 of them made anew")
	})
	twice(live.Revive, part(lab.PartHost, "H1"))
	until("flows to H1 are made anew", func(line string) bool {
		return strings.Contains(line, "of them made anew") && !strings.Contains(line, " 0 of them")
	})
	twice(live.Revive, part(lab.PartSwitch, "P1-T1-1"))
	twice(live.Revive, part(lab.PartBGP, "P1-T0-1"))
	until("all hosts write again", well)
	var first, last map[string]int
	acknowledged := func(to *map[string]int) {
		if err := live.Do(ctx, func(w *lab.World) error {
			*to = map[string]int{}
			for _, h := range w.Network.MRCHosts() {
				n, err := w.MRCHost(h)
				if err != nil {
					return err
				}
				if n.Waiting() {
					return fmt.Errorf("%s waits for its controller", h)
				}
				for _, l := range w.Links() {
					if l.From == h {
						(*to)[h] += int(l.Sent)
					}
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	acknowledged(&first)
	until("all hosts write on", well)
	until("all hosts write on", well)
	acknowledged(&last)
	for h, n := range first {
		if last[h] <= n {
			t.Errorf("%s sends nothing after everything was revived", h)
		}
	}
	stop()
	go func() { _, _ = io.Copy(io.Discard, in) }()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("traffic ended with %v", err)
	}
}
