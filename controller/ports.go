package controller

import (
	"maps"
	"slices"

	"github.com/weft-sdn/weft/api"
)

// PortStates are the states of ports that a switch reports by gNMI.
type PortStates struct {
	// Up has the P4Runtime ports that are known, and whether they are up; nil when
	// nothing is known. It does not change any more.
	Up map[uint32]bool
	// Err is why the switch does not report now; Up is then its last report.
	Err error
	// Ignored counts reports that could not be used.
	Ignored uint64
}

// SetPorts replaces all that is known of a switch's ports. It changes nothing but the
// switch's status: package mrc decides what follows for paths.
func (c *Core) SetPorts(name string, p PortStates) {
	if c.switches.Exists(name) {
		c.ports[name] = p
	}
}

func (p *PortStates) view() *api.SwitchPorts {
	v := &api.SwitchPorts{Ignored: p.Ignored}
	for _, port := range slices.Sorted(maps.Keys(p.Up)) {
		if p.Up[port] {
			v.Up++
		} else {
			v.Down = append(v.Down, port)
		}
	}
	if p.Err != nil {
		v.Error = p.Err.Error()
	}
	return v
}
