package packet

import (
	"strings"
	"testing"
)

// TestLLDP compares with the layout of IEEE 802.1AB, figures 8-3 to 8-9 and 8-14.
func TestLLDP(t *testing.T) {
	testHeader(t, ParseLLDP, []headerCase[LLDP]{
		{
			"the least", "02 07 04 020000000001 04 02 07 33 06 02 0078 0000",
			LLDP{Chassis: LLDPID{LLDPChassisMAC, "\x02\x00\x00\x00\x00\x01"},
				Port: LLDPID{LLDPPortLocal, "3"}, TTL: 120},
		},
		{
			"all that is kept", "02 03 07 6e31 04 03 07 3132 06 02 0000 08 04 65746831 0a 02 6e31 fe 06 " +
				"0080c2 01 abcd fe 04 0080c2 02 0000",
			LLDP{
				Chassis: LLDPID{LLDPChassisLocal, "n1"}, Port: LLDPID{LLDPPortLocal, "12"}, PortText: "eth1",
				SystemName: "n1",
				Organization: []LLDPOrganization{{[3]byte{0, 0x80, 0xc2}, 1, "\xab\xcd"},
					{[3]byte{0, 0x80, 0xc2}, 2, ""}},
			},
		},
	})
	// System capabilities (7) and a management address (8) are skipped.
	b := unhex(t, "02 03 07 6e31 04 02 07 31 06 02 0001 0e 04 00140014 10 0c 0501 c0000201 02 "+
		"00000001 00 0000")
	if h, n, err := ParseLLDP(b); err != nil || n != len(b) || h.TTL != 1 || h.Chassis.Value != "n1" ||
		len(h.Organization) != 0 {
		t.Errorf("with other TLVs: %+v, %d octets, %v", h, n, err)
	}
}

func TestLLDPRefuses(t *testing.T) {
	for what, wire := range map[string]string{
		"port first":       "04 02 07 31 02 03 07 6e31 06 02 0001 0000",
		"no TTL":           "02 03 07 6e31 04 02 07 31 0000",
		"a second TTL":     "02 03 07 6e31 04 02 07 31 06 02 0001 06 02 0001 0000",
		"a second port":    "02 03 07 6e31 04 02 07 31 06 02 0001 04 02 07 31 0000",
		"a second chassis": "02 03 07 6e31 04 02 07 31 06 02 0001 02 03 07 6e31 0000",
		"an empty chassis": "02 01 07 04 02 07 31 06 02 0001 0000",
		"a chassis of 256 octets": "03 01 07" + strings.Repeat("61", 256) +
			"04 02 07 31 06 02 0001 0000",
		"a TTL of one octet":       "02 03 07 6e31 04 02 07 31 06 01 01 0000",
		"an organization of three": "02 03 07 6e31 04 02 07 31 06 02 0001 fe 03 0080c2 0000",
		"a name of 256 octets": "02 03 07 6e31 04 02 07 31 06 02 0001 0b 00" + strings.Repeat("61",
			256) + "0000",
		"an End TLV with a value": "02 03 07 6e31 04 02 07 31 06 02 0001 00 01 00",
	} {
		err := refused(t, ParseLLDP, unhex(t, wire))
		t.Run(what, func(t *testing.T) { wantError(t, err, ErrMalformed, "LLDP") })
	}
}

// An identifier has 1 to 255 octets (IEEE 802.1AB-2016, section 8.5.2.1).
func TestLLDPIdentifiers(t *testing.T) {
	for _, n := range []int{1, LLDPMaxString - 1, LLDPMaxString} {
		h := LLDP{Chassis: LLDPID{Subtype: 7, Value: strings.Repeat("c", n)},
			Port: LLDPID{Subtype: 7, Value: strings.Repeat("p", n)}, TTL: 9}
		if got, _, err := ParseLLDP(h.Append(nil)); err != nil || got.Chassis != h.Chassis ||
			got.Port != h.Port {
			t.Errorf("%d octets: %+v, %v", n, got, err)
		}
	}
}

func FuzzParseLLDP(f *testing.F) {
	fuzzHeader(f, ParseLLDP, false, "02 07 04 020000000001 04 02 07 33 06 02 0078 0000",
		"02 03 07 6e31 04 03 07 3132 06 02 0000 08 04 65746831 0a 02 6e31 fe 06 0080c2 01 abcd 0000")
}

// TestLLDPCuts: Append cuts a value too long for its TLV, so that the parser can read the following
// TLVs.
func TestLLDPCuts(t *testing.T) {
	for _, n := range []int{LLDPMaxString - 1, LLDPMaxString, LLDPMaxString + 1, 1000} {
		h := LLDP{Chassis: LLDPID{Subtype: 7, Value: "s1"}, Port: LLDPID{Subtype: 7, Value: "1"}, TTL: 9,
			PortText: strings.Repeat("x", n), SystemName: "after it"}
		got, _, err := ParseLLDP(h.Append(nil))
		if h.PortText = h.PortText[:min(n, LLDPMaxString)]; err != nil || got.PortText != h.PortText ||
			got.SystemName != h.SystemName {
			t.Errorf("%d octets: %+v, %v", n, got, err)
		}
	}
}
