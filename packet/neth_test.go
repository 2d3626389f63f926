package packet

import "testing"

const (
	// type 4, nxt 5, res 7; nack_reason 1; vendor_info; entropy; spdcid, dpdcid; res, nack_psn;
	// cc_type 2, cc_fl 0, res, tx_timestamp.
	nethWire = "0000 01 77 c1232345 0118 0109 00 a788c0 20 00 beef"
	nethMask = "0000 ff ff ffffffff ffff ffff 00 ffffff ff 00 ffff"
)

func TestNETH(t *testing.T) {
	testHeader(t, ParseNETH, []headerCase[NETH]{
		{"trimmed", nethWire, NETH{
			Reason: NACKTrimmed, VendorInfo: 0x77, Entropy: NewEV(0xc123, 0x2345), SPDCID: 0x118,
			DPDCID: 0x109, PSN: 0xa788c0,
			CCType: CCTypeTimestamp, Timestamp: 0xbeef,
		}},
		{"flags", "0000 19 00 00000000 0000 0000 00 000001 1f 00 0000", NETH{Reason: NACKUnexpectedEvent,
			PSN: 1, CCType: 1, CCFlags: 15}},
	})
	testMask(t, ParseNETH, nethMask)
	got, _, err := ParseNETH(NETH{PSN: 0xFF000000, CCType: 0xF0, CCFlags: 0xF0}.Append(nil))
	if err != nil || got != (NETH{}) {
		t.Errorf("bits beyond the fields' widths come back as %+v, %v", got, err)
	}
}

func FuzzParseNETH(f *testing.F) { fuzzMask(f, ParseNETH, nethMask, nethWire) }
