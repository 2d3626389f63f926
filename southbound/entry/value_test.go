package entry

import (
	"bytes"
	"net/netip"
	"testing"
)

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ in, want []byte }{
		{nil, []byte{0}},
		{[]byte{}, []byte{0}},
		{[]byte{0}, []byte{0}},
		{[]byte{0, 0, 0}, []byte{0}},
		{[]byte{0, 1}, []byte{1}},
		{[]byte{1, 0}, []byte{1, 0}},
		{[]byte{0, 0x80, 0}, []byte{0x80, 0}},
	} {
		if got := Canonical(c.in); !bytes.Equal(got, c.want) {
			t.Errorf("Canonical(%x) = %x, want %x", c.in, got, c.want)
		}
	}
}

func TestValueRoundTrips(t *testing.T) {
	for _, n := range []uint64{0, 1, 255, 256, 1 << 24, 1<<64 - 1} {
		if got, ok := Uint(n).Uint64(); !ok || got != n {
			t.Errorf("Uint(%d) gives back %d, %v", n, got, ok)
		}
	}
	a := netip.MustParseAddr("::1:0")
	if got, ok := Addr(a).Addr6(); !ok || got != a {
		t.Errorf("Addr gives back %v", got)
	}
	m := [6]byte{0, 0, 0xaa, 0, 0, 1}
	if got, ok := MAC(m).MAC(); !ok || got != m {
		t.Errorf("MAC gives back %v", got)
	}
	if _, ok := Value("").Uint64(); ok {
		t.Error("no value is a number")
	}
	if _, ok := Addr(netip.MustParseAddr("2001:db8::1")).Uint64(); ok {
		t.Error("an IPv6 address fits 64 bits")
	}
	if _, ok := Uint(1 << 48).MAC(); ok {
		t.Error("49 bits are a MAC")
	}
}

func TestValueBitLen(t *testing.T) {
	for n, want := range map[uint64]int{0: 0, 1: 1, 255: 8, 256: 9, 511: 9, 1 << 40: 41} {
		if got := Uint(n).BitLen(); got != want {
			t.Errorf("BitLen(%d) = %d, want %d", n, got, want)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	f.Add([]byte{0, 0, 1})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		c := Canonical(b)
		if len(c) == 0 || len(c) > 1 && c[0] == 0 {
			t.Fatalf("Canonical(%x) = %x", b, c)
		}
		if ValueOf(append([]byte{0}, b...)) != ValueOf(b) {
			t.Fatalf("a leading zero changes %x", b)
		}
	})
}
