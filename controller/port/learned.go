package port

import (
	"fmt"
	"maps"
	"net"
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/topology"
)

// rates returns the speeds of ports that a switch reports.
func (s *switchState) rates() map[uint32]uint64 {
	out := make(map[uint32]uint64, len(s.byPort))
	for port, i := range s.byPort {
		if i.Speed != 0 {
			out[port] = i.Speed
		}
	}
	return out
}

// learned returns the ports of link identifiers that the switch reports (the ifindex is the
// identifier) and the configuration does not list.
func (s *switchState) learned(sw *inventory.Switch) map[uint32]uint32 {
	return Learned(s.Ports, sw)
}

// Learned returns, by link identifier, the ports that a switch reports and the configuration does
// not list. The identifier of a link is the ifindex of its interface; the P4Runtime port has a
// different number.
func Learned(s southbound.Ports, sw *inventory.Switch) map[uint32]uint32 {
	out := make(map[uint32]uint32)
	for i := range s.Interfaces {
		x := &s.Interfaces[i]
		if x.Ifindex == 0 || x.Port == 0 || x.Ifindex == x.Port {
			continue
		}
		if _, listed := sw.Ports[x.Ifindex]; !listed {
			out[x.Ifindex] = x.Port
		}
	}
	return out
}

// Complete returns the inventory with the ports that switches report. Without such ports it returns
// inv itself. While the reports do not change, it returns the same pointer.
func (f *Feature) Complete(inv *inventory.Inventory) *inventory.Inventory {
	out := f.complete(inv)
	if out == inv {
		f.completed, f.of = nil, nil
		return inv
	}
	if f.of != inv || !slices.EqualFunc(f.completed.Switches, out.Switches,
		func(a, b inventory.Switch) bool { return maps.Equal(a.Ports, b.Ports) }) {
		f.completed, f.of = out, inv
	}
	return f.completed
}

func (f *Feature) complete(inv *inventory.Inventory) *inventory.Inventory {
	out := inv
	for i := range inv.Switches {
		sw := &inv.Switches[i]
		s := f.switches[sw.Name]
		if s == nil {
			continue
		}
		learned := s.learned(sw)
		if len(learned) == 0 {
			continue
		}
		if out == inv {
			with := *inv
			with.Switches = slices.Clone(inv.Switches)
			out = &with
		}
		maps.Copy(learned, sw.Ports)
		out.Switches[i].Ports = learned
	}
	return out
}

// Differs returns the contradictions between a switch and the configuration or BGP-LS, in a fixed
// order. configured is the inventory entry as written; links are the links that begin at the
// switch; name names a link for people.
func (f *Feature) Differs(configured *inventory.Switch, links []*topology.Link,
	name func(topology.LinkID) string) (out []api.PortMismatch) {
	s := f.switches[configured.Name]
	if s == nil || len(s.Interfaces) == 0 {
		return nil
	}
	at := fmt.Sprintf("switches[%s]", configured.Name)
	other := ""
	mac := net.HardwareAddr(configured.MAC[:])
	for i := range s.Interfaces {
		x := &s.Interfaces[i]
		got, err := net.ParseMAC(x.MAC)
		if x.MAC == "" || x.Port == 0 || err == nil && got.String() == mac.String() {
			if x.MAC != "" && x.Port != 0 {
				other = "" // one port has it: the switch is the one that is configured
				break
			}
			continue
		}
		if other == "" {
			other = fmt.Sprintf("%s at %s", x.MAC, x.Name)
		}
	}
	if other != "" {
		out = append(out, api.PortMismatch{Field: at + ".mac", Want: mac.String(), Got: other})
	}
	for _, id := range slices.Sorted(maps.Keys(configured.Ports)) {
		want := configured.Ports[id]
		for i := range s.Interfaces {
			if x := &s.Interfaces[i]; x.Ifindex == id && x.Port != 0 && x.Port != want {
				out = append(out, api.PortMismatch{Field: fmt.Sprintf("%s.ports.%d", at, id),
					Want: fmt.Sprint(want), Got: fmt.Sprintf("%d at %s", x.Port, x.Name)})
			}
		}
		if s.byPort[want] == nil {
			out = append(out, api.PortMismatch{Field: fmt.Sprintf("%s.ports.%d", at, id),
				Want: fmt.Sprint(want), Got: "no such port"})
		}
	}
	for _, p := range slices.Sorted(slices.Values(configured.HostPorts)) {
		if s.byPort[p] == nil {
			out = append(out, api.PortMismatch{Field: at + ".hostPorts", Want: fmt.Sprint(p),
				Got: "no such port"})
		}
	}
	for _, l := range links {
		p := configured.Port(l.LocalID, l.LocalPort)
		if to, ok := s.learned(configured)[l.LocalID]; ok {
			p = to
		}
		x := s.byPort[p]
		switch {
		case p == 0:
		case x == nil:
			out = append(out, api.PortMismatch{Field: fmt.Sprintf("port of link %s", name(l.ID)),
				Want: fmt.Sprint(p), Got: "no such port"})
		case l.MaxBandwidth != 0 && x.Speed != 0 && l.MaxBandwidth != x.Speed:
			out = append(out, api.PortMismatch{Field: fmt.Sprintf("rate of link %s", name(l.ID)),
				Want: fmt.Sprintf("%d bit/s", l.MaxBandwidth), Got: fmt.Sprintf("%d bit/s at %s", x.Speed,
					x.Name)})
		}
	}
	return out
}
