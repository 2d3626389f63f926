package interfaces

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-sdn/weft/dataplane/gnmi"
	"github.com/weft-sdn/weft/dataplane/live"
	"github.com/weft-sdn/weft/dataplane/live/capture"
	"github.com/weft-sdn/weft/dataplane/live/livetest"
	"github.com/weft-sdn/weft/dataplane/p4rt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// port is a port whose link refuses what a test says.
type port struct {
	live.Port
	details live.Details
	off     bool
	refuse  map[string]error // by "enabled" and "mtu"
}

func (p *port) Details() live.Details { return p.details }

func (p *port) SetEnabled(enabled bool) error {
	if err := p.refuse["enabled"]; err != nil {
		return err
	}
	p.off = !enabled
	return nil
}

func (p *port) SetMTU(octets int) error {
	if err := p.refuse["mtu"]; err != nil {
		return err
	}
	p.details.MTU = octets
	return nil
}

// TestConfigure checks that ports get all of their settings or none, and checks the text of a
// refusal.
func TestConfigure(t *testing.T) {
	one := &port{Port: livetest.NewCable().A,
		details: live.Details{MAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, MTU: 1514, Speed: 10e9}}
	two := &port{Port: livetest.NewCable().A, details: live.Details{MTU: 1514},
		refuse: map[string]error{}}
	runner, err := live.Start(live.Config{Device: p4rt.Config{ID: 1},
		Ports: map[uint32]live.Port{1: &capture.Tap{Port: one}, 2: two}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := runner.Close(); err != nil {
			t.Error(err)
		}
	}()
	s := New(runner, map[uint32]string{1: "veth0"})
	state := func() string {
		t.Helper()
		ports, err := s.Ports(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		out := fmt.Sprint(one.off, two.off)
		for _, p := range ports {
			out += fmt.Sprintf(", %s %d %d", p.Name, p.MTU, p.Speed)
		}
		return out
	}
	const first = "false false, veth0 1514 10000000000, eth2 1514 0"
	if got := state(); got != first {
		t.Fatalf("%s, want %s", got, first)
	}
	both := func(n gnmi.Settings) []gnmi.Change {
		return []gnmi.Change{{Port: 1, New: n}, {Port: 2, New: n}}
	}
	for _, c := range []struct {
		refuse  map[string]error
		changes []gnmi.Change
		want    string
		failed  bool
	}{
		{map[string]error{"enabled": syscall.EPERM}, both(gnmi.Settings{Disabled: true, MTU: 9000}),
			"port 2: enabled: the switch may not change it and needs CAP_NET_ADMIN", true},
		{map[string]error{"mtu": syscall.EINVAL}, both(gnmi.Settings{Disabled: true, MTU: 20}),
			"port 2: mtu: want one that the interface has", false},
		{map[string]error{"mtu": errors.ErrUnsupported}, both(gnmi.Settings{MTU: 9000}),
			"port 2: mtu: want none", false},
		{map[string]error{"enabled": syscall.ENODEV}, both(gnmi.Settings{Disabled: true}),
			"port 2: enabled: the switch could not change it", true},
		{nil, both(gnmi.Settings{Disabled: true, Speed: 10e9}),
			"port 2: port-speed: want none: the speed of the link is not known", false},
		{nil, []gnmi.Change{{Port: 1, New: gnmi.Settings{Disabled: true, Speed: 25e9}}},
			"port 1: port-speed: want SPEED_10GB, which the link has", false},
		{nil, []gnmi.Change{{Port: 1, New: gnmi.Settings{Disabled: true, AutoNegotiate: gnmi.No}}},
			"port 1: auto-negotiate: want none", false},
	} {
		two.refuse = c.refuse
		err := s.Configure(t.Context(), c.changes)
		var refused *gnmi.Refusal
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) ||
			refused.Failed != c.failed {
			t.Errorf("%v; want %s", err, c.want)
		}
		if got := state(); got != first {
			t.Errorf("%v left %s, want %s", err, got, first)
		}
	}
	two.refuse = nil
	set := gnmi.Settings{Disabled: true, MTU: 9000}
	if err := s.Configure(t.Context(), both(set)); err != nil {
		t.Fatal(err)
	}
	if got, want := state(), "true true, veth0 9000 10000000000, eth2 9000 0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	// What was set is taken away: the port has its own again.
	if err := s.Configure(t.Context(),
		[]gnmi.Change{{Port: 1, Old: set}, {Port: 2, Old: set}}); err != nil {
		t.Fatal(err)
	}
	if got := state(); got != first {
		t.Errorf("%s, want %s", got, first)
	}
}
