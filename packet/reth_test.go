package packet

import "testing"

const rethWire = "000055d4c0726000 000047b3 00000501"

func TestRETH(t *testing.T) {
	testHeader(t, ParseRETH, []headerCase[RETH]{
		{"write", rethWire, RETH{VA: 0x55d4c0726000, RKey: 0x47b3, DMALength: 0x501}},
		{"every octet differs", "0102030405060708 090a0b0c 0d0e0f10",
			RETH{VA: 0x0102030405060708, RKey: 0x090a0b0c, DMALength: 0x0d0e0f10}},
	})
}

func FuzzParseRETH(f *testing.F) { fuzzHeader(f, ParseRETH, true, rethWire) }
