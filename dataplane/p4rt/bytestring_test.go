package p4rt

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"google.golang.org/grpc/codes"
)

// The tables of the P4Runtime specification, "Bytestrings".
func TestByteStrings(t *testing.T) {
	for _, c := range []struct {
		width     int
		signed    bool
		in        string
		canonical string // "": out of range
	}{
		{8, false, "\x63", "\x63"},
		{16, false, "\x00\x63", "\x63"},
		{16, false, "\x63", "\x63"},
		{16, false, "\x30\x64", "\x30\x64"},
		{16, false, "\x00\x30\x64", "\x30\x64"},
		{12, false, "\x00\x63", "\x63"},
		{12, false, "\x63", "\x63"},
		{12, false, "\x00\x00\x63", "\x63"},
		{8, true, "\x63", "\x63"},
		{8, true, "\x9d", "\x9d"},
		{8, true, "\xff\x9d", "\x9d"},
		{12, true, "\xfd\x1d", "\xfd\x1d"},
		{16, true, "\x00\x00", "\x00"},
		{16, true, "\x00", "\x00"},
		{1, false, "\x00", "\x00"},
		{1, false, "\x01", "\x01"},

		{8, false, "\x01\x63", ""},
		{8, false, "", ""},
		{16, false, "\x01\x00\x63", ""},
		{12, false, "\x10\x63", ""},
		{12, false, "\x01\x00\x63", ""},
		{12, false, "\x00\x40\x63", ""},
		{8, true, "\x00\x9d", ""},
		{12, true, "\x8d\x1d", ""},
		{16, true, "", ""},
		{1, false, "\x02", ""},
	} {
		var got []byte
		var err *Error
		if c.signed {
			if got, err = appendFixedSigned(nil, []byte(c.in), c.width); err == nil {
				got = canonicalSigned(got)
			}
		} else if got, err = appendFixed(nil, []byte(c.in), c.width); err == nil {
			got = canonical(got)
		}
		switch {
		case c.canonical == "" && (err == nil || err.Code != codes.OutOfRange):
			t.Errorf("width %d, signed %t, %x: got %x, %v; want OUT_OF_RANGE", c.width, c.signed, c.in, got,
				err)
		case c.canonical != "" && (err != nil || string(got) != c.canonical):
			t.Errorf("width %d, signed %t, %x: got %x, %v; want %x", c.width, c.signed, c.in, got, err,
				c.canonical)
		}
	}
}

func TestBitPackingRoundTrip(t *testing.T) {
	const seed = 7
	rng := rand.New(rand.NewPCG(seed, seed))
	for range 500 {
		var w bitWriter
		var widths []int
		var values [][]byte
		for range 1 + rng.IntN(6) {
			width := 1 + rng.IntN(70)
			v := make([]byte, byteLen(width))
			for i := range v {
				v[i] = byte(rng.Uint32())
			}
			if width%8 != 0 {
				v[0] &= 1<<(width%8) - 1
			}
			w.write(v, width)
			widths, values = append(widths, width), append(values, v)
		}
		r := bitReader{buf: w.buf}
		for i, width := range widths {
			if got := r.read(nil, width); !bytes.Equal(got, values[i]) {
				t.Fatalf("seed %d: widths %v: value %d: got %x, want %x", seed, widths, i, got, values[i])
			}
		}
	}
}

func FuzzByteString(f *testing.F) {
	f.Add([]byte{0, 0x63}, 12)
	f.Add([]byte{}, 1)
	f.Add([]byte{0x8d, 0x1d}, 12)
	f.Fuzz(func(t *testing.T, v []byte, width int) {
		width = 1 + (width&0x7fffffff)%300
		if fixed, err := appendFixed(nil, v, width); err == nil {
			if len(fixed) != byteLen(width) || bitLen(fixed) > width {
				t.Fatalf("width %d: %x became %x", width, v, fixed)
			}
			again, err := appendFixed(nil, canonical(fixed), width)
			if err != nil || !bytes.Equal(again, fixed) {
				t.Fatalf("width %d: the canonical form of %x reads back as %x, %v", width, fixed, again, err)
			}
		}
		if fixed, err := appendFixedSigned(nil, v, width); err == nil {
			again, err := appendFixedSigned(nil, canonicalSigned(fixed), width)
			if err != nil || !bytes.Equal(again, fixed) {
				t.Fatalf("int<%d>: the canonical form of %x reads back as %x, %v", width, fixed, again, err)
			}
		}
	})
}
