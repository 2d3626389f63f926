package packet

import (
	"encoding/binary"
	"errors"
	"testing"
)

const icmpWire = "04 00 1234 0000002b 6000000000003b40"

func TestICMPv6Error(t *testing.T) {
	wire := unhex(t, icmpWire)
	want := ICMPv6Error{Type: ICMPv6ParameterProblem, Code: ICMPv6ErroneousField, Checksum: 0x1234,
		Word: 43, Quoted: wire[8:]}
	got, n, err := ParseICMPv6Error(wire)
	if err != nil || n != len(wire) || string(got.Append(nil)) != string(wire) ||
		string(want.Append(nil)) != string(wire) || want.Len() != len(wire) {
		t.Errorf("%+v, %d, %v; want %+v", got, n, err, want)
	}
	for n := range ICMPv6ErrorLen {
		if _, took, err := ParseICMPv6Error(wire[:n:n]); !errors.Is(err, ErrTruncated) || took != 0 {
			t.Errorf("%d octets: took %d, %v", n, took, err)
		}
	}
	wire[0] = 128
	err = refused(t, ParseICMPv6Error, wire)
	wantError(t, err, ErrUnsupported, "type 128", "127")
}

// TestICMPv6Checksum: with the right checksum in it, all of the message with its pseudo-header adds
// up to all ones (RFC 1071).
func TestICMPv6Checksum(t *testing.T) {
	src, dst := addr("2001:db8::1"), addr("2001:db8::2")
	for _, quoted := range []string{"", "00", "6000000000003b40", "ffffffff"} {
		m := ICMPv6Error{Type: ICMPv6TimeExceeded, Checksum: 0xbeef, Quoted: unhex(t, quoted)}
		m.Checksum = ICMPv6Checksum(src, dst, m.Append(nil))
		pseudo := append(src.AsSlice(), dst.AsSlice()...)
		pseudo = binary.BigEndian.AppendUint32(pseudo, uint32(m.Len()))
		pseudo = append(pseudo, 0, 0, 0, NextHeaderICMPv6)
		pseudo = append(m.Append(pseudo), make([]byte, m.Len()%2)...)
		sum := uint32(0)
		for i := 0; i < len(pseudo); i += 2 {
			sum += uint32(binary.BigEndian.Uint16(pseudo[i:]))
		}
		for sum > 0xffff {
			sum = sum>>16 + sum&0xffff
		}
		if sum != 0xffff {
			t.Errorf("quoted %q: checksum %#04x adds up to %#04x", quoted, m.Checksum, sum)
		}
	}
}

func FuzzParseICMPv6Error(f *testing.F) { fuzzHeader(f, ParseICMPv6Error, true, icmpWire) }
