package main

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/weft-sdn/weft/dataplane/p4rt"
)

const (
	engineRuns = 7
	engineTime = 400 * time.Millisecond // of one run
	engineWarm = 1000                   // packets, for pools to fill
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
	l, err := newLoop(r)
	if err != nil {
		return 0, err
	}
	if err := l.compare(); err != nil {
		return 0, err
	}
	for i := 0; i < engineWarm; i += len(r.in) {
		l.cycle()
	}
	l.count = 0
	cycles := 0
	start := time.Now()
	var took time.Duration
	for took < engineTime {
		for range max(1, 64/len(r.in)) { // the clock is read once in 64 packets
			l.cycle()
			cycles++
		}
		took = time.Since(start)
	}
	if want := cycles * len(r.out); l.count != want {
		return 0, fmt.Errorf("%v: %d packets out for %d in, want %d", r, l.count, cycles*len(r.in), want)
	}
	return float64(cycles*len(r.in)) / took.Seconds(), l.compare()
}

// A loop feeds a switch with the packets of its role.
type loop struct {
	role   role
	device *p4rt.Device
	now    time.Duration
	count  int  // packets out
	keep   bool // them, too
	kept   []wire
}

func newLoop(r role) (*loop, error) {
	l := &loop{role: r}
	var err error
	l.device, err = newDevice(r, func(_ time.Duration, port uint32, frame []byte) {
		l.count++
		if l.keep {
			l.kept = append(l.kept, wire{port, bytes.Clone(frame)})
		}
	})
	return l, err
}

// cycle sends the role's packets once.
func (l *loop) cycle() {
	for _, w := range l.role.in {
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
	return l.role.check(l.kept)
}
