package packet

import (
	"bytes"
	"net/netip"
	"testing"
)

const hmacWire = "05 26 8000 01020304 " +
	"22ea498f321838d395a00abeb2a6e38c13df1a5feb566624d625df0a903a6c30"

func TestHMAC(t *testing.T) {
	digest := unhex(t, hmacWire)[8:]
	testHeader(t, ParseHMAC, []headerCase[HMAC]{
		{"SHA-256", hmacWire, HMAC{D: true, KeyID: 0x01020304, Digest: digest}},
		{"eight octets, D clear", "05 0e 0000 00000007 1122334455667788",
			HMAC{KeyID: 7, Digest: unhex(t, "1122334455667788")}},
	})
}

func TestHMACRefuses(t *testing.T) {
	for _, c := range []struct {
		name, wire string
		want       error
		words      []string
	}{
		{"other type", "7c 0e 0000 00000007 1122334455667788", ErrUnsupported,
			[]string{"type 124", "want 5"}},
		{"no digest", "05 06 8000 00000007", ErrMalformed, []string{"0 octets of HMAC"}},
		{"seven octets", "05 0d 8000 00000007 11223344556677", ErrMalformed,
			[]string{"7 octets of HMAC"}},
		{"forty octets", "05 2e 8000 00000007" +
			"11111111111111111111111111111111111111111111111111111111111111111111111111111111", ErrMalformed,
			[]string{"40 octets of HMAC"}},
		{"no key id", "05 05 8000 000000", ErrTruncated, []string{"Length 5", "at least 6"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := refused(t, ParseHMAC, unhex(t, c.wire))
			wantError(t, err, c.want, c.words...)
		})
	}
}

func testKeys(id uint32) []byte {
	if id == 0x01020304 {
		return []byte("secret")
	}
	return nil
}

func signedSRH(t *testing.T, tlvs []byte) SRH {
	t.Helper()
	h, err := NewSRH(NextHeaderIPv6, []netip.Addr{sid, proxy}, tlvs)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := h.WithHMAC([]byte("secret"), 0x01020304, addr("fc00::1"))
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// The digest was computed by other software: Python's hmac over the octets RFC 8754 §2.1.2.1 lists.
func TestWithHMAC(t *testing.T) {
	h := signedSRH(t, nil)
	if want := unhex(t, hmacWire); !bytes.Equal(h.TLVList, want) {
		t.Errorf("TLVs\n got % x\nwant % x", h.TLVList, want)
	}
	if err := h.VerifyHMAC(addr("fc00::1"), testKeys); err != nil {
		t.Error(err)
	}
}

func TestVerifyHMAC(t *testing.T) {
	src := addr("fc00::1")
	endMT := AppendPadding(AppendEndMT(nil, TLVEndMTDefault, edge, receivers(3)))
	const firstTLV = SRHFixedLen + 2*SegmentLen
	for _, c := range []struct {
		name   string
		change func(b []byte)
		fails  string // empty: verifies
	}{
		{"as signed", func([]byte) {}, ""},
		{"Segments Left", func(b []byte) { b[3] = 0 }, ""},
		{"Tag", func(b []byte) { b[6]++ }, ""},
		{"Next Header", func(b []byte) { b[0] = NextHeaderEthernet }, ""},
		{"receiver in another TLV: not covered", func(b []byte) { b[firstTLV+40+24]++ }, ""},
		{"reserved bits of the TLV", func(b []byte) { b[firstTLV+3] = 1 }, "does not match"},
		{"reserved bits beside the D bit", func(b []byte) { b[firstTLV+2] |= 0x40 }, "does not match"},
		{"flags", func(b []byte) { b[5] = 1 }, "does not match"},
		{"segment 0", func(b []byte) { b[8]++ }, "does not match"},
		{"segment 1", func(b []byte) { b[39]++ }, "does not match"},
		{"digest", func(b []byte) { b[firstTLV+39]++ }, "does not match"},
		{"key id", func(b []byte) { b[firstTLV+7]++ }, "0x1020305 is not known"},
		{"D bit", func(b []byte) { b[firstTLV+2] = 0 }, "D bit 0"},
		{"no HMAC TLV", func(b []byte) { b[firstTLV] = 125 }, "0 HMAC TLVs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			wire := signedSRH(t, endMT).Append(nil)
			c.change(wire)
			h, _, err := ParseSRH(wire)
			if err != nil {
				t.Fatal(err)
			}
			err = h.VerifyHMAC(src, testKeys)
			if c.fails == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantError(t, err, ErrHMAC, c.fails)
		})
	}
	h := signedSRH(t, endMT)
	wantError(t, h.VerifyHMAC(addr("fc00::2"), testKeys), ErrHMAC, "does not match")
	wantError(t, h.VerifyHMAC(src, func(uint32) []byte { return nil }), ErrHMAC, "not known")
	wantError(t, h.VerifyHMAC(src, func(uint32) []byte { return []byte("Secret") }), ErrHMAC,
		"does not match")
}

