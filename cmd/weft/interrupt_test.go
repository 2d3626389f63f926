package main

import (
	"context"
	"io"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// TestInterruptedDemo: an interrupted demo reports the interruption, and exits with the signal's
// status.
func TestInterruptedDemo(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, c := range []struct {
		args   []string
		after  string // what it has written when it is interrupted
		cause  error
		status int
		says   string
	}{
		{[]string{"demo", "multicast"}, "6 switches", &signalled{syscall.SIGINT}, 130,
			"weft: interrupted before it was done\n"},
		{[]string{"demo", "multicast"}, "POST /v1/multicast-groups", &signalled{syscall.SIGTERM}, 143,
			"weft: terminated before it was done\n"},
		{[]string{"demo", "mrc", "--hosts", "4", "--t0", "2", "--t1", "2"}, "planes of",
			&signalled{syscall.SIGINT}, 130, "weft: interrupted before it was done\n"},
		{[]string{"demo", "job"}, "planes of", &signalled{syscall.SIGINT}, 130,
			"weft: interrupted before it was done\n"},
		{[]string{"demo", "pfc"}, "\n", &signalled{syscall.SIGTERM}, 143,
			"weft: terminated before it was done\n"},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		out, in := io.Pipe()
		var errs strings.Builder
		status := make(chan int, 1)
		go func() {
			status <- execute(ctx, c.args, environment{
				stdin: strings.NewReader(""), stdout: in, stderr: &errs,
				getenv: func(string) string { return "" }})
			in.Close()
		}()
		var said strings.Builder
		buffer := make([]byte, 4096)
		for {
			n, err := out.Read(buffer)
			said.Write(buffer[:n])
			if strings.Contains(said.String(), c.after) {
				cancel(c.cause)
			}
			if err != nil {
				break
			}
		}
		cancel(nil)
		if got := <-status; got != c.status || errs.String() != c.says {
			t.Errorf("%v after %q: status %d, %q, want %d, %q; it wrote\n%s", c.args, c.after, got,
				errs.String(), c.status, c.says, said.String())
		}
	}
}
