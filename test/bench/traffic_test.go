package main

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/test/drive"
)

// TestTraffic: in each row no two packets are alike, a switch forwards, copies or merges each of
// them, and a switch without paths sends the same.
func TestTraffic(t *testing.T) {
	if testing.Short() {
		t.Skip("packets on one goroutine")
	}
	for _, r := range trafficRows() {
		l, err := r.load()
		if err != nil {
			t.Fatal(err)
		}
		frames := map[string]bool{}
		for _, p := range l.Cycle {
			frames[string(p.Frame)] = true
		}
		if len(frames) != len(l.Cycle) {
			t.Errorf("%v: %d packets of %d are different", r, len(frames), len(l.Cycle))
		}
		updates := r.updates != nil
		if updates != (l.Every > 0 && len(l.Updates) == len(r.updates)) {
			t.Errorf("%v: %d updates, one after %d packets", r, len(l.Updates), l.Every)
		}
		l.Cycle = l.Cycle[:min(len(l.Cycle), 1000)]
		l.Learn, l.Count, l.Every = 1000, 1000, l.Every/100
		var sent []drive.Result
		for _, plain := range []bool{false, true} {
			l.Plain = plain
			var in, out bytes.Buffer
			if err := gob.NewEncoder(&in).Encode(l); err != nil {
				t.Fatal(err)
			}
			if err := drive.Run(&in, &out); err != nil {
				t.Fatalf("%v: %v", r, err)
			}
			var got drive.Result
			if err := json.Unmarshal(out.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			in1, least := 2000+len(l.Cycle), r.copies
			if r.branch > 0 { // of those in disorder some merge two PSNs
				in1, least = in1/r.branch/2, 1
			}
			if got.Out < in1*least || got.Micros <= 0 || got.LearnMicros <= 0 {
				t.Errorf("%v: %+v, want at least %d packets", r, got, in1*least)
			}
			got.Micros, got.LearnMicros, got.Recalled = 0, 0, 0
			sent = append(sent, got)
		}
		if sent[0] != sent[1] || sent[0].Sum == 0 {
			t.Errorf("%v: %+v, and without paths %+v", r, sent[0], sent[1])
		}
	}
}

// TestBesideUnknown: a commit that is not there is named.
func TestBesideUnknown(t *testing.T) {
	t.Chdir("../..")
	_, err := driverOf(t.Context(), "no-such-commit", t.TempDir()+"/driver")
	if err == nil || !strings.Contains(err.Error(), "no-such-commit") {
		t.Errorf("%v", err)
	}
}
