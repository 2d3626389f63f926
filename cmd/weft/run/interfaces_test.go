package run

import (
	"net"
	"strings"
	"testing"
	"time"
)

// TestFindInterfaces: an address stands for its interface, and what does not exist is named.
func TestFindInterfaces(t *testing.T) {
	var loopback string
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if i.Flags&net.FlagLoopback != 0 && i.Flags&net.FlagUp != 0 {
			loopback = i.Name
		}
	}
	if loopback == "" {
		t.Skip("this machine has no loopback interface that is up")
	}
	for _, text := range []string{"127.0.0.1", loopback} {
		got, err := Interfaces(t.Context(), time.Minute, text)
		if err != nil || got[0] != loopback {
			t.Errorf("%s: %q, %v; want %s", text, got, err, loopback)
		}
	}
	for _, c := range []struct {
		text     string
		patience time.Duration
		want     string
	}{
		{"192.0.2.77", 0, "interface 192.0.2.77: no interface has this address"},
		{"192.0.2.77", time.Millisecond,
			"--wait-interfaces: after 1ms: interface 192.0.2.77: no interface has this address"},
		{"no-such-port", time.Millisecond,
			"--wait-interfaces: after 1ms: interface no-such-port: no such network interface"},
	} {
		if _, err := Interfaces(t.Context(), c.patience, c.text); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.text, err, c.want)
		}
	}
}
