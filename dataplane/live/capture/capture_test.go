package capture

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/weft-sdn/weft/dataplane/live/livetest"
	"github.com/weft-sdn/weft/internal/bubble"
)

// read returns the frames of a file and their stamps.
func read(t *testing.T, name string) (frames [][]byte, stamps []time.Time) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := pcapgo.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if r.LinkType() != layers.LinkTypeEthernet {
		t.Errorf("link type %v", r.LinkType())
	}
	for {
		b, info, err := r.ReadPacketData()
		if err != nil {
			return frames, stamps
		}
		frames, stamps = append(frames, b), append(stamps, info.Timestamp)
	}
}

func equal(a, b [][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// TestFiles: received and sent frames reach the files soon, and all frames are there after Close.
func TestFiles(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		in, out := filepath.Join(dir, "veth0_in.pcap"), filepath.Join(dir, "veth0_out.pcap")
		bad := func(err error) { t.Error(err) }
		inFile, err := Create(in, bad)
		if err != nil {
			t.Fatal(err)
		}
		outFile, err := Create(out, bad)
		if err != nil {
			t.Fatal(err)
		}
		cable := livetest.NewCable()
		tap := &Tap{Port: cable.A, In: inFile.Write, Out: outFile.Write}
		delivered := 0
		tap.Attach(func(frames [][]byte) { delivered += len(frames) }, func(bool) {})
		cable.B.Attach(func([][]byte) {}, nil)
		came, went := [][]byte{make([]byte, 60), bytes.Repeat([]byte{1}, 9000)},
			[][]byte{[]byte("one frame")}
		began := time.Now()
		time.Sleep(1234567 * time.Nanosecond)
		cable.B.Send(came)
		tap.Send(went)
		if got, _ := read(t, in); len(got) != 0 {
			t.Errorf("%d frames in the file at once", len(got))
		}
		time.Sleep(flushTime)
		got, stamps := read(t, in)
		if !equal(got, came) {
			t.Errorf("in: %x", got)
		}
		for _, s := range stamps {
			if d := s.Sub(began); d != 1234567*time.Nanosecond {
				t.Errorf("a frame is stamped %v after the start", d)
			}
		}
		tap.Send(came)
		if err := errors.Join(inFile.Close(), outFile.Close(), tap.Close()); err != nil {
			t.Error(err)
		}
		if got, _ := read(t, out); !equal(got, append(went, came...)) {
			t.Errorf("out: %x", got)
		}
		if delivered != len(came) {
			t.Errorf("%d frames delivered, want %d", delivered, len(came))
		}
	})
}

// A file that cannot be written is told of once, and stops nobody.
func TestWriteFails(t *testing.T) {
	told := 0
	f, err := Create(filepath.Join(t.TempDir(), "x.pcap"), func(error) { told++ })
	if err != nil {
		t.Fatal(err)
	}
	if err := f.file.Close(); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		f.Write([][]byte{make([]byte, 9000)})
	}
	if err := f.Close(); err == nil || told != 1 {
		t.Errorf("told %d times, Close: %v", told, err)
	}
	if _, err := Create(filepath.Join(t.TempDir(), "no", "x.pcap"), nil); err == nil {
		t.Error("a file in no directory was made")
	}
}
