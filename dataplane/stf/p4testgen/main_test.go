package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestGoOn: finished runs are not repeated; runs that were not begun, were interrupted or failed
// start again. A run of another model, or with other arguments, counts as another run.
func TestGoOn(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	script := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho x >> "+log+"\n"+text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := script("good", `while [ "$1" != --out-dir ]; do shift; done; touch "$2/a.stf"`+"\n")
	o := &options{
		p4testgen: good, folder: "../../../p4", work: dir, seeds: 1, first: 1,
		services: "arp,discovery", tests: 5, slowest: time.Minute, policies: "A,B",
	}
	runs := func(what string, want int) {
		t.Helper()
		b, err := os.ReadFile(log)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if got := strings.Count(string(b), "x"); got != want {
			t.Errorf("%s: %d runs, want %d", what, got, want)
		}
		if err := os.WriteFile(log, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all := func(ctx context.Context) error {
		o.remain, o.failed = 0, nil
		return o.runAll(ctx)
	}
	if err := all(t.Context()); err != nil {
		t.Fatal(err)
	}
	runs("at first", 4)
	if err := all(t.Context()); err != nil {
		t.Fatal(err)
	}
	runs("again", 0)
	o.tests++
	o.all = 1 // nanosecond: it is over before a run begins
	if err := all(t.Context()); err != nil || o.remain != 4 {
		t.Errorf("%d runs remain, want 4: %v", o.remain, err)
	}
	runs("in no time", 0)
	o.all = 0
	o.p4testgen = script("bad", "echo broken; exit 1\n")
	if err := all(t.Context()); err != nil {
		t.Fatal(err)
	}
	runs("that fail", 4)
	if len(o.failed) != 4 || !strings.Contains(o.failed[0], "broken") {
		t.Errorf("failed: %q, want 4 that say broken", o.failed)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	o.p4testgen = good
	if err := all(ctx); err == nil {
		t.Error("an interrupted run is no error")
	}
	runs("that is interrupted", 0)
	if err := all(t.Context()); err != nil {
		t.Fatal(err)
	}
	runs("after those", 4)
}
