// Package live runs an embedded switch and its P4Runtime device in real time:
// one goroutine owns both, packets and control calls reach it through bounded
// queues, and frames leave through ports that never block it.
//
//	r, err := live.Start(live.Config{Device: p4rt.Config{ID: 1}, Ports: ports})
//	...
//	server.Add(r.Sessions(), r)
//	...
//	r.Close()
//
// It adds nothing to the semantics of packages dataplane and p4rt: in virtual
// time they are used directly.
package live
