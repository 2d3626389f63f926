package main

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"
)

// TestClosing: links of a small fabric fail and return, and the hosts report each change.
func TestClosing(t *testing.T) {
	var got bytes.Buffer
	out := &report{figures: json.NewEncoder(&got), progress: io.Discard}
	if err := (closSize{planes: 2, leaves: 2, spines: 2, hosts: 1}).close(t.Context(),
		out); err != nil {
		t.Fatal(err)
	}
	var start, deny struct {
		Bench string
		Hosts int
		Runs  int
	}
	var sent struct {
		Bench              string
		Value              float64
		Median, HostMillis float64
	}
	lines := json.NewDecoder(&got)
	if err := lines.Decode(&start); err != nil || start.Bench != "loop/start" || start.Hosts != 2 {
		t.Errorf("first figure: %+v, %v", start, err)
	}
	if err := lines.Decode(&deny); err != nil || deny.Bench != "loop/deny" ||
		deny.Runs != failuresMeasured {
		t.Errorf("second figure: %+v, %v", deny, err)
	}
	if err := lines.Decode(&sent); err != nil || sent.Bench != "loop/sent" || sent.Median <= 0 ||
		sent.Value < sent.Median || sent.HostMillis <= 0 {
		t.Errorf("third figure: %+v, %v", sent, err)
	}
}
