package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weft-sdn/weft/dataplane/live"
	"github.com/weft-sdn/weft/dataplane/live/afpacket"
	"github.com/weft-sdn/weft/dataplane/live/afpacket/afpackettest"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/test/bmv2"
)

const (
	vethMTU   = 10240
	vethBatch = 64 // frames sent at once
	vethRuns  = 5
	vethTime  = 600 * time.Millisecond
	// Frames under way at most, copies counted. libpcap holds some thirty frames for simple_switch,
	// whatever their size.
	vethWindow, simpleSwitchWindow = 512, 24
	vethReady                      = "ready"
)

// veth compares the embedded switch with simple_switch on network interfaces, both as processes in
// a network of their own.
func veth(ctx context.Context, out *report) error {
	missing := bmv2.MissingSimpleSwitch()
	if missing != "" {
		out.tell("veth: %s is not on the PATH: figures of the embedded switch only", missing)
	}
	all, err := vethWorkloads()
	if err != nil {
		return err
	}
	for _, w := range all {
		if !out.wants("veth/" + w.name) {
			continue
		}
		out.tell("veth: %s", w.title)
		if err := w.foresee(); err != nil {
			return err
		}
		f, err := vethOf(ctx, w, missing)
		if errors.Is(err, errNoNamespace) {
			out.tell("veth: %v", err)
			return nil
		}
		if err != nil {
			return err
		}
		if err := out.print(f); err != nil {
			return err
		}
	}
	return nil
}

// vethWorkloads returns requests to 256 destinations and to an End.MT segment, in the traffic of a
// fabric, and one flow of two roles.
func vethWorkloads() ([]workload, error) {
	all, err := replayedTraffic()
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(w workload) bool {
		return w.name != "traffic/end_mt" && (w.name != "traffic/forward" ||
			!slices.Contains(w.params, field{"destinations", vethDestinations}))
	})
	for _, r := range []role{forwarding(), replicating(2)} {
		w, err := r.workload()
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

const vethDestinations = 256

var errNoNamespace = errors.New("no network namespaces here")

func vethOf(ctx context.Context, load workload, missing string) (f figure, err error) {
	ours, err := startWired(load, vethWindow, func() error { return nil }, func() (*exec.Cmd, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		return exec.CommandContext(ctx, self, vethSwitchCommand, load.title), nil
	})
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, ours.stop()) }()
	var theirs *wired
	if missing == "" {
		const thrift = 9090 // in a network of its own
		dir, err := os.MkdirTemp("", "weft-bench-")
		if err != nil {
			return f, err
		}
		defer os.RemoveAll(dir)
		script, err := load.commands(simpleSwitchQueue)
		if err != nil {
			return f, err
		}
		theirs, err = startWired(load, simpleSwitchWindow, func() error {
			return programSimpleSwitch(ctx, func(ctx context.Context) (string, error) {
				return bmv2.Command(ctx, thrift, script)
			})
		}, func() (*exec.Cmd, error) {
			return simpleSwitchOnWires(ctx, load, dir, thrift)
		})
		if err != nil {
			return f, err
		}
		defer func() { err = errors.Join(err, theirs.stop()) }()
	}
	var ourRates, theirRates, ourCPU, theirCPU runs
	for i := range 1 + vethRuns {
		for _, side := range []struct {
			name       string
			w          *wired
			rates, cpu *runs
		}{{"embedded switch", ours, &ourRates, &ourCPU},
			{bmv2.SimpleSwitch, theirs, &theirRates, &theirCPU}} {
			if side.w == nil {
				continue
			}
			rate, cpuMicros, err := side.w.run(ctx, vethTime)
			if err != nil {
				return f, fmt.Errorf("%s: %w", side.name, err)
			}
			if i > 0 { // the first warms up
				*side.rates, *side.cpu = append(*side.rates, rate), append(*side.cpu, cpuMicros)
			}
		}
	}
	f = figure{bench: "veth/" + load.name, unit: "packets/s", value: ourRates.median(),
		more: append(append(slices.Clone(load.params), field{"window", vethWindow}),
			ourRates.spread()...)}
	f.more = append(f.more, field{"cpuMicros", ourCPU.median()})
	if theirs == nil {
		f.more = append(f.more, field{"missing", missing})
		return f, nil
	}
	f.more = append(f.more, field{"simpleSwitch", theirRates.median()},
		field{"ratio", ourRates.median() / theirRates.median()},
		field{"simpleSwitchWindow", simpleSwitchWindow},
		field{"simpleSwitchCPUMicros", theirCPU.median()},
		field{"cpuRatio", theirCPU.median() / ourCPU.median()})
	return f, nil
}

