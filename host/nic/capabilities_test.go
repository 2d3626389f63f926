package nic

import (
	"testing"

	"github.com/weft-sdn/weft/api/hostapi"
)

// TestExceeds: a device with equal capabilities does not exceed another device. A device with more
// of any capability does, and exceeds names this capability.
func TestExceeds(t *testing.T) {
	own := hostapi.Capabilities{
		EVMaxFormats: 2, EVMaxProfiles: 2, EVMaxCount: 2, EVMaxCountProfile: 2, EVMaxWidth: 2,
		CCMaxProfiles: 2, MaxMPR: 2, MaxWIMM: 2, MaxWIMMDest: 2, EVFormatModes: 2, EVModes: 2, Ports: 2,
		OptAttr: 0, DeviceCap: 2, CCAlgorithms: []string{"a"},
	}
	if got := exceeds(&own, &own); got != "" {
		t.Errorf("a device exceeds itself: %s", got)
	}
	less := hostapi.Capabilities{OptAttr: ranges}
	if got := exceeds(&less, &own); got != "" {
		t.Errorf("a device that takes ranges alone exceeds one that takes more: %s", got)
	}
	for name, more := range map[string]func(*hostapi.Capabilities){
		"EVMaxFormats":      func(c *hostapi.Capabilities) { c.EVMaxFormats = 3 },
		"EVMaxProfiles":     func(c *hostapi.Capabilities) { c.EVMaxProfiles = 3 },
		"EVMaxCount":        func(c *hostapi.Capabilities) { c.EVMaxCount = 3 },
		"EVMaxCountProfile": func(c *hostapi.Capabilities) { c.EVMaxCountProfile = 3 },
		"EVMaxWidth":        func(c *hostapi.Capabilities) { c.EVMaxWidth = 3 },
		"CCMaxProfiles":     func(c *hostapi.Capabilities) { c.CCMaxProfiles = 3 },
		"MaxMPR":            func(c *hostapi.Capabilities) { c.MaxMPR = 3 },
		"MaxWIMM":           func(c *hostapi.Capabilities) { c.MaxWIMM = 3 },
		"MaxWIMMDest":       func(c *hostapi.Capabilities) { c.MaxWIMMDest = 3 },
		"EVFormatModes":     func(c *hostapi.Capabilities) { c.EVFormatModes = 1 },
		"EVModes":           func(c *hostapi.Capabilities) { c.EVModes = 1 },
		"Ports":             func(c *hostapi.Capabilities) { c.Ports = 1 },
		"OptAttr":           func(c *hostapi.Capabilities) { c.OptAttr = 1 },
		"DeviceCap":         func(c *hostapi.Capabilities) { c.DeviceCap = 1 },
		"CCAlgorithms":      func(c *hostapi.Capabilities) { c.CCAlgorithms = []string{"a", "b"} },
	} {
		c := own
		if more(&c); exceeds(&c, &own) != name {
			t.Errorf("a device that can do more by %s exceeds by %q", name, exceeds(&c, &own))
		}
	}
}
