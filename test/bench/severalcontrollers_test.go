package main

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"
)

// TestSeveral: links of a small fabric fail and return, and each time the hosts of one controller
// and of three controllers deny the links.
func TestSeveral(t *testing.T) {
	var got bytes.Buffer
	out := &report{figures: json.NewEncoder(&got), progress: io.Discard}
	const failures = 3
	if err := (severalBench{closSize: closSize{planes: 2, leaves: 2, spines: 2, hosts: 3},
		failures: failures}).compare(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	type line struct {
		Bench       string
		Controllers int
		Controller  string
		Value       float64
		Runs        int
		Ratio       float64
	}
	var lines []line
	for d := json.NewDecoder(&got); ; {
		var l line
		if err := d.Decode(&l); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	want := []line{
		{Bench: "several/start", Controllers: 1}, {Bench: "several/start", Controllers: 3},
		{Bench: "several/memory", Controllers: 1, Controller: "alone"},
		{Bench: "several/deny", Controllers: 1, Runs: failures},
		{Bench: "several/memory", Controllers: 3, Controller: "a"},
		{Bench: "several/memory", Controllers: 3, Controller: "b"},
		{Bench: "several/memory", Controllers: 3, Controller: "c"},
		{Bench: "several/deny", Controllers: 3, Runs: failures},
	}
	if len(lines) != len(want) {
		t.Fatalf("%d figures, want %d: %+v", len(lines), len(want), lines)
	}
	for i, l := range lines {
		if l.Value <= 0 || (l.Ratio > 0) != (i == len(lines)-1) {
			t.Errorf("%+v", l)
		}
		if l.Value, l.Ratio = 0, 0; l != want[i] {
			t.Errorf("figure %d is %+v, want %+v", i, l, want[i])
		}
	}
}
