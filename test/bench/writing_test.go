package main

import (
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
)

// TestWriters: a client of either kind reads back what the client writes.
func TestWriters(t *testing.T) {
	for _, w := range []writer{{"encoded", 5000, 700, connectEncoded},
		{"controller", 500, 100, connectController}} {
		if write, read, err := w.run(t.Context()); err != nil || write.rate <= 0 || read.rate <= 0 {
			t.Errorf("%s: %v, %v, %v", w.name, write.rate, read.rate, err)
		}
	}
}

// TestStartSwitches: several switches in one process run the program.
func TestStartSwitches(t *testing.T) {
	runners, stop, err := startSwitches(t.Context(), 3,
		&p4v1.ForwardingPipelineConfig{P4Info: p4.P4Info(), P4DeviceConfig: p4.JSON()})
	if err != nil || len(runners) != 3 {
		t.Fatal(len(runners), err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}
