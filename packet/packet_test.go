package packet

import (
	"bytes"
	"encoding/hex"
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"
)

// header is the interface of every header in this package.
type header interface {
	Append(b []byte) []byte
	Len() int
}

// headerCase is one header and its encoding.
type headerCase[H header] struct {
	name string
	wire string // hexadecimal, spaces allowed
	want H
}

// testHeader checks decode, encode and length of each case, and that every shorter input is
// ErrTruncated.
func testHeader[H header](t *testing.T, parse func([]byte) (H, int, error), cases []headerCase[H]) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			wire := unhex(t, c.wire)
			got, n, err := parse(append(bytes.Clone(wire), 0xA5, 0x5A))
			if err != nil {
				t.Fatalf("parse: %v", err)
			}
			if n != len(wire) {
				t.Errorf("parse took %d octets, want %d", n, len(wire))
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("parse:\n got %+v\nwant %+v", got, c.want)
			}
			prefix := []byte{1, 2, 3}
			if out := c.want.Append(bytes.Clone(prefix)); !bytes.Equal(out, append(prefix, wire...)) {
				t.Errorf("append:\n got % x\nwant 01 02 03 % x", out, wire)
			}
			if c.want.Len() != len(wire) {
				t.Errorf("Len = %d, want %d", c.want.Len(), len(wire))
			}
			for n := range wire {
				if _, took, err := parse(wire[:n:n]); !errors.Is(err, ErrTruncated) || took != 0 {
					t.Errorf("parse of the first %d octets took %d, %v; want 0, ErrTruncated", n, took, err)
				}
			}
		})
	}
}

// fuzzHeader checks that parse never panics, never reads past the input, and that an accepted
// header survives Append and a second parse; if exact, Append must also return the parsed octets.
func fuzzHeader[H header](f *testing.F, parse func([]byte) (H, int, error), exact bool,
	seeds ...string) {
	f.Helper()
	for _, s := range seeds {
		f.Add(unhex(f, s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, n, err := parse(b)
		if err != nil {
			if !isSentinel(err) {
				t.Fatalf("error %v wraps no sentinel", err)
			}
			return
		}
		if n < 0 || n > len(b) {
			t.Fatalf("took %d of %d octets", n, len(b))
		}
		out := h.Append(nil)
		if len(out) != h.Len() {
			t.Fatalf("Len %d, but Append wrote %d octets", h.Len(), len(out))
		}
		if exact && !bytes.Equal(out, b[:n]) {
			t.Fatalf("append:\n got % x\nwant % x", out, b[:n])
		}
		again, m, err := parse(out)
		if err != nil || m != len(out) || !reflect.DeepEqual(again, h) {
			t.Fatalf("second parse: %+v, %d, %v\nwant %+v, %d, no error", again, m, err, h, len(out))
		}
	})
}

// testMask checks that mask covers exactly the fields of a fixed-length header: Append writes the
// bits of mask as parsed, and the reserved bits as zero.
func testMask[H header](t *testing.T, parse func([]byte) (H, int, error), mask string) {
	t.Helper()
	m := unhex(t, mask)
	check := func(in []byte) {
		t.Helper()
		h, n, err := parse(in)
		if err != nil || n != len(m) {
			t.Fatalf("parse of % x took %d, %v; want %d", in, n, err, len(m))
		}
		if out := h.Append(nil); !bytes.Equal(out, masked(in, m)) {
			t.Fatalf("% x written again:\n got % x\nwant % x", in, out, masked(in, m))
		}
	}
	in := make([]byte, len(m))
	for bit := range 8 * len(m) {
		in[bit/8] = 0x80 >> (bit % 8)
		check(in)
		in[bit/8] = 0
	}
	for i := range in {
		in[i] = 0xFF
	}
	check(in)
}

// fuzzMask is fuzzHeader for a fixed-length header: Append returns the parsed octets, with all bits
// outside mask cleared.
func fuzzMask[H header](f *testing.F, parse func([]byte) (H, int, error), mask string,
	seeds ...string) {
	f.Helper()
	m := unhex(f, mask)
	for _, s := range seeds {
		f.Add(unhex(f, s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, n, err := parse(b)
		if err != nil {
			if !isSentinel(err) {
				t.Fatalf("error %v wraps no sentinel", err)
			}
			return
		}
		if out := h.Append(nil); n != len(m) || len(out) != h.Len() ||
			!bytes.Equal(out, masked(b[:n], m)) {
			t.Fatalf("took %d octets, wrote\n     % x\nwant % x", n, out, masked(b[:n], m))
		}
	})
}

func masked(b, mask []byte) []byte {
	out := bytes.Clone(b)
	for i := range out {
		out[i] &= mask[i]
	}
	return out
}

func isSentinel(err error) bool {
	for _, s := range []error{ErrTruncated, ErrMalformed, ErrUnsupported, ErrTooLong, ErrICRC,
		ErrChecksum, ErrHMAC} {
		if errors.Is(err, s) {
			return true
		}
	}
	return false
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatalf("hex %q: %v", s, err)
	}
	return b
}

// refused returns the error of a parser, which has then taken no octet.
func refused[H any](t testing.TB, parse func([]byte) (H, int, error), b []byte) error {
	t.Helper()
	_, n, err := parse(b)
	if err != nil && n != 0 {
		t.Errorf("refused, and took %d octets: %v", n, err)
	}
	return err
}

// wantError checks that err wraps want and names every word.
func wantError(t *testing.T, err, want error, words ...string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want one that wraps %q", err, want)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }
