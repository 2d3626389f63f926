package packet

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// trimmable is a frame of 4 KiB with every header that trimming must keep.
func trimmable(t testing.TB) MRC {
	p := mrcCases(t)[0].want
	p.Payload = make([]byte, 4096)
	for i := range p.Payload {
		p.Payload[i] = byte(i)
	}
	return p
}

// A trimmed frame consists of the first octets of the whole frame, with another codepoint and
// perhaps another length in its outermost header.
func TestTrimByteExact(t *testing.T) {
	for name, p := range map[string]MRC{"plain": trimmable(t), "tunnel": tunnelled(t, trimmable(t))} {
		whole := p.Append(nil)
		for _, lastHop := range []bool{false, true} {
			for _, setLength := range []bool{false, true} {
				for _, size := range []int{MinTrimLen, 150, 1000, len(whole), 10000} {
					trimmer := Trimmer{DSCP: mrcSettings.DSCP, Size: size, SetLength: setLength}
					if err := trimmer.Validate(); err != nil {
						t.Fatal(err)
					}
					want := bytes.Clone(whole[:min(size, len(whole))])
					want[EthernetLen], want[EthernetLen+1] = 0x68, 0xe0 // DSCP 35 with ECT(0): 0x8e
					if lastHop {
						want[EthernetLen], want[EthernetLen+1] = 0x69, 0xe0 // DSCP 39: 0x9e
					}
					if name == "plain" {
						want[EthernetLen+1] |= whole[EthernetLen+1] & 0xF // flow label
					}
					if setLength {
						binary.BigEndian.PutUint16(want[EthernetLen+ipv6PayloadLength:],
							uint16(len(want)-EthernetLen-IPv6Len))
					}
					got, err := trimmer.Trim(bytes.Clone(whole), lastHop)
					if err != nil || !bytes.Equal(got, want) {
						t.Errorf("%s, %d octets, last hop %v, length %v: %v\n got % x\nwant % x", name, size, lastHop,
							setLength, err, got, want)
					}
				}
			}
		}
	}
}

// Whatever a frame is trimmed to, a receiver finds the headers that are left, the original UDP
// length, and no payload.
func TestParseMRCTrimmed(t *testing.T) {
	p := trimmable(t)
	for name, p := range map[string]MRC{"plain": p, "tunnel": tunnelled(t, p)} {
		whole := p.Append(nil)
		bth := len(whole) - p.innerLen() + icrcMin // where the extension headers start
		ends := []struct {
			ext Extension
			at  int
		}{{ExtMETH, bth + 4}, {ExtTSETH, bth + 8}, {ExtRETH, bth + 24}, {ExtImmDt, bth + 28}}
		for _, setLength := range []bool{false, true} {
			for size := bth; size <= len(whole); size++ {
				trimmer := Trimmer{DSCP: mrcSettings.DSCP, Size: size, SetLength: setLength}
				frame, err := trimmer.Trim(bytes.Clone(whole), size%2 == 0)
				if err != nil {
					t.Fatal(err)
				}
				got, n, err := ParseMRC(frame, mrcSettings)
				if err != nil || n != len(frame) {
					t.Fatalf("%s, %d octets, length %v: took %d, %v", name, size, setLength, n, err)
				}
				want := Extension(0)
				for _, header := range ends {
					if header.at <= size {
						want |= header.ext
					}
				}
				if got.Headers != want || got.Trim != []Trim{TrimmedLastHop, Trimmed}[size%2] ||
					got.Payload != nil || got.ICRC != 0 {
					t.Fatalf("%s, %d octets: headers %b, want %b; trim %d, payload % x, ICRC %#x", name, size,
						got.Headers, want, got.Trim, got.Payload, got.ICRC)
				}
				if got.UDP.Length != uint16(p.innerLen()-IPv6Len) || got.BTH.PSN != p.BTH.PSN ||
					got.EV() != p.EV() {
					t.Fatalf("%s, %d octets: UDP %+v, BTH %+v", name, size, got.UDP, got.BTH)
				}
				for ext, same := range map[Extension]bool{
					ExtMETH: got.METH == p.METH, ExtTSETH: got.TSETH == p.TSETH, ExtRETH: got.RETH == p.RETH,
					ExtImmDt: got.ImmDt == p.ImmDt,
				} {
					if same != want.Is(ext) {
						t.Fatalf("%s, %d octets: header %b is there: %v", name, size, ext, same)
					}
				}
			}
		}
		for size := range bth { // less than a BTH is no packet to answer
			frame := bytes.Clone(whole[:size])
			if size > EthernetLen+1 {
				frame[EthernetLen] |= 0x08
			}
			_, _, err := ParseMRC(frame, mrcSettings)
			wantError(t, err, ErrTruncated)
		}
	}
}

