// Package speech keeps what a process or a server of a test says, and shows it when the test fails.
package speech

import (
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// most is the number of octets kept from a Speech's beginning, and from its end.
const most = 16 << 10

// Speech records the output of a command. Writes are allowed at any time, even after the test.
type Speech struct {
	mu    sync.Mutex
	begin []byte // up to most octets
	end   []byte // what comes after them, up to twice most
	cut   int    // octets between them that are forgotten
}

// Of makes a failing test log the stdout and stderr of a command, unless the command already has a
// writer for the output. Call Of before the command starts.
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

// New returns a Speech that the test logs at its end if the test failed, under the name of the
// speaker.
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

// String returns the recorded output, or the beginning and the end of long output.
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
