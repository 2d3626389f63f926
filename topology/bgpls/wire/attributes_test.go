package wire

import (
	"bytes"
	"net/netip"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func pointer[T any](v T) *T { return &v }

func TestAttributesGolden(t *testing.T) {
	sid := netip.MustParseAddr("fcbb:bb00:6:e001::")
	const sidOctets = "fcbbbb000006e0010000000000000000"
	for _, c := range []struct {
		name       string
		attributes Attributes
		wire       string
	}{
		{"nothing", Attributes{}, ""},
		{"node", Attributes{Node: NodeAttributes{MSDs: []MSD{{41, 8}, {44, 9}}, Flags: NodeFlagOverload,
			Name:      "n6",
			RouterID4: netip.MustParseAddr("10.0.0.6"), RouterID6: netip.MustParseAddr("fd00::6"),
			Algorithms: []uint8{0, 128},
			SRv6:       SRv6Capabilities{true, SRv6FlagOAM}}},
			"010a 0004 29082c09 0400 0001 80 0402 0002 6e36 0404 0004 0a000006 0405 0010 " +
				"fd000000000000000000000000000006" +
				"040b 0002 0080 040e 0004 4000 0000"},
		{"link", Attributes{Link: LinkAttributes{RemoteRouterID6: netip.MustParseAddr("fd00::4"),
			AdminGroup:   pointer(uint32(5)),
			MaxBandwidth: pointer(float32(12.5e9)), TEMetric: pointer(uint32(100)),
			IGPMetric: pointer(uint32(0x010203)),
			Delay:     &Delay{true, 10}, MinMaxDelay: &MinMaxDelay{false, 9, 11},
			DelayVariation: pointer(uint32(2))}},
			"0407 0010 fd000000000000000000000000000004 0440 0004 00000005 0441 0004 503a43b7 0444 0004 " +
				"00000064" +
				"0447 0003 010203 045a 0004 8000000a 045b 0008 00000009 0000000b 045c 0004 00000002"},
		{"adjacency SIDs", Attributes{Link: LinkAttributes{EndX: []EndX{
			{Behavior: 5, Flags: 0x80, Algorithm: 1, Weight: 2, SID: sid, Structure: &SIDStructure{32, 16,
				16, 0}},
			{Behavior: 6, Neighbor: "\x19\x21\x68\x00\x10\x04", SID: sid},
			{Behavior: 57, Neighbor: "\x0a\x00\x00\x04", SID: sid, Structure: &SIDStructure{32, 0, 16,
				80}}}}},
			"0452 001e 0005 80 01 02 00" + sidOctets + "04e4 0004 20101000" +
				"0453 001c 0006 00 00 00 00 192168001004" + sidOctets +
				"0454 0022 0039 00 00 00 00 0a000004" + sidOctets + "04e4 0004 20001050"},
		{"prefix", Attributes{Prefix: PrefixAttributes{IGPFlags: 0x40, Metric: pointer(uint32(10)),
			Locator: &Locator{0x80, 128, 20}, AttributeFlags: []byte{0x20}}},
			"0480 0001 40 0483 0004 0000000a 048a 0008 80 80 0000 00000014 0492 0001 20"},
		{"SID", Attributes{SID: SIDAttributes{Behavior: &EndpointBehavior{0x8001, 1, 0},
			PeerNode:  &PeerNode{0x40, 1, 64512, netip.MustParseAddr("10.0.0.4")},
			Structure: &SIDStructure{32, 16, 16, 64}}},
			"04e2 0004 8001 01 00 04e3 000c 40 01 0000 0000fc00 0a000004 04e4 0004 20101040"},
	} {
		want := octets(t, c.wire)
		if got := c.attributes.Append(nil); !bytes.Equal(got, want) {
			t.Errorf("%s: encoded as\n%x, want\n%x", c.name, got, want)
		}
		got, unknown, err := ParseAttributes(want)
		if err != nil || unknown != 0 || !reflect.DeepEqual(*got, c.attributes) {
			t.Errorf("%s: decoded as %+v, %d unknown, %v", c.name, got, unknown, err)
		}
	}
}

func TestAttributesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawAttributes(t)
		wire := a.Append(nil)
		got, unknown, err := ParseAttributes(wire)
		if err != nil || unknown != 0 || !reflect.DeepEqual(got, a) {
			t.Fatalf("decoded as %+v, %d unknown, %v; want %+v", got, unknown, err, a)
		}
		if len(wire) == 0 {
			return
		}
		// Cut off between TLVs it is a shorter attribute; cut off elsewhere it is void.
		cut := rapid.IntRange(0, len(wire)-1).Draw(t, "cut")
		between := cut == 0
		for rest := wire; len(rest) > 0 && !between; {
			_, _, rest, _ = nextTLV(rest)
			between = len(wire)-len(rest) == cut
		}
		if got, _, err = ParseAttributes(wire[:cut]); (err == nil) != between ||
			(got == nil) != (err != nil) {
			t.Fatalf("cut at %d of %d (between TLVs: %v): %+v, %v", cut, len(wire), between, got, err)
		}
	})
}

