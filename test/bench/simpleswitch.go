package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/weft-sdn/weft/test/bmv2"
)

const (
	// simpleSwitchQueue exceeds the number of packets ever in flight, so the queue drops no packet.
	simpleSwitchQueue = 1 << 20
	// A simple_switch waits before reading its captures, to leave time for programming: leastWait
	// seconds and one second per commandsPerSecond commands. If the wait was too short, the benchmark
	// repeats the run with waitFactor times the wait.
	leastWait         = 4
	commandsPerSecond = 400
	waitFactor        = 3
	longestWait       = 600
	simpleSwitchPoll  = time.Millisecond
	// A switch whose outputs do not grow for this time has lost packets.
	simpleSwitchPause = 20 * time.Second
)

var (
	errSilent = errors.New("nothing came for too long")
	errLate   = errors.New("it was not programmed in time")
)

// simplySwitched sends a workload's files through a simple_switch on one core. The measured time
// begins with the first packets sent by the switch and ends with the last packet.
func simplySwitched(ctx context.Context, w workload, dir string) (pass, error) {
	script, err := w.commands(simpleSwitchQueue)
	if err != nil {
		return pass{}, err
	}
	for wait := leastWait + strings.Count(script, "\n")/commandsPerSecond; ; wait *= waitFactor {
		p, err := simpleSwitchRun(ctx, w, dir, script, wait)
		if errors.Is(err, errLate) && wait < longestWait {
			continue
		}
		if err != nil {
			return p, err
		}
		return p, w.checkCaptures(dir)
	}
}

func simpleSwitchRun(ctx context.Context, w workload, dir, script string, wait int) (pass, error) {
	ready := time.Now().Add(time.Duration(wait) * time.Second) // it reads no packet before
	sw, err := bmv2.RunOnFiles(ctx, dir, filepath.Join(dir, programFile), w.ports(), wait, startPinned)
	if err != nil {
		return pass{}, err
	}
	defer sw.End()
	err = programSimpleSwitch(ctx, func(ctx context.Context) (string, error) {
		return sw.Command(ctx, script)
	})
	if err != nil {
		if said := sw.End(); said != "" {
			err = fmt.Errorf("%w; the switch said: %s", err, said)
		}
		return pass{}, err
	}
	if !time.Now().Before(ready) {
		return pass{}, errLate
	}
	want := int64(0)
	for _, t := range w.expected() {
		want += t.file()
	}
	m := meter{start: time.Now(), cpu: cpuTime(sw.PID())}
	silent := time.Now()
	for m.grown < want {
		select {
		case <-sw.Exited():
			return pass{}, sw.Failure()
		case <-ctx.Done():
			return pass{}, ctx.Err()
		case <-time.After(simpleSwitchPoll):
		}
		had := m.grown
		if err := m.look(w, dir, sw.PID()); err != nil {
			return pass{}, err
		}
		if m.grown > had || time.Now().Before(ready) {
			silent = time.Now()
		} else if time.Since(silent) > simpleSwitchPause {
			return pass{}, errors.Join(errSilent, w.checkCaptures(dir))
		}
	}
	return pass{len(w.in) * w.cycles(), m.last.Sub(m.start), m.cpuLast - m.cpu}, nil
}

// A meter watches the outputs of a simple_switch, which flushes them packet by packet. Until they
// grow, it is idle.
type meter struct {
	start time.Time // when no packet had come out yet, for the last time
	last  time.Time // when the outputs had grown for the last time
	grown int64     // their octets

	cpu, cpuLast time.Duration // of the process at these times
}

func (m *meter) look(w workload, dir string, pid int) error {
	now, octets := time.Now(), int64(0)
	for _, port := range w.ports() {
		s, err := os.Stat(outPath(dir, port))
		if err != nil {
			return err
		}
		octets += s.Size()
	}
	switch {
	case octets == 0:
		m.start, m.cpu = now, cpuTime(pid)
	case octets > m.grown:
		m.last, m.cpuLast = now, cpuTime(pid)
	}
	m.grown = octets
	return nil
}

// cpuTime is the processor time that all threads of a process have had, where /proc tells, to the
// nanosecond.
func cpuTime(pid int) time.Duration {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0
	}
	total := time.Duration(0)
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		first, _, _ := strings.Cut(string(text), " ")
		n, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0
		}
		total += time.Duration(n)
	}
	return total
}

// programSimpleSwitch waits for the answer of a simple_switch to its commands.
func programSimpleSwitch(ctx context.Context, command func(context.Context) (string, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, longestWait*time.Second, errSilent)
	defer cancel()
	_, err := command(ctx)
	return err
}
