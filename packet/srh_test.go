package packet

import (
	"bytes"
	"net/netip"
	"slices"
	"testing"
)

const (
	proxyHex = "fc0000ff000000000000000000000001"
	sidHex   = "fc00000a000000010000000000000000"

	// Next Header 41, 4 units, type 4, SL 1, Last Entry 1, flags, tag; proxy, SID.
	srhPlainWire = "29 04 04 01 01 00 0000" + proxyHex + sidHex
	srhTLVWire   = "11 07 04 02 01 5a 1234" + proxyHex + sidHex +
		"7c 04 aabbccdd 04 05 0000000000 fd 05 0102030405 00 04 00 00"
)

var (
	proxy = addr("fc00:ff::1")
	sid   = addr("fc00:a:0:1::")
)

func TestSRH(t *testing.T) {
	segments := unhex(t, proxyHex+sidHex)
	testHeader(t, ParseSRH, []headerCase[SRH]{
		{"two segments", srhPlainWire, SRH{
			NextHeader: NextHeaderIPv6, SegmentsLeft: 1, LastEntry: 1, SegmentList: segments,
			TLVList: []byte{},
		}},
		{"TLVs, all fields", srhTLVWire, SRH{
			NextHeader: NextHeaderUDP, SegmentsLeft: 2, LastEntry: 1, Flags: 0x5a, Tag: 0x1234,
			SegmentList: segments,
			TLVList:     unhex(t, "7c 04 aabbccdd 04 05 0000000000 fd 05 0102030405 00 04 00 00"),
		}},
		{"one segment", "3b 02 04 00 00 00 0000" + sidHex, SRH{
			NextHeader: NextHeaderNone, SegmentList: unhex(t, sidHex), TLVList: []byte{},
		}},
	})
}

