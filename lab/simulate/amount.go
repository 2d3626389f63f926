package simulate

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Rate is bits per second. Its text is a number with k, M, G or T for a power of 1000: 400G.
type Rate uint64

// A Size is octets. Its text is a number with KiB, MiB or GiB for a power of 1024, or kB, MB or GB
// for a power of 1000: 64MiB.
type Size uint64

// units are suffixes in the order of matching: no suffix ends an earlier one.
type units []struct {
	suffix string
	factor float64
}

var (
	rateUnits = units{{"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"", 1}}
	sizeUnits = units{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"MB", 1e6},
		{"GB", 1e9}, {"", 1}}
)

// parse returns the whole number that a text stands for.
func (u units) parse(text, want string) (uint64, error) {
	for _, unit := range u {
		number, ok := strings.CutSuffix(text, unit.suffix)
		if !ok {
			continue
		}
		x, err := strconv.ParseFloat(number, 64)
		if x *= unit.factor; err != nil || !(x >= 0 && x <= 1<<53) || x != math.Trunc(x) {
			break
		}
		return uint64(x), nil
	}
	return 0, fmt.Errorf("is %q: want %s", text, want)
}

// format returns the shortest text of an amount in one of the units.
func (u units) format(x uint64) string {
	best := strconv.FormatUint(x, 10)
	for _, unit := range u {
		text := strconv.FormatFloat(float64(x)/unit.factor, 'f', -1, 64) + unit.suffix
		if len(text) < len(best) {
			best = text
		}
	}
	return best
}

// Wanted implements [strictyaml.Wanter].
func (r *Rate) Wanted() string { return "bits per second such as 400G or 100M" }

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Rate) UnmarshalText(text []byte) error {
	x, err := rateUnits.parse(string(text), r.Wanted())
	*r = Rate(x)
	return err
}

func (r Rate) String() string { return rateUnits.format(uint64(r)) }

// Wanted implements [strictyaml.Wanter].
func (s *Size) Wanted() string { return "octets such as 64MiB, 100kB or 4096" }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Size) UnmarshalText(text []byte) error {
	x, err := sizeUnits.parse(string(text), s.Wanted())
	*s = Size(x)
	return err
}

func (s Size) String() string { return sizeUnits.format(uint64(s)) }
