package packet

import "testing"

func TestImmDt(t *testing.T) {
	testHeader(t, ParseImmDt, []headerCase[ImmDt]{{"value", "01020304", 0x01020304}})
}

func FuzzParseImmDt(f *testing.F) { fuzzHeader(f, ParseImmDt, true, "01020304") }
