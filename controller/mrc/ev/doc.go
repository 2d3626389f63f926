// Package ev turns the paths of a fabric into entropy values (EVs), and EVs into the profiles that
// hosts hold. An EV in a packet selects its path (OCP MRC 1.0, sections 9 and 11.2).
//
//	clos, err := snap.Graph().Clos(topology.ClosRequest{Leaves: leaves})
//	a, err := ev.Assign(clos, ev.Format{Mode: ev.ModeStructured}, ev.Numbers{})
//	sw, ok := a.Switch(node)                          // what to program a switch with
//	value, err := a.Encode(leaf, links, ev.TableUSID) // the EV of a path
//	route, err := a.Decode(leaf1, leaf2, value)       // and back
//	b, err := a.Build(ev.Request{Name: "s-d", Pair: ev.Pair{s, d}}) // b.Profile is for hosts
//	out, err := b.Under(clos.Lost(losses))            // and what a failure makes of it
//
// An [Assignment] gives every link a number at each of its ends: the value of a field in a
// structured EV, or the uSID of an adjacency. The controller programs switches with these numbers,
// and EVs consist of them.
//
// All functions depend only on their inputs: there is no goroutine, clock, socket or logger here,
// and results never change afterwards.
package ev
