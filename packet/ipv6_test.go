package packet

import "testing"

const ipv6Wire = "6e2 1face 002c 11 ff 20220000000000000000000000001023 " +
	"20230000000000000000000000001024"

func TestIPv6(t *testing.T) {
	testHeader(t, ParseIPv6, []headerCase[IPv6]{
		{"all fields", ipv6Wire, IPv6{
			TrafficClass: 226, FlowLabel: 0x1face, PayloadLength: 44, NextHeader: NextHeaderUDP,
			HopLimit: 255,
			Src:      addr("2022::1023"), Dst: addr("2023::1024"),
		}},
		{"IPv4-mapped stays IPv6",
			"60000000 0000 3b 01 00000000000000000000ffff0a000001 00000000000000000000000000000000", IPv6{
				NextHeader: NextHeaderNone, HopLimit: 1, Src: addr("::ffff:10.0.0.1"), Dst: addr("::"),
			}},
	})
}

func TestIPv6Version(t *testing.T) {
	b := unhex(t, ipv6Wire)
	b[0] = 0x45
	err := refused(t, ParseIPv6, b)
	wantError(t, err, ErrMalformed, "version 4", "want 6")
}

func TestIPv6AppendKeepsFieldsApart(t *testing.T) {
	h := IPv6{FlowLabel: 0xFFF00001, TrafficClass: 0x5A}
	got, _, err := ParseIPv6(h.Append(nil))
	if err != nil || got.FlowLabel != 1 || got.TrafficClass != 0x5A {
		t.Errorf("flow label %#x, traffic class %#x, %v; want 0x1, 0x5a", got.FlowLabel, got.TrafficClass,
			err)
	}
}

func FuzzParseIPv6(f *testing.F) { fuzzHeader(f, ParseIPv6, true, ipv6Wire) }
