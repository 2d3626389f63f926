package packet

import "testing"

const ethernetWire = "020000000001 0200000000fe 86dd"

func TestEthernet(t *testing.T) {
	testHeader(t, ParseEthernet, []headerCase[Ethernet]{
		{"IPv6", ethernetWire, Ethernet{Dst: MAC{2, 0, 0, 0, 0, 1}, Src: MAC{2, 0, 0, 0, 0, 0xfe},
			EtherType: EtherTypeIPv6}},
		{"MAC control", "0180c2000001 0a0b0c0d0e0f 8808", Ethernet{Dst: MAC{1, 0x80, 0xc2, 0, 0, 1},
			Src: MAC{10, 11, 12, 13, 14, 15}, EtherType: 0x8808}},
	})
}

func TestMACText(t *testing.T) {
	m, err := ParseMAC("02:AB:00:00:00:01")
	if err != nil || m != (MAC{2, 0xab, 0, 0, 0, 1}) || m.String() != "02:ab:00:00:00:01" {
		t.Errorf("ParseMAC = %v, %v", m, err)
	}
	_, err = ParseMAC("02:ab")
	wantError(t, err, ErrMalformed, `"02:ab"`)
	_, err = ParseMAC("02:00:00:00:00:00:00:01")
	wantError(t, err, ErrMalformed, "8 octets", "6")
}

func FuzzParseEthernet(f *testing.F) { fuzzHeader(f, ParseEthernet, true, ethernetWire) }
