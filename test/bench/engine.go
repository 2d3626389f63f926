package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/test/drive"
)

const (
	engineRuns = 7
	engineTime = "400ms" // of one run
	engineWarm = 1000    // packets, for pools to fill
	engineGap  = drive.Gap
)

// engine measures the embedded switch alone with one flow, programmed by P4Runtime writes: one
// goroutine, frames from memory, packets a second in. Each of 7 runs takes 0.4 s on a new switch,
// and compares the frames out octet by octet before and after.
func engine(ctx context.Context, out *report) error {
	all, err := workloads()
	if err != nil {
		return err
	}
	testing.Init()
	if err := flag.Set("test.benchtime", engineTime); err != nil {
		return err
	}
	for _, w := range all {
		if !out.wants("engine/" + w.name) {
			continue
		}
		out.tell("engine: %s", w.title)
		var rates runs
		for range engineRuns {
			if err := ctx.Err(); err != nil {
				return err
			}
			rate, err := engineRun(w)
			if err != nil {
				return err
			}
			rates = append(rates, rate)
		}
		f := figure{bench: "engine/" + w.name, unit: "packets/s", value: rates.median(),
			more: append(w.params, rates.spread()...)}
		if err := out.print(f); err != nil {
			return err
		}
	}
	return nil
}

// engineRun returns the rate, in packets a second, that a new switch accepts. engineRun compares
// the cycles before and after the timed cycles octet by octet, and counts the packets in between.
func engineRun(w workload) (float64, error) {
	l, err := newLoop(w)
	if err != nil {
		return 0, err
	}
	if err := l.compare(); err != nil {
		return 0, err
	}
	for i := 0; i < engineWarm; i += len(w.in) {
		l.cycle()
	}
	r := testing.Benchmark(func(b *testing.B) {
		l.count = 0
		for b.Loop() {
			l.cycle()
		}
	})
	if want := r.N * len(w.out); l.count != want {
		return 0, fmt.Errorf("%s: %d packets out for %d in, want %d", w.title, l.count, r.N*len(w.in),
			want)
	}
	return float64(r.N*len(w.in)) / r.T.Seconds(), l.compare()
}

// A loop feeds a switch with the packets of its workload.
type loop struct {
	load   workload
	device *p4rt.Device
	now    time.Duration
	count  int  // packets out
	keep   bool // them, too
	kept   []wire
}

func newLoop(w workload) (*loop, error) {
	l := &loop{load: w}
	var err error
	l.device, err = newDevice(w, func(_ time.Duration, port uint32, frame []byte) {
		l.count++
		if l.keep {
			l.kept = append(l.kept, wire{port, bytes.Clone(frame)})
		}
	})
	return l, err
}

// cycle sends the workload's packets once.
func (l *loop) cycle() {
	for _, w := range l.load.in {
		l.now += engineGap
		l.device.Receive(l.now, w.port, w.frame)
		l.device.Advance(l.now)
	}
}

// compare runs a cycle and checks what comes out.
func (l *loop) compare() error {
	l.keep, l.kept = true, nil
	l.cycle()
	l.keep = false
	return l.load.check(l.kept)
}
