package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestReport: a package that passes is one line, one that fails shows what its failed tests said,
// and the minute says what runs.
func TestReport(t *testing.T) {
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name string
		// A line that is a duration is the time that has passed when something is told.
		lines, want string
	}{
		{"passed", `{"Action":"start","Package":"a"}
{"Action":"run","Package":"a","Test":"TestX"}
{"Action":"output","Package":"a","Test":"TestX","Output":"=== RUN   TestX\n"}
{"Action":"pass","Package":"a","Test":"TestX","Elapsed":1}
{"Action":"output","Package":"a","Output":"PASS\n"}
{"Action":"pass","Package":"a","Elapsed":1.25}`, "ok    a  1.2 s\n"},
		{"failed", `{"Action":"run","Package":"a","Test":"TestGood"}
{"Action":"output","Package":"a","Test":"TestGood","Output":"good\n"}
{"Action":"pass","Package":"a","Test":"TestGood"}
{"Action":"run","Package":"a","Test":"TestBad"}
{"Action":"output","Package":"a","Test":"TestBad","Output":"bad\n"}
{"Action":"fail","Package":"a","Test":"TestBad"}
{"Action":"output","Package":"a","Output":"FAIL\n"}
{"Action":"fail","Package":"a","Elapsed":2}`, "bad\nFAIL  a  2.0 s\n"},
		{"failed with a place", `{"Action":"run","Package":"a","Test":"TestBad"}
{"Action":"output","Package":"a","Test":"TestBad","Output":"    a_test.go:7: one\n"}
{"Action":"output","Package":"a","Test":"TestBad","Output":"    a_test.go:8: two\n"}
{"Action":"fail","Package":"a","Test":"TestBad"}
{"Action":"fail","Package":"a","Elapsed":2}`,
			"    a_test.go:7: one\n    a_test.go:8: two\nFAIL  a  2.0 s\n" +
				"failed: TestBad: a_test.go:7: one\n"},
		{"out of time", `{"Action":"run","Package":"a","Test":"TestSlow"}
{"Action":"output","Package":"a","Test":"TestSlow","Output":"panic: test timed out\n"}
{"Action":"fail","Package":"a","Elapsed":60}`, "panic: test timed out\nFAIL  a  60.0 s\n"},
		{"not built", `{"ImportPath":"a","Action":"build-output","Output":"a.go:1: no\n"}
{"ImportPath":"a","Action":"build-fail"}
{"Action":"start","Package":"a"}
{"Action":"output","Package":"a","Output":"FAIL\ta [build failed]\n"}
{"Action":"fail","Package":"a","Elapsed":0,"FailedBuild":"a"}`, "a.go:1: no\nFAIL  a  0.0 s\n"},
		{"no tests", `{"Action":"start","Package":"a"}
{"Action":"skip","Package":"a","Elapsed":0}`, "none  a  has no tests\n"},
		{"no event", "go: downloading x", "go: downloading x\n"},
		{"told", `1m
{"Action":"start","Package":"a"}
{"Action":"run","Package":"a","Test":"TestX"}
{"Action":"run","Package":"a","Test":"TestX/y"}
2m
{"Action":"start","Package":"b"}
{"Action":"fail","Package":"a","Test":"TestX/y"}
{"Action":"fail","Package":"a","Test":"TestX"}
{"Action":"fail","Package":"a","Elapsed":61}
3m`, `after 1m0s: 0 of 9 packages done; building
after 2m0s: 0 of 9 packages done; a for 1m0s (TestX/y)
FAIL  a  61.0 s
after 3m0s: 1 of 9 packages done, 1 of them failed; b for 1m0s
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			r, now := newReport(&out, 9, began), began
			for line := range strings.Lines(c.lines) {
				if d, err := time.ParseDuration(strings.TrimSpace(line)); err == nil {
					now = began.Add(d)
					r.tell(now)
					continue
				}
				r.take([]byte(line), now)
			}
			r.close()
			if got := out.String(); got != c.want {
				t.Errorf("it says\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestTest: the exit status is that of go test.
func TestTest(t *testing.T) {
	var out bytes.Buffer
	if err := test([]string{"-run=^TestReport$", "."}, &out); err != nil ||
		!strings.Contains(out.String(), "ok    github.com/weft-sdn/weft/test/progress") {
		t.Errorf("%v: %s", err, out.String())
	}
	out.Reset()
	var exit *exec.ExitError
	if err := test([]string{"./nosuch"}, &out); !errors.As(err, &exit) ||
		!strings.Contains(out.String(), "FAIL") {
		t.Errorf("a package that is not there: %v, %s", err, out.String())
	}
}

// TestRun: a command that takes long is named again and again, and its exit status is known.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	var exit *exec.ExitError
	if err := run([]string{"sh", "-c", "exit 3"}, &out, time.Hour); !errors.As(err, &exit) ||
		exit.ExitCode() != 3 || out.Len() > 0 {
		t.Errorf("%v, %q", err, out.String())
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	w := &named{fifo: fifo}
	if err := run([]string{"cat", fifo}, w, time.Millisecond); err != nil ||
		!strings.HasPrefix(w.said.String(), "after 0s: cat "+fifo+"\n") {
		t.Errorf("%v, %q", err, w.said.String())
	}
}

// named ends a command that reads a FIFO, once it was named.
type named struct {
	fifo string
	said bytes.Buffer
}

func (n *named) Write(b []byte) (int, error) {
	if n.said.Len() == 0 {
		f, err := os.OpenFile(n.fifo, os.O_WRONLY, 0)
		if err != nil {
			return 0, err
		}
		f.Close()
	}
	return n.said.Write(b)
}
