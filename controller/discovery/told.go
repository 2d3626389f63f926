package discovery

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/topology"
)

// SetNeighbors replaces the neighbors that a switch without P4 hears by its own LLDP. Anybody can
// send LLDP frames. So these neighbors only name misplaced cables and confirm links of other
// sources, and never create or remove a link.
func (f *Feature) SetNeighbors(sw string, heard southbound.Neighbors) {
	if !f.env.Switches.Exists(sw) {
		return
	}
	known := f.cfg().On() || f.hears()
	f.state(sw).told = heard
	if !known && f.hears() { // the first of all
		f.readAdvertised()
	}
	f.change()
}

// eachTold calls do for each port at which a switch without P4 hears a switch of the inventory. The
// port of to is 0 if unknown.
func (f *Feature) eachTold(do func(at, to end)) {
	for name, st := range f.switches {
		sw := f.env.Net.Switch(name)
		if sw == nil || !st.connected {
			continue
		}
		d := sw.Target()
		for iface, n := range st.told {
			at := end{name, d.PortOf(iface)}
			if to, ok := f.whoIs(&n); ok && at.port != 0 && !f.isDown(at) {
				do(at, to)
			}
		}
	}
}

// whoIs returns the inventory port of a neighbor. whoIs uses the chassis id, a MAC or the name in
// Weft's frames, or the system name, with or without a domain.
func (f *Feature) whoIs(n *southbound.Neighbor) (to end, ok bool) {
	sw := f.byMAC[n.Chassis]
	if mac, err := net.ParseMAC(n.Chassis); err == nil && len(mac) == len(packet.MAC{}) {
		sw = f.byMAC[mac.String()]
	}
	host, _, _ := strings.Cut(n.System, ".")
	for _, name := range [...]string{sw, n.Chassis, n.System, host} {
		s := f.env.Net.Switch(name)
		if s == nil {
			continue
		}
		return end{name, portNamed(s, n)}, true
	}
	return end{}, false
}

// portNamed returns the port that a neighbor names of itself, 0: it is not known.
func portNamed(sw *inventory.Switch, n *southbound.Neighbor) uint32 {
	if sw.RunsP4() { // its frames are the controller's
		port, _ := strconv.ParseUint(n.Port, 10, 32)
		return uint32(port)
	}
	d := sw.Target()
	if p := d.PortOf(n.PortText); p != 0 {
		return p
	}
	return d.PortOf(n.Port)
}

// readMACs notes the MACs of the switches.
func (f *Feature) readMACs() {
	clear(f.byMAC)
	for i := range f.env.Inventory().Switches {
		sw := &f.env.Inventory().Switches[i]
		if mac := packet.MAC(sw.MAC); mac != (packet.MAC{}) {
			f.byMAC[mac.String()] = sw.Name
		}
	}
}

// confirmTold adds the links that switches without P4 hear the other end of.
func (f *Feature) confirmTold(confirmed *topology.Builder) {
	f.eachTold(func(at, to end) {
		if a, ok := f.advertised(at); ok && a.leads(to) {
			confirmed.SetLink(topology.Link{ID: a.link.ID, Local: a.link.Local, Remote: a.link.Remote})
		}
	})
}

// compareTold adds what differs at the ports of switches without P4.
func (f *Feature) compareTold(faults map[end]string) {
	f.eachTold(func(at, to end) {
		a, known := f.advertised(at)
		switch {
		case f.facesHost(at):
			faults[at] = fmt.Sprintf("port %v: configured for a host, and LLDP has %s there", at, to.words())
		case known && !a.leads(to):
			faults[at] = fmt.Sprintf("port %v: %s has a link to %v, and LLDP has %s there", at, a.sources(),
				f.place(&a), to.words())
		}
	})
}

// leads reports whether the link may lead to a port, which may not be known.
func (a *advertised) leads(to end) bool {
	return a.to.sw == to.sw && (to.port == 0 || a.agrees(to))
}

// words names a port, or a switch where the port is not known.
func (e end) words() string {
	if e.port == 0 {
		return e.sw
	}
	return e.String()
}
