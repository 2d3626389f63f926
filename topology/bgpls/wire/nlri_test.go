package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// octets reads hexadecimal with spaces.
func octets(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const nodeN6 = "0200 0004 0000fc00 0203 0004 0a000006" // AS 64512, router-id 10.0.0.6

var descriptorN6 = NodeDescriptor{ASN: 64512, IGPRouterID: "\x0a\x00\x00\x06"}

func TestNLRIGolden(t *testing.T) {
	descriptorN4 := NodeDescriptor{ASN: 64512, BGPLSID: 7, Area: Area{true, 0},
		IGPRouterID: "\x19\x21\x68\x00\x10\x04"}
	for _, c := range []struct {
		name string
		nlri NLRI
		wire string
	}{
		{"node", NLRI{Type: NLRINode, Protocol: ProtocolDirect, Identifier: 3, Local: descriptorN6},
			"0001 001d 04 0000000000000003 0100 0010" + nodeN6},
		{"link", NLRI{Type: NLRILink, Protocol: ProtocolISISLevel2, Local: descriptorN6,
			Remote: descriptorN4,
			Link: LinkDescriptor{IDs: LinkIDs{true, 1, 0x01020304},
				InterfaceIPv4: netip.MustParseAddr("10.1.0.1"), NeighborIPv4: netip.MustParseAddr("10.1.0.2"),
				InterfaceIPv6: netip.MustParseAddr("fe80::1"), NeighborIPv6: netip.MustParseAddr("fe80::2")},
			Topology: MultiTopology{true, 2}},
			"0002 008d 02 0000000000000000 0100 0010" + nodeN6 +
				"0101 0022 0200 0004 0000fc00 0201 0004 00000007 0202 0004 00000000 0203 0006 192168001004" +
				"0102 0008 00000001 01020304 0103 0004 0a010001 0104 0004 0a010002" +
				"0105 0010 fe800000000000000000000000000001 0106 0010 fe800000000000000000000000000002" +
				"0107 0002 0002"},
		{"IPv4 prefix", NLRI{Type: NLRIPrefix4, Protocol: ProtocolOSPFv2, Local: descriptorN6,
			Prefix: PrefixDescriptor{Prefix: netip.MustParsePrefix("10.128.0.0/9"), OSPFRouteType: 1}},
			"0003 0029 03 0000000000000000 0100 0010" + nodeN6 + "0108 0001 01 0109 0003 09 0a80"},
		{"IPv6 prefix", NLRI{Type: NLRIPrefix6, Protocol: ProtocolDirect, Local: descriptorN6,
			Prefix:   PrefixDescriptor{Prefix: netip.MustParsePrefix("fcbb:bb00:6::/48")},
			Topology: MultiTopology{true, 2}},
			"0004 002e 04 0000000000000000 0100 0010" + nodeN6 + "0107 0002 0002 0109 0007 30 fcbbbb000006"},
		{"default route", NLRI{Type: NLRIPrefix6, Protocol: ProtocolDirect, Local: descriptorN6,
			Prefix: PrefixDescriptor{Prefix: netip.MustParsePrefix("::/0")}},
			"0004 0022 04 0000000000000000 0100 0010" + nodeN6 + "0109 0001 00"},
		{"SRv6 SID", NLRI{Type: NLRISRv6SID, Protocol: ProtocolDirect, Local: descriptorN6,
			SID: netip.MustParseAddr("fcbb:bb00:6:1::")},
			"0006 0031 04 0000000000000000 0100 0010" + nodeN6 +
				"0206 0010 fcbbbb00000600010000000000000000"},
	} {
		want := octets(t, c.wire)
		if got := c.nlri.Append(nil); !bytes.Equal(got, want) {
			t.Errorf("%s: encoded as\n%x, want\n%x", c.name, got, want)
		}
		got, skipped, err := ParseNLRIs(want)
		if err != nil || skipped != (Skipped{}) || len(got) != 1 {
			t.Errorf("%s: %d NLRIs, %+v, %v", c.name, len(got), skipped, err)
			continue
		}
		if got[0].NLRI != c.nlri || !bytes.Equal(got[0].Raw, want) {
			t.Errorf("%s: decoded as %+v, want %+v", c.name, got[0].NLRI, c.nlri)
		}
	}
}

func TestNLRIRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawNLRI(t), drawNLRI(t)
		wire := b.Append(a.Append(nil))
		got, skipped, err := ParseNLRIs(wire)
		if err != nil || skipped != (Skipped{}) || len(got) != 2 {
			t.Fatalf("%d NLRIs, %+v, %v", len(got), skipped, err)
		}
		if got[0].NLRI != a || got[1].NLRI != b {
			t.Fatalf("decoded as %+v, want %+v and %+v", got, a, b)
		}
		// Cut off anywhere, it is one NLRI or none, and an error.
		cut := rapid.IntRange(1, len(wire)-1).Draw(t, "cut")
		got, _, err = ParseNLRIs(wire[:cut])
		whole := len(a.Append(nil))
		if cut == whole && (err != nil || len(got) != 1) || cut < whole &&
			(!errors.Is(err, ErrTruncated) || len(got) != 0) ||
			cut > whole && (!errors.Is(err, ErrTruncated) || len(got) != 1) {
			t.Fatalf("cut at %d of %d and %d: %d NLRIs, %v", cut, whole, len(wire), len(got), err)
		}
	})
}

