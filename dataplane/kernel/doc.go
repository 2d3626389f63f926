// Package kernel turns a Linux router into a switch: the kernel forwards, and an agent makes the
// kernel's routes from CONFIG_DB, as the daemons of SONiC do, and shows the state of the kernel.
//
//	a, err := kernel.Open(kernel.Config{Ports: map[uint32]string{1: "eth1", 2: "enp3s0"}})
//	a.Register(grpcServer) // the paths of a SONiC switch: package sonicdb
//
// Open works on the network namespace of its thread, and so does the agent from then on.
//
// A uN becomes a route with action End and flavor next-csid, a uA a route with End.X, and a uDT46 a
// route with End.DT6 into the main table. Behaviors and flavors are those of the kernel's
// include/uapi/linux/seg6_local.h: End with next-csid since Linux 6.1, End.X with next-csid since
// 6.6, and since 6.17 over a link-local next hop. All routes of the agent have the protocol number
// 87, and the agent touches no other routes. Routes stay when the agent ends; the next agent takes
// them over with the first Set, or at once if Config.Saved contains them.
//
// Classes of traffic become queues of a port, an HTB: inside the token bucket filter by which an
// administrator gives the port a rate, else at the root. Any other qdisc there stays unchanged.
//
// APPL_DB shows the state of the kernel. So a route deleted by somebody disappears from APPL_DB,
// and a client that watches APPL_DB can write the route again.
package kernel
