package packet

import "testing"

func TestTrafficClass(t *testing.T) {
	for tc := range 256 {
		tc := uint8(tc)
		if got := TrafficClass(DSCP(tc), ECN(tc)); got != tc {
			t.Errorf("TrafficClass(DSCP, ECN) of %#02x = %#02x", tc, got)
		}
	}
	if got := TrafficClass(46, CE); got != 0xBB {
		t.Errorf("EF with CE = %#02x, want 0xbb", got)
	}
	if got := TrafficClass(0, 0xFF); got != CE {
		t.Errorf("an ECN beyond two bits reaches the DSCP: %#02x", got)
	}
}

// The table is figure 4 of RFC 6040; rows are inner, columns outer: Not-ECT, ECT(0), ECT(1), CE.
func TestDecapECN(t *testing.T) {
	const drop = 0xFF
	columns := [4]uint8{NotECT, ECT0, ECT1, CE}
	for inner, row := range map[uint8][4]uint8{
		NotECT: {NotECT, NotECT, NotECT, drop},
		ECT0:   {ECT0, ECT0, ECT1, CE},
		ECT1:   {ECT1, ECT1, ECT1, CE},
		CE:     {CE, CE, CE, CE},
	} {
		for i, want := range row {
			got, ok := DecapECN(inner, columns[i])
			if ok != (want != drop) || ok && got != want {
				t.Errorf("DecapECN(%d, %d) = %d, %v; want %d", inner, columns[i], got, ok, want)
			}
		}
	}
}
