package packet

import (
	"bytes"
	"testing"
)

func TestTLV(t *testing.T) {
	testHeader(t, ParseTLV, []headerCase[TLV]{
		{"Pad1", "00", TLV{Type: TLVPad1}},
		{"PadN", "04 03 000000", TLV{Type: TLVPadN, Value: make([]byte, 3)}},
		{"PadN without padding", "04 00", TLV{Type: TLVPadN, Value: []byte{}}},
		{"value", "7c 02 abcd", TLV{Type: 124, Value: []byte{0xab, 0xcd}}},
	})
}

func TestTLVErrorsSayWhatIsWrong(t *testing.T) {
	err := refused(t, ParseTLV, []byte{124, 9, 1, 2})
	wantError(t, err, ErrTruncated, "type 124", "Length 9", "at most the 2 octets left")
	err = refused(t, ParseTLV, []byte{124})
	wantError(t, err, ErrTruncated, "type 124", "no Length")
	err = refused(t, ParseTLV, nil)
	wantError(t, err, ErrTruncated, "TLV")
}

func TestTLVTooLongValue(t *testing.T) {
	h := TLV{Type: 124, Value: make([]byte, 300)}
	if out := h.Append(nil); len(out) != 257 || out[1] != 255 || h.Len() != 257 {
		t.Errorf("%d octets with Length %d, Len %d; want 257, 255, 257", len(out), out[1], h.Len())
	}
}

func TestAppendPadding(t *testing.T) {
	for n := range 17 {
		list := bytes.Repeat([]byte{0xEE}, n)
		padded := AppendPadding(bytes.Clone(list))
		if len(padded)%8 != 0 || len(padded) >= n+8 {
			t.Errorf("%d octets padded to %d", n, len(padded))
		}
		if !bytes.HasPrefix(padded, list) {
			t.Errorf("padding changes what it pads")
		}
		pad := padded[n:]
		switch len(pad) {
		case 0:
		case 1:
			if pad[0] != TLVPad1 {
				t.Errorf("one octet of padding is %#x, want Pad1", pad[0])
			}
		default: // one PadN, as RFC 8754 §2.1.1 demands for more than one octet
			tlv, took, err := ParseTLV(pad)
			if err != nil || took != len(pad) || tlv.Type != TLVPadN || len(tlv.Value) > 5 ||
				!bytes.Equal(tlv.Value, make([]byte, len(tlv.Value))) {
				t.Errorf("%d octets of padding: % x", len(pad), pad)
			}
		}
	}
}

func FuzzParseTLV(f *testing.F) {
	fuzzHeader(f, ParseTLV, true, "00", "04 03 000000", "7c 02 abcd", "05 06 8000 00000001")
}
