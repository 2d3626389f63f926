// Package queue is the traffic manager of a switch: the egress queues of its ports.
//
// A Manager holds packets by port and priority, between depths and rates in packets, and on the
// wires of ports with a speed. It pauses queues by priority-based flow control (IEEE 802.1Qbb),
// compares watched queues with their marks, and asks for XOFF and XON upstream; a watchdog acts
// when a queue stays paused for too long. What the P4 program must hear comes as events.
//
// Packets are of any type, which the package never looks at. Time is passed in. A Manager belongs
// to one goroutine, and allocates only while its queues grow.
package queue
