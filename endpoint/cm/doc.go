// Package cm connects the queue pairs of a software host by RDMA CM, as librdmacm does on a kernel:
// no number, PSN or key is typed.
//
// An application calls Listen or Connect, and gets events. A queue pair is made when the other end
// has said what it needs: of a listener before its REP leaves, of the other end when the REP has
// come. The owner hands in frames to queue pair 1 (packet/cm.IsFrame) and calls Advance, as with
// the host itself.
package cm
