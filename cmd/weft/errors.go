package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/dataplane/trace/stream"
)

// Exit statuses.
const (
	exitOK = iota
	exitFailed
	exitUsage
	exitUnreachable

	exitSignal = 128 // and the number of the signal, as shells say
)

// signalled is the cause of a context that ended by a signal.
type signalled struct{ signal syscall.Signal }

func (s *signalled) Error() string {
	if s.signal == syscall.SIGTERM {
		return "terminated"
	}
	return "interrupted"
}

// cancelled returns the signal that has ended a context: SIGINT if something else has.
func cancelled(ctx context.Context) *signalled {
	if s, ok := context.Cause(ctx).(*signalled); ok {
		return s
	}
	return &signalled{syscall.SIGINT}
}

// usageError is a command line or an input that cannot be used.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// exitStatus returns the status that an error ends the process with.
func exitStatus(err error) int {
	var usage *usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage), errors.Is(err, client.ErrConfig):
		return exitUsage
	case errors.Is(err, client.ErrUnreachable), errors.Is(err, stream.ErrUnreachable):
		return exitUnreachable
	}
	return exitFailed
}

// interrupted reports whether an error only reports that the user asked the
// command to end.
func interrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, context.Canceled)
}

// report is how an error is shown: a line for each thing that is wrong.
func report(err error) string {
	var b strings.Builder
	taken := ": " + syscall.EADDRINUSE.Error()
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimRight(line, "\n")
		if strings.HasSuffix(line, taken) {
			line += `: another program listens there ("ss -ltnp" names it): end that program, or choose ` +
				"another address"
		}
		b.WriteString("weft: " + line + "\n")
	}
	return b.String()
}
