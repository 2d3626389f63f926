// Package cluster has several controllers share one store: it says who is there, has one of them
// decide, and gives each switch an owner among them, which holds its sessions.
//
// Each controller holds a lease in the store. A [Node] keeps two records under it: one of its own,
// which says that it is there, and that of the decider, which the first one to write it has. The
// revision at which the decider's record was written is the term: the store refuses writes in the
// name of a term that is over, and so do controllers that hold sessions of switches.
//
// The decider stores the owner of each switch, with the generation that is in its election id. An
// owner begins when the one before has let go, which it stores, or its lease is over; see [Owner].
//
// A lease ends at its holder before it ends in the store: [Mandate] compares the monotonic clock of
// this machine with the time until which the lease surely lasts, less a margin. Whoever was paused,
// or does not reach the store, so stops before another one begins.
package cluster
