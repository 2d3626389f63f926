package mrc

import "testing"

// The instance of a host has 64 bits, and JSON clients keep 53 of a number.
func TestHostInstanceIsText(t *testing.T) {
	for n, want := range map[uint64]string{0: "", 1: "0x1", 1<<53 + 1: "0x20000000000001",
		1<<64 - 1: "0xffffffffffffffff"} {
		if got := instanceText(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
