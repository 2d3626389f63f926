package lab

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gopacket/gopacket/pcapgo"
)

// TestPcap: a link's frames of both directions are in one file, with the world's time, cut to their
// headers.
func TestPcap(t *testing.T) {
	w, err := NewWorld(Clos(ClosConfig{Planes: 1, T0: 1, T1: 1, Hosts: 1, Rate: 1e9}),
		Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p, err := w.NewPcap(dir)
	if err != nil {
		t.Fatal(err)
	}
	w.AddTap(p)
	there, _ := w.Wire("P1-T0-1", "P1-T1-1")
	back, _ := w.Wire("P1-T1-1", "P1-T0-1")
	long, short := bytes.Repeat([]byte{1}, 1000), bytes.Repeat([]byte{2}, 60)
	there.Inject(long)
	w.Run(time.Second, nil)
	back.Inject(short)
	w.RemoveTap(p)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != len(w.Network.Links) {
		t.Errorf("files %v", names)
	}
	text, err := os.ReadFile(filepath.Join(dir, "P1-T0-1-P1-T1-1.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := pcapgo.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		frame []byte
		n     int
		at    time.Duration
	}{{long[:PcapOctets], 1000, 0}, {short, 60, time.Second}} {
		got, info, err := r.ReadPacketData()
		if err != nil || !bytes.Equal(got, want.frame) || info.Length != want.n ||
			info.Timestamp.Sub(epoch) != want.at {
			t.Errorf("frame %d: %v, %d of %d octets at %v", i, err, len(got), info.Length, info.Timestamp)
		}
	}
	if _, err := w.NewPcap(filepath.Join(dir, "none")); err == nil {
		t.Error("files in no directory")
	}
}
