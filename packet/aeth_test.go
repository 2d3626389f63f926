package packet

import (
	"testing"
	"time"
)

func TestAETH(t *testing.T) {
	testHeader(t, ParseAETH, []headerCase[AETH]{
		{"ACK without flow control", "1f 000005", AETH{Syndrome: ACKSyndrome(CreditInvalid), MSN: 5}},
		{"sequence NAK", "60 fedcba", AETH{Syndrome: NAKSyndrome(NAKSequence), MSN: 0xfedcba}},
		{"RNR NAK", "2e 000001", AETH{Syndrome: RNRSyndrome(14), MSN: 1}},
		{"reserved", "ff ffffff", AETH{Syndrome: 0xff, MSN: 0xffffff}},
	})
	if got := (AETH{MSN: 0xFF000001}).Append(nil); got[0] != 0 {
		t.Errorf("an MSN beyond 24 bits reaches the syndrome: % x", got)
	}
}

func TestSyndrome(t *testing.T) {
	for s := range 256 {
		s := Syndrome(s)
		want := SyndromeReserved
		switch {
		case s < 0x20:
			want = SyndromeACK
		case s < 0x40:
			want = SyndromeRNR
		case s >= 0x60 && s < 0x80:
			want = SyndromeNAK
		}
		if s.Kind() != want {
			t.Errorf("kind of %#02x = %d, want %d", uint8(s), s.Kind(), want)
		}
		made := s
		switch s.Kind() {
		case SyndromeACK:
			made = ACKSyndrome(s.Value())
		case SyndromeRNR:
			made = RNRSyndrome(s.Value())
		case SyndromeNAK:
			made = NAKSyndrome(s.NAKCode())
		}
		if made != s {
			t.Errorf("syndrome %#02x made again is %#02x", uint8(s), uint8(made))
		}
	}
	for s, want := range map[Syndrome]string{
		0x1F: "ACK credit 31",
		0x2E: "RNR NAK 1.28ms",
		0x60: "NAK PSN sequence error",
		0x61: "NAK invalid request",
		0x62: "NAK remote access error",
		0x63: "NAK remote operational error",
		0x64: "NAK invalid RD request",
		0x65: "NAK reserved NAK code 5",
		0x40: "reserved syndrome 0x40",
	} {
		if got := s.String(); got != want {
			t.Errorf("%#02x: %q, want %q", uint8(s), got, want)
		}
	}
}

// From code 3 on every second timer is twice as long, and code 0 continues the row after 31.
func TestRNRTimer(t *testing.T) {
	for code, want := range map[uint8]time.Duration{
		1: 10 * time.Microsecond, 2: 20 * time.Microsecond, 3: 30 * time.Microsecond,
		4:  40 * time.Microsecond,
		14: 1280 * time.Microsecond, 31: 491520 * time.Microsecond, 0: 655360 * time.Microsecond,
	} {
		if got := RNRTimer(code); got != want {
			t.Errorf("RNRTimer(%d) = %v, want %v", code, got, want)
		}
	}
	for code := uint8(3); code <= 30; code++ {
		if got, want := RNRTimer((code+2)%32), 2*RNRTimer(code); got != want {
			t.Errorf("RNRTimer(%d) = %v, want %v", (code+2)%32, got, want)
		}
	}
	if RNRTimer(0xE1) != RNRTimer(1) {
		t.Error("bits beyond the code count")
	}
}

func TestRNRTimerCode(t *testing.T) {
	for code := range uint8(32) {
		if got := RNRTimerCode(RNRTimer(code)); got != code {
			t.Errorf("RNRTimerCode(%v) = %d, want %d", RNRTimer(code), got, code)
		}
	}
	for d, want := range map[time.Duration]uint8{
		0: 1, time.Microsecond: 1, 11 * time.Microsecond: 2, time.Millisecond: 14,
		500 * time.Millisecond: 0, time.Hour: 0,
	} {
		if got := RNRTimerCode(d); got != want {
			t.Errorf("RNRTimerCode(%v) = %d, want %d", d, got, want)
		}
	}
}

func FuzzParseAETH(f *testing.F) { fuzzHeader(f, ParseAETH, true, "1f000005", "60fedcba") }
