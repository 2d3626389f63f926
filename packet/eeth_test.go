package packet

import "testing"

const (
	// type 4, nxt 5, r 3, op 2 = 1, r 2, res 16; res 32 six times; tx_timestamp, res 16; res 32.
	eethWire = "00 04 0000 000000000000000000000000000000000000000000000000 beef 0000 00000000"
	eethMask = "00 0c 0000 000000000000000000000000000000000000000000000000 ffff 0000 00000000"
)

func TestEETH(t *testing.T) {
	testHeader(t, ParseEETH, []headerCase[EETH]{
		{"EV probe", eethWire, EETH{Op: EndpointEVProbe, Timestamp: 0xbeef}},
		{"nothing", "00 00 0000 000000000000000000000000000000000000000000000000 0000 0000 00000000",
			EETH{}},
	})
	testMask(t, ParseEETH, eethMask)
	if got := (EETH{Op: 0xFC}).Append(nil); got[1] != 0 {
		t.Errorf("an operation beyond 2 bits reaches the reserved bits: % x", got)
	}
}

func FuzzParseEETH(f *testing.F) { fuzzMask(f, ParseEETH, eethMask, eethWire) }
