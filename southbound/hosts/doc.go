// Package hosts is the controller's end of the stream to the hosts of an MRC fabric
// (docs/host-api.md).
//
// Who owns a [Server] says what each host should hold, and is told what hosts report through an
// [Observer]:
//
//	s, err := hosts.New(cfg, observer)
//	…
//	go s.Serve(ctx, listener)
//	s.Set("h1", state)
//
// A state is a value (package hostapi). The package finds out by itself what a host lacks of it:
// nothing, a delta from what the host last acknowledged, or a snapshot when that is not known here.
// One update at a time is on its way to a host; states that are set meanwhile replace each other,
// so that a slow host costs one state and gets the last. What a host cannot take is left out, and
// everything else still reaches it: one bad profile holds up no denial.
//
// The logic is [Host], without stream, clock or lock; [Server] and its streams are the thin edge
// around it. The package does not decide what a host should hold, and keeps nothing that survives
// the process.
package hosts
