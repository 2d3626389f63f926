package packet

import (
	"bytes"
	"testing"
)

const cnpWire = "00000000000000000000000000000000"

func TestCNP(t *testing.T) {
	testHeader(t, ParseCNP, []headerCase[CNP]{{"reserved", cnpWire, CNP{}}})
}

func TestCNPIgnoresReserved(t *testing.T) {
	if _, n, err := ParseCNP(bytes.Repeat([]byte{0xFF}, CNPLen)); n != CNPLen || err != nil {
		t.Errorf("ParseCNP of ones took %d, %v", n, err)
	}
}

func FuzzParseCNP(f *testing.F) { fuzzHeader(f, ParseCNP, false, cnpWire) }
