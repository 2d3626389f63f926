package packet

import (
	"bytes"
	"errors"
	"net/netip"
	"reflect"
	"testing"
)

// Frames that Linux 6.18 sent on a veth with the address 02:00:00:00:bb:02, and the advertisement
// of a router that it took its address, its route and its MTU from.
const (
	linuxRS = "333300000002 02000000bb02 86dd 60000000 0010 3a ff fe80000000000000000000fffe00bb02 " +
		"ff020000000000000000000000000002 8500052900000000 0101 02000000bb02"
	linuxDAD = "3333ff00bb02 02000000bb02 86dd 60000000 0020 3a ff 00000000000000000000000000000000 " +
		"ff0200000000000000000001ff00bb02 8700e55500000000 20010db800000007000000fffe00bb02 " +
		"0e01 335c3c8a749d"
	linuxNUD = "02000000aa01 02000000bb02 86dd 60000000 0020 3a ff fe80000000000000000000fffe00bb02 " +
		"fe800000000000000000000000000001 8700051a00000000 fe800000000000000000000000000001 " +
		"0101 02000000bb02"
	linuxNA = "02000000aa01 02000000bb02 86dd 60000000 0018 3a ff 20010db800000007000000fffe00bb02 " +
		"fe800000000000000000000000000001 880069a540000000 20010db800000007000000fffe00bb02"
	routerRA = "86 00 0000 40 00 0708 00000000 00000000 0101 02000000aa01 0501 0000 000010cc " +
		"0304 4040 00015180 00003840 00000000 20010db8000000070000000000000000"
)

var (
	linuxMAC  = MAC{2, 0, 0, 0, 0xbb, 2}
	linuxAddr = addr("2001:db8:0:7:0:ff:fe00:bb02")
)

// TestND compares with the figures of RFC 4861 §4.1 to §4.4 and §4.6.
func TestND(t *testing.T) {
	target := addr("2001:db8::7")
	for _, c := range []struct {
		name, wire string
		want       ND
	}{
		{"router solicitation", "85 00 1234 00000000 0101 020304050607",
			ND{Type: ICMPv6RouterSolicitation, Checksum: 0x1234, SourceMAC: MAC{2, 3, 4, 5, 6, 7}}},
		{"router advertisement", routerRA, ND{Type: ICMPv6RouterAdvertisement, HopLimit: 64,
			Lifetime: 1800, SourceMAC: MAC{2, 0, 0, 0, 0xaa, 1}, MTU: 4300, Prefixes: []NDPrefix{
				{Prefix: netip.MustParsePrefix("2001:db8:0:7::/64"), Autonomous: true, Valid: 86400,
					Preferred: 14400}}}},
		{"neighbor solicitation", "87 00 0000 00000000 20010db8000000000000000000000007",
			ND{Type: ICMPv6NeighborSolicitation, Target: target}},
		{"neighbor advertisement", "88 00 0000 a0000000 20010db8000000000000000000000007 " +
			"0201 020304050607", ND{Type: ICMPv6NeighborAdvertisement, Target: target, Router: true,
			Override: true, TargetMAC: MAC{2, 3, 4, 5, 6, 7}}},
		{"a nonce of two units", "87 00 0000 00000000 20010db8000000000000000000000007 " +
			"0e02 0102030405060708090a0b0c0d0e", ND{Type: ICMPv6NeighborSolicitation, Target: target,
			Nonce: []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}}},
	} {
		wire := unhex(t, c.wire)
		got, n, err := ParseND(wire)
		if err != nil || n != len(wire) || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %d, %v\nwant %+v", c.name, got, n, err, c.want)
		}
		if out := c.want.Append([]byte{1}); !bytes.Equal(out[1:], wire) || c.want.Len() != len(wire) {
			t.Errorf("%s: appended % x\nwant % x", c.name, out[1:], wire)
		}
		for n := range ndSolicitLen {
			if err := refused(t, ParseND, wire[:n]); !errors.Is(err, ErrTruncated) {
				t.Errorf("%s: %d octets: %v", c.name, n, err)
			}
		}
	}
}

func TestNDRefuses(t *testing.T) {
	const solicit = "87 00 0000 00000000 20010db8000000000000000000000007"
	for what, c := range map[string]struct {
		wire string
		err  error
	}{
		"an option of length 0":      {solicit + "0100 000000000000", ErrMalformed},
		"a link-layer address of 14": {solicit + "0102 000000000000 0000000000000000", ErrMalformed},
		"an option that is cut off":  {solicit + "0101 0000", ErrTruncated},
		"an option of one octet":     {solicit + "01", ErrTruncated},
		"an option of its head":      {solicit + "0101", ErrTruncated},
		"a redirect":                 {"89 00 0000 00000000", ErrUnsupported},
		"a prefix of 129 bits": {"86 00 0000 40 00 0708 00000000 00000000 0304 8140 00015180 00003840 " +
			"00000000 20010db8000000070000000000000000", ErrMalformed},
	} {
		err := refused(t, ParseND, unhex(t, c.wire))
		t.Run(what, func(t *testing.T) { wantError(t, err, c.err) })
	}
	_, _, err := ParseND(unhex(t, solicit+"01"))
	wantError(t, err, ErrTruncated, "1 octets, need 2")
	// Options that nobody knows are skipped.
	if m, n, err := ParseND(unhex(t, solicit+"fd01 000000000000")); err != nil || n != 32 ||
		m.SourceMAC != (MAC{}) {
		t.Errorf("an unknown option: %+v, %d, %v", m, n, err)
	}
}

