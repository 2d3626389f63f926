package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The classic pcap format: a header of 24 octets, then packets with 16 octets in front of each.
const (
	pcapMagic     = 0xa1b2c3d4 // microseconds, in the order of the one who writes: little-endian here
	pcapEthernet  = 1
	pcapSnapshot  = 1 << 16
	pcapHeaderLen = 24
	pcapRecordLen = 16
)

var errPcap = errors.New("not the pcap format that is understood here")

func appendPcapHeader(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, pcapMagic)
	b = binary.LittleEndian.AppendUint16(b, 2)
	b = binary.LittleEndian.AppendUint16(b, 4)
	b = append(b, make([]byte, 8)...) // time zone, accuracy
	b = binary.LittleEndian.AppendUint32(b, pcapSnapshot)
	return binary.LittleEndian.AppendUint32(b, pcapEthernet)
}

// appendPcapRecord appends a frame with the time 0: nobody here looks at it.
func appendPcapRecord(b, frame []byte) []byte {
	b = append(b, make([]byte, 8)...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(frame)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(frame)))
	return append(b, frame...)
}

// A pcapReader reads the frames of a pcap stream.
type pcapReader struct {
	from    io.Reader
	started bool
	frame   []byte
}

// next returns the next frame, which is valid until the next call.
func (r *pcapReader) next() ([]byte, error) {
	var head [pcapHeaderLen]byte
	if !r.started {
		if _, err := io.ReadFull(r.from, head[:]); err != nil {
			return nil, err
		}
		if magic := binary.LittleEndian.Uint32(head[:]); magic != pcapMagic {
			return nil, fmt.Errorf("%w: it starts with %#x", errPcap, magic)
		}
		r.started = true
	}
	if _, err := io.ReadFull(r.from, head[:pcapRecordLen]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(head[8:])
	if n > pcapSnapshot {
		return nil, fmt.Errorf("%w: a packet of %d octets", errPcap, n)
	}
	if cap(r.frame) < int(n) {
		r.frame = make([]byte, n)
	}
	r.frame = r.frame[:n]
	_, err := io.ReadFull(r.from, r.frame)
	return r.frame, err
}
