// Package mrc decides the states of the hosts of an MRC fabric (OCP MRC 1.0, sections 9.3, 9.4,
// 10.2.2 and 11.2): EV profiles, CC profiles and the ports of peers. It keeps the states of entropy
// values (EVs) correct while links, switches, planes and ports fail, flap, are drained, or lose
// packets silently.
//
// [Core] is a state machine like the controller's: no goroutine, clock, socket or logger. Inputs
// are method calls, and [Ready] returns the actions that follow. The same inputs in the same order
// give the same outputs. Package runner has the goroutine that owns a Core.
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
// Package fabric has the fabric, its states, and all denials that follow. Package prove has probes
// and the links that lose packets. The core has a part for each further thing that changes by rules
// of its own. All parts share env: the time, the state of the fabric, counters and output.
//
//	part         holds                                     file
//	hostSet      hosts, what they share and were told      host.go
//	profileSet   EV profiles and their overrides           profile.go
//	drainSet     drains and the hosts that they wait for   drain.go
//
// The state of links determines what hosts must hold. After every input the core looks at the
// changed links: an index leads from a link to the EVs that cross it. The core denies a failed link
// at once. It restores a link after the up time that the link's past demands and a successful probe
// (see fabric/link.go). Untouched states keep their pointers, so that the sender of the states
// compares little.
package mrc
