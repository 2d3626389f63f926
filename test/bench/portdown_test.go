package main

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"
)

// TestLeavingPorts checks that a tree leaves links with failed ports, although BGP-LS still
// advertises the links, and that the figure includes all these failures.
func TestLeavingPorts(t *testing.T) {
	var got bytes.Buffer
	out := &report{figures: json.NewEncoder(&got), progress: io.Discard}
	if err := leavePorts(t.Context(), out, 3); err != nil {
		t.Fatal(err)
	}
	var f struct {
		Bench, Unit string
		Value, P99  float64
		Count       int
	}
	if err := json.NewDecoder(&got).Decode(&f); err != nil || f.Bench != "ports/tree" ||
		f.Unit != "ms" || f.Count != 3 || f.Value <= 0 || f.P99 < f.Value {
		t.Errorf("%+v, %v", f, err)
	}
}
