// Package pcap writes captures of Ethernet frames that tcpdump and Wireshark read: the classic
// format with stamps in nanoseconds (draft-ietf-opsawg-pcap). A library with hundreds of protocols
// would make up an eighth of the program.
package pcap

import (
	"encoding/binary"
	"io"
	"time"
)

// Writer writes a capture. It is not safe for concurrent use.
type Writer struct {
	w      io.Writer
	header [16]byte // of the frame that is being written
}

// NewWriter writes the file header; frames have at most the given number of octets.
func NewWriter(w io.Writer, octets uint32) (*Writer, error) {
	header := binary.LittleEndian.AppendUint32(nil, 0xa1b23c4d) // stamps in nanoseconds
	header = binary.LittleEndian.AppendUint16(header, 2)        // version 2.4
	header = binary.LittleEndian.AppendUint16(header, 4)
	header = binary.LittleEndian.AppendUint64(header, 0) // reserved
	header = binary.LittleEndian.AppendUint32(header, octets)
	header = binary.LittleEndian.AppendUint32(header, 1) // LINKTYPE_ETHERNET
	_, err := w.Write(header)
	return &Writer{w: w}, err
}

// Write writes the first octets of a frame, with its time and its length on the wire in octets.
// Times are those from 1970 to 2106.
func (w *Writer) Write(at time.Time, first []byte, length int) error {
	for i, v := range [...]int64{at.Unix(), int64(at.Nanosecond()), int64(len(first)),
		int64(length)} {
		binary.LittleEndian.PutUint32(w.header[4*i:], uint32(v))
	}
	if _, err := w.w.Write(w.header[:]); err != nil {
		return err
	}
	_, err := w.w.Write(first)
	return err
}
