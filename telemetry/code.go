package telemetry

import "math"

// code is a value in 16 bits: zero, or a number from 2^-8 to 2^55 with 11 significant bits, so that
// the error is below 0.05 % and whole numbers up to 2048 are exact.
type code uint16

const (
	codeShift = 42                             // of a float64, to leave 10 bits of its mantissa
	codeBase  = (1023 - 8) << (52 - codeShift) // of 2^-8
	codeMost  = code(0xFFFE)
	// codeGap stands where there is no value.
	codeGap = code(0xFFFF)
)

// encode returns the code of a value, which must not be negative. Values between 0 and 2^-8 become
// 2^-8.
func encode(v float64) code {
	if !(v > 0) {
		return 0
	}
	q := (math.Float64bits(v) + 1<<(codeShift-1)) >> codeShift
	if q <= codeBase {
		return 1
	}
	return code(min(q-codeBase, uint64(codeMost)))
}

// value returns the value of a code other than codeGap.
func (c code) value() float64 {
	if c == 0 {
		return 0
	}
	return math.Float64frombits((uint64(c) + codeBase) << codeShift)
}
