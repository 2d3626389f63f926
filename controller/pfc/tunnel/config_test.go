package tunnel

import (
	"strings"
	"testing"
)

// TestConfigBounds: the check refuses each number of a configuration just beyond the bounds, and
// names the field.
func TestConfigBounds(t *testing.T) {
	for _, c := range []struct {
		field string // "": it is good
		set   func(*Config)
	}{
		{"", func(c *Config) { c.MaxSegments = 2 }},
		{"maxSegments", func(c *Config) { c.MaxSegments = 1 }},
		{"lists", func(c *Config) { c.Lists = 0 }},
		{"quanta", func(c *Config) { c.Sizing.Quanta = 0 }},
		{"", func(c *Config) { c.Sizing.RTT, c.Sizing.HostRTT = 1, 1 }},
		{"", func(c *Config) { c.ProbeEvery, c.ProbeTimeout, c.QueryEvery = 1, 1, 1 }},
		{"", func(c *Config) { c.Lists, c.Sizing.Quanta, c.Sizing.Rate, c.Sizing.MTU = 1, 1, 1, 1 }},
		{"rtt", func(c *Config) { c.Sizing.RTT = 0 }},
		{"hostRtt", func(c *Config) { c.Sizing.HostRTT = 0 }},
		{"rate", func(c *Config) { c.Sizing.Rate = 0 }},
		{"mtu", func(c *Config) { c.Sizing.MTU = 0 }},
		{"share", func(c *Config) { c.Sizing.Share = 0 }},
		{"", func(c *Config) { c.Sizing.Share = 1 }},
		{"", func(c *Config) { c.Sizing.Share = 100 }},
		{"share", func(c *Config) { c.Sizing.Share = 101 }},
		{"probeEvery", func(c *Config) { c.ProbeEvery = 0 }},
		{"probeTimeout", func(c *Config) { c.ProbeTimeout = 0 }},
		{"queryEvery", func(c *Config) { c.QueryEvery = 0 }},
		{"probeLoss", func(c *Config) { c.ProbeLoss = 0 }},
		{"", func(c *Config) { c.ProbeLoss = 1 }},
		{"drain", func(c *Config) { c.Drain = -1 }},
		{"", func(c *Config) { c.Drain = 0 }},
	} {
		cfg := Defaults()
		c.set(&cfg)
		err := cfg.Validate()
		if c.field == "" {
			if err != nil {
				t.Errorf("%v", err)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.field) {
			t.Errorf("%s: %v", c.field, err)
		}
	}
}
