// Package gnmi shows the ports of an embedded switch over gNMI (0.10), in the
// tree of openconfig-interfaces:
//
//	/interfaces/interface[name=…]/name
//	/interfaces/interface[name=…]/state/{name,ifindex,id,admin-status,oper-status}
//	/interfaces/interface[name=…]/state/counters/{in,out}-{pkts,octets,discards}, in-errors
//
// Both state/id (openconfig-p4rt) and state/ifindex are the P4Runtime port, as
// with Stratum. There is nothing to configure: Set answers UNIMPLEMENTED.
//
//	g := gnmi.NewServer()
//	runner, err := live.Start(…) // with dataplane.Config.PortChanged: g.PortChanged
//	g.Register(server, source)   // server is a p4rt.Server: the same port and TLS
//	…
//	g.Close()                    // before server.Close
//
// A subscription is level-triggered: when a port changes the ports are read
// again, and what is different from what was sent is sent. So a client that reads
// slowly holds up nobody and misses no state, but changes that follow each other
// faster than it reads are told as one. Packets never touch this package.
package gnmi