func TestNLRIsDiscarded(t *testing.T) {
	good := "0001 001d 04 0000000000000003 0100 0010" + nodeN6
	for _, c := range []struct {
		name, wire string
		want       Skipped
	}{
		{"unknown type", "0005 0004 00000000", Skipped{UnknownNLRIs: 1}},
		{"too short for an identity", "0001 0003 040000", Skipped{MalformedNLRIs: 1}},
		{"no local node", "0001 0009 04 0000000000000003", Skipped{MalformedNLRIs: 1}},
		{"link without remote node", "0002 001d 04 0000000000000003 0100 0010" + nodeN6,
			Skipped{MalformedNLRIs: 1}},
		{"prefix without reachability", "0004 001d 04 0000000000000003 0100 0010" + nodeN6,
			Skipped{MalformedNLRIs: 1}},
		{"SRv6 SID without SID", "0006 001d 04 0000000000000003 0100 0010" + nodeN6,
			Skipped{MalformedNLRIs: 1}},
		{"node without router-id", "0001 0015 04 0000000000000003 0100 0008 0200 0004 0000fc00",
			Skipped{MalformedNLRIs: 1}},
		{"empty router-id", "0001 0011 04 0000000000000003 0100 0004 0203 0000",
			Skipped{MalformedNLRIs: 1}},
		{"sub-TLV past its end", "0001 001d 04 0000000000000003 0100 0010 0200 0004 0000fc00 0203 0005 " +
			"0a000006", Skipped{MalformedNLRIs: 1}},
		{"TLV past its end", "0001 001d 04 0000000000000003 0100 0011" + nodeN6,
			Skipped{MalformedNLRIs: 1}},
		{"AS of three octets", "0001 001c 04 0000000000000003 0100 000f 0200 0003 00fc00 0203 0004 " +
			"0a000006", Skipped{MalformedNLRIs: 1}},
		{"prefix longer than its address", "0003 0027 03 0000000000000000 0100 0010" + nodeN6 +
			"0109 0006 21 0a800000 00", Skipped{MalformedNLRIs: 1}},
		{"prefix with an octet too many", "0003 0025 03 0000000000000000 0100 0010" + nodeN6 +
			"0109 0004 09 0a8000", Skipped{MalformedNLRIs: 1}},
		{"odd MT-ID", "0006 0036 04 0000000000000000 0100 0010" + nodeN6 +
			"0107 0001 00 0206 0010 fcbbbb00000600010000000000000000", Skipped{MalformedNLRIs: 1}},
		{"unknown TLVs", "0001 0027 04 0000000000000003 0100 0015" + nodeN6 + "03e7 0001 00 03e7 0001 00",
			Skipped{UnknownTLVs: 2}},
	} {
		b := octets(t, c.wire)
		got, skipped, err := ParseNLRIs(append(b, octets(t, good)...))
		if f := skipped.Fault; (f != Fault{}) != (c.want.MalformedNLRIs > 0) ||
			f.Octets != string(b[:f.Length]) || f.Length > 0 && (f.Length != len(b) || f.Reason == "") {
			t.Errorf("%s: the fault is %+v", c.name, f)
		}
		skipped.Fault = Fault{}
		if err != nil || skipped != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.name, skipped, err, c.want)
		}
		// The one that follows is not affected.
		if n := len(got); n != 2-c.want.UnknownNLRIs-c.want.MalformedNLRIs ||
			got[n-1].Local != descriptorN6 {
			t.Errorf("%s: %d NLRIs are left", c.name, n)
		}
	}
}

