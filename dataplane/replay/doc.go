// Package replay puts capture files through an embedded switch: a pcap file for each port in, one
// for each port out.
//
// Open opens and checks the inputs and the output folder, Run feeds a switch, and Close writes the
// remaining output. The capture stamps drive the switch's clock, which reads 0 at the first packet.
// So the result of a run depends only on its inputs: meters, queues and timestamps see the times of
// the capture, and nobody waits. Packets of several inputs go in by their stamps; for equal stamps
// the lower port goes first. A stamp earlier than the previous stamp counts as the previous stamp.
//
// Packets leaving port N go to N_out.pcap. Packets leaving the CPU port go to cpu_out.pcap, behind
// the packet_in header as the program wrote it. Files with such names from an earlier run are
// removed. Frames are stamped with the switch's time. A steady run allocates nothing a packet.
//
// Open refuses inputs that would quietly give a wrong result: captures of a link type other than
// Ethernet, packets not captured whole, and an output file that is also an input.
package replay
