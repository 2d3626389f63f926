// Package controller turns intents and topology into what every switch holds.
//
// [Core] is a state machine without goroutines, clocks or sockets. It is told
// what happens (a topology, an intent, a switch that connected and what it
// holds, the outcome of a write, a packet-in, the time) and says in [Ready] what
// is to be done about it: records to keep, writes and packet-outs for switches,
// answers and events for clients. The same inputs in the same order give the
// same outputs.
//
//	core, err := controller.NewCore(cfg, records)
//	core.Tick(now)                         // first: the inputs below happen now
//	core.SetTopology(snapshot)
//	core.SwitchConnected("n6", contents)   // with all that was read back
//	g, created, err := core.Groups().Put("g1", spec, resource.Precondition{})
//	for r := core.Ready(); !r.Empty(); r = core.Ready() {
//		s.Apply(ctx, r.Saves)              // before the tasks
//		for _, t := range r.Tasks {
//			core.Done(carryOut(t))         // now or later, in any order
//		}
//	}
//	next, ok := core.Next()                // Tick again then, if not before
//
// [Controller] is the thin runner around it: one goroutine owns the core, one
// per switch carries out its works through the [Southbound] seam, and clients
// call it from anywhere.
//
// What a switch should hold is a pure function of the inputs (package plan).
// The core compares it with what the switch has and writes the difference, and
// looks again after every event; nothing depends on having seen an event. A
// change of a group's tree goes in phases, each of which begins when every
// connected switch has finished the one before: add what is new beside what is
// in use, move the responses to the new epoch, move the data at the source's
// switch, and, after the packets on their way have drained, remove what is left.
package controller
