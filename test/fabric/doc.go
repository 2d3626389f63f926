// Package fabric shows that the fabric's P4 program does what the specifications say: scenarios of
// table entries, packets in, packets, packet-ins and counters out, run byte for byte on every
// target there is (BMv2 where it is installed, and the embedded switch in virtual time), and the
// response aggregation against a plain model of its rules.
//
// There is nothing here but tests.
package fabric
