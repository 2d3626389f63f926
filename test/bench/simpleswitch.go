package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/weft-sdn/weft/test/bmv2"
)

const (
	// simpleSwitchQueue is more packets than are ever under way, so that none is lost.
	simpleSwitchQueue = 1 << 20
	// A simple_switch waits for a number of seconds before it reads its captures, so that it can be programmed before:
	// leastWait and a second for so many commands. If that was too short, the run is repeated with waitFactor times as long.
	leastWait         = 4
	commandsPerSecond = 400
	waitFactor        = 3
	longestWait       = 600
	simpleSwitchPoll  = time.Millisecond
	// A switch whose outputs have not grown for so long has lost packets.
	simpleSwitchPause = 20 * time.Second
)

var (
	errSilent = errors.New("nothing came for too long")
	errLate   = errors.New("it was not programmed in time")
)

// simplySwitched puts a workload's files through a simple_switch on one core. Time is taken from when its first packets come out to
// when the last one has.
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

func simpleSwitchRun(ctx context.Context, w workload, dir, script string, wait int) (_ pass, err error) {
	thrift, err := bmv2.FreePort()
	if err != nil {
		return pass{}, err
	}
	args := append(bmv2.SimpleSwitchArgs(thrift, dir), "--use-files", fmt.Sprint(wait))
	for _, port := range w.ports() {
		args = append(args, "-i", fmt.Sprintf("%d@%s", port, strings.TrimSuffix(inPath(dir, port), "_in.pcap")))
	}
	cmd := exec.CommandContext(ctx, bmv2.SimpleSwitch, append(args, filepath.Join(dir, programFile))...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	ready := time.Now().Add(time.Duration(wait) * time.Second) // it reads no packet before
	if err := startPinned(cmd); err != nil {
		return pass{}, err
	}
	exited := make(chan struct{})
	go func() {
		cmd.Wait()
		close(exited)
	}()
	defer func() {
		cmd.Process.Kill() // an error means that it has ended
		<-exited
	}()
	begun := make(chan error, 1)
	go func() { begun <- programSimpleSwitch(ctx, script, thrift) }()
	select {
	case err = <-begun:
	case <-exited:
		<-begun
		err = errors.New("it ended")
	}
	if err != nil {
		return pass{}, fmt.Errorf("%w: %s", err, said.Bytes())
	}
	if !time.Now().Before(ready) {
		return pass{}, errLate
	}
	want := int64(0)
	for _, t := range w.expected() {
		want += t.file()
	}
	m := meter{start: time.Now(), cpu: cpuTime(cmd.Process.Pid)}
	silent := time.Now()
	for m.grown < want {
		select {
		case <-exited:
			return pass{}, fmt.Errorf("it ended: %s", said.Bytes())
		case <-ctx.Done():
			return pass{}, ctx.Err()
		case <-time.After(simpleSwitchPoll):
		}
		had := m.grown
		if err := m.look(w, dir, cmd.Process.Pid); err != nil {
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

// A meter watches the outputs of a simple_switch, which flushes them packet by packet. Until they grow, it is idle.
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

// cpuTime is the processor time that all threads of a process have had, where /proc tells, to the nanosecond.
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

// programSimpleSwitch gives a simple_switch its commands, as soon as it listens.
func programSimpleSwitch(ctx context.Context, script string, thrift int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, longestWait*time.Second, errSilent)
	defer cancel()
	_, err := bmv2.Command(ctx, thrift, script)
	return err
}
