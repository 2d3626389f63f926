package nscc

import (
	"math"
	"testing"
)

// TestConfigBounds: each factor is refused below 0 and above its greatest value, and taken at both.
func TestConfigBounds(t *testing.T) {
	for name, f := range map[string]struct {
		of  func(*Config) *float64
		max float64
	}{
		"Alpha":       {func(c *Config) *float64 { return &c.Alpha }, 1e15},
		"Fi":          {func(c *Config) *float64 { return &c.Fi }, 1e9},
		"Eta":         {func(c *Config) *float64 { return &c.Eta }, 1e9},
		"FiScale":     {func(c *Config) *float64 { return &c.FiScale }, 1e6},
		"Gamma":       {func(c *Config) *float64 { return &c.Gamma }, 1},
		"MaxMDJump":   {func(c *Config) *float64 { return &c.MaxMDJump }, 1},
		"DelayWeight": {func(c *Config) *float64 { return &c.DelayWeight }, 1},
		"DelayRelief": {func(c *Config) *float64 { return &c.DelayRelief }, 1e3},
	} {
		for value, want := range map[float64]bool{0: true, f.max: true, -1e-9: false,
			math.Nextafter(f.max, 1e20): false, math.NaN(): false} {
			cfg := DefaultConfig(reference)
			*f.of(&cfg) = value
			if err := cfg.Validate(); (err == nil) != want {
				t.Errorf("%s %v: %v", name, value, err)
			}
		}
	}
}