func TestNDFrame(t *testing.T) {
	for name, c := range map[string]struct {
		wire string
		src  string
		want ND
	}{
		"RS": {linuxRS, "fe80::ff:fe00:bb02", ND{Type: ICMPv6RouterSolicitation, SourceMAC: linuxMAC}},
		"DAD": {linuxDAD, "::", ND{Type: ICMPv6NeighborSolicitation, Target: linuxAddr,
			Nonce: []byte{0x33, 0x5c, 0x3c, 0x8a, 0x74, 0x9d}}},
		"NUD": {linuxNUD, "fe80::ff:fe00:bb02", ND{Type: ICMPv6NeighborSolicitation,
			Target: addr("fe80::1"), SourceMAC: linuxMAC}},
		"NA": {linuxNA, linuxAddr.String(), ND{Type: ICMPv6NeighborAdvertisement, Target: linuxAddr,
			Solicited: true}},
	} {
		wire := unhex(t, c.wire)
		f, err := ParseNDFrame(append(bytes.Clone(wire), 0, 0)) // padding
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		c.want.Checksum = f.ND.Checksum
		if f.Ethernet.Src != linuxMAC || f.IP.Src != addr(c.src) || !reflect.DeepEqual(f.ND, c.want) {
			t.Errorf("%s: %+v\nwant %+v", name, f, c.want)
		}
		if out := f.Append(nil); !bytes.Equal(out, wire) {
			t.Errorf("%s: appended\n% x\nwant\n% x", name, out, wire)
		}
	}
	dad, _ := ParseNDFrame(unhex(t, linuxDAD))
	if got := MulticastMAC(dad.IP.Dst); got != dad.Ethernet.Dst {
		t.Errorf("MulticastMAC(%v) = %v, want %v", dad.IP.Dst, got, dad.Ethernet.Dst)
	}
	if got := LinkLocal(linuxMAC); got != addr("fe80::ff:fe00:bb02") {
		t.Errorf("LinkLocal = %v", got)
	}
}

// TestNDFrameRefuses: RFC 4861 §6.1.1, §6.1.2, §7.1.1 and §7.1.2.
func TestNDFrameRefuses(t *testing.T) {
	for what, change := range map[string]func(f *NDFrame, wire []byte) []byte{
		"Hop Limit 254":    func(_ *NDFrame, b []byte) []byte { b[21]--; return b },
		"another checksum": func(_ *NDFrame, b []byte) []byte { b[57] ^= 1; return b },
		"code 1":           func(f *NDFrame, _ []byte) []byte { f.ND.Code = 1; return f.Append(nil) },
		"a multicast target": func(f *NDFrame, _ []byte) []byte {
			f.ND.Target = AllNodes
			return f.Append(nil)
		},
		"a multicast source": func(f *NDFrame, _ []byte) []byte {
			f.IP.Src = AllNodes
			return f.Append(nil)
		},
		"DAD with a link-layer address": func(f *NDFrame, _ []byte) []byte {
			f.ND.SourceMAC = linuxMAC
			return f.Append(nil)
		},
		"DAD to another address": func(f *NDFrame, _ []byte) []byte {
			f.IP.Dst = AllNodes
			return f.Append(nil)
		},
		"a solicited NA to all": func(f *NDFrame, _ []byte) []byte {
			f.IP.Src, f.IP.Dst, f.ND = linuxAddr, AllNodes, ND{Type: ICMPv6NeighborAdvertisement,
				Target: linuxAddr, Solicited: true}
			return f.Append(nil)
		},
		"an RA of a global address": func(f *NDFrame, _ []byte) []byte {
			f.IP.Src, f.ND = linuxAddr, ND{Type: ICMPv6RouterAdvertisement}
			return f.Append(nil)
		},
		"IPv4": func(_ *NDFrame, b []byte) []byte { b[12], b[13] = 8, 0; return b },
	} {
		wire := unhex(t, linuxDAD)
		f, err := ParseNDFrame(wire)
		if err != nil {
			t.Fatal(err)
		}
		_, err = ParseNDFrame(change(&f, wire))
		t.Run(what, func(t *testing.T) { wantError(t, err, ErrMalformed) })
	}
	if _, err := ParseNDFrame(unhex(t, linuxDAD)[:80]); !errors.Is(err, ErrTruncated) {
		t.Errorf("cut off: %v", err)
	}
}

func FuzzParseND(f *testing.F) {
	fuzzHeader(f, ParseND, false, routerRA, "8500052900000000 0101 02000000bb02",
		"8700e55500000000 20010db800000007000000fffe00bb02 0e01 335c3c8a749d",
		"880069a540000000 20010db800000007000000fffe00bb02")
}

func FuzzParseNDFrame(f *testing.F) {
	for _, s := range []string{linuxRS, linuxDAD, linuxNUD, linuxNA} {
		f.Add(unhex(f, s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, err := ParseNDFrame(b)
		if err != nil {
			if !isSentinel(err) {
				t.Fatalf("error %v wraps no sentinel", err)
			}
			return
		}
		again, err := ParseNDFrame(frame.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		again.ND.Checksum, frame.ND.Checksum = 0, 0
		again.IP.PayloadLength, frame.IP.PayloadLength = 0, 0
		if !reflect.DeepEqual(again, frame) {
			t.Fatalf("%+v\nwant %+v", again, frame)
		}
	})
}
