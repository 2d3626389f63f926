// Package controller turns resources and topology into what every switch holds.
//
// [Core] is a state machine without goroutines, clocks or sockets. Its inputs are the topology,
// changes to resources, connecting switches with their entries, outcomes of writes, packet-ins, and
// the time. [Ready] is its output: records to keep, writes and packet-outs for switches, answers
// and events for clients. The same inputs in the same order give the same outputs.
//
//	core, err := controller.NewCore(cfg, records)
//	core.Tick(now)                         // first: the inputs below happen now
//	core.SetTopology(snapshot)
//	core.SwitchConnected("n6", contents)   // with all that was read back
//	g, created, err := core.Groups().Put("g1", spec, resource.Precondition{})
//	for r := core.Ready(0); !r.Empty(); r = core.Ready(0) {
//		s.Apply(ctx, r.Saves)              // before the rest
//		for _, t := range r.Tasks {
//			core.Done(carryOut(t))         // now or later, in any order
//		}
//	}
//	next, ok := core.Next()                // Tick again then, if not before
//
// [Controller] is the thin runner around it: one goroutine owns the core, three per
// switch carry out its tasks, packet-outs and settings of ports through the [Southbound] seam, and
// clients call it from anywhere.
//
// The core composes features (package feature): the underlay, multicast groups, tenants
// with PFC policies, networks of clients, discovered links, orphans and settings of ports. Each
// computes what switches should hold, by package plan; package reconcile writes the difference to
// what they do hold, and does so again after every event. Nothing depends on having seen an event.
package controller
