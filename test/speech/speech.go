// Package speech keeps what a process or a server of a test says, and shows it when the test fails.
package speech

import (
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// most is how many octets of a speech are kept of its begin, and of its end.
const most = 16 << 10

// Speech is what was said; it may be written to at any time, after the test as well.
type Speech struct {
	mu    sync.Mutex
	begin []byte // up to most octets
	end   []byte // what comes after them, up to twice most
	cut   int    // octets between them that are forgotten
}

// Of has a test that fails log what a command says from now on, on both outputs, where the command
// has none of its own. Call it before the command starts.
func Of(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	s := New(t, strings.Join(cmd.Args, " "))
	if cmd.Stdout == nil {
		cmd.Stdout = s
	}
	if cmd.Stderr == nil {
		cmd.Stderr = s
	}
}

// New returns a speech that a test logs when it ends and has failed, under the name of who speaks.
func New(t testing.TB, name string) *Speech {
	t.Helper()
	s := &Speech{}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s said:\n%s", name, s)
		}
	})
	return s
}

// Write never fails.
func (s *Speech) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(b), most-len(s.begin))
	s.begin = append(s.begin, b[:n]...)
	s.end = append(s.end, b[n:]...)
	if over := len(s.end) - most; over > most {
		s.end = append(s.end[:0], s.end[over:]...)
		s.cut += over
	}
	return len(b), nil
}

// String returns what was said so far, or its begin and end.
func (s *Speech) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.begin) == 0:
		return "nothing"
	case s.cut > 0:
		return string(s.begin) + "\n… and so on …\n" + string(s.end)
	}
	return string(s.begin) + string(s.end)
}
