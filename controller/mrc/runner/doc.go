// Package runner runs the core of an MRC fabric: it has the goroutines, the clock, the store and
// the streams that package mrc does without.
//
//	r, err := runner.NewRunner(ctx, runner.Options{Inventory: inv, Epoch: epoch, Store: store})
//	go r.Run(ctx, server)                  // the hosts' server, whose observer it is
//	err = r.SetTopology(ctx, snapshot)     // what is advertised, and by SetPorts what is up
//	kinds := r.Kinds()                     // what clients read and change
//
// A [Runner] decides for all hosts. A [Follower] is at each controller that hosts are connected to:
// it denies what this controller itself sees fail, without a core.
package runner
