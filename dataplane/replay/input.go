package replay

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// Input is the capture file of what arrives on a port.
type Input struct {
	Port uint32
	Path string
}

// ErrInput says that an input cannot be used.
var ErrInput = errors.New("not a capture that can be replayed")

const (
	readBuffer = 1 << 20
	// maxFrame bounds the length that a packet of a capture may claim, as
	// libpcap does.
	maxFrame = 1 << 18
)

// source is an input being read, with its next packet.
type source struct {
	Input
	file   *os.File
	buffer *bufio.Reader
	reader *pcapgo.Reader
	frame  []byte // valid until the next call of next
	at     time.Time
	number int // of the frame in the file, from 1
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
	if magic, err := s.buffer.Peek(4); err == nil && string(magic) == "\n\r\r\n" {
		return fmt.Errorf("%s: %w: it is pcapng; want pcap (editcap -F pcap %[1]s)", s.Path, ErrInput)
	}
	r, err := pcapgo.NewReader(s.buffer)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s: %w: it ends within the header of a pcap file", s.Path, ErrInput)
	case err != nil:
		return fmt.Errorf("%s: %w: not a pcap file: %v", s.Path, ErrInput, err)
	case r.LinkType() != layers.LinkTypeEthernet:
		return fmt.Errorf("%s: %w: link type %d (%v); want %d (Ethernet)", s.Path, ErrInput, r.LinkType(), r.LinkType(), layers.LinkTypeEthernet)
	}
	r.SetSnaplen(maxFrame)
	s.reader, s.number, s.done = r, 0, false
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
	var info gopacket.CaptureInfo
	var err error
	s.number++
	s.frame, info, err = s.reader.ZeroCopyReadPacketData()
	switch {
	case err == nil && info.CaptureLength < info.Length:
		return fmt.Errorf("%s: packet %d: %w: %d of its %d octets were captured; want all (tcpdump -s 0)",
			s.Path, s.number, ErrInput, info.CaptureLength, info.Length)
	case err == nil:
		s.at = info.Timestamp
		return nil
	case errors.Is(err, io.EOF) && info.CaptureLength == 0:
		s.done = true
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s: packet %d: %w: the file ends within it", s.Path, s.number, ErrInput)
	}
	return fmt.Errorf("%s: packet %d: %w: %v", s.Path, s.number, ErrInput, err)
}

// sources are the inputs, by port.
type sources []*source

func openSources(inputs []Input) (sources, error) {
	var all sources
	for _, in := range slices.SortedStableFunc(slices.Values(inputs), func(a, b Input) int { return int(a.Port) - int(b.Port) }) {
		if n := len(all); n > 0 && all[n-1].Port == in.Port {
			return nil, errors.Join(fmt.Errorf("%w: port %d has two inputs, %s and %s; want one", ErrConfig, in.Port, all[n-1].Path, in.Path), all.close())
		}
		s, err := openSource(in)
		if err != nil {
			return nil, errors.Join(err, all.close())
		}
		all = append(all, s)
	}
	return all, nil
}

// earliest is the input whose packet is next, nil at the end of all.
func (all sources) earliest() *source {
	var first *source
	for _, s := range all {
		if !s.done && (first == nil || s.at.Before(first.at)) {
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

// nanoseconds tells whether a capture has stamps finer than microseconds.
func (all sources) nanoseconds() bool {
	return slices.ContainsFunc(all, func(s *source) bool {
		return s.reader.Resolution() == gopacket.TimestampResolutionNanosecond
	})
}

func (all sources) close() error {
	var errs []error
	for _, s := range all {
		errs = append(errs, s.file.Close())
	}
	return errors.Join(errs...)
}
