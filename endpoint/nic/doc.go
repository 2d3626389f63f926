// Package nic is the software NIC of an MRC host: the transport (mrc) with the state that a
// controller gives it (package hostapi). Which entropy values its queue pairs send with, and by
// which parameters their windows move, follows from the profile that serves their destination.
//
//	n, err := nic.New(cfg)
//	qp, err := n.CreateQP(nic.DefaultQPConfig()…) // without Sprayer and Congestion: those are the NIC's
//	err = n.Apply(state)                          // all of a state or, with an error, nothing
//	next, pending := n.Advance(now)               // then, as always after something was done to the host
//
// What Apply changes holds for the next packet: nothing is sent with a denied value, or by a denied
// port, once it has returned. It compares with what the NIC holds, so that values which stay keep
// their state and their counters. A state is kept until another one is applied, whatever becomes of
// the controller.
//
// Like the transport, a NIC has no goroutine, clock or socket, and one owner at a time. Beside its
// methods here it has those of mrc.Host. Package agent connects it to a controller:
// agent.Serialized makes a NIC an agent.Endpoint.
package nic
