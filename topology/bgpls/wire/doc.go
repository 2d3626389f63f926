// Package wire reads and writes BGP-LS (RFC 9552, RFC 9514): the NLRIs and the
// BGP-LS Attribute, the parts of an UPDATE message that hold them, and the
// header by which BGP messages are told apart.
//
// Everything is a function of its input. What is malformed is an error and
// never a panic; [ParseAttributes] refuses an attribute as a whole (RFC 9552
// section 8.2.2, "Attribute Discard"), [ParseNLRIs] a single NLRI. TLVs and
// NLRI types that are not known are skipped and counted.
//
// The package keeps no SR-MPLS, no flexible algorithm definitions and no
// opaque attributes: to it they are unknown TLVs.
package wire
