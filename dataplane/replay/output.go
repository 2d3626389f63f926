package replay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// ErrOverwrite reports that an output would be written over an input.
var ErrOverwrite = errors.New("the output is one of the inputs")

// sink is the capture file of what leaves a port.
type sink struct {
	file   *os.File
	buffer []byte // not written yet
}

// flush writes the buffer.
func (s *sink) flush() error {
	_, err := s.file.Write(s.buffer)
	s.buffer = s.buffer[:0]
	return err
}

// write appends a packet with the two halves of its stamp.
func (s *sink) write(seconds, fraction uint32, frame []byte) error {
	if len(s.buffer)+recordLen+len(frame) > cap(s.buffer) {
		if err := s.flush(); err != nil {
			return err
		}
	}
	b := binary.LittleEndian.AppendUint32(s.buffer, seconds)
	b = binary.LittleEndian.AppendUint32(b, fraction)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(frame)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(frame)))
	s.buffer = append(b, frame...)
	return nil
}

// sinks are the outputs of a folder. They are dataplane.Output.
type sinks struct {
	discard bool // write nothing
	dir     string
	cpu     uint32
	inputs  sources
	unit    int64   // nanoseconds of the finer half of a stamp
	began   int64   // capture stamp at the switch's time 0
	ports   []*sink // by port
	digests uint64
	err     error // the first; nothing is written after it
}

// earlier are the names of outputs.
var earlier = regexp.MustCompile(`^([0-9]+|cpu)_out\.pcap$`)

// openSinks makes the folder, if only the folder itself is missing, and removes the outputs of an
// earlier run: an old output must not look like frames sent by this run.
func openSinks(dir string, cpu uint32, inputs sources) (*sinks, error) {
	if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !earlier.MatchString(e.Name()) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if err := inputs.apart(path); err != nil {
			return nil, err
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	o := &sinks{dir: dir, cpu: cpu, inputs: inputs, unit: inputs.unit()}
	for _, in := range inputs {
		o.open(in.Port)
	}
	if o.err != nil {
		return nil, errors.Join(o.err, o.close())
	}
	return o, nil
}

// apart checks that a file is no input.
func (all sources) apart(path string) error {
	at, err := os.Stat(path)
	if err != nil {
		return err
	}
	for _, s := range all {
		in, err := s.file.Stat()
		if err != nil {
			return err
		}
		if os.SameFile(at, in) {
			return fmt.Errorf("%s: %w (port %d): choose another folder", path, ErrOverwrite, s.Port)
		}
	}
	return nil
}

// open creates the file of a port.
func (o *sinks) open(port uint32) *sink {
	if o.err != nil {
		return nil
	}
	name := strconv.FormatUint(uint64(port), 10)
	if port == o.cpu {
		name = "cpu"
	}
	f, err := os.OpenFile(filepath.Join(o.dir, name+"_out.pcap"), os.O_WRONLY|os.O_CREATE|os.O_EXCL,
		0o666)
	if err != nil {
		o.err = err
		return nil
	}
	s := &sink{file: f, buffer: make([]byte, 0, writeBuffer)}
	magic := uint32(magicMicros)
	if o.unit == 1 {
		magic = magicNanos
	}
	for _, word := range []uint32{magic, 4<<16 | 2, 0, 0, maxFrame, ethernet} { // version 2.4
		s.buffer = binary.LittleEndian.AppendUint32(s.buffer, word)
	}
	for uint32(len(o.ports)) <= port {
		o.ports = append(o.ports, nil)
	}
	o.ports[port] = s
	return s
}

// Transmit implements dataplane.Output.
func (o *sinks) Transmit(now time.Duration, port uint32, frame []byte) {
	if o.err != nil || o.discard {
		return
	}
	var s *sink
	if port < uint32(len(o.ports)) {
		s = o.ports[port]
	}
	if s == nil {
		if s = o.open(port); s == nil {
			return
		}
	}
	at := o.began + int64(now)
	o.err = s.write(uint32(at/int64(time.Second)), uint32(at%int64(time.Second)/o.unit), frame)
}

// Digest implements dataplane.Output: a replay has nobody to send digests to.
func (o *sinks) Digest(time.Duration, int, [][]byte) { o.digests++ }

func (o *sinks) flush() error {
	for _, s := range o.ports {
		if s != nil && o.err == nil {
			o.err = s.flush()
		}
	}
	return o.err
}

func (o *sinks) close() error {
	errs := []error{o.flush()}
	for _, s := range o.ports {
		if s != nil {
			errs = append(errs, s.file.Close())
		}
	}
	return errors.Join(errs...)
}
