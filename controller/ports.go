package controller

import (
	"github.com/weft-sdn/weft/api"
	"maps"
	"slices"
)

// PortStates are the ports of which a switch says, by gNMI, whether they are up.
type PortStates struct {
	// Up says of P4Runtime ports whether they are up; nobody changes it any more.
	// Nil: nothing is known. A port that is not in it is not known.
	Up map[uint32]bool
	// Err says why the switch does not tell now; Up is then what it said last.
	Err error
	// Ignored counts what the switch said that made no sense.
	Ignored uint64
}

// SetPorts tells what a switch says of its ports, all that was known before being
// replaced. It changes nothing but the switch's status: what follows for paths is
// package mrc's.
func (c *Core) SetPorts(name string, p PortStates) {
	if u := c.underlay[name]; u != nil {
		u.ports = &p
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
