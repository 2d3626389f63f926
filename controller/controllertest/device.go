// Package controllertest has a switch without packets for the tests of whatever uses the
// controller: it holds the entities written to it, refuses what a P4Runtime server refuses, and can
// be made to fail.
package controllertest

import (
	"maps"
	"slices"

	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/southbound/entry"
)

// Device is a switch as a controller sees it. It is not safe for use by several
// goroutines.
type Device struct {
	Name     string
	Entities map[entry.Key]entry.Entity
	// Refuse, when not nil, is asked before each update.
	Refuse func(entry.Update) *entry.Refusal
	// Ignore, when not nil, is asked whether the device accepts an update and does nothing.
	Ignore func(entry.Update) bool
	// Wrote, when not nil, is notified of each update that took effect.
	Wrote func(entry.Update)
	// State, when not nil, is the answer to a State packet-out; ok is false for
	// none. Group, branch and reason are filled in.
	State func(group uint16, branch uint8) (p entry.PacketIn, ok bool)
	// Packets are the packet-outs, in order.
	Packets []entry.PacketOut
	Writes  int
}

// NewDevice returns a switch that holds nothing.
func NewDevice(name string) *Device {
	return &Device{Name: name, Entities: make(map[entry.Key]entry.Entity)}
}

// Restart empties the switch.
func (d *Device) Restart() { clear(d.Entities) }

// Contents returns what the switch holds.
func (d *Device) Contents() entry.Contents {
	var c entry.Contents
	for _, k := range slices.Sorted(maps.Keys(d.Entities)) {
		c.Entities = append(c.Entities, d.Entities[k])
	}
	return c
}

// Do carries out a work and returns its outcome.
func (d *Device) Do(w reconcile.Task) reconcile.Result {
	r := reconcile.Result{Switch: w.Switch, ID: w.ID}
	n := 0
	for _, b := range w.Batches {
		for _, u := range b {
			if refusal := d.update(u); refusal != nil {
				refusal.Update = n
				r.Refused = append(r.Refused, *refusal)
			}
			n++
		}
	}
	if w.Read {
		r.Contents = d.Contents()
	}
	d.Packets = append(d.Packets, w.Packets...)
	return r
}

func (d *Device) update(u entry.Update) *entry.Refusal {
	if d.Refuse != nil {
		if r := d.Refuse(u); r != nil {
			return r
		}
	}
	if d.Ignore != nil && d.Ignore(u) {
		return nil
	}
	k := u.Entity.Key()
	_, there := d.Entities[k]
	always := false
	if t, ok := u.Entity.(entry.Table); ok {
		always = t.Default
	}
	switch {
	case u.Type == entry.Insert && there && !always:
		return &entry.Refusal{Reason: entry.RefusedExists, Message: "already exists"}
	case u.Type != entry.Insert && !there && !always:
		return &entry.Refusal{Reason: entry.RefusedMissing, Message: "not found"}
	case u.Type == entry.Delete:
		delete(d.Entities, k)
	default:
		d.Entities[k] = u.Entity
	}
	d.Writes++
	if d.Wrote != nil {
		d.Wrote(u)
	}
	return nil
}
