package main

import (
	"cmp"
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

// remedies maps errors of the operating system to advice, for lines that end in the error without
// advice: those of some calls, and else those of any.
var remedies = map[string]string{
	syscall.EADDRINUSE.Error(): `another program listens there ("ss -ltnp" names it): end that ` +
		"program, or choose another address",
	syscall.ECONNREFUSED.Error(): "nothing listens there: start it (a controller: " +
		`"weft controller"), or name another address`,
	syscall.EMFILE.Error(): `"ulimit -Hn" is the limit of open files: raise it (LimitNOFILE= of ` +
		"a unit of systemd)",
	syscall.ENOTDIR.Error():     "a file has this name: name another directory, or remove the file",
	syscall.ENOENT.Error():      "want the name of one that is there",
	syscall.EACCES.Error():      `this user may not: "ls -l" says who may`,
	"no such network interface": `"ip link" lists those of this machine`,

	"bind: " + syscall.EACCES.Error():  "ports below 1024 take root or CAP_NET_BIND_SERVICE",
	"mkdir: " + syscall.ENOENT.Error(): "make the directory above it first",
}

// report is how an error is shown: a line for each thing that is wrong.
func report(err error) string {
	var b strings.Builder
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimRight(line, "\n")
		parts := strings.Split(line, ": ")
		last := parts[len(parts)-1]
		remedy := remedies[last]
		if len(parts) > 1 {
			call, _, _ := strings.Cut(parts[len(parts)-2], " ")
			remedy = cmp.Or(remedies[call+": "+last], remedy)
		}
		if remedy != "" {
			line += ": " + remedy
		}
		b.WriteString("weft: " + line + "\n")
	}
	return b.String()
}
