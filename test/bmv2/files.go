//go:build unix

package bmv2

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Files is a run of simple_switch without privileges: simple_switch_CLI commands configure the
// switch, and packets arrive in capture files.
type Files struct {
	Program  string   // BMv2 JSON
	Commands []string // for simple_switch_CLI, before the packets
	Packets  []Arrival
	Ports    []uint32      // all that may see packets
	Arrive   time.Duration // the packets, no sooner than this by the switch's own clock
	Expected int           // packets that will leave; no more than a hint of when to stop waiting
	After    []string      // for simple_switch_CLI, after the packets
	// OutOfRange packets have indices beyond arrays. A simple_switch built with NDEBUG does not check
	// indices, and ends: the test is skipped then.
	OutOfRange bool
}

// Arrival is a packet that arrives on a port.
type Arrival struct {
	Port  uint32
	Frame []byte
}

// RequireFiles skips a test where Files cannot be run.
func RequireFiles(t testing.TB) {
	t.Helper()
	if missing := MissingSimpleSwitch(); missing != "" {
		t.Skipf("skipped: %s is not on the PATH", missing)
	}
}

// Run returns the packets that left each port, in their order, and what simple_switch_CLI said of
// the commands After.
func (f *Files) Run(t testing.TB) (out map[uint32][][]byte, said string) {
	t.Helper()
	dir := t.TempDir()
	program, err := filepath.Abs(f.Program)
	if err != nil {
		t.Fatal(err)
	}
	// simple_switch opens a port's file when it starts and reads it once all are open: named pipes
	// keep it waiting for the packets until it is configured.
	ready := make(chan struct{})
	defer func() {
		if ready != nil {
			close(ready)
		}
	}()
	for _, p := range f.Ports {
		name := filepath.Join(dir, InFile(p))
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
		go f.feed(name, p, ready)
	}
	sw, err := RunOnFiles(t.Context(), dir, program, f.Ports, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	begun := time.After(f.Arrive)
	defer func() {
		if output := sw.End(); output != "" { // it is silent but when it gives up
			t.Logf("simple_switch: %s", output)
		}
	}()
	command := func(commands []string) string {
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
		defer cancel()
		said, err := sw.Command(ctx, strings.Join(commands, "\n")+"\n")
		if err != nil {
			t.Fatalf("simple_switch: %v", err)
		}
		return said
	}
	command(f.Commands)
	<-begun
	close(ready)
	ready = nil
	// Done when the output files stop growing: soon, once all packets that are expected have come.
	last, still := -1, 0
	for {
		out = map[uint32][][]byte{}
		n := 0
		for _, p := range f.Ports {
			b, err := os.ReadFile(filepath.Join(dir, OutFile(p)))
			if err == nil {
				out[p] = captured(b)
				n += len(out[p])
			}
		}
		if n != last {
			last, still = n, 0
		} else {
			still++
		}
		if still > 5 && n >= f.Expected || still > 50 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	select {
	case <-sw.Exited():
		if f.OutOfRange {
			t.Skipf("skipped: this simple_switch does not check indices: %v", sw.Failure())
		}
	default:
	}
	if len(f.After) > 0 {
		said = command(f.After)
	}
	return out, said
}

// feed writes a port's packets into a pipe after the pipe has a reader and the switch is ready.
func (f *Files) feed(name string, port uint32, ready <-chan struct{}) {
	w, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer w.Close()
	b := &bytes.Buffer{}
	for _, v := range []any{uint32(0xa1b2c3d4), uint16(2), uint16(4), uint32(0), uint32(0),
		uint32(65535), uint32(1)} {
		_ = binary.Write(b, binary.LittleEndian, v)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return
	}
	<-ready
	b.Reset()
	for i, a := range f.Packets {
		if a.Port != port {
			continue
		}
		for _, v := range []uint32{uint32(i / 1_000_000), uint32(i % 1_000_000), uint32(len(a.Frame)),
			uint32(len(a.Frame))} {
			_ = binary.Write(b, binary.LittleEndian, v)
		}
		b.Write(a.Frame)
	}
	_, _ = w.Write(b.Bytes())
}

// captured are the whole packets of a capture file.
func captured(b []byte) [][]byte {
	if len(b) < 24 {
		return nil
	}
	var all [][]byte
	for b = b[24:]; len(b) >= 16; {
		n := int(binary.LittleEndian.Uint32(b[8:]))
		if len(b) < 16+n {
			break // it is still being written
		}
		all = append(all, slices.Clone(b[16:16+n]))
		b = b[16+n:]
	}
	return all
}
