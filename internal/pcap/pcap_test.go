package pcap

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// TestRead: a reader of others finds every frame, with its stamp and both lengths.
func TestRead(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file, 1500)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(4294967295, 999999999) // the last time that there is
	frames := [][]byte{bytes.Repeat([]byte{0xa5}, 60), {}, bytes.Repeat([]byte{1, 2}, 750)}
	for i, f := range frames {
		if err := w.Write(at.Add(-time.Duration(i)*time.Nanosecond), f, len(f)+i); err != nil {
			t.Fatal(err)
		}
	}
	r, err := pcapgo.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	if r.LinkType() != layers.LinkTypeEthernet || r.Snaplen() != 1500 {
		t.Errorf("frames of %v with up to %d octets", r.LinkType(), r.Snaplen())
	}
	for i, f := range frames {
		got, info, err := r.ReadPacketData()
		if err != nil || !bytes.Equal(got, f) || info.Length != len(f)+i ||
			!info.Timestamp.Equal(at.Add(-time.Duration(i)*time.Nanosecond)) {
			t.Errorf("frame %d: %x, %+v, %v", i, got, info, err)
		}
	}
	if _, _, err := r.ReadPacketData(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last frame: %v", err)
	}
}

// full takes so many octets, and no more.
type full int

func (f *full) Write(b []byte) (int, error) {
	if *f -= full(len(b)); *f < 0 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

// TestErrors: a file that is full is an error of whatever does not fit.
func TestErrors(t *testing.T) {
	const all = 24 + 16 + 60
	for room := range full(all + 1) {
		left := room
		w, err := NewWriter(&left, 1500)
		if err == nil {
			err = w.Write(time.Unix(0, 0), make([]byte, 60), 60)
		}
		if (err != nil) != (room < all) {
			t.Errorf("with room for %d octets: %v", room, err)
		}
	}
}

// TestNoAllocation: frames are written on the path of packets.
func TestNoAllocation(t *testing.T) {
	w, err := NewWriter(io.Discard, 1500)
	if err != nil {
		t.Fatal(err)
	}
	at, frame := time.Unix(0, 0), make([]byte, 60)
	if n := testing.AllocsPerRun(100, func() { err = w.Write(at, frame, 60) }); n != 0 || err != nil {
		t.Errorf("%v allocations a frame, %v", n, err)
	}
}
