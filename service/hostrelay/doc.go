// Package hostrelay serves the MRC hosts that are connected to a controller of a cluster.
//
// A host's stream ends at the [Relay] of its controller. For each host the relay opens a stream to
// the deciding controller, and takes the host's place there: it hands on what the host reports and
// answers. What the decider wants the host to hold passes through a [runner.Follower], which denies
// what the relay's controller itself sees fail. So a denial waits neither for the decider nor for
// the store, and hosts stay connected when the decider changes:
//
//	host ◀──── state, less what is lost ──── Relay ◀──── state ──── decider
//	     ───── reports, answers ───────────▶           ───── the same ─▶
//
// While no controller decides, hosts keep the last states, and what fails is denied in them. A host
// that starts again meanwhile gets its last state, if the decider has sent nothing for any host
// since.
package hostrelay
