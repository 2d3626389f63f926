// Package ev turns the paths of a fabric into entropy values (EVs), the marks by
// which the packets of a host take one path and not another (OCP MRC 1.0,
// sections 9 and 11.2), and entropy values into the profiles that hosts hold.
//
//	clos, err := snap.Graph().Clos(topology.ClosRequest{Leaves: leaves})
//	a, err := ev.Assign(clos, ev.Format{Mode: ev.ModeStructured}, ev.Numbers{})
//	sw, ok := a.Switch(node)                          // what to program a switch with
//	value, err := a.Encode(leaf, links, ev.TableUSID) // the EV of a path
//	route, err := a.Decode(leaf1, leaf2, value)       // and back
//	b, err := a.Build(ev.Request{Name: "s-d", Pair: ev.Pair{s, d}}) // b.Profile is for hosts
//	out, err := b.Under(clos.Lost(losses))            // and what a failure makes of it
//
// An [Assignment] gives every link the number it has at each of its ends: the
// value of a field of a structured EV, or the uSID of an adjacency. Switches are
// programmed with those numbers, and EVs are made of them.
//
// All of it is functions of their inputs: there is no goroutine, clock, socket
// or logger here, and what is returned is never changed afterwards.
package ev
