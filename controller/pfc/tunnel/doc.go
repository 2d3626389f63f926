// Package tunnel makes tenants lossless across a wide area network whose middle
// knows nothing of priority flow control (draft srv6-pfc-sid): it finds the
// PFC-capable nodes of an SRv6 policy by the SIDs they advertise, derives who is
// upstream of whom, and says what tunnels, watermarks and permissions every node
// is to hold.
//
// [FindPath] decides a policy's path and segment list, [Dependencies] is the
// graph of queues that wait for each other and says before a policy is taken
// whether it could stop for ever.
package tunnel
