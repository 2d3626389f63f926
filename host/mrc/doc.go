// Package mrc is the Multipath Reliable Connection transport of a software host (OCP MRC 1.0,
// sections 6 and 7): RDMA WRITE, with and without immediate data, whose packets are sprayed over
// many paths and planes, placed in whatever order they arrive, and acknowledged selectively;
// reliability probes, EV probes and port status updates.
//
// A Host has one address and several ports, each a plane. Its owner passes every received frame to
// Receive, and calls Advance after Receive, after posting work, and at the time returned by
// Advance. The host passes frames to send to Config.Output. Configuration connects queue pairs:
// both ends exchange the Attributes of table 10-1 out of band.
//
//	h, err := mrc.NewHost(cfg)
//	qp, err := h.CreateQP(qpCfg)
//	err = qp.PostSend(now, verbs.WorkRequest{ID: 1, Op: verbs.OpWrite, Data: data, RemoteVA: va, RKey: rkey})
//	next, pending := h.Advance(now)
//
// A queue pair asks a Congestion when a packet may leave, and a Sprayer for its path. This package
// has only trivial implementations of both interfaces (FixedWindow, RoundRobin); packages nscc and
// spray have the real implementations.
//
// Package mrc uses the memory regions, work requests and completions of package verbs. Like package
// rc, package mrc is synchronous and deterministic: no goroutine, clock or socket. Times are
// durations since a start chosen by the owner, and never go backwards. One owner at a time: a Host
// is not safe for concurrent use.
//
// MRC has no RDMA READ, SEND and ATOMIC operations: the host refuses such requests of a peer with
// NAK Invalid Request. Over IPv4 an entropy value is the UDP source port alone (OCP MRC 1.0,
// §9.1), and no path is one of SRv6.
package mrc
