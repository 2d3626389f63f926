// Package replay puts capture files through an embedded switch: a pcap file for
// each port in, one for each port out.
//
// Open opens and checks the inputs and the folder of the outputs, Run feeds a
// switch, Close writes what is left. The capture stamps are the switch's clock,
// which reads 0 at the first packet, so the result of a run depends on nothing
// but its inputs: meters, queues and timestamps see the times of the capture,
// and nobody waits. Packets of several inputs go in by their stamps; of equal
// ones the lower port's goes first. A stamp earlier than one before it counts as
// that one.
//
// What leaves port N is in N_out.pcap, what leaves the CPU port in cpu_out.pcap,
// with the packet_in header in front as the program wrote it; a file that such a
// name of an earlier run is on is removed. Frames are stamped with the switch's
// time. A steady run allocates nothing a packet.
//
// It refuses what would give a wrong result quietly: captures of another link
// type than Ethernet, packets that were not captured whole, and an output that
// is one of the inputs.
package replay
