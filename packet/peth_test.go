package packet

import "testing"

const (
	// type 4, nxt 5, res 7; res 8; vendor_info; probe_id, res; spdcid, dpdcid; tx_timestamp, tsr 0,
	// res, ftype 1.
	pethWire = "0000 00 55 1234 0000 0109 0118 beef 0001"
	pethMask = "0000 00 ff ffff 0000 ffff ffff" + tsethMask
)

func TestPETH(t *testing.T) {
	testHeader(t, ParsePETH, []headerCase[PETH]{
		{"probe", pethWire, PETH{
			VendorInfo: 0x55, ProbeID: 0x1234, SPDCID: 0x109, DPDCID: 0x118, TSETH: TSETH{Timestamp: 0xbeef,
				Type: TSETHTimestamp},
		}},
		{"own unit", "0000 00 00 0001 0000 0000 0000 0002 8001",
			PETH{ProbeID: 1, TSETH: TSETH{Timestamp: 2, OwnUnit: true, Type: TSETHTimestamp}}},
	})
	testMask(t, ParsePETH, pethMask)
}

func FuzzParsePETH(f *testing.F) { fuzzMask(f, ParsePETH, pethMask, pethWire) }
