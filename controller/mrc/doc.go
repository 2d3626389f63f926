// Package multipath closes the loop between a fabric and the hosts that spray
// packets over it (OCP MRC 1.0, sections 9.3, 9.4, 10.2.2 and 11.2): it says what
// every host is to hold, and keeps the states of its entropy values (EVs) true
// while links, switches, planes and ports fail, flap, are drained, or lose
// packets that nobody else misses.
//
// [Core] is a state machine in the style of the controller's: no goroutine,
// clock, socket or logger. It is told what happens, and says in [Ready] what is
// to be done. The same inputs in the same order give the same outputs.
//
//	core, err := multipath.New(cfg)
//	core.Tick(now)                    // the inputs below happen now
//	core.PutHost(multipath.Host{…})   // who is attached where
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
// What hosts are to hold follows from the state of links, and every input ends in
// looking at the links that it changed: an index leads from a link to the EVs
// that cross it. A link that fails is denied at once; one that comes back is
// restored when it was up for as long as its past demands and a probe has come
// through (see link.go). States that are not touched stay the same pointers, so
// that whoever sends them compares little.
package mrc