func simpleSwitchOnWires(ctx context.Context, load workload, dir string, thrift int) (*exec.Cmd,
	error) {
	cmd := exec.CommandContext(ctx, bmv2.SimpleSwitch, bmv2.SimpleSwitchArgs(thrift, dir)...)
	for _, port := range load.ports() {
		cmd.Args = append(cmd.Args, "-i", fmt.Sprintf("%d@%s", port, switchEnd(port)))
	}
	program := filepath.Join(dir, programFile)
	cmd.Args = append(cmd.Args, program)
	return cmd, os.WriteFile(program, load.program, 0o600)
}

func switchEnd(port uint32) string { return fmt.Sprintf("s%d", port) }
func hostEnd(port uint32) string   { return fmt.Sprintf("h%d", port) }

// wired is a switch in its own process, connected by veth interfaces whose other ends belong to the
// benchmark.
type wired struct {
	load   workload
	window int64
	ns     *afpackettest.Namespace
	ports  map[uint32]*afpacket.Port
	cmd    *exec.Cmd
	stdin  io.Closer
	output bytes.Buffer // of the process, read once it has ended
	came   atomic.Int64 // frames out of the switch
	news   chan struct{}
	wrong  atomic.Pointer[error]
}

func startWired(load workload, window int64, program func() error,
	command func() (*exec.Cmd, error)) (w *wired, err error) {
	w = &wired{load: load, window: window, ports: map[uint32]*afpacket.Port{},
		news: make(chan struct{}, 1)}
	if w.ns, err = afpackettest.New(); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoNamespace, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.stop())
		}
	}()
	for _, port := range load.ports() {
		if err := w.ns.Veth(hostEnd(port), switchEnd(port), vethMTU); err != nil {
			return nil, err
		}
		if err := w.ns.Do(func() (err error) {
			w.ports[port], err = afpacket.Open(hostEnd(port), slog.New(slog.DiscardHandler))
			return err
		}); err != nil {
			return nil, err
		}
		w.ports[port].Attach(func(frames [][]byte) { w.arrive(port, frames) }, func(bool) {})
	}
	return w, w.ns.Do(func() error {
		if w.cmd, err = command(); err != nil {
			return err
		}
		if w.stdin, err = w.cmd.StdinPipe(); err != nil {
			return err
		}
		stdout, err := w.cmd.StdoutPipe()
		if err != nil {
			return err
		}
		w.cmd.Stderr = &w.output
		if err := w.cmd.Start(); err != nil {
			w.cmd = nil
			return err
		}
		if w.cmd.Args[0] != bmv2.SimpleSwitch {
			if line, err := bufio.NewReader(stdout).ReadString('\n'); line != vethReady+"\n" {
				return fmt.Errorf("the switch says %q: %w", line, err)
			}
		} else {
			go io.Copy(io.Discard, stdout)
		}
		return program()
	})
}

