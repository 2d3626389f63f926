// Package nscc is NSCC, the congestion control of MRC (OCP MRC 1.0, §8), which takes it from
// UltraEthernet 1.01, §3.6.13: a sender's window, clocked by SACKs, that keeps the delay of queues
// near a target. Its rules and constants are those the public simulator of UltraEthernet carries
// out (docs/mrc-hosts.md, "Congestion control", has them in words, and reports where this
// differs).
//
// A QPCC is the congestion controller of a queue pair, passed as mrc.Congestion when the queue pair
// is created. The queue pair counts the octets in flight and reports every event to the QPCC.
//
//	cc, err := nscc.New(nscc.DefaultConfig(nscc.Network{Rate: 400e9, RTT: 9 * time.Microsecond, MTU: 4096, Trimming: true}))
//
// FlowControl works at the other end: a responder that cannot keep up puts a penalty into its
// SACKs.
//
// All octets are nominal packet sizes (§8.3.1) unless said otherwise. The types here have no clock,
// do not allocate after construction, and are not safe for concurrent use. Package spray chooses
// the path of a packet.
package nscc
