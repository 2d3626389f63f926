package main

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// TestSummary: a skip is said with its reason, and no test at all is a failure.
func TestSummary(t *testing.T) {
	for _, c := range []struct {
		out    string
		err    error
		said   string
		failed bool
	}{
		{"=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\n", nil, "ran: 1 tests", false},
		{"=== RUN   TestA\n    a_test.go:3: there is no gnmic\n--- SKIP: TestA (0.00s)\nPASS\n", nil,
			"lacking: a_test.go:3: there is no gnmic", false},
		{"=== RUN   TestA/real\n    a_test.go:3: no sources\n--- PASS: TestA (0.00s)\n" +
			"    --- PASS: TestA/fake (0.00s)\n    --- SKIP: TestA/real (0.00s)\nPASS\n", nil,
			"lacking: a_test.go:3: no sources", false},
		{"--- FAIL: TestA (0.00s)\n", errors.New("exit status 1"), "failed: exit status 1", true},
		{"testing: warning: no tests to run\nPASS\n", nil, "no test has this name", true},
	} {
		said, failed := summary(c.out, c.err)
		if said != c.said || failed != c.failed {
			t.Errorf("%q: %q %v, want %q %v", c.out, said, failed, c.said, c.failed)
		}
	}
}

// TestListed: CONTRIBUTING.md names each program.
func TestListed(t *testing.T) {
	text, err := os.ReadFile("../../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
		if !strings.Contains(string(text), "| "+p.name+" |") {
			t.Errorf("CONTRIBUTING.md does not name %s", p.name)
		}
	}
}
