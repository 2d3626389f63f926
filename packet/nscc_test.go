package packet

import "testing"

const (
	// tx_timestamp; r 0, ooo_count 0x0123; r_c 1, rcv_cwnd_pen 64; rcvd_bytes.
	nsccWire = "beef 0123 c0 fedcba"
	nsccMask = "ffff 7fff ff ffffff"
)

func TestNSCC(t *testing.T) {
	testHeader(t, ParseNSCC, []headerCase[NSCC]{
		{"all fields", nsccWire, NSCC{Timestamp: 0xbeef, OOOCount: 0x123, RestoreCwnd: true,
			RcvCwndPenalty: 64, RcvdBytes: 0xfedcba}},
		{"greatest count and penalty", "0000 7fff 7f 000000",
			NSCC{OOOCount: 0x7fff, RcvCwndPenalty: MaxRcvCwndPenalty}},
		{"received", "0000 0000 00 000001", NSCC{RcvdBytes: 1}},
	})
	testMask(t, ParseNSCC, nsccMask)
}

func TestNSCCAppendBeyondTheFields(t *testing.T) {
	got, _, err := ParseNSCC(NSCC{OOOCount: 0x8001, RcvCwndPenalty: 0x80,
		RcvdBytes: 0xFF000002}.Append(nil))
	if want := (NSCC{OOOCount: 0x7FFF, RcvCwndPenalty: 127, RcvdBytes: 2}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

// Section 7.5.5.4: in units of 256 octets, rounded up; 24 bits.
func TestRcvdBytes(t *testing.T) {
	for octets, want := range map[uint64]uint32{
		0: 0, 1: 1, 255: 1, 256: 1, 257: 2, 4096: 16,
		256 * (1<<24 - 1): 0xFFFFFF, 256*(1<<24-1) + 1: 0, 256 << 24: 0, 1<<64 - 1: 0,
	} {
		if got := RcvdBytes(octets); got != want {
			t.Errorf("RcvdBytes(%d) = %#x, want %#x", octets, got, want)
		}
	}
}

func FuzzParseNSCC(f *testing.F) { fuzzMask(f, ParseNSCC, nsccMask, nsccWire) }
