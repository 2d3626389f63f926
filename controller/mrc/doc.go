// Package mrc decides what the hosts of an MRC fabric hold (OCP MRC 1.0, sections
// 9.3, 9.4, 10.2.2 and 11.2): EV profiles, CC profiles and the ports of peers. It keeps
// the states of entropy values (EVs) right while links, switches, planes and ports
// fail, flap, are drained, or lose packets silently.
//
// [Core] is a state machine in the style of the controller's: no goroutine,
// clock, socket or logger. Inputs are method calls, and [Ready] returns what follows.
// The same inputs in the same order give the same outputs. Package runner has the goroutine
// that owns one.
//
//	core, err := mrc.New(cfg)
//	core.Tick(now)                    // the inputs below happen now
//	core.PutHost(fabric.Host{…})      // who is attached where
//	core.SetTopology(snapshot)
//	core.InSync()                     // every peer has sent all it has
//	core.Hello("h1", hello)           // and what else hosts say
//	for r := core.Ready(); !r.Empty(); r = core.Ready() {
//		for _, s := range r.Sets {
//			server.Set(s.Host, s.State) // then, when the host has it: core.Applied(s.Host, s.Seq)
//		}
//		for _, p := range r.Probes {
//			server.Probe(p.Host, p.Request)
//		}
//	}
//	next, ok := core.Next()           // Tick again then, if not before
//
// What the fabric is, what of it is up, and everything that is denied therefore is in package
// fabric; probes, and which links lose packets, in package prove. The core has a part for each
// other thing that changes by rules of its own. All share env: the time, the state of the fabric,
// counters and what goes out.
//
//	part         holds                                     file
//	hostSet      hosts, what they share and were told      host.go
//	profileSet   EV profiles and their overrides           profile.go
//	drainSet     drains and the hosts that they wait for   drain.go
//
// What hosts must hold follows from the state of links. Every input ends in
// looking at the links that it changed: an index leads from a link to the EVs
// that cross it. A link that fails is denied at once; one that comes back is
// restored when it was up for as long as its past demands and a probe has come
// through (see fabric/link.go). States that are not touched stay the same pointers, so
// that whoever sends them compares little.
package mrc
