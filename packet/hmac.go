package packet

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/netip"
)

const (
	// HMACDigestLen is the octets of an HMAC-SHA-256 digest, and the most an HMAC TLV may carry.
	HMACDigestLen = 32

	hmacFixed = 6 // octets of the value before the digest
	hmacKeyID = 2
	hmacD     = 0x80
)

// HMAC is an HMAC TLV (RFC 8754 §2.1.2).
type HMAC struct {
	D      bool // the destination address is not compared with the segment list
	KeyID  uint32
	Digest []byte // 8, 16, 24 or 32 octets
}

// ParseHMAC reads an HMAC TLV at the start of b; its Digest is a slice of b. Reserved bits are
// ignored.
func ParseHMAC(b []byte) (HMAC, int, error) {
	t, n, err := ParseTLV(b)
	if err != nil {
		return HMAC{}, 0, err
	}
	if t.Type != TLVHMAC {
		return HMAC{}, 0, fmt.Errorf("HMAC TLV: type %d, want %d: %w", t.Type, TLVHMAC, ErrUnsupported)
	}
	h, err := hmacTLV(t)
	if err != nil {
		return HMAC{}, 0, err
	}
	return h, n, nil
}

func hmacTLV(t TLV) (HMAC, error) {
	if len(t.Value) < hmacFixed {
		return HMAC{}, fmt.Errorf("HMAC TLV: Length %d, want at least %d: %w", len(t.Value), hmacFixed,
			ErrTruncated)
	}
	digest := t.Value[hmacFixed:]
	if n := len(digest); n == 0 || n%8 != 0 || n > HMACDigestLen {
		return HMAC{}, fmt.Errorf("HMAC TLV: %d octets of HMAC, want 8, 16, 24 or 32: %w", n,
			ErrMalformed)
	}
	return HMAC{
		D:      t.Value[0]&hmacD != 0,
		KeyID:  binary.BigEndian.Uint32(t.Value[hmacKeyID:]),
		Digest: digest,
	}, nil
}

// Append writes the TLV after b, which should end at a multiple of 8 octets from the start of the
// header. Of a digest longer than 32 octets the first 32 are written.
func (h HMAC) Append(b []byte) []byte {
	digest := h.Digest[:min(len(h.Digest), HMACDigestLen)]
	var d uint8
	if h.D {
		d = hmacD
	}
	b = append(b, TLVHMAC, uint8(hmacFixed+len(digest)), d, 0)
	b = binary.BigEndian.AppendUint32(b, h.KeyID)
	return append(b, digest...)
}

// Len is the octets Append writes.
func (h HMAC) Len() int { return TLVHeaderLen + hmacFixed + min(len(h.Digest), HMACDigestLen) }

// hmacSum is HMAC-SHA-256 over what RFC 8754 §2.1.2.1 lists: source address, Last Entry, flags, the
// 16 bits behind the Length of the HMAC TLV (the D bit and 15 reserved bits), key id and segment
// list. fixed has these bits and the key id. Other TLVs are not covered.
func (h SRH) hmacSum(key []byte, fixed [hmacFixed]byte, src netip.Addr) [HMACDigestLen]byte {
	mac := hmac.New(sha256.New, key)
	text := appendAddr(make([]byte, 0, 24+len(h.SegmentList)), src)
	text = append(text, h.LastEntry, h.Flags)
	text = append(text, fixed[:]...)
	text = append(text, h.SegmentList...)
	mac.Write(text)
	return [HMACDigestLen]byte(mac.Sum(nil))
}

// WithHMAC is the header with an HMAC-SHA-256 TLV before its other TLVs. src is the source address
// of the IPv6 header in front. The D bit is set, since replication makes the destination address
// differ from the segment list (RFC 9524). A header that has an HMAC TLV, or gets too long, is an
// error.
func (h SRH) WithHMAC(key []byte, keyID uint32, src netip.Addr) (SRH, error) {
	for t := range h.TLVs() {
		if t.Type == TLVHMAC {
			return SRH{}, fmt.Errorf("SRH: has an HMAC TLV, want none before one is added: %w", ErrMalformed)
		}
	}
	fixed := [hmacFixed]byte{hmacD}
	binary.BigEndian.PutUint32(fixed[hmacKeyID:], keyID)
	sum := h.hmacSum(key, fixed, src)
	tlv := HMAC{D: true, KeyID: keyID, Digest: sum[:]}
	list := tlv.Append(make([]byte, 0, tlv.Len()+len(h.TLVList)))
	h.TLVList = append(list, h.TLVList...)
	if err := h.Validate(); err != nil {
		return SRH{}, err
	}
	return h, nil
}

// VerifyHMAC checks that the header has exactly one HMAC TLV, with the D bit set, a known key, and
// the right digest for a packet from src. key returns the secret of a key id; nil for an unknown
// id. Errors wrap ErrHMAC.
//
// A success says nothing about the other TLVs: RFC 8754 does not cover them.
func (h SRH) VerifyHMAC(src netip.Addr, key func(id uint32) []byte) error {
	var tlv TLV
	found := 0
	for t := range h.TLVs() {
		if t.Type == TLVHMAC {
			tlv = t
			found++
		}
	}
	if found != 1 {
		return fmt.Errorf("SRH: %d HMAC TLVs, want one: %w", found, ErrHMAC)
	}
	got, err := hmacTLV(tlv)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrHMAC, err)
	}
	if !got.D {
		return fmt.Errorf("SRH: HMAC TLV with D bit 0, want 1, since replication changes the "+
			"destination address: %w", ErrHMAC)
	}
	if len(got.Digest) != HMACDigestLen {
		return fmt.Errorf("SRH: HMAC of %d octets, want %d for HMAC-SHA-256: %w", len(got.Digest),
			HMACDigestLen, ErrHMAC)
	}
	secret := key(got.KeyID)
	if len(secret) == 0 {
		return fmt.Errorf("SRH: HMAC key id %#x is not known: %w", got.KeyID, ErrHMAC)
	}
	want := h.hmacSum(secret, [hmacFixed]byte(tlv.Value), src)
	if !hmac.Equal(got.Digest, want[:]) {
		return fmt.Errorf("SRH: HMAC with key id %#x does not match source address and segments: %w",
			got.KeyID, ErrHMAC)
	}
	return nil
}