// The mark counts wherever it is: a tunnel copies it outwards, and a switch in the tunnel marks the
// outer header.
func TestParseMRCTrimmedInnerOrOuter(t *testing.T) {
	classes := mrcSettings.DSCP
	for _, c := range []struct {
		inner, outer uint8
		want         Trim
	}{
		{classes.Trimmable, classes.Trimmable, NotTrimmed},
		{classes.Trimmed, classes.Trimmed, Trimmed},
		{classes.Trimmable, classes.Trimmed, Trimmed},
		{classes.Trimmable, classes.TrimmedLastHop, TrimmedLastHop},
		{classes.Trimmed, classes.TrimmedLastHop, TrimmedLastHop},
		{classes.TrimmedLastHop, classes.Trimmed, Trimmed},
		{classes.TrimmedLastHop, 0, TrimmedLastHop},
	} {
		p := tunnelled(t, trimmable(t))
		p.IPv6.TrafficClass, p.Outer.TrafficClass = TrafficClass(c.inner, ECT0),
			TrafficClass(c.outer, ECT0)
		got, _, err := ParseMRC(p.Append(nil), mrcSettings)
		if err != nil || got.Trim != c.want || (got.Payload == nil) != (c.want != NotTrimmed) {
			t.Errorf("inner DSCP %d, outer %d: trim %d, %d octets of payload, %v; want %d", c.inner, c.outer,
				got.Trim, len(got.Payload), err, c.want)
		}
	}
}

// Codepoints follow the settings.
func TestParseMRCTrimmedBySettings(t *testing.T) {
	p := trimmable(t)
	p.IPv6.TrafficClass = TrafficClass(20, ECT0)
	frame := p.Append(nil)
	got, _, err := ParseMRC(frame, mrcSettings)
	if err != nil || got.Trim != NotTrimmed {
		t.Errorf("trim %d, %v", got.Trim, err)
	}
	other := mrcSettings
	other.DSCP.Trimmed = 20
	if got, _, err = ParseMRC(frame, other); err != nil || got.Trim != Trimmed {
		t.Errorf("with Trimmed 20: trim %d, %v", got.Trim, err)
	}
}

func TestParseMRCTrimmedRefuses(t *testing.T) {
	trimmer := Trimmer{DSCP: mrcSettings.DSCP, Size: 200}
	plain, tunnel := trimmable(t), tunnelled(t, trimmable(t))
	for _, c := range []struct {
		name   string
		p      MRC
		change func(b []byte)
		want   error
		words  []string
	}{
		{"UDP length below what is there", plain, func(b []byte) {
			b[EthernetLen+IPv6Len+4], b[EthernetLen+IPv6Len+5] = 0, 145
		},
			ErrMalformed, []string{"trimmed", "Length 145", "at least the 146"}},
		{"inner length below what is there", tunnel, func(b []byte) {
			b[EthernetLen+IPv6Len+24+ipv6PayloadLength], b[EthernetLen+IPv6Len+24+ipv6PayloadLength+1] = 0,
				81
		}, ErrMalformed, []string{"Payload Length 81", "want 82"}},
		{"unassigned opcode", plain, func(b []byte) {
			b[EthernetLen+IPv6Len+UDPLen] = 0xdf
		}, ErrUnsupported, []string{"opcode 0xdf"}},
	} {
		frame, err := trimmer.Trim(c.p.Append(nil), false)
		if err != nil {
			t.Fatal(err)
		}
		c.change(frame)
		_, _, err = ParseMRC(frame, mrcSettings)
		wantError(t, err, c.want, c.words...)
	}
}

