package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	sideRuns = 5
	sideTime = 600 * time.Millisecond // of one run, and what is under way at its end
	// Copies under way at most. simple_switch drops what finds 1,024 packets waiting for ingress, recirculated ones too.
	sideWindow = 512
	sidePause  = 20 * time.Second // a switch that says nothing for so long has lost a packet
)

// sideBySide compares the embedded switch with simple_switch as whole processes: the same program, entries and packets, pcap in and
// out. The files are FIFOs, so that time is taken from the first packet to the last and does not include the start, and so
// that packets come in as fast as they are worked off, and no faster.
func sideBySide(ctx context.Context, out *report) error {
	missing := missingSimpleSwitch()
	if missing != "" {
		out.tell("pcap: %s is not on the PATH: figures of the embedded switch only", missing)
	}
	for _, r := range allRoles() {
		out.tell("pcap: %v", r)
		f, err := sideBySideOf(ctx, r, missing)
		if err != nil {
			return err
		}
		if err := out.print(f); err != nil {
			return err
		}
	}
	return nil
}

func sideBySideOf(ctx context.Context, r role, missing string) (f figure, err error) {
	ours, err := startStation(ctx, r, startEmbedded, nil)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, ours.stop()) }()
	var theirs *station
	if missing == "" {
		port, err := freePort()
		if err != nil {
			return f, err
		}
		theirs, err = startStation(ctx, r,
			func(ctx context.Context, dir string, r role) (*exec.Cmd, error) {
				return simpleSwitchCommand(ctx, dir, r, port)
			},
			func(ctx context.Context) error { return programSimpleSwitch(ctx, r, port) })
		if err != nil {
			return f, err
		}
		defer func() { err = errors.Join(err, theirs.stop()) }()
	}
	var ourRates, theirRates runs
	for range sideRuns {
		rate, err := ours.run(sideTime)
		if err != nil {
			return f, fmt.Errorf("embedded switch: %w", err)
		}
		ourRates = append(ourRates, rate)
		if theirs == nil {
			continue
		}
		if rate, err = theirs.run(sideTime); err != nil {
			return f, fmt.Errorf("%s: %w", simpleSwitch, err)
		}
		theirRates = append(theirRates, rate)
	}
	f = figure{bench: "pcap/" + r.name, unit: "packets/s", value: ourRates.median(), more: append(r.params(), ourRates.spread()...)}
	f.more = append(f.more, ours.cpuPerPacket("cpuMicros")...)
	if theirs == nil {
		f.more = append(f.more, field{"missing", missing})
		return f, nil
	}
	f.more = append(f.more, field{"simpleSwitch", theirRates.median()}, field{"ratio", ourRates.median() / theirRates.median()})
	f.more = append(f.more, theirs.cpuPerPacket("simpleSwitchCPUMicros")...)
	return f, nil
}

// A station is a switch in a process of its own, with FIFOs as its ports.
type station struct {
	role   role
	dir    string
	cmd    *exec.Cmd
	output bytes.Buffer // of the process; read after exited
	exited chan struct{}
	in     *os.File
	ends   []*os.File // all FIFOs

	records [][]byte // of the role's cycle
	place   int      // in it
	want    map[uint64]int
	seed    maphash.Seed
	got     []atomic.Int64 // by place in want
	count   atomic.Int64   // packets out
	news    chan struct{}  // something has come out
	failed  chan error
	readers sync.WaitGroup
	sent    int64

	cpu        time.Duration // of the process, in the runs
	cpuPackets int64         // in these runs; 0: the time is not known
}

func inPath(dir string, port uint32) string {
	return filepath.Join(dir, fmt.Sprintf("%d_in.pcap", port))
}
func outPath(dir string, port uint32) string {
	return filepath.Join(dir, fmt.Sprintf("%d_out.pcap", port))
}

// startStation starts a switch, has it programmed, and warms it up.
func startStation(ctx context.Context, r role, command func(context.Context, string, role) (*exec.Cmd, error), program func(context.Context) error) (s *station, err error) {
	s = &station{
		role: r, exited: make(chan struct{}), want: map[uint64]int{}, seed: maphash.MakeSeed(),
		news: make(chan struct{}, 1), failed: make(chan error, 1),
	}
	if s.dir, err = os.MkdirTemp("", "weft-bench-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	for _, w := range r.in {
		s.records = append(s.records, appendPcapRecord(nil, w.frame))
	}
	s.got = make([]atomic.Int64, len(r.out))
	for i, w := range r.out {
		s.want[s.hash(w.port, w.frame)] = i
	}
	if len(s.want) != len(r.out) {
		return nil, fmt.Errorf("%v: two packets out are the same", r)
	}
	for _, port := range r.ports() {
		if err := s.attach(port); err != nil {
			return nil, err
		}
	}
	if s.cmd, err = command(ctx, s.dir, r); err != nil {
		return nil, err
	}
	s.cmd.Stdout, s.cmd.Stderr = &s.output, &s.output
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return nil, err
	}
	go func() {
		s.cmd.Wait()
		close(s.exited)
		s.in.SetWriteDeadline(time.Now()) // nobody reads any more
	}()
	if program != nil {
		ctx, cancel := context.WithTimeoutCause(ctx, sidePause, errSilent)
		defer cancel()
		if err := program(ctx); err != nil {
			return nil, err
		}
	}
	_, err = s.run(sideTime / 4)
	return s, err
}

var errSilent = errors.New("nothing came for too long")

