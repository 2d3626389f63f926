package fabric

import (
	"maps"
	"slices"

	"github.com/weft-sdn/weft/topology"
)

// nodePort is a port of a switch, by its P4Runtime number.
type nodePort struct {
	node topology.NodeID
	port uint32
}

// switchPorts are what switches say of their ports.
type switchPorts struct {
	states map[topology.NodeID]map[uint32]bool // up, by P4Runtime port
	// numbers has the P4Runtime ports by link identifier, where they differ from the advertised ports.
	numbers map[topology.NodeID]map[uint32]uint32
}

func newSwitchPorts() *switchPorts {
	return &switchPorts{
		states:  make(map[topology.NodeID]map[uint32]bool),
		numbers: make(map[topology.NodeID]map[uint32]uint32),
	}
}

// known reports whether anything is known of any port.
func (p *switchPorts) known() bool { return len(p.states) > 0 }

// set replaces the known port states of a switch, and returns the ports that may have changed; ok
// is false if no port has changed.
func (p *switchPorts) set(node topology.NodeID, isUp map[uint32]bool) (affected []uint32, ok bool) {
	before := p.states[node]
	if maps.Equal(before, isUp) {
		return nil, false
	}
	if len(isUp) == 0 {
		delete(p.states, node)
	} else {
		p.states[node] = maps.Clone(isUp)
	}
	affected = slices.Concat(slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(isUp)))
	slices.Sort(affected)
	return slices.Compact(affected), true
}

// setNumbers replaces the numbers of a switch, and reports whether they are others.
func (p *switchPorts) setNumbers(node topology.NodeID, numbers map[uint32]uint32) bool {
	if maps.Equal(p.numbers[node], numbers) {
		return false
	}
	p.numbers[node] = maps.Clone(numbers)
	return true
}

// isDown reports whether a switch says that a port is down.
func (p *switchPorts) isDown(at nodePort) bool {
	isUp, known := p.states[at.node][at.port]
	return known && !isUp
}

// ofLink are the ports at the two ends of a link.
func (p *switchPorts) ofLink(l *topology.Link) (local, remote nodePort) {
	return nodePort{l.Local, PortNumber(p.numbers[l.Local], l.LocalID, l.LocalPort)},
		nodePort{l.Remote, PortNumber(p.numbers[l.Remote], l.RemoteID, l.RemotePort)}
}

// PortNumber returns the P4Runtime port of a link end: the entry in numbers for the identifier of
// the end, or else the advertised port.
func PortNumber(numbers map[uint32]uint32, id, advertised uint32) uint32 {
	if p, ok := numbers[id]; ok {
		return p
	}
	return advertised
}

// linkDown reports whether a switch says that the port at an end of a link is down.
func (p *switchPorts) linkDown(l *topology.Link) bool {
	local, remote := p.ofLink(l)
	return p.isDown(local) || p.isDown(remote)
}

// state is what a switch says of a port; "" is nothing.
func (p *switchPorts) state(at nodePort) string {
	isUp, known := p.states[at.node][at.port]
	switch {
	case !known:
		return ""
	case isUp:
		return Up.String()
	default:
		return Down.String()
	}
}
