package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// TestJobs: the job is judged as it should be.
func TestJobs(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	var text bytes.Buffer
	out := &report{figures: json.NewEncoder(&text), progress: io.Discard}
	if err := jobs(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), `"bench":"job/ready"`); n != 2 {
		t.Errorf("figures are %s", &text)
	}
}
