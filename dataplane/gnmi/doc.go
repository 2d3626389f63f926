// Package gnmi shows and configures an embedded switch over gNMI (0.10), in the trees of
// OpenConfig: interfaces, queues, components and system. docs/gnmi.md lists the paths.
//
//	g := gnmi.NewServer(gnmi.System{Hostname: …})
//	runner, err := live.Start(…) // with dataplane.Config.PortChanged: g.PortChanged
//	g.Register(server, source)   // server is a p4rt.Server: the same port and TLS
//	…
//	g.Close()                    // before server.Close
//
// The tree consists of tables of leaves. Each leaf has a function that reads its value from a row
// (define). Get, Subscribe and Set know nothing else about the tree: all three serve a leaf as soon
// as a table contains it.
//
// A subscription is level-triggered: when a port changes, the server reads the switch again, and
// sends every value that differs from the value sent before. So a slow reader holds up nobody and
// misses no state, but changes that follow each other faster than the client reads arrive as one.
// Packets never touch this package.
package gnmi