// attach makes the FIFOs of a port. They are open for both reading and writing here, so that the switch waits for nobody.
func (s *station) attach(port uint32) error {
	header := appendPcapHeader(nil)
	if port != s.role.in[0].port {
		if err := os.WriteFile(inPath(s.dir, port), header, 0o600); err != nil {
			return err
		}
	} else {
		in, err := s.fifo(inPath(s.dir, port))
		if err != nil {
			return err
		}
		s.in = in
		if _, err := in.Write(header); err != nil {
			return err
		}
	}
	out, err := s.fifo(outPath(s.dir, port))
	if err != nil {
		return err
	}
	s.readers.Go(func() { s.read(port, out) })
	return nil
}

func (s *station) fifo(path string) (*os.File, error) {
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	s.ends = append(s.ends, f)
	return f, nil
}

func (s *station) hash(port uint32, frame []byte) uint64 {
	return maphash.Bytes(s.seed, frame) + uint64(port)
}

// read checks and counts what comes out of a port, until the FIFO is closed.
func (s *station) read(port uint32, f *os.File) {
	in := pcapReader{from: bufio.NewReaderSize(f, 1<<16)}
	for {
		frame, err := in.next()
		if errors.Is(err, os.ErrClosed) {
			return
		}
		if err == nil {
			if i, ok := s.want[s.hash(port, frame)]; ok {
				s.got[i].Add(1)
				s.count.Add(1)
				select {
				case s.news <- struct{}{}:
				default:
				}
				continue
			}
			err = fmt.Errorf("%v: port %d: unexpected %x", s.role, port, frame[:min(len(frame), 160)])
		}
		select {
		case s.failed <- err:
		default:
		}
		return
	}
}

// done is how many packets in have been worked off.
func (s *station) done() int64 {
	return s.count.Load() * int64(len(s.role.in)) / int64(len(s.role.out))
}

// run sends packets for a time and waits for all that comes of them. It returns the packets a second, from the first one's way in
// to the last one's way out.
func (s *station) run(d time.Duration) (float64, error) {
	window := int64(sideWindow / max(1, s.role.copies))
	first := s.sent
	cpu, known := cpuTime(s.cmd.Process.Pid)
	start := time.Now()
	for time.Since(start) < d || s.place != 0 {
		if err := s.await(window - 1); err != nil {
			return 0, err
		}
		var batch []byte
		for s.sent-s.done() < window && len(batch) < 1<<16 {
			batch = append(batch, s.records[s.place]...)
			s.place = (s.place + 1) % len(s.records)
			s.sent++
			if s.place == 0 && time.Since(start) >= d {
				break
			}
		}
		if err := s.send(batch); err != nil {
			return 0, err
		}
	}
	if err := s.await(0); err != nil {
		return 0, err
	}
	took := time.Since(start)
	cycles := s.sent / int64(len(s.role.in))
	for i := range s.got {
		if n := s.got[i].Load(); n != cycles {
			return 0, fmt.Errorf("%v: packet %d came out %d times, want %d", s.role, i, n, cycles)
		}
	}
	if now, ok := cpuTime(s.cmd.Process.Pid); ok && known {
		s.cpu += now - cpu
		s.cpuPackets += s.sent - first
	}
	return float64(s.sent-first) / took.Seconds(), nil
}

// cpuPerPacket is the field of the processor time that a packet in has cost, which other work on the machine matters less to than to
// the time on the clock.
func (s *station) cpuPerPacket(name string) []field {
	if s.cpuPackets == 0 {
		return nil
	}
	return []field{{name, float64(s.cpu.Microseconds()) / float64(s.cpuPackets)}}
}

// cpuTime is the processor time that all threads of a process have had, where /proc tells.
func cpuTime(pid int) (time.Duration, bool) {
	const tick = time.Second / 100 // what Linux counts in there
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return 0, false
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * tick, err1 == nil && err2 == nil
}

// send writes to the switch, which may not be there any more, or not read.
func (s *station) send(batch []byte) error {
	if err := s.in.SetWriteDeadline(time.Now().Add(sidePause)); err != nil {
		return err
	}
	select {
	case <-s.exited:
		return s.gone()
	default:
	}
	_, err := s.in.Write(batch)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		select {
		case <-s.exited:
			return s.gone()
		default:
			return s.silent()
		}
	}
	return err
}

func (s *station) gone() error {
	return fmt.Errorf("%s ended: %v: %s", s.cmd.Path, s.cmd.ProcessState, s.output.Bytes())
}

func (s *station) silent() error {
	return fmt.Errorf("%v: %d packets in, %d out: %w", s.role, s.sent, s.count.Load(), errSilent)
}

// await waits until at most so many packets are under way.
func (s *station) await(most int64) error {
	if s.sent-s.done() <= most {
		return nil
	}
	silence := time.NewTimer(sidePause)
	defer silence.Stop()
	for s.sent-s.done() > most {
		select {
		case <-s.news:
			silence.Reset(sidePause)
		case err := <-s.failed:
			return err
		case <-s.exited:
			return s.gone()
		case <-silence.C:
			return s.silent()
		}
	}
	return nil
}

// stop ends the switch and takes everything down.
func (s *station) stop() error {
	if s.cmd != nil {
		s.cmd.Process.Kill() // an error means that it has ended
		<-s.exited
	}
	for _, f := range s.ends {
		f.Close()
	}
	s.readers.Wait()
	return os.RemoveAll(s.dir)
}
