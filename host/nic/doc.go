// Package nic is the software NIC of an MRC host: the transport (mrc) with the state that a
// controller gives it (package hostapi). The profile that serves their destination sets the entropy
// values and the congestion control parameters of queue pairs.
//
//	n, err := nic.New(cfg)
//	qp, err := n.CreateQP(nic.DefaultQPConfig()…) // without Sprayer and Congestion: those are the NIC's
//	err = n.Apply(state)                          // all of a state or, with an error, nothing
//	next, pending := n.Advance(now)               // then, as always after something was done to the host
//
// Apply takes effect with the next packet: after Apply returns, the NIC sends nothing with a denied
// value or by a denied port. Apply compares the new state with the old state, so that unchanged
// values keep their state and their counters. The NIC keeps a state until the next Apply, even
// without a controller.
//
// Like the transport, a NIC has no goroutine, clock or socket, and one owner at a time. A NIC also
// has the methods of mrc.Host. Package agent connects a NIC to a controller: agent.Serialized makes
// a NIC an agent.Endpoint.
package nic
