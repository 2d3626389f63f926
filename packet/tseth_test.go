package packet

import (
	"testing"
	"time"
)

const (
	// tx_timestamp; tsr 0, reserved, ftype 1.
	tsethWire = "abcd 0001"
	// tx_timestamp 16, tsr 1, reserved 11, ftype 4.
	tsethMask = "ffff 800f"
)

func TestTSETH(t *testing.T) {
	testHeader(t, ParseTSETH, []headerCase[TSETH]{
		{"timestamp", tsethWire, TSETH{Timestamp: 0xabcd, Type: TSETHTimestamp}},
		{"own unit", "1234 8001", TSETH{Timestamp: 0x1234, OwnUnit: true, Type: TSETHTimestamp}},
		{"nothing carried", "0000 0000", TSETH{}},
		{"other type", "0000 000e", TSETH{Type: 14}},
	})
	testMask(t, ParseTSETH, tsethMask)
	if got := (TSETH{Type: 0xF1}).Append(nil); got[3] != 1 {
		t.Errorf("a type beyond 4 bits reaches the reserved bits: % x", got)
	}
}

func TestTimestampUnit(t *testing.T) {
	if TimestampUnit != 128*time.Nanosecond {
		t.Errorf("TimestampUnit = %v, want 128ns", TimestampUnit)
	}
}

func FuzzParseTSETH(f *testing.F) { fuzzMask(f, ParseTSETH, tsethMask, tsethWire, "1234 8001") }
