// Package nscc is NSCC, the congestion control of MRC (OCP MRC 1.0, §8), which takes it from
// UltraEthernet 1.01, §3.6.13: a sender's window, clocked by SACKs, that keeps the delay of queues
// near a target. Its rules and constants are those the public simulator of UltraEthernet carries
// out (docs/mrc.md, "Congestion control", has them in words, and reports where this
// differs).
//
// A QPCC is the controller of one queue pair, the mrc.Congestion it is created with; the queue pair
// counts what is in flight and reports every event to it.
//
//	cc, err := nscc.New(nscc.DefaultConfig(nscc.Network{Rate: 400e9, RTT: 9 * time.Microsecond, MTU: 4096, Trimming: true}))
//
// FlowControl is the other end: the penalty that a responder which cannot keep up puts into its
// SACKs.
//
// All octets are nominal packet sizes (§8.3.1) unless said otherwise. Nothing here has a clock,
// allocates once made, or is safe for concurrent use. Which path a packet takes is not decided
// here: see package spray.
package nscc