// TestFaultBounded: the first malformed object of an UPDATE is kept, up to MaxFault octets.
func TestFaultBounded(t *testing.T) {
	nlri := func(octets int) []byte { // the first TLV is one of 65535 octets
		b := append([]byte{0, 1, 0, byte(octets - 4), 4}, make([]byte, octets-5)...)
		b[13], b[15], b[16] = 1, 0xff, 0xff
		return b
	}
	for _, n := range []int{MaxFault - 1, MaxFault, MaxFault + 1} {
		_, skipped, err := ParseNLRIs(append(nlri(n), nlri(30)...))
		if f := skipped.Fault; err != nil || skipped.MalformedNLRIs != 2 || f.Length != n ||
			f.Octets != string(nlri(n)[:min(n, MaxFault)]) {
			t.Errorf("%d octets: %+v, %v", n, skipped, err)
		}
	}
	var u Update
	reach := append([]byte{0x40, 0x04, 71, 0, 0}, nlri(30)...)
	if err := errors.Join(u.parseReach(reach),
		u.parseUnreach(append([]byte{0x40, 0x04, 71}, nlri(40)...))); err != nil ||
		u.Skipped.MalformedNLRIs != 2 || u.Skipped.Fault.Length != 30 {
		t.Errorf("%+v, %v", u.Skipped, err)
	}
}

// The MT-ID of an SRv6 SID NLRI is misplaced by some speakers.
func TestNLRITLVsOutOfOrder(t *testing.T) {
	b := octets(t, "0006 0037 04 0000000000000000 0100 0010"+nodeN6+
		"0206 0010 fcbbbb00000600010000000000000000 0107 0002 f002")
	got, _, err := ParseNLRIs(b)
	if err != nil || len(got) != 1 || got[0].Topology != (MultiTopology{true, 2}) ||
		got[0].SID != netip.MustParseAddr("fcbb:bb00:6:1::") {
		t.Fatalf("decoded as %+v, %v", got, err)
	}
}

func FuzzParseNLRIs(f *testing.F) {
	f.Add(octets(f, "0001 001d 04 0000000000000003 0100 0010"+nodeN6))
	f.Add(octets(f, "0006 0037 04 0000000000000000 0100 0010"+nodeN6+
		"0206 0010 fcbbbb00000600010000000000000000 0107 0002 f002"))
	f.Add(octets(f, "0003 0029 03 0000000000000000 0100 0010"+nodeN6+"0108 0001 01 0109 0003 09 0a80"))
	f.Add(octets(f, "0002 0048 02 0000000000000000 0100 0010"+nodeN6+"0101 0010"+nodeN6+
		"0102 0008 00000001 01020304 0103 0004 0a010001"))
	f.Fuzz(func(t *testing.T, b []byte) {
		nlris, _, _ := ParseNLRIs(b)
		for _, n := range nlris {
			// What was understood survives being written and read again.
			again, _, err := ParseNLRIs(n.NLRI.Append(nil))
			if err != nil || len(again) != 1 || again[0].NLRI != n.NLRI {
				t.Fatalf("%+v became %+v, %v", n.NLRI, again, err)
			}
		}
	})
}
