// Package tunnel plans PFC over SRv6 across a wide area network whose middle knows
// nothing of priority flow control (draft srv6-pfc-sid). The package finds the PFC-capable nodes on
// an SRv6 policy by their advertised SIDs, derives each node's upstream, and gives each [Node]
// tunnels, watermarks and permissions.
//
// [FindPath] decides a policy's path and segment list. [Dependencies] is the graph of
// queues that wait for each other: a policy that would close a cycle is refused before
// it takes effect. [Core] keeps all policies, and moves them to new paths without loss.
package tunnel
