// Package seeds says which seeds a test of random cases runs.
package seeds

import (
	"os"
	"strconv"
	"testing"
)

// Range returns the first seed and how many there are, count from first by default, a quarter of
// them with -short: WEFT_SEED=n runs n alone, WEFT_SEEDS=m runs m of them, from n or from the
// default. A value that is no number fails the test. The seed is logged.
func Range(t testing.TB, first, count uint64) (uint64, uint64) {
	t.Helper()
	if testing.Short() {
		count = (count + 3) / 4
	}
	if n, ok := variable(t, "WEFT_SEED"); ok {
		first, count = n, 1
	}
	if n, ok := variable(t, "WEFT_SEEDS"); ok {
		count = n
	}
	t.Logf("%d seeds from %d", count, first)
	return first, count
}

// One returns the seed of a test that runs one; see Range.
func One(t testing.TB, seed uint64) uint64 {
	t.Helper()
	if n, ok := variable(t, "WEFT_SEED"); ok {
		seed = n
	}
	t.Logf("seed %d", seed)
	return seed
}

func variable(t testing.TB, name string) (uint64, bool) {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%s: want a number from 0 to 2^64-1", name, text)
	}
	return n, true
}
