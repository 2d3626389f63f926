package packet

import (
	"bytes"
	"testing"
	"time"
)

// Priorities 3 and 4 enabled: 3 for all it can, 4 to go on.
const pfcWire = "0101 0018 0000 0000 0000 ffff 0000 0000 0000 0000"

func TestPFC(t *testing.T) {
	testHeader(t, ParsePFC, []headerCase[PFC]{
		{"pause and go on", pfcWire, PFC{Classes: 0x18, Quanta: [8]uint16{3: 0xffff}}},
		{"every time", "0101 00ff 0001 0203 0405 0607 0809 0a0b 0c0d 0e0f", PFC{
			Classes: 0xff, Quanta: [8]uint16{1, 0x203, 0x405, 0x607, 0x809, 0xa0b, 0xc0d, 0xe0f},
		}},
		{"nothing", "0101 0000 0000 0000 0000 0000 0000 0000 0000 0000", PFC{}},
	})
}

func TestPFCReserved(t *testing.T) {
	b := unhex(t, pfcWire)
	b[2] = 0xff
	if h, _, err := ParsePFC(b); err != nil || h.Classes != 0x18 || h.Append(nil)[2] != 0 {
		t.Errorf("the upper octet of the vector is reserved: %+v, %v", h, err)
	}
}

// TestPFCFrame is a frame as a switch sends it, octet by octet.
func TestPFCFrame(t *testing.T) {
	want := unhex(t, "0180c2000001 02000000000a 8808"+pfcWire+
		"0000000000000000000000000000000000000000000000000000")
	p, src := PFC{Classes: 0x18, Quanta: [8]uint16{3: 0xffff}}, MAC{2, 0, 0, 0, 0, 10}
	if got := p.AppendFrame([]byte{9}, src); !bytes.Equal(got, append([]byte{9}, want...)) ||
		len(want) != PFCFrameLen {
		t.Errorf("append:\n got % x\nwant 09 % x", got, want)
	}
	var got PFC
	if from, err := got.ParseFrame(want); err != nil || got != p || from != src {
		t.Errorf("parse: %+v from %v, %v", got, from, err)
	}
	for n := range EthernetLen + PFCLen {
		_, err := got.ParseFrame(want[:n:n])
		wantError(t, err, ErrTruncated)
	}
	if _, err := got.ParseFrame(want[:EthernetLen+PFCLen]); err != nil {
		t.Errorf("without padding: %v", err)
	}
	for at, words := range map[int][]string{5: {"destination", "01:80:c2:00:00:01"},
		13: {"EtherType", "0x8808"}, 15: {"opcode", "0x0101"}} {
		bad := bytes.Clone(want)
		bad[at] ^= 0x40
		_, err := got.ParseFrame(bad)
		wantError(t, err, ErrUnsupported, words...)
	}
	if got != p {
		t.Errorf("a frame that is refused leaves %+v", got)
	}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := got.ParseFrame(want); err != nil {
			t.Fatal(err)
		}
		got.AppendFrame(want[:0], src)
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func FuzzParsePFC(f *testing.F) {
	fuzzMask(f, ParsePFC, "ffff 00ff ffff ffff ffff ffff ffff ffff ffff ffff", pfcWire,
		"0001 ffff 0000 0000 0000 0000 0000 0000 0000 0000")
}

// TestPauseTime: a quantum is 512 bit times of the port (IEEE 802.3 annex 31D).
func TestPauseTime(t *testing.T) {
	for _, c := range []struct {
		quanta uint16
		speed  uint64
		want   time.Duration
	}{
		{0, 1e9, 0}, {1, 1e9, 512}, {2, 1e9, 1024}, {1, 512e9, 1}, {1, 513e9, 0},
		{0xffff, 100e9, 335_539}, {0xffff, 10e6, 3_355_392_000}, {0xffff, 1, 0xffff * 512 * time.Second},
		{1, 0, 0}, {0xffff, 0, 0},
	} {
		if got := PauseTime(c.quanta, c.speed); got != c.want {
			t.Errorf("%d quanta at %d bit/s: %v, want %v", c.quanta, c.speed, got, c.want)
		}
	}
}
