package packet

import (
	"bytes"
	"testing"
)

// A PFC frame to the SID 2001:db8::e, without and with an SRH of two segments.
const (
	srv6FrameHead = "020000000001 0200000000fe 86dd"
	srv6FramePFC  = "0180c2000001 02000000000a 8808" + pfcWire
	srv6FrameBE   = srv6FrameHead +
		"60000007 0022 8f 40 20010db8000000000000000000000003 20010db800000000000000000000000e" +
		srv6FramePFC
	srv6FrameSRH = srv6FrameHead +
		"60000007 004a 2b 3f 20010db8000000000000000000000003 20010db800000000000000000000000e" +
		"8f 04 04 00 01 00 0000 20010db800000000000000000000000e 20010db8000000000000000000000002" +
		srv6FramePFC
)

func TestSRv6Frame(t *testing.T) {
	eth := Ethernet{Dst: MAC{2, 0, 0, 0, 0, 1}, Src: MAC{2, 0, 0, 0, 0, 0xfe},
		EtherType: EtherTypeIPv6}
	ip := IPv6{FlowLabel: 7, PayloadLength: 34, NextHeader: NextHeaderEthernet, HopLimit: 64,
		Src: addr("2001:db8::3"), Dst: addr("2001:db8::e")}
	routed := ip
	routed.NextHeader, routed.HopLimit, routed.PayloadLength = NextHeaderRouting, 63, 74
	inner := unhex(t, srv6FramePFC)
	list := append(addr("2001:db8::e").AsSlice(), addr("2001:db8::2").AsSlice()...)
	testHeader(t, ParseSRv6Frame, []headerCase[SRv6Frame]{
		{"one SID, best effort", srv6FrameBE, SRv6Frame{Ethernet: eth, IPv6: ip, Frame: inner}},
		{"a policy", srv6FrameSRH, SRv6Frame{
			Ethernet: eth, IPv6: routed, Routed: true, Frame: inner,
			SRH: SRH{NextHeader: NextHeaderEthernet, LastEntry: 1, SegmentList: list, TLVList: []byte{}},
		}},
	})
}

// TestSRv6FrameLengths: Append derives lengths and next headers from the contents of a frame.
func TestSRv6FrameLengths(t *testing.T) {
	for _, wire := range []string{srv6FrameBE, srv6FrameSRH} {
		p, _, err := ParseSRv6Frame(unhex(t, wire))
		if err != nil {
			t.Fatal(err)
		}
		p.IPv6.NextHeader, p.IPv6.PayloadLength, p.SRH.NextHeader = 1, 2, 3
		if got, want := p.Append(nil), unhex(t, wire); !bytes.Equal(got, want) {
			t.Errorf("written:\n got % x\nwant % x", got, want)
		}
	}
}

func TestSRv6FrameRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		at, value byte
		want      error
		words     []string
	}{
		"another EtherType":     {12, 0x08, ErrUnsupported, []string{"0x08dd", "0x86dd"}},
		"another version":       {14, 0x40, ErrMalformed, []string{"version 4"}},
		"another next header":   {20, 41, ErrUnsupported, []string{"Next Header 41", "143"}},
		"an inner frame of 13":  {19, 13, ErrTruncated, []string{"inner Ethernet header", "13", "14"}},
		"payload that is short": {19, 35, ErrTruncated, []string{"IPv6 packet"}},
	} {
		b := unhex(t, srv6FrameBE)
		b[c.at] = c.value
		_, n, err := ParseSRv6Frame(b)
		if wantError(t, err, c.want, c.words...); n != 0 {
			t.Errorf("%s: took %d octets", name, n)
		}
	}
	b := unhex(t, srv6FrameSRH)
	b[14+40] = NextHeaderIPv6
	_, _, err := ParseSRv6Frame(b)
	wantError(t, err, ErrUnsupported, "Next Header 41", "143")
}

func TestSRv6FrameAllocatesNothing(t *testing.T) {
	b := unhex(t, srv6FrameSRH)
	out := make([]byte, 0, len(b))
	if n := testing.AllocsPerRun(100, func() {
		p, _, err := ParseSRv6Frame(b)
		if err != nil {
			t.Fatal(err)
		}
		p.Append(out)
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func FuzzParseSRv6Frame(f *testing.F) {
	fuzzHeader(f, ParseSRv6Frame, true, srv6FrameBE, srv6FrameSRH)
}
