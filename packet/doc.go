// Package packet holds the wire formats Weft speaks: Ethernet, IPv6, UDP, the Segment Routing
// Header with its TLVs (RFC 8754, and the End.MT TLV of draft-li-spring-rdma-multicast-over-srv6
// §7.2), and the InfiniBand transport headers of RoCEv2 (IBTA Architecture Specification, Volume 1,
// chapter 9 and annex A17) with their invariant CRC, and those of MRC (OCP Multipath Reliable
// Connection 1.0) with its structured entropy values and uSID containers (RFC 9800). Where the
// tables of MRC contradict themselves, docs/mrc-hosts.md says how they are read.
//
// Each header X is a struct with three operations:
//
//	ParseX(b []byte) (h X, n int, err error)  reads the header at the start of b; n is the octets
//	                                          it took, 0 with an error
//	(h X) Append(b []byte) []byte             writes it after b
//	(h X) Len() int                           reports how many octets Append writes
//
// RoCE and MRC put them together into whole frames.
//
// Parsing never panics and does not allocate for good input: variable-length fields are slices of
// the input, valid as long as the input. Errors wrap one of the sentinels in errors.go, and name
// the field, its value and the expected value.
//
// The package makes no decisions: the package holds no state, knows no roles, and accepts
// well-formed values without meaning, such as queue pair number 0.
package packet
