package wire

import (
	"bytes"
	"net/netip"
	"testing"
)

const marker = "ffffffffffffffffffffffffffffffff"

// A node with its name, one withdrawn SRv6 SID, and attributes of no interest.
const updateGolden = marker + "00ba 02 0000 00a3" +
	"40 01 01 00" + // origin
	"80 0e 2a 4004 47 04 7f000001 00 0001 001d 04 0000000000000003 0100 0010" + nodeN6 +
	"90 0f 0062 4004 47 0006 0031 04 0000000000000000 0100 0010" + nodeN6 +
	"0206 0010 fcbbbb00000600010000000000000000" +
	"0009 0026 00 00000000000000000000000000000000000000000000000000000000000000000000000000" +
	"80 1d 06 0402 0002 6e36" +
	"40 02 00" // AS path

func TestUpdateGolden(t *testing.T) {
	b := octets(t, updateGolden)
	u, err := ParseUpdate(b)
	if err != nil {
		t.Fatal(err)
	}
	if len(u.Reachable) != 1 || u.Reachable[0].Local != descriptorN6 ||
		u.Reachable[0].Type != NLRINode {
		t.Errorf("reachable: %+v", u.Reachable)
	}
	if len(u.Unreachable) != 1 || u.Unreachable[0].SID != netip.MustParseAddr("fcbb:bb00:6:1::") {
		t.Errorf("unreachable: %+v", u.Unreachable)
	}
	if !bytes.Equal(u.Attribute, octets(t, "0402 0002 6e36")) || u.EndOfRIB ||
		u.Skipped != (Skipped{UnknownNLRIs: 1}) {
		t.Errorf("the rest: %+v", u)
	}
	for n := range b {
		if u, err := ParseUpdate(b[:n]); err == nil {
			t.Fatalf("%d octets of %d: %+v", n, len(b), u)
		}
	}
}

func TestUpdateEndOfRIB(t *testing.T) {
	for _, c := range []struct {
		name, wire string
		want       bool
	}{
		{"end of RIB", marker + "001d 02 0000 0006 80 0f 03 4004 47", true},
		{"end of RIB of another family", marker + "001d 02 0000 0006 80 0f 03 0002 01", false},
		{"end of RIB of IPv4", marker + "0017 02 0000 0000", false},
		{"with another attribute", marker + "0021 02 0000 000a 80 0f 03 4004 47 40 01 01 00", false},
		{"a withdrawal", marker + "0025 02 0000 000e 80 0f 0b 4004 47 0005 0004 00000000", false},
	} {
		u, err := ParseUpdate(octets(t, c.wire))
		if err != nil || u.EndOfRIB != c.want {
			t.Errorf("%s: %+v, %v", c.name, u, err)
		}
	}
}

func TestUpdateMalformed(t *testing.T) {
	for name, wire := range map[string]string{
		"a keepalive":                      marker + "0013 04",
		"longer than it is":                marker + "0014 02",
		"shorter than its header":          marker + "0012 02 0000 0000",
		"no room for withdrawn routes":     marker + "0014 02 00",
		"withdrawn routes past the end":    marker + "0017 02 0001 0000",
		"attributes past the end":          marker + "0017 02 0000 0001",
		"half an attribute header":         marker + "0019 02 0000 0002 80 0f",
		"half an extended header":          marker + "001a 02 0000 0003 90 0f 00",
		"attribute past the end":           marker + "001a 02 0000 0003 80 0f 01",
		"short MP_REACH_NLRI":              marker + "001e 02 0000 0007 80 0e 04 4004 47 00",
		"next hop past the end":            marker + "001f 02 0000 0008 80 0e 05 4004 47 01 00",
		"short MP_UNREACH_NLRI":            marker + "001c 02 0000 0005 80 0f 02 4004",
		"NLRI past the end of its field":   marker + "0022 02 0000 000b 80 0f 08 4004 47 0001 0002 00",
		"NLRI header past the end of NLRI": marker + "001f 02 0000 0008 80 0f 05 4004 47 0001",
	} {
		if u, err := ParseUpdate(octets(t, wire)); err == nil {
			t.Errorf("%s: %+v", name, u)
		}
	}
}

func FuzzParseUpdate(f *testing.F) {
	f.Add(octets(f, updateGolden))
	f.Add(octets(f, marker+"001d 02 0000 0006 80 0f 03 4004 47"))
	f.Fuzz(func(t *testing.T, b []byte) {
		u, err := ParseUpdate(b)
		if err == nil && u.EndOfRIB && len(u.Reachable)+len(u.Unreachable) > 0 {
			t.Fatalf("an end of RIB with routes: %+v", u)
		}
	})
}
