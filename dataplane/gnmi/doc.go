// Package gnmi shows and configures an embedded switch over gNMI (0.10), in the trees of
// OpenConfig: interfaces, queues, components and system. docs/gnmi.md lists the paths.
//
//	g := gnmi.NewServer(gnmi.System{Hostname: …})
//	runner, err := live.Start(…) // with dataplane.Config.PortChanged: g.PortChanged
//	g.Register(server, source)   // server is a p4rt.Server: the same port and TLS
//	…
//	g.Close()                    // before server.Close
//
// The tree is tables of leaves, each with a function that reads its value of a row (define). Get,
// Subscribe and Set know nothing else of it: a leaf that is added to a table is served in all of
// them.
//
// A subscription is level-triggered: when a port changes the switch is read again, and what is
// different from what was sent is sent. So a client that reads slowly holds up nobody and misses no
// state, but changes that follow each other faster than it reads are one. Packets never touch this
// package.
package gnmi
