package main

import (
	"bytes"
	"context"
	"fmt"
	"time"
)

const (
	engineRuns = 7
	engineTime = 400 * time.Millisecond // of one run
	// A packet every 20 µs of the switch's time: 50,000 packets a second come in, whatever it takes to work them off.
	engineGap = 20 * time.Microsecond
)

// engine measures the embedded switch alone: one goroutine, frames from memory, frames out counted.
func engine(ctx context.Context, out *report) error {
	for _, r := range allRoles() {
		out.tell("engine: %v", r)
		var rates runs
		for range engineRuns {
			if err := ctx.Err(); err != nil {
				return err
			}
			rate, err := engineRun(r)
			if err != nil {
				return err
			}
			rates = append(rates, rate)
		}
		f := figure{bench: "engine/" + r.name, unit: "packets/s", value: rates.median(), more: append(r.params(), rates.spread()...)}
		if err := out.print(f); err != nil {
			return err
		}
	}
	return nil
}

// engineRun returns the packets a second that a new switch takes in. The cycles before and after the timed ones are compared
// octet by octet, those between are counted.
func engineRun(r role) (float64, error) {
	var count int
	var kept []wire
	keep := true
	device, err := newDevice(r, func(_ time.Duration, port uint32, frame []byte) {
		count++
		if keep {
			kept = append(kept, wire{port, bytes.Clone(frame)})
		}
	})
	if err != nil {
		return 0, err
	}
	var now time.Duration
	cycle := func() {
		for _, w := range r.in {
			now += engineGap
			device.Receive(now, w.port, w.frame)
			device.Advance(now)
		}
	}
	compare := func() error {
		kept, keep = nil, true
		cycle()
		keep = false
		return r.check(kept)
	}

	if err := compare(); err != nil {
		return 0, err
	}
	for i := 0; i < 1000; i += len(r.in) {
		cycle() // pools fill, caches warm up
	}
	count = 0
	cycles := 0
	start := time.Now()
	var took time.Duration
	for took < engineTime {
		for range max(1, 64/len(r.in)) { // the clock is read once in 64 packets
			cycle()
			cycles++
		}
		took = time.Since(start)
	}
	if want := cycles * len(r.out); count != want {
		return 0, fmt.Errorf("%v: %d packets out for %d in, want %d", r, count, cycles*len(r.in), want)
	}
	if err := compare(); err != nil {
		return 0, err
	}
	return float64(cycles*len(r.in)) / took.Seconds(), nil
}