func TestTrimRefuses(t *testing.T) {
	trimmer := Trimmer{DSCP: mrcSettings.DSCP, Size: 100}
	p := trimmable(t)
	for _, c := range []struct {
		name   string
		change func(b []byte) []byte
		want   error
		words  []string
	}{
		{"no frame", func(b []byte) []byte { return b[:13] }, ErrTruncated, []string{"Ethernet"}},
		{"no IPv6 header", func(b []byte) []byte { return b[:EthernetLen+39] }, ErrTruncated,
			[]string{"IPv6"}},
		{"EtherType", func(b []byte) []byte { b[12] = 0x08; return b }, ErrUnsupported,
			[]string{"EtherType"}},
		{"IP version", func(b []byte) []byte { b[EthernetLen] = 0x45; return b }, ErrMalformed,
			[]string{"version 4"}},
		{"not trimmable", func(b []byte) []byte {
			b[EthernetLen], b[EthernetLen+1] = 0x60, 0xe0
			return b
		}, ErrUnsupported, []string{"DSCP 3", "7 or 11"}},
		{"trimmed already", func(b []byte) []byte {
			b[EthernetLen], b[EthernetLen+1] = 0x68, 0xe0
			return b
		}, ErrUnsupported, []string{"DSCP 35"}},
	} {
		frame := c.change(p.Append(nil))
		before := bytes.Clone(frame)
		got, err := trimmer.Trim(frame, false)
		if wantError(t, err, c.want, c.words...); !bytes.Equal(got, before) {
			t.Errorf("%s: the frame changed", c.name)
		}
	}
}

func TestTrimmerValidate(t *testing.T) {
	if MinTrimLen != 14+40+8+12+4+4 {
		t.Errorf("MinTrimLen = %d", MinTrimLen)
	}
	wantError(t, Trimmer{DSCP: mrcSettings.DSCP, Size: MinTrimLen - 1}.Validate(), ErrMalformed,
		"trim size: 81", "at least 82")
	wantError(t, Trimmer{Size: MinTrimLen}.Validate(), ErrMalformed, "DSCP")
}

// A size nobody validated leaves at least the header that carries the mark.
func TestTrimUnchecked(t *testing.T) {
	p := trimmable(t)
	whole := p.Append(nil)
	for _, size := range []int{-1, 0, EthernetLen, EthernetLen + IPv6Len - 1, EthernetLen + IPv6Len} {
		got, err := Trimmer{DSCP: mrcSettings.DSCP, Size: size}.Trim(bytes.Clone(whole), false)
		if err != nil || len(got) != EthernetLen+IPv6Len {
			t.Errorf("size %d: %d octets, %v; want %d", size, len(got), err, EthernetLen+IPv6Len)
		}
	}
}

func TestTrimDoesNotAllocate(t *testing.T) {
	p := tunnelled(t, trimmable(t))
	whole := p.Append(nil)
	frame := bytes.Clone(whole)
	trimmer := Trimmer{DSCP: mrcSettings.DSCP, Size: 200}
	if n := testing.AllocsPerRun(100, func() {
		copy(frame, whole)
		short, err := trimmer.Trim(frame, true)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := ParseMRC(short, mrcSettings); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func FuzzTrim(f *testing.F) {
	for _, c := range mrcCases(f) {
		for _, p := range []MRC{c.want, tunnelled(f, c.want)} {
			f.Add(p.Append(nil), 100, true, false)
			f.Add(p.Append(nil), 0, false, true)
		}
	}
	f.Fuzz(func(t *testing.T, frame []byte, size int, lastHop, setLength bool) {
		before := bytes.Clone(frame)
		whole, wholeLen, wholeErr := ParseMRC(before, mrcSettings)
		got, err := Trimmer{DSCP: mrcSettings.DSCP, Size: size, SetLength: setLength}.Trim(frame, lastHop)
		if err != nil {
			if !isSentinel(err) || !bytes.Equal(got, before) {
				t.Fatalf("%v; unchanged: %v", err, bytes.Equal(got, before))
			}
			return
		}
		if len(got) > len(before) || len(got) < min(len(before), size) {
			t.Fatalf("%d octets of %d, want at least %d", len(got), len(before), size)
		}
		if wholeErr != nil || len(before) != wholeLen {
			return
		}
		// A packet that was good, and not trimmed inside a tunnel, is good as far as it goes.
		p, _, err := ParseMRC(got, mrcSettings)
		if err != nil && len(got) >= wholeLen-len(whole.Datagram)+icrcMin {
			t.Fatalf("trimmed to %d of %d octets: %v", len(got), wholeLen, err)
		}
		if err == nil && (p.BTH != whole.BTH || p.Trim == NotTrimmed || p.UDP != whole.UDP) {
			t.Fatalf("trimmed to %d of %d octets:\n got %+v\nwant %+v", len(got), wholeLen, p.BTH, whole.BTH)
		}
	})
}