func TestSRHSegments(t *testing.T) {
	h, err := NewSRH(NextHeaderIPv6, []netip.Addr{sid, proxy}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := h.Append(nil), unhex(t, srhPlainWire); !bytes.Equal(got, want) {
		t.Errorf("segments in order of visit:\n got % x\nwant % x", got, want)
	}
	if h.NumSegments() != 2 || h.Segment(0) != proxy || h.Segment(1) != sid ||
		h.Segment(int(h.SegmentsLeft)) != sid {
		t.Errorf("segments %v, %v of %d", h.Segment(0), h.Segment(1), h.NumSegments())
	}
	if h.Segment(2).IsValid() || h.Segment(-1).IsValid() {
		t.Error("a segment that is not there is valid")
	}
}

// The first segment of a reduced SRH is in the destination address alone.
func TestReducedSRH(t *testing.T) {
	h, err := NewReducedSRH(NextHeaderIPv6, []netip.Addr{sid, proxy}, nil)
	if err != nil {
		t.Fatal(err)
	}
	// Next Header 41, 2 units, type 4, SL 1, Last Entry 0, flags, tag; proxy.
	wire := unhex(t, "29 02 04 01 00 00 0000"+proxyHex)
	if got := h.Append(nil); !bytes.Equal(got, wire) {
		t.Errorf("append:\n got % x\nwant % x", got, wire)
	}
	if got, n, err := ParseSRH(wire); err != nil || n != len(wire) || got.SegmentsLeft != 1 ||
		got.NumSegments() != 1 || got.Segment(0) != proxy {
		t.Errorf("parse: %+v, %d, %v", got, n, err)
	}
	for n := range 2 {
		_, err := NewReducedSRH(NextHeaderIPv6, []netip.Addr{sid, proxy}[:n], nil)
		wantError(t, err, ErrMalformed, "segments, want at least 2")
	}
	_, err = NewReducedSRH(NextHeaderIPv6, make([]netip.Addr, 129), nil)
	wantError(t, err, ErrTooLong, "at most 2048")
}

func TestSRHTLVs(t *testing.T) {
	h, _, err := ParseSRH(unhex(t, srhTLVWire))
	if err != nil {
		t.Fatal(err)
	}
	var types []uint8
	for tlv := range h.TLVs() {
		types = append(types, tlv.Type)
	}
	if !slices.Equal(types, []uint8{0x7c, 0xfd}) {
		t.Errorf("types %x, want 7c fd: padding left out", types)
	}
	for range h.TLVs() {
		break // must not panic
	}
	for range (SRH{TLVList: []byte{7, 9}}).TLVs() {
		t.Error("a malformed list has a TLV")
	}
}

func TestSRHRefuses(t *testing.T) {
	for _, c := range []struct {
		name, wire string
		want       error
		words      []string
	}{
		{"routing type", "29 04 03 01 01 00 0000" + proxyHex + sidHex, ErrUnsupported,
			[]string{"Routing Type 3", "want 4"}},
		{"Segments Left 3 of 2", "29 04 04 03 01 00 0000" + proxyHex + sidHex, ErrMalformed,
			[]string{"Segments Left 3", "at most Last Entry + 1 = 2"}},
		{"Last Entry beyond", "29 04 04 01 02 00 0000" + proxyHex + sidHex, ErrMalformed,
			[]string{"Last Entry 2", "at most 1", "Hdr Ext Len 4"}},
		{"no segment", "29 00 04 00 00 00 0000", ErrMalformed, []string{"Last Entry 0", "at most -1"}},
		{"half a segment more", "29 03 04 00 01 00 0000" + proxyHex + "0000000000000000", ErrMalformed,
			[]string{"Last Entry 1", "at most 0"}},
		{"TLV past the end", "29 03 04 00 00 00 0000" + proxyHex + "7c 07 000000000000", ErrTruncated,
			[]string{"octet 24", "type 124", "Length 7", "6 octets left"}},
		{"TLV without Length", "29 03 04 00 00 00 0000" + proxyHex + "7c 05 0000000000 7c", ErrTruncated,
			[]string{"octet 31", "type 124", "no Length"}},
		{"PadN past the end", "29 03 04 00 00 00 0000" + proxyHex + "00000000000000 04", ErrTruncated,
			[]string{"octet 31", "type 4"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, n, err := ParseSRH(unhex(t, c.wire))
			wantError(t, err, c.want, c.words...)
			if n != 0 {
				t.Errorf("took %d octets", n)
			}
		})
	}
}

func TestNewSRHRefuses(t *testing.T) {
	_, err := NewSRH(NextHeaderIPv6, nil, nil)
	wantError(t, err, ErrMalformed, "no segments")
	_, err = NewSRH(NextHeaderIPv6, []netip.Addr{sid}, make([]byte, 7))
	wantError(t, err, ErrMalformed, "7 octets of TLVs", "multiple of 8")
	_, err = NewSRH(NextHeaderIPv6, []netip.Addr{sid}, make([]byte, 12))
	wantError(t, err, ErrMalformed, "12 octets of TLVs", "multiple of 8")
	_, err = NewSRH(NextHeaderIPv6, []netip.Addr{sid}, []byte{7, 7, 0, 0, 0, 0, 0, 0})
	wantError(t, err, ErrTruncated, "octet 24", "Length 7")
	_, err = NewSRH(NextHeaderIPv6, make([]netip.Addr, 128), nil)
	wantError(t, err, ErrTooLong, "2056 octets", "at most 2048")
	_, err = NewSRH(NextHeaderIPv6, make([]netip.Addr, 300), nil)
	wantError(t, err, ErrMalformed, "octets of segments")
	if _, err = NewSRH(NextHeaderIPv6, make([]netip.Addr, 127), make([]byte, 8)); err != nil {
		t.Errorf("the longest header: %v", err)
	}
}

func FuzzParseSRH(f *testing.F) {
	fuzzHeader(f, ParseSRH, true, srhPlainWire, srhTLVWire, inbandSRHWire)
}
