// Package rocehost runs a software RoCEv2 host (package rc) against the
// real clock and a port: it sends files by RDMA WRITE and serves memory regions,
// and reports what it did.
//
//	cfg, err := rocehost.Load("host.yaml", text)
//	report, err := rocehost.Run(ctx, cfg, port, link, progress)
//
// One goroutine, the caller's, owns the host. The loop and what else hosts of all
// transports have in common is package hostrun's.
package rocehost
