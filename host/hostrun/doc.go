// Package hostrun is what software hosts of any transport have in common when they run against the
// real clock and ports: it sends files by RDMA WRITE, serves memory regions, and reports what was
// done. One goroutine, the caller's of Runner.Run, owns the endpoint.
package hostrun
