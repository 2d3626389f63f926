package telemetry

import "math"

// Significant rounds to 4 significant digits, which is what values are kept with.
func Significant(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return v
	}
	digits := 3 - int(math.Floor(math.Log10(math.Abs(v))))
	if digits <= 0 {
		unit := math.Pow10(-digits)
		return math.Round(v/unit) * unit
	}
	unit := math.Pow10(digits)
	return math.Round(v*unit) / unit
}
