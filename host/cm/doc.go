// Package cm connects the queue pairs of a software host by RDMA CM, as librdmacm does on a kernel:
// no number, PSN or key is typed.
//
// An application calls Listen or Connect, and gets events. Package cm creates a queue pair once the
// other end has sent its parameters: a listener's queue pair before the REP leaves, the connecting
// end's queue pair after the REP arrives. The owner passes frames for queue pair 1
// (packet/cm.IsFrame) to Receive and calls Advance, as with the host itself.
package cm
