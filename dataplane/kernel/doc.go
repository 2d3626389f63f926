// Package kernel has a Linux router be a switch: the kernel forwards, and an agent makes its routes
// out of CONFIG_DB, as the daemons of SONiC do, and shows what the kernel has.
//
//	a, err := kernel.Open(kernel.Config{Ports: map[uint32]string{1: "eth1", 2: "enp3s0"}})
//	a.Register(grpcServer) // the paths of a SONiC switch: package sonicdb
//
// Open works on the network namespace of its thread, and so does the agent from then on.
//
// A uN is a route of action End with flavor next-csid, a uA one of End.X, and a uDT46 one of
// End.DT6 into the main table. Behaviors and flavors are those of the kernel's
// include/uapi/linux/seg6_local.h: End with next-csid since Linux 6.1, End.X with it since 6.6, and
// since 6.17 over a next hop that is a link-local address. All that the agent writes has the
// protocol number 87, and it touches no route of another. Routes stay when the agent ends, and the
// next one takes them over with the first Set, or at once where Config.Saved has them.
//
// Classes of traffic become queues of a port, an HTB: inside of the token bucket filter by which an
// administrator gives the port a rate, else at the root. Another qdisc there stays as it is.
//
// APPL_DB has what the kernel has. So a route that somebody deletes is gone there, and whoever
// watches it can write it again.
package kernel