// arrive checks and counts frames out of the switch.
func (w *wired) arrive(port uint32, frames [][]byte) {
	for _, f := range frames {
		ok := w.load.known != nil && w.load.known[sum{port, maphash.Bytes(seed, f)}]
		for _, want := range w.load.out {
			ok = ok || want.port == port && bytes.Equal(want.frame, f)
		}
		if !ok {
			err := fmt.Errorf("%s: port %d: unexpected %x", w.load.title, port, f[:min(len(f), 160)])
			w.wrong.CompareAndSwap(nil, &err)
		}
	}
	w.came.Add(int64(len(frames)))
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// run sends packets for a time, with a bounded number under way, and waits for all that comes of
// them. It returns the packets in a second, and the
// processor time that the switch took for one: its process, with what the kernel did in its name.
func (w *wired) run(ctx context.Context, d time.Duration) (rate, cpuMicros float64, err error) {
	port, copies := w.load.in[0].port, w.load.copies()
	batch := make([][]byte, max(1, min(vethBatch, w.window/2/copies)))
	silence := time.NewTimer(simpleSwitchPause)
	defer silence.Stop()
	began, sent, before := time.Now(), int64(0), w.came.Load()
	used := cpuTime(w.cmd.Process.Pid)
	for {
		inFlight := sent*copies - (w.came.Load() - before)
		if err := w.wrong.Load(); err != nil {
			return 0, 0, *err
		}
		over := time.Since(began) >= d
		switch {
		case over && inFlight == 0:
			used = cpuTime(w.cmd.Process.Pid) - used
			return float64(sent) / time.Since(began).Seconds(),
				float64(used.Nanoseconds()) / 1e3 / float64(sent), nil
		case !over && inFlight+int64(len(batch))*copies <= w.window:
			for i := range batch {
				batch[i] = w.load.in[(int(sent)+i)%len(w.load.in)].frame
			}
			if taken, _ := w.ports[port].Send(batch); taken != len(batch) {
				return 0, 0, fmt.Errorf("%d of %d frames sent", taken, len(batch))
			}
			sent += int64(len(batch))
			continue
		}
		silence.Reset(simpleSwitchPause)
		select {
		case <-w.news:
		case <-ctx.Done():
			return 0, 0, context.Cause(ctx)
		case <-silence.C:
			ended := w.end()
			return 0, 0, errors.Join(fmt.Errorf("%s: %d packets lost of %d: %w\n%s", w.load.title, inFlight,
				sent*copies, errSilent,
				w.output.Bytes()[:min(w.output.Len(), 1000)]), ended)
		}
	}
}

// end ends the process, whose output is complete then.
func (w *wired) end() error {
	if w.cmd == nil {
		return nil
	}
	cmd := w.cmd
	w.cmd = nil
	err := w.stdin.Close()
	if cmd.Args[0] != bmv2.SimpleSwitch {
		return errors.Join(err, cmd.Wait())
	}
	err = errors.Join(err, cmd.Process.Kill())
	_ = cmd.Wait() // killed
	return err
}

func (w *wired) stop() error {
	errs := []error{w.end()}
	for _, p := range w.ports {
		errs = append(errs, p.Close())
	}
	w.ns.Close()
	return errors.Join(errs...)
}

// vethSwitch is an embedded switch on the interfaces of a role, until standard input ends.
func vethSwitch(title string) error {
	all, err := vethWorkloads()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(w workload) bool { return w.title == title })
	if i < 0 {
		return fmt.Errorf("no workload %q", title)
	}
	load := all[i]
	if err := load.foresee(); err != nil { // for the ports
		return err
	}
	ports := map[uint32]live.Port{}
	for _, n := range load.ports() {
		if ports[n], err = afpacket.OpenPolled(switchEnd(n),
			slog.New(slog.NewTextHandler(os.Stderr, nil))); err != nil {
			return err
		}
	}
	runner, err := live.Start(live.Config{Device: p4rt.Config{ID: deviceID, Cache: &cache},
		Ports: ports})
	if err != nil {
		return err
	}
	var programmed error
	err = runner.WithDevice(context.Background(), func(now time.Duration, d *p4rt.Device) {
		programmed = load.install(now, d)
	})
	if err := errors.Join(err, programmed); err != nil {
		return errors.Join(err, runner.Close())
	}
	fmt.Println(vethReady)
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, runner.Close())
}
