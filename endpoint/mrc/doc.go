// Package mrc is the Multipath Reliable Connection transport of a software host (OCP MRC 1.0,
// sections 6 and 7): RDMA WRITE, with and without immediate data, whose packets are sprayed over
// many paths and planes, placed in whatever order they arrive, and acknowledged selectively;
// reliability probes, EV probes and port status updates.
//
// A Host has one address and several ports, each a plane. Its owner passes every received frame to
// Receive and calls Advance after Receive, after posting work and whenever the time that Advance
// returned has come; the host hands frames to Config.Output. A queue pair is connected by
// configuration: what its two ends tell each other out of band are the Attributes of table 10-1.
//
//	h, err := mrc.NewHost(cfg)
//	qp, err := h.CreateQP(qpCfg)
//	err = qp.PostSend(now, verbs.WorkRequest{ID: 1, Op: verbs.OpWrite, Data: data, RemoteVA: va, RKey: rkey})
//	next, pending := h.Advance(now)
//
// What decides when a packet may leave and which path it takes is not here: a queue pair asks a
// Congestion and a Sprayer, two seams with trivial implementations beside them (FixedWindow,
// RoundRobin); packages nscc and spray have the real ones.
//
// It uses the memory regions, work requests and completions of package verbs. Like package rc it is
// synchronous and deterministic: no goroutine, clock or socket. Times are durations since a start
// the owner chooses, and never go backwards. One owner at a time: a Host is not safe for concurrent
// use.
//
// Left out, and refused with NAK Invalid Request when a peer asks for them: RDMA READ, SEND and
// ATOMIC operations, which MRC does not have. There is no MRC over IPv4.
package mrc
