package lab

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/dataplane/gnmi"
)

// TestPortSettings checks what a port's settings do to its link: a disabled end takes it down both
// ways, the slower end has it, and a frame beyond the MTU is dropped and counted.
func TestPortSettings(t *testing.T) {
	w, err := NewWorld(Network{
		Switches: []Switch{{Name: "A"}, {Name: "B"}},
		Links:    []Link{{A: "A", B: "B", Rate: 100e9}},
	}, Options{Seed: 1, Carrier: true})
	if err != nil {
		t.Fatal(err)
	}
	a, b := w.switches["A"], w.switches["B"]
	there, back := w.wires[0], w.wires[1]
	current := map[*SwitchNode]gnmi.Settings{}
	set := func(n *SwitchNode, s gnmi.Settings) error {
		witnesses, err := n.configure([]gnmi.Change{{Port: 1, Old: current[n], New: s}})
		if err == nil {
			if got := len(witnesses) == 2; got != (s.Disabled != current[n].Disabled) {
				t.Errorf("from %+v to %+v: %v advertise something else", current[n], s, witnesses)
			}
			current[n] = s
		}
		return err
	}
	must := func(n *SwitchNode, s gnmi.Settings) {
		t.Helper()
		if err := set(n, s); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(up bool, rate uint64) {
		t.Helper()
		if there.Up() != up || back.Up() != up || a.device.Switch().PortUp(1) != up ||
			b.device.Switch().PortUp(1) != up {
			t.Errorf("the link is up: %t and %t, its ports %t and %t; want %t", there.Up(), back.Up(),
				a.device.Switch().PortUp(1), b.device.Switch().PortUp(1), up)
		}
		if there.Rate != rate || back.Rate != rate {
			t.Errorf("%d and %d bit/s, want %d", there.Rate, back.Rate, rate)
		}
	}
	expect(true, 100e9)
	must(a, gnmi.Settings{Disabled: true})
	expect(false, 100e9)
	must(b, gnmi.Settings{Disabled: true})
	// A client that did not learn the outcome repeats the Set, starting from the settings it knew
	// before.
	disable := gnmi.Change{Port: 1, New: gnmi.Settings{Disabled: true}}
	if _, err := a.configure([]gnmi.Change{disable}); err != nil {
		t.Fatal(err)
	}
	must(a, gnmi.Settings{})
	expect(false, 100e9) // the other end is off
	if err := w.SetLink("A", "B", false); err != nil {
		t.Fatal(err)
	}
	must(b, gnmi.Settings{})
	expect(false, 100e9) // the cable is cut
	if err := w.SetLink("A", "B", true); err != nil {
		t.Fatal(err)
	}
	expect(true, 100e9)

	must(a, gnmi.Settings{Speed: 40e9})
	must(b, gnmi.Settings{Speed: 10e9})
	expect(true, 10e9)
	must(b, gnmi.Settings{})
	expect(true, 40e9)
	must(a, gnmi.Settings{})
	expect(true, 100e9)

	must(a, gnmi.Settings{MTU: 1514})
	a.Transmit(0, 1, make([]byte, 1514))
	a.Transmit(0, 1, make([]byte, 1515))
	back.Inject(make([]byte, 1515))
	w.Run(time.Second, nil)
	if s := a.set[1]; there.Sent != 1 || s.tooLongOut != 1 || s.tooLongIn != 1 {
		t.Errorf("%d frames were sent, and %d out and %d in dropped; want one each", there.Sent,
			s.tooLongOut, s.tooLongIn)
	}

	for want, s := range map[string]gnmi.Settings{
		"mtu: want 60 to 10240":                      {MTU: 59, Disabled: true},
		"port-speed: want at most the 100000000000":  {Speed: 400e9, Disabled: true},
		"auto-negotiate: want false: links of a lab": {AutoNegotiate: gnmi.Yes, Disabled: true},
		"port 1: mtu: want 60 to 10240":              {MTU: 10241, Disabled: true},
	} {
		err := set(a, s)
		var refused *gnmi.Refusal
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		expect(true, 100e9)
	}
}