func TestAttributesSkipUnknown(t *testing.T) {
	a, unknown, err := ParseAttributes(octets(t,
		"03e7 0003 010203 0402 0002 6e36 0452 001d 0005 80 01 02 00 fcbbbb000006e0010000000000000000 "+
			"03e7 0003 010203"+
			"048a 000c 00 00 0000 00000000 03e7 0000 040e 0008 0000 0000 03e7 0000"))
	if err != nil || unknown != 4 || a.Node.Name != "n6" || len(a.Link.EndX) != 1 ||
		a.Prefix.Locator == nil || !a.Node.SRv6.Present {
		t.Fatalf("%+v, %d unknown, %v", a, unknown, err)
	}
}

func TestAttributesIGPMetricWidths(t *testing.T) {
	for wire, want := range map[string]uint32{"0447 0001 ff": 63, "0447 0002 0102": 0x0102,
		"0447 0003 010203": 0x010203} {
		a, _, err := ParseAttributes(octets(t, wire))
		if err != nil || *a.Link.IGPMetric != want {
			t.Errorf("%s: %+v, %v", wire, a, err)
		}
	}
}

func TestAttributesMalformed(t *testing.T) {
	for name, wire := range map[string]string{
		"half a header":             "0402 00",
		"TLV past its end":          "0402 0003 6e36",
		"empty name":                "0402 0000",
		"flags of two octets":       "0400 0002 8000",
		"router-id of five octets":  "0404 0005 0a00000600",
		"IPv6 router-id of four":    "0405 0004 0a000006",
		"half an MSD":               "010a 0003 290829",
		"short SRv6 capabilities":   "040e 0003 000000",
		"capabilities' sub-TLV":     "040e 0006 0000 0000 03e7",
		"admin group of two octets": "0440 0002 0005",
		"bandwidth of eight octets": "0441 0008 0000000000000000",
		"IGP metric of four octets": "0447 0004 00000001",
		"empty IGP metric":          "0447 0000",
		"delay of three octets":     "045a 0003 00000a",
		"min/max delay of four":     "045b 0004 00000009",
		"short End.X":               "0452 0015 0005 80 01 02 00 fcbbbb000006e00100000000000000",
		"short LAN End.X":           "0453 0016 0005 80 01 02 00 fcbbbb000006e0010000000000000000",
		"End.X with a bad structure": "0452 001d 0005 80 01 02 00 fcbbbb000006e0010000000000000000 " +
			"04e4 0003 201010",
		"structure over 128 bits":   "04e4 0004 40404001",
		"structure of five octets":  "04e4 0005 2010100000",
		"behavior of two octets":    "04e2 0002 0001",
		"peer node of eight octets": "04e3 0008 40 01 0000 0000fc00",
		"short locator":             "048a 0007 80 80 0000 000000",
		"prefix metric of two":      "0483 0002 000a",
		"IGP flags of two octets":   "0480 0002 4000",
	} {
		good := "0402 0002 6e36"
		if a, _, err := ParseAttributes(octets(t, good+wire)); err == nil || a != nil {
			t.Errorf("%s: decoded as %+v", name, a)
		}
	}
}

func FuzzParseAttributes(f *testing.F) {
	f.Add(octets(f, "0452 001e 0005 80 01 02 00 fcbbbb000006e0010000000000000000 04e4 0004 20101000"))
	f.Add(octets(f, "010a 0004 29082c09 0400 0001 80 0402 0002 6e36 0404 0004 0a000006 040b 0002 "+
		"0080 040e 0004 4000 0000"))
	f.Add(octets(f, "0440 0004 00000005 0441 0004 503a43b7 0444 0004 00000064 0447 0003 010203 045a "+
		"0004 8000000a 045b 0008 00000009 0000000b"))
	f.Add(octets(f, "0480 0001 40 0483 0004 0000000a 048a 0008 80 80 0000 00000014 0492 0001 20"))
	f.Add(octets(f, "04e2 0004 8001 01 00 04e3 000c 40 01 0000 0000fc00 0a000004 04e4 0004 20101040"))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, _, err := ParseAttributes(b)
		if err != nil {
			return
		}
		wire := a.Append(nil)
		again, unknown, err := ParseAttributes(wire)
		if err != nil || unknown != 0 || !bytes.Equal(again.Append(nil), wire) {
			t.Fatalf("%+v became %+v, %v", a, again, err)
		}
	})
}
