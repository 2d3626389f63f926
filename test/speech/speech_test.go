package speech

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// fakeTest is a test that fails or does not.
type fakeTest struct {
	testing.TB
	failed bool
	after  []func()
	log    string
}

func (f *fakeTest) Helper()          {}
func (f *fakeTest) Failed() bool     { return f.failed }
func (f *fakeTest) Cleanup(g func()) { f.after = append(f.after, g) }
func (f *fakeTest) Logf(format string, args ...any) {
	f.log += fmt.Sprintf(format, args...)
}

// TestOf: a failing test shows both outputs of its process, a passing test shows nothing.
func TestOf(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, failed := range []bool{false, true} {
		f := &fakeTest{failed: failed}
		cmd := exec.CommandContext(t.Context(), self, "-test.run", "^TestSpeaker$")
		cmd.Env = append(os.Environ(), "SPEECH_SPEAK=1")
		Of(f, cmd)
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		for _, g := range f.after {
			g()
		}
		for _, want := range []string{"-test.run ^TestSpeaker$ said:\n", "on the one", "on the other"} {
			if strings.Contains(f.log, want) != failed {
				t.Errorf("failed %t: the log is %q", failed, f.log)
			}
		}
	}
}

// TestSpeaker is the process of TestOf.
func TestSpeaker(t *testing.T) {
	if os.Getenv("SPEECH_SPEAK") == "" {
		t.Skip("TestOf runs it")
	}
	fmt.Println("on the one")
	fmt.Fprintln(os.Stderr, "on the other")
}

// TestBounded: of a long speech its begin and its end are kept.
func TestBounded(t *testing.T) {
	s := New(&fakeTest{}, "it")
	if got := s.String(); got != "nothing" {
		t.Errorf("of nothing: %q", got)
	}
	fmt.Fprint(s, "the first words\n")
	line := strings.Repeat("x", 999) + "\n"
	for range 200 {
		fmt.Fprint(s, line)
	}
	fmt.Fprint(s, "the last words")
	got := s.String()
	if !strings.HasPrefix(got, "the first words\n") || !strings.HasSuffix(got, "\nthe last words") ||
		!strings.Contains(got, "… and so on …") {
		t.Errorf("%q", got)
	}
	if len(got) > 4*most {
		t.Errorf("%d octets are kept", len(got))
	}
	s = New(&fakeTest{}, "it")
	for range 2*most/1000 - 1 {
		fmt.Fprint(s, line)
	}
	if got := s.String(); got != strings.Repeat(line, 2*most/1000-1) {
		t.Errorf("of %d octets not all are kept: %d", (2*most/1000-1)*1000, len(got))
	}
}
