// Package rdmacm is an end of RDMA CM (IBTA volume 1, sections 12.9 and 12.10) as a synchronous
// machine: messages and times go in, messages and events come out. It has no clock and no socket.
//
// A Manager holds the connections of one address. The owner of the Manager decides: the owner
// answers a request by Accept, Wait or Reject, and an answer to its own request by Confirm or
// Reject. The Manager repeats unanswered messages, answers repeated messages with the earlier
// answer, and refuses stale messages.
//
// A Conn is a record: a Manager in another process that loads the record continues where the first
// Manager stopped, and repeats unanswered messages at once. The Manager refuses alternate paths
// (LAP) and datagram services (SIDR).
package rdmacm
