package packet

import "testing"

const methWire = "0102 fedc"

func TestMETH(t *testing.T) {
	testHeader(t, ParseMETH, []headerCase[METH]{
		{"both", methWire, METH{RQMSN: 0x0102, MSN: 0xfedc}},
		{"RQMSN", "ffff 0000", METH{RQMSN: 0xffff}},
	})
	testMask(t, ParseMETH, "ffffffff")
}

func FuzzParseMETH(f *testing.F) { fuzzMask(f, ParseMETH, "ffffffff", methWire) }
