package replay

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// Input is the capture file of what arrives on a port.
type Input struct {
	Port uint32
	Path string
}

// ErrInput reports that an input cannot be used.
var ErrInput = errors.New("not a capture that can be replayed")

// The pcap format: a header, then packets with a record in front of each, in the
// byte order of whoever wrote it.
const (
	magicMicros = 0xa1b2c3d4
	magicNanos  = 0xa1b23c4d
	headerLen   = 24
	recordLen   = 16
	ethernet    = 1 // link type
	// maxFrame bounds the length that a packet may claim, as libpcap does.
	maxFrame = 1 << 18
)

// A buffer is small enough to leave the cache to the switch; one that a packet
// does not fit into is made longer.
const (
	readBuffer  = 1 << 15
	writeBuffer = 1 << 15
)

// source is an open input, with its next packet. It reads the records of the file in place in the
// buffer: a reader that copies records took a tenth of the time of a run.
type source struct {
	Input
	file   *os.File
	buffer *bufio.Reader
	ahead  []byte // of the buffer, not used yet
	used   int    // octets of the buffer before those
	big    bool   // byte order
	unit   int64  // nanoseconds of the finer half of a stamp

	frame  []byte // valid until the next call of next
	at     int64  // nanoseconds since 1970
	number int    // of the frame in the file, from 1
	done   bool
}

func openSource(in Input) (*source, error) {
	f, err := os.Open(in.Path)
	if err != nil {
		return nil, err
	}
	s := &source{Input: in, file: f, buffer: bufio.NewReaderSize(f, readBuffer)}
	if err := s.start(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return s, nil
}

// start reads the header of the file and its first packet.
func (s *source) start() error {
	head, err := s.buffer.Peek(headerLen)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%s: %w: %s", s.Path, ErrInput, fmt.Sprintf(format, args...))
	}
	if len(head) < 4 {
		return refuse("it ends within the header of a pcap file")
	}
	magic := binary.LittleEndian.Uint32(head)
	m := binary.BigEndian.Uint32(head)
	if s.big = m == magicMicros || m == magicNanos; s.big {
		magic = m
	}
	switch {
	case magic == magicMicros:
		s.unit = 1000
	case magic == magicNanos:
		s.unit = 1
	case string(head[:4]) == "\n\r\r\n":
		return refuse("it is pcapng; want pcap (editcap -F pcap)")
	case string(head[:2]) == "\x1f\x8b":
		return refuse("it is compressed; want pcap (gunzip)")
	default:
		return refuse("not a pcap file: it begins with %#x", head[:4])
	}
	if len(head) < headerLen {
		return refuse("it ends within the header of a pcap file")
	}
	if link := s.word(head[20:]); link != ethernet {
		return refuse("link type %d; want %d (Ethernet)", link, ethernet)
	}
	s.ahead, s.used = nil, headerLen
	s.number, s.done = 0, false
	return s.next()
}

// rewind starts the file once more.
func (s *source) rewind() error {
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	s.buffer.Reset(s.file)
	return s.start()
}

// next reads a packet; done says that there is none.
func (s *source) next() error {
	s.number++
	head, err := s.peek(recordLen)
	if err != nil {
		if s.done = len(head) == 0 && errors.Is(err, io.EOF); s.done {
			return nil
		}
		return s.broken(err)
	}
	seconds, fraction := s.word(head), s.word(head[4:])
	captured, length := s.word(head[8:]), s.word(head[12:])
	switch {
	case captured > maxFrame:
		return s.refuse("%d octets; want at most %d", captured, maxFrame)
	case captured < length:
		return s.refuse("%d of its %d octets were captured; want all (tcpdump -s 0)", captured, length)
	case captured > length:
		return s.refuse("%d octets were captured of %d", captured, length)
	}
	record, err := s.peek(recordLen + int(captured))
	if err != nil {
		return s.broken(err)
	}
	s.frame = record[recordLen:]
	s.at = int64(seconds)*int64(time.Second) + int64(fraction)*s.unit
	s.ahead, s.used = s.ahead[len(record):], s.used+len(record)
	return nil
}

// peek returns the next n octets where they lie, fewer with an error.
func (s *source) peek(n int) ([]byte, error) {
	if n <= len(s.ahead) {
		return s.ahead[:n], nil
	}
	s.buffer.Discard(s.used) // they are in the buffer
	s.ahead, s.used = nil, 0
	b, err := s.buffer.Peek(n)
	if errors.Is(err, bufio.ErrBufferFull) {
		s.buffer = bufio.NewReaderSize(s.buffer, recordLen+maxFrame)
		b, err = s.buffer.Peek(n)
	}
	if err != nil {
		return b, err
	}
	s.ahead, err = s.buffer.Peek(s.buffer.Buffered())
	return b, err
}

// word reads 32 bits in the byte order of the file.
func (s *source) word(b []byte) uint32 {
	if s.big {
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}

func (s *source) refuse(format string, args ...any) error {
	return fmt.Errorf("%s: packet %d: %w: %s", s.Path, s.number, ErrInput,
		fmt.Sprintf(format, args...))
}

// broken is the error of a packet that cannot be read.
func (s *source) broken(err error) error {
	if errors.Is(err, io.EOF) {
		return s.refuse("the file ends within it")
	}
	return fmt.Errorf("%s: packet %d: %w", s.Path, s.number, err)
}

// sources are the inputs, by port.
type sources []*source

func openSources(inputs []Input) (sources, error) {
	var all sources
	for _, in := range slices.SortedStableFunc(slices.Values(inputs), func(a, b Input) int {
		return int(a.Port) - int(b.Port)
	}) {
		if n := len(all); n > 0 && all[n-1].Port == in.Port {
			return nil, errors.Join(fmt.Errorf("%w: port %d has two inputs, %s and %s; want one", ErrConfig,
				in.Port, all[n-1].Path, in.Path), all.close())
		}
		s, err := openSource(in)
		if err != nil {
			return nil, errors.Join(err, all.close())
		}
		all = append(all, s)
	}
	return all, nil
}

// earliest returns the input with the earliest next packet, or nil at the end of all inputs.
func (all sources) earliest() *source {
	var first *source
	for _, s := range all {
		if !s.done && (first == nil || s.at < first.at) {
			first = s
		}
	}
	return first
}

func (all sources) rewind() error {
	for _, s := range all {
		if err := s.rewind(); err != nil {
			return err
		}
	}
	return nil
}

// unit is the unit of the finest stamps.
func (all sources) unit() int64 {
	unit := int64(time.Microsecond)
	for _, s := range all {
		unit = min(unit, s.unit)
	}
	return unit
}

func (all sources) close() error {
	var errs []error
	for _, s := range all {
		errs = append(errs, s.file.Close())
	}
	return errors.Join(errs...)
}