// Last Entry is covered: with one TLV's worth of octets taken for another segment the digest
// differs.
func TestVerifyHMACCoversLastEntry(t *testing.T) {
	h := signedSRH(t, nil)
	h.LastEntry++
	wantError(t, h.VerifyHMAC(addr("fc00::1"), testKeys), ErrHMAC, "does not match")
}

func TestVerifyHMACRefusesOddTLVs(t *testing.T) {
	signed := signedSRH(t, nil)
	twice := signed
	twice.TLVList = append(bytes.Clone(signed.TLVList), signed.TLVList...)
	wantError(t, twice.VerifyHMAC(addr("fc00::1"), testKeys), ErrHMAC, "2 HMAC TLVs")

	short := signed
	short.TLVList = HMAC{D: true, KeyID: 0x01020304, Digest: signed.TLVList[8:16]}.Append(nil)
	wantError(t, short.VerifyHMAC(addr("fc00::1"), testKeys), ErrHMAC, "8 octets", "want 32")

	malformed := signed
	malformed.TLVList = TLV{Type: TLVHMAC, Value: make([]byte, 6)}.Append(nil)
	err := malformed.VerifyHMAC(addr("fc00::1"), testKeys)
	wantError(t, err, ErrHMAC)
	wantError(t, err, ErrMalformed, "0 octets of HMAC")
}

func TestWithHMACRefuses(t *testing.T) {
	_, err := signedSRH(t, nil).WithHMAC([]byte("secret"), 1, addr("fc00::1"))
	wantError(t, err, ErrMalformed, "has an HMAC TLV")
	long, err := NewSRH(NextHeaderIPv6, make([]netip.Addr, 126), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = long.WithHMAC([]byte("secret"), 1, addr("fc00::1"))
	wantError(t, err, ErrTooLong, "at most 2048")
}

func TestWithHMACLeavesItsReceiverAlone(t *testing.T) {
	tlvs := make([]byte, 8, 256)
	h, err := NewSRH(NextHeaderIPv6, []netip.Addr{sid, proxy}, tlvs)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.WithHMAC([]byte("secret"), 1, addr("fc00::1")); err != nil {
		t.Fatal(err)
	}
	if len(h.TLVList) != 8 || !bytes.Equal(tlvs[:cap(tlvs)], make([]byte, 256)) {
		t.Errorf("TLVs of the unsigned header changed: % x", h.TLVList)
	}
}

func FuzzParseHMAC(f *testing.F) {
	fuzzHeader(f, ParseHMAC, false, hmacWire, "05 0e 0000 00000007 1122334455667788")
}

func FuzzVerifyHMAC(f *testing.F) {
	f.Add(unhex(f, "29 09 04 01 01 00 0000"+proxyHex+sidHex+hmacWire))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, _, err := ParseSRH(b)
		if err != nil {
			return
		}
		if err := h.VerifyHMAC(addr("fc00::1"), testKeys); err != nil && !isSentinel(err) {
			t.Fatalf("error %v wraps no sentinel", err)
		}
	})
}
