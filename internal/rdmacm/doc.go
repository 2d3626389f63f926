// Package rdmacm is an end of RDMA CM (IBTA volume 1, sections 12.9 and 12.10) as a synchronous
// machine: messages and times go in, messages and events come out. It has no clock and no socket.
//
// A Manager has the connections of one address. Its owner decides: it answers a request by Accept,
// Wait or Reject, and an answer to its own request by Confirm or Reject. The manager repeats what
// is not answered, answers what is repeated with what it answered before, and refuses what is
// stale.
//
// A Conn is a record: a manager of another process that loads it goes on where the first one was,
// and repeats at once what waits for an answer. Alternate paths (LAP) and datagram services (SIDR)
// are refused.
package rdmacm
