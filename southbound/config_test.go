package southbound

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestConfigValidate(t *testing.T) {
	good := DefaultConfig()
	good.Target, good.DeviceID, good.Election = "127.0.0.1:9559", 1, ElectionID{Low: 1}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for field, spoil := range map[string]func(*Config){
		"Target":             func(c *Config) { c.Target = "" },
		"host:port":          func(c *Config) { c.Target = "localhost" },
		"DeviceID":           func(c *Config) { c.DeviceID = 0 },
		"Election":           func(c *Config) { c.Election = ElectionID{} },
		"Backoff.Max":        func(c *Config) { c.Backoff.Max = 1 },
		"Backoff.Multiplier": func(c *Config) { c.Backoff.Multiplier = 0.5 },
		"SetupTimeout":       func(c *Config) { c.SetupTimeout = 0 },
		"ProbeInterval":      func(c *Config) { c.ProbeInterval = -1 },
		"BatchUpdates":       func(c *Config) { c.BatchUpdates = 0 },
		"BatchBytes":         func(c *Config) { c.BatchBytes = 0 },
		"tls.ca": func(c *Config) {
			c.TLS = TLSConfig{Enabled: true, CAFile: "testdata/absent.pem"}
		},
		"tls.key": func(c *Config) { c.TLS = TLSConfig{Enabled: true, CertFile: "x"} },
		"enabled": func(c *Config) { c.TLS = TLSConfig{CAFile: "x"} },
	} {
		c := good
		spoil(&c)
		if err := c.Validate(); !errors.Is(err, ErrConfig) || !strings.Contains(fmt.Sprint(err), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := Open(t.Context(), DefaultConfig(), nil); !errors.Is(err, ErrConfig) {
		t.Errorf("Open with a bad config: %v", err)
	}
}
