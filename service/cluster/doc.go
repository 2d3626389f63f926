// Package cluster lets several controllers share one store: it lists the controllers that are
// present, elects a decider, and gives each switch an owner. The owner holds the sessions of the
// switch.
//
// Each controller holds a lease in the store. A [Node] keeps two records under the lease: the
// controller's own record, which announces the controller, and the decider's record, if this
// controller writes it first. The revision of the decider's record is the term: the store refuses
// writes in the name of a past term, and so do the controllers that hold sessions of switches.
//
// The decider stores the owner of each switch, with the generation for the owner's election id. A
// new owner begins when the previous owner has stored that it lets go, or when the previous owner's
// lease is over; see [Owner].
//
// A lease ends at its holder before it ends in the store: [Mandate] compares this machine's
// monotonic clock with the time until which the lease surely lasts, less a margin. So a controller
// that was paused, or does not reach the store, stops before another controller begins.
package cluster
