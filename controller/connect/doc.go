// Package connect is the feature that connects the hosts of multicast groups by RDMA CM.
//
// Source and receivers of a group with spec.connect connect by RDMA CM. The controller is the peer
// of each connection, at the proxy address. The queue pairs from the applications replace the queue
// pairs of the spec. The tree leaves out hosts without a connection, like evicted hosts.
//
// A message of a host takes one way: package rdmacm answers for the connection, the feature decides
// whether the host may be part of the group, and [member.Tree] takes the host into the tree. A
// source waits until the tree is ready for the source (all request.go), and a receiver that comes
// while the source sends waits for a pause (late.go). The controller asks hosts that listen
// (feature.go).
package connect
