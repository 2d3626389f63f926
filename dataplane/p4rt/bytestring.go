package p4rt

import "math/bits"

// Byte strings (P4Runtime specification, "Bytestrings"): big-endian integers. The server accepts
// any number of leading zero octets if the value fits the width of its type, and sends the
// canonical form, the shortest one. Inside the package a value takes the fixed length of its width,
// byteLen(width) octets, so values of a field compare and concatenate without lengths.

// byteLen is the number of octets that hold width bits.
func byteLen(width int) int { return (width + 7) / 8 }

// bitLen is the number of significant bits of a big-endian integer.
func bitLen(v []byte) int {
	for i, b := range v {
		if b != 0 {
			return 8*(len(v)-i-1) + bits.Len8(b)
		}
	}
	return 0
}

// checkFits reports OUT_OF_RANGE for an empty string and for an unsigned value
// of more than width bits.
func checkFits(v []byte, width int) *Error {
	if len(v) == 0 {
		return outOfRange("the byte string is empty; want a value of at most %d bits in 1 or more octets",
			width)
	}
	if n := bitLen(v); n > width {
		return outOfRange("value 0x%x needs %d bits; want at most %d", v, n, width)
	}
	return nil
}

// appendFixed appends the unsigned value v in the fixed length of width bits.
func appendFixed(dst, v []byte, width int) ([]byte, *Error) {
	if err := checkFits(v, width); err != nil {
		return dst, err
	}
	n := byteLen(width)
	if len(v) > n {
		v = v[len(v)-n:]
	}
	for i := len(v); i < n; i++ {
		dst = append(dst, 0)
	}
	return append(dst, v...), nil
}

// canonical returns the shortest form of the unsigned value v: no leading zero
// octets, one zero octet for zero. The result aliases v.
func canonical(v []byte) []byte {
	for len(v) > 1 && v[0] == 0 {
		v = v[1:]
	}
	if len(v) == 0 {
		return []byte{0}
	}
	return v
}

// appendFixedSigned is appendFixed for int<width>: the result is the two's
// complement value in byteLen(width) octets, sign-extended.
func appendFixedSigned(dst, v []byte, width int) ([]byte, *Error) {
	if len(v) == 0 {
		return dst,
			outOfRange("the byte string is empty; want a value of at most %d bits in 1 or more octets",
				width)
	}
	if n := signedBitLen(v); n > width {
		return dst, outOfRange("signed value 0x%x needs %d bits; want at most %d", v, n, width)
	}
	n := byteLen(width)
	if len(v) > n {
		v = v[len(v)-n:]
	}
	fill := byte(0)
	if v[0]&0x80 != 0 {
		fill = 0xff
	}
	for i := len(v); i < n; i++ {
		dst = append(dst, fill)
	}
	return append(dst, v...), nil
}

// signedBitLen is the least width whose int<width> holds the two's complement
// value v.
func signedBitLen(v []byte) int {
	v = canonicalSigned(v)
	b := v[0]
	if b&0x80 != 0 {
		b = ^b
	}
	return 8*(len(v)-1) + bits.Len8(b) + 1
}

// canonicalSigned returns the shortest two's complement form of v; the result
// aliases v.
func canonicalSigned(v []byte) []byte {
	if len(v) == 0 {
		return []byte{0}
	}
	for len(v) > 1 && (v[0] == 0 && v[1]&0x80 == 0 || v[0] == 0xff && v[1]&0x80 != 0) {
		v = v[1:]
	}
	return v
}

// allZero reports whether every octet of v is zero.
func allZero(v []byte) bool {
	for _, b := range v {
		if b != 0 {
			return false
		}
	}
	return true
}

// allOnes reports whether v, in the fixed length of width bits, is 2^width-1.
func allOnes(v []byte, width int) bool {
	for i, b := range v {
		want := byte(0xff)
		if i == 0 && width%8 != 0 {
			want = 1<<(width%8) - 1
		}
		if b != want {
			return false
		}
	}
	return true
}

// appendOnes appends 2^width-1 in the fixed length of width bits.
func appendOnes(dst []byte, width int) []byte {
	for i := range byteLen(width) {
		b := byte(0xff)
		if i == 0 && width%8 != 0 {
			b = 1<<(width%8) - 1
		}
		dst = append(dst, b)
	}
	return dst
}

// trailingZeros is the number of zero bits at the least significant end of v.
func trailingZeros(v []byte) int {
	for i := len(v) - 1; i >= 0; i-- {
		if v[i] != 0 {
			return 8*(len(v)-1-i) + bits.TrailingZeros8(v[i])
		}
	}
	return 8 * len(v)
}

// bitWriter packs values most significant bit first, as the fields of a P4
// header lie on the wire.
type bitWriter struct {
	buf  []byte
	bits int
}

// write appends the low width bits of v, given in its fixed length.
func (w *bitWriter) write(v []byte, width int) {
	skip := 8*len(v) - width
	for i := skip; i < 8*len(v); i++ {
		if w.bits%8 == 0 {
			w.buf = append(w.buf, 0)
		}
		if v[i/8]&(0x80>>(i%8)) != 0 {
			w.buf[w.bits/8] |= 0x80 >> (w.bits % 8)
		}
		w.bits++
	}
}

// bitReader is the inverse of bitWriter.
type bitReader struct {
	buf []byte
	pos int
}

// read appends the next width bits to dst in their fixed length. The caller has checked that so
// many bits remain.
func (r *bitReader) read(dst []byte, width int) []byte {
	n := byteLen(width)
	at := len(dst)
	for range n {
		dst = append(dst, 0)
	}
	v := dst[at:]
	for i := 8*n - width; i < 8*n; i++ {
		if r.buf[r.pos/8]&(0x80>>(r.pos%8)) != 0 {
			v[i/8] |= 0x80 >> (i % 8)
		}
		r.pos++
	}
	return dst
}
