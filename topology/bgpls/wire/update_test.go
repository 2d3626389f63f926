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
	"90 0f 0062 4004 47 0006 0031 04 0000000000000000 0100 0010" + nodeN6 + "0206 0010 fcbbbb00000600010000000000000000" +
	"0009 0026 00 00000000000000000000000000000000000000000000000000000000000000000000000000" +
	"80 1d 06 0402 0002 6e36" +
	"40 02 00" // AS path

func TestUpdateGolden(t *testing.T) {
	b := octets(t, updateGolden)
	u, err := ParseUpdate(b)
	if err != nil {
		t.Fatal(err)
	}
	if len(u.Reachable) != 1 || u.Reachable[0].Local != descriptorN6 || u.Reachable[0].Type != NLRINode {
		t.Errorf("reachable: %+v", u.Reachable)
	}
	if len(u.Unreachable) != 1 || u.Unreachable[0].SID != netip.MustParseAddr("fcbb:bb00:6:1::") {
		t.Errorf("unreachable: %+v", u.Unreachable)
	}
	if !bytes.Equal(u.Attribute, octets(t, "0402 0002 6e36")) || u.EndOfRIB || u.Skipped != (Skipped{UnknownNLRIs: 1}) {
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

func TestBMP(t *testing.T) {
	header := func(flags, address string) string {
		return "00" + flags + "0000000000000000" + address + "0000fc00 0a000006 00000000 00000000"
	}
	const v4, v6 = "000000000000000000000000 7f000102", "fd000000000000000000000000000006"
	for _, c := range []struct {
		name, wire string
		want       BMPMessage
	}{
		{"initiation", "03 0000000c 04 0002 0002 7731", BMPMessage{Type: BMPInitiation, Body: octets(t, "0002 0002 7731")}},
		{"route monitoring", "03 00000032 00" + header("00", v4) + "0102", BMPMessage{Type: BMPRouteMonitoring,
			Peer: netip.MustParseAddr("127.0.1.2"), PeerASN: 64512, Body: []byte{1, 2}}},
		{"peer up", "03 00000030 03" + header("c0", v6), BMPMessage{Type: BMPPeerUp, Peer: netip.MustParseAddr("fd00::6"), PeerASN: 64512,
			PostPolicy: true, Body: []byte{}}},
		{"peer down", "03 00000031 02" + header("80", v6) + "04", BMPMessage{Type: BMPPeerDown, Peer: netip.MustParseAddr("fd00::6"), PeerASN: 64512, Body: []byte{4}}},
	} {
		b := octets(t, c.wire)
		if n, err := BMPLength(b); err != nil || n != len(b) {
			t.Errorf("%s: length is %d, %v", c.name, n, err)
		}
		m, err := ParseBMP(append(b, 9))
		if err != nil || m.Type != c.want.Type || m.Peer != c.want.Peer || m.PeerASN != c.want.PeerASN || m.PostPolicy != c.want.PostPolicy || !bytes.Equal(m.Body, c.want.Body) {
			t.Errorf("%s: %+v, %v", c.name, m, err)
		}
		for n := range b {
			if _, err := ParseBMP(b[:n]); err == nil {
				t.Errorf("%s: %d octets of %d are a message", c.name, n, len(b))
			}
		}
	}
	for name, wire := range map[string]string{"version 2": "02 00000006 04", "shorter than a header": "03 00000005 04", "huge": "03 7fffffff 04"} {
		if _, err := BMPLength(octets(t, wire)); err == nil {
			t.Errorf("%s has a length", name)
		}
	}
}

func FuzzParseBMP(f *testing.F) {
	f.Add(octets(f, "03 0000000c 04 0002 0002 7731"))
	f.Add(octets(f, "03 00000032 00 00 00 0000000000000000 000000000000000000000000 7f000102 0000fc00 0a000006 00000000 00000000 0102"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ParseBMP(b)
		if err == nil && len(m.Body) > len(b) {
			t.Fatalf("%d octets hold a body of %d", len(b), len(m.Body))
		}
	})
}
