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
// A state is a value (package hostapi). The package itself finds the difference between the wanted
// state and the host's state: nothing, a delta from the state that the host last acknowledged, or a
// snapshot if the controller does not know that state. At most one update is on its way to a host;
// a newer state replaces an unsent state, so a slow host costs one state and gets the last. The
// update leaves out parts that a host cannot take, and everything else still reaches the host: a
// bad profile delays no denial.
//
// The logic is [Host], without stream, clock or lock; [Server] and its streams are the thin edge
// around it. The package does not decide what a host should hold, and keeps nothing that survives
// the process.
package hosts
