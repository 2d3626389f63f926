package nscc

import (
	"math"
	"testing"
	"time"
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

// TestConfigBoundsOfTimes: times are at most a minute, and at least a nanosecond but where 0 has a
// meaning.
func TestConfigBoundsOfTimes(t *testing.T) {
	for name, f := range map[string]struct {
		of    func(*Config) *time.Duration
		least time.Duration
	}{
		"BaseRTT":      {func(c *Config) *time.Duration { return &c.BaseRTT }, 1},
		"TargetDelay":  {func(c *Config) *time.Duration { return &c.TargetDelay }, 1},
		"FastDelay":    {func(c *Config) *time.Duration { return &c.FastDelay }, 0},
		"NACKDelay":    {func(c *Config) *time.Duration { return &c.NACKDelay }, 0},
		"AdjustPeriod": {func(c *Config) *time.Duration { return &c.AdjustPeriod }, 1},
		"QAThreshold":  {func(c *Config) *time.Duration { return &c.QAThreshold }, 1},
	} {
		for value, want := range map[time.Duration]bool{f.least - 1: false, f.least: true,
			time.Minute: true, time.Minute + 1: false} {
			cfg := DefaultConfig(reference)
			*f.of(&cfg) = value
			if err := cfg.Validate(); (err == nil) != want {
				t.Errorf("%s %v: %v", name, value, err)
			}
		}
	}
}
