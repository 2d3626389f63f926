package lab

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-sdn/weft/dataplane/gnmi"
)

// portSettings holds the settings that gNMI clients have made for a port of a switch, and their
// effects.
type portSettings struct {
	gnmi.Settings
	tooLongIn, tooLongOut uint64 // frames beyond the MTU
}

// shortestMTU is the least MTU that a port takes: the shortest Ethernet frame without its check
// sequence (IEEE 802.3).
const shortestMTU = 60

// settings returns the settings of a port, for the caller to change.
func (n *SwitchNode) settings(port uint32) *portSettings {
	if n.set[port] == nil {
		n.set[port] = &portSettings{}
	}
	return n.set[port]
}

// fits reports whether a frame is within the MTU set for its port, and counts a longer frame.
func (n *SwitchNode) fits(port uint32, frame []byte, out bool) bool {
	if len(n.set) == 0 {
		return true
	}
	s := n.set[port]
	if s == nil || s.MTU == 0 || len(frame) <= int(s.MTU) {
		return true
	}
	if out {
		s.tooLongOut++
	} else {
		s.tooLongIn++
	}
	return false
}

// configure applies all settings to ports of the switch, or none. Links go down and up with their
// ends: configure returns the switches whose advertisements change.
func (n *SwitchNode) configure(changes []gnmi.Change) (witnesses []string, err error) {
	for _, c := range changes {
		if err := n.may(c); err != nil {
			return nil, err
		}
	}
	for _, c := range changes {
		s := n.settings(c.Port)
		there := n.ports[c.Port]
		if c.New.Disabled != s.Disabled {
			witnesses = append(witnesses, there.From, there.To)
		}
		s.Settings = c.New
		for _, w := range []*Wire{there, n.world.back(there)} {
			w.settle()
			w.setRate()
		}
	}
	return n.world.advertisers(witnesses), nil
}

// may reports whether a port can have settings.
func (n *SwitchNode) may(c gnmi.Change) error {
	wire := n.ports[c.Port]
	refuse := func(s gnmi.Setting, format string, args ...any) error {
		return &gnmi.Refusal{Port: c.Port, Setting: s, Want: fmt.Sprintf(format, args...)}
	}
	if most := n.device.Switch().Config().MTU; c.New.MTU != 0 &&
		(c.New.MTU < shortestMTU || int(c.New.MTU) > most) {
		return refuse(gnmi.SettingMTU, "want %d to %d", shortestMTU, most)
	}
	if wire.most > 0 && c.New.Speed > wire.most {
		return refuse(gnmi.SettingSpeed, "want at most the %d bit/s that the link is made for", wire.most)
	}
	if c.New.AutoNegotiate == gnmi.Yes {
		return refuse(gnmi.SettingAutoNegotiate, "want false: links of a lab do not negotiate")
	}
	return nil
}

// back returns the other direction of a link.
func (w *World) back(wire *Wire) *Wire { return w.wires[slices.Index(w.wires, wire)^1] }

// ends returns the settings that clients have made at the two ends of the link.
func (w *Wire) ends() (ends [2]gnmi.Settings) {
	for i, end := range [2]struct {
		node string
		port uint32
	}{{w.From, w.FromPort}, {w.To, w.ToPort}} {
		if n := w.world.switches[end.node]; n != nil && n.set[end.port] != nil {
			ends[i] = n.set[end.port].Settings
		}
	}
	return ends
}

// setRate gives the link the lowest of its design rate and the speeds set at its ends.
func (w *Wire) setRate() {
	rate := w.most
	for _, end := range w.ends() {
		if s := end.Speed; s > 0 {
			rate = min(cmp.Or(rate, s), s)
		}
	}
	if rate == w.Rate {
		return
	}
	w.Rate = rate
	if n := w.world.switches[w.From]; n != nil {
		n.device.Switch().SetPortSpeed(w.FromPort, rate)
	}
}
