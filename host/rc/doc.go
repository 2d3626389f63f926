// Package rc is a software RoCEv2 host: a network adapter with reliable connection (RC) queue pairs
// over IPv6, as an unmodified adapter would behave (IBTA volume 1 chapter 9, annex A17), and
// nothing in it knows that its peer may be a multicast group.
//
// A Host is synchronous and deterministic: it has no goroutine, clock or socket. Its owner passes
// every received frame to Receive and calls Advance after Receive, after posting work and whenever
// the time that Advance returned has come; the host hands frames to Config.Output. Times are
// durations since a start the owner chooses. One owner at a time: a Host is not safe for concurrent
// use, and Output must not call back into the host it came from.
//
//	h, err := rc.NewHost(cfg)
//	qp, err := h.CreateQP(qpCfg)
//	err = qp.PostSend(verbs.WorkRequest{ID: 1, Op: verbs.OpWrite, Data: data, RemoteVA: va, RKey: rkey})
//	next, pending := h.Advance(now)
//
// Supported are SEND and RDMA WRITE, each with or without immediate data, congestion notification
// (CNP) and DCQCN rate control. Left out, and refused with NAK Invalid Request when a peer asks for
// them: RDMA READ, ATOMIC operations and SEND with Invalidate. A responder advertises no end-to-end
// credits (AETH credit 31), and a requester ignores those it is given: a peer without a receive
// buffer is found out by its RNR NAK. Addresses are resolved by configuration (GatewayMAC): a host
// speaks no neighbor discovery.
package rc
