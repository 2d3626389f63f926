package packet

import (
	"math"
	"testing"
)

const (
	// type 4, nxt 5, m 2 = 01, r r r, pr 1 = 0, r, ack_psn_offset 300; entropy; spdcid, dpdcid; res,
	// cack_psn; cc_type 0, cc_fl 0, mpr 8, sack_offset 268; sack_bitmap; cc_state.
	sethWire = "00 20 012c c123 2345 0118 0109 00 000195 00 08 010c 8000000180000081" + nsccWire
	// m 10, pr 1; offsets negative; cc_type 2, cc_fl 5; mpr 255.
	sethProbeWire = "00 42 fffe 01020304 1112 1314 00 fffffe 25 ff ff9c 0000000000000001 " +
		"0102030405060708"
	sethMask = "00 62 ffff ffffffff ffff ffff 00 ffffff ff ff ffff ffffffffffffffff " +
		"ffffffffffffffff"
)

func TestSETH(t *testing.T) {
	testHeader(t, ParseSETH, []headerCase[SETH]{
		{"SACK", sethWire, SETH{
			Mark: MarkSkipOnce, AckPSNOffset: 300, Entropy: NewEV(0xc123, 0x2345), SPDCID: 0x118,
			DPDCID: 0x109, CackPSN: 405,
			MPR: 8, SACKOffset: 268, SACKBitmap: 0x8000000180000081, CCState: [8]byte(unhex(t, nsccWire)),
		}},
		{"probe response", sethProbeWire, SETH{
			Mark: MarkAlwaysSkip, Probe: true, AckPSNOffset: -2, Entropy: 0x01020304, SPDCID: 0x1112,
			DPDCID: 0x1314, CackPSN: 0xfffffe,
			CCType: CCTypeTimestamp, CCFlags: 5, MPR: 255, SACKOffset: -100, SACKBitmap: 1,
			CCState: [8]byte{1, 2, 3, 4, 5, 6, 7, 8},
		}},
	})
	testMask(t, ParseSETH, sethMask)
}

func TestSETHAppendKeepsFieldsApart(t *testing.T) {
	got, _, err := ParseSETH(SETH{Mark: 0xFC, CackPSN: 0xFF000000, CCType: 0xF0,
		CCFlags: 0xF0}.Append(nil))
	if err != nil || got != (SETH{}) {
		t.Errorf("bits beyond the fields' widths come back as %+v, %v", got, err)
	}
}

func TestSETHReadsItself(t *testing.T) {
	h, _, err := ParseSETH(unhex(t, sethWire))
	if err != nil {
		t.Fatal(err)
	}
	if h.AckPSN() != 705 || h.SACKBase() != 673 {
		t.Errorf("AckPSN %d, SACKBase %d; want 705, 673", h.AckPSN(), h.SACKBase())
	}
	h, _, err = ParseSETH(unhex(t, sethProbeWire))
	if err != nil {
		t.Fatal(err)
	}
	if h.ProbeID() != 0xFFFE || h.AckPSN() != 0xFFFFFC || h.SACKBase() != 0xFFFF9A {
		t.Errorf("ProbeID %#04x, AckPSN %#06x, SACKBase %#06x; want 0xfffe, 0xfffffc, 0xffff9a",
			h.ProbeID(), h.AckPSN(), h.SACKBase())
	}
}

// Offsets wrap with the PSNs. PSNs beyond 16 bits stay on their side of the cumulative
// acknowledgement.
func TestPSNOffset(t *testing.T) {
	for _, c := range []struct {
		psn, cack uint32
		want      int16
	}{
		{405, 405, 0},
		{673, 405, 268},
		{404, 405, -1},
		{2, 0xFFFFFF, 3},
		{0xFFFFFF, 2, -3},
		{32767, 0, 32767},
		{32768, 0, 32767},
		{0, 32768, -32768},
		{0, 32769, -32768},
		{0, 1 << 22, math.MinInt16},
		{1 << 22, 0, math.MaxInt16},
	} {
		if got := PSNOffset(c.psn, c.cack); got != c.want {
			t.Errorf("PSNOffset(%d, %d) = %d, want %d", c.psn, c.cack, got, c.want)
		}
	}
	for _, cack := range []uint32{0, 7, 0x7FFFFF, 0x800000, 0xFFFFFF} {
		for d := math.MinInt16; d <= math.MaxInt16; d++ {
			psn := PSNAdd(cack, d)
			if got := (SETH{CackPSN: cack, AckPSNOffset: PSNOffset(psn, cack)}).AckPSN(); got != psn {
				t.Fatalf("PSN %#06x with cack_psn %#06x comes back as %#06x", psn, cack, got)
			}
		}
	}
}

func TestSETHReceived(t *testing.T) {
	// The bitmap covers 0xfffff0 to 0x00002f.
	h := SETH{CackPSN: 0xFFFFE0, SACKOffset: 16, SACKBitmap: 1<<63 | 1<<16 | 1}
	for _, c := range []struct {
		psn             uint32
		received, known bool
	}{
		{0xFFFFE0, true, true},   // the cumulative acknowledgement
		{0x900000, true, true},   // before it
		{0xFFFFE1, false, false}, // between it and the bitmap
		{0xFFFFEF, false, false},
		{0xFFFFF0, true, true}, // bit 0
		{0xFFFFF1, false, true},
		{0xFFFFFF, false, true},
		{0x000000, true, true}, // bit 16
		{0x00002E, false, true},
		{0x00002F, true, true},   // bit 63
		{0x000030, false, false}, // beyond: not known, so not lost
		{0x400000, false, false},
	} {
		if received, known := h.Received(c.psn); received != c.received || known != c.known {
			t.Errorf("%#06x: received %v, known %v; want %v, %v", c.psn, received, known, c.received,
				c.known)
		}
	}
	// A bitmap may start at the cumulative acknowledgement, and even below it.
	h = SETH{CackPSN: 10, SACKOffset: -2, SACKBitmap: 1 << 4}
	if received, known := h.Received(9); !received || !known {
		t.Error("9 is acknowledged, whatever the bitmap says")
	}
	if received, known := h.Received(12); !received || !known {
		t.Error("12 is bit 4")
	}
}

func TestSETHNSCC(t *testing.T) {
	want := NSCC{Timestamp: 0xbeef, OOOCount: 0x123, RestoreCwnd: true, RcvCwndPenalty: 64,
		RcvdBytes: 0xfedcba}
	h, _, err := ParseSETH(unhex(t, sethWire))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := h.NSCC(); err != nil || got != want {
		t.Errorf("NSCC = %+v, %v; want %+v", got, err, want)
	}
	made := SETH{CCType: CCTypeTimestamp}
	if made.SetNSCC(want); made.CCState != h.CCState || made.CCType != CCTypeNSCC {
		t.Errorf("SetNSCC: cc_type %d, % x; want 0, % x", made.CCType, made.CCState, h.CCState)
	}
	_, err = SETH{CCType: CCTypeTimestamp}.NSCC()
	wantError(t, err, ErrUnsupported, "cc_type 2", "want 0 (NSCC)")
}

func FuzzParseSETH(f *testing.F) { fuzzMask(f, ParseSETH, sethMask, sethWire, sethProbeWire) }
