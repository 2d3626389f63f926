// Numbers of protocols, and what the standards say of them.

const bit<16> ETHERTYPE_IPV4        = 0x0800;
const bit<16> ETHERTYPE_ARP         = 0x0806;
const bit<16> ETHERTYPE_IPV6        = 0x86dd;
const bit<16> ETHERTYPE_MAC_CONTROL = 0x8808;   // IEEE 802.3 clause 31
const bit<16> ETHERTYPE_LLDP        = 0x88cc;   // IEEE 802.1AB clause 8.3
const bit<16> ETHERTYPE_TARGET      = 0x88b6;   // one of those for local experiments: what PFC_PORT carries

// IEEE 802.1Qbb, IEEE 802.3 annex 31D.
const bit<48> PFC_MAC    = 0x0180c2000001;
const bit<16> PFC_OPCODE = 0x0101;

const bit<8> PROTO_HOP_BY_HOP   = 0;
const bit<8> PROTO_ICMP         = 1;
const bit<8> PROTO_IPV4         = 4;
const bit<8> PROTO_TCP          = 6;
const bit<8> PROTO_UDP          = 17;
const bit<8> PROTO_IPV6         = 41;
const bit<8> PROTO_ROUTING      = 43;
const bit<8> PROTO_FRAGMENT     = 44;
const bit<8> PROTO_AH           = 51;
const bit<8> PROTO_ICMPV6       = 58;
const bit<8> PROTO_NONE         = 59;
const bit<8> PROTO_DESTINATION  = 60;
const bit<8> PROTO_MOBILITY     = 135;
const bit<8> PROTO_HIP          = 139;
const bit<8> PROTO_SHIM6        = 140;
const bit<8> PROTO_ETHERNET     = 143;

// RFC 791 section 3.1: version 4 and no options; flags.
const bit<8> IPV4_NO_OPTIONS    = 0x45;
const bit<3> IPV4_DONT_FRAGMENT = 2;

// IPv4-mapped addresses (RFC 4291 section 2.5.5.2).
const bit<96> IPV4_MAPPED = 0xffff;

#define IS_MAPPED(address) (address[127:32] == IPV4_MAPPED)

// Of Ethernet and IPv4 (RFC 826): hardware, protocol and their octets, then what is asked.
const bit<48> ARP_OF_IPV4 = 0x000108000604;
const bit<16> ARP_REQUEST = 1;
const bit<16> ARP_REPLY   = 2;

// ICMP (RFC 792).
const bit<8> ICMPV4_ECHO_REQUEST = 8;
const bit<8> ICMPV4_ECHO_REPLY   = 0;

// Flavors of RFC 8986 section 4.16, a bit each.
const bit<8> FLAVOR_PSP = 1;
const bit<8> FLAVOR_USP = 2;
const bit<8> FLAVOR_USD = 4;

const bit<8> ROUTING_TYPE_SRH = 4;      // RFC 8754 section 2
const bit<8> TLV_PAD1         = 0;      // RFC 8754 section 2.1.1.1

const bit<16> UDP_PORT_ROCEV2 = 4791;

// BTH opcodes (IBTA volume 1, table 38; annex A17 for CNP).
const bit<8> OPCODE_RC_WRITE_FIRST    = 0x06;
const bit<8> OPCODE_RC_WRITE_ONLY     = 0x0a;
const bit<8> OPCODE_RC_WRITE_ONLY_IMM = 0x0b;   // also the last opcode a multicast group carries
const bit<8> OPCODE_RC_ACKNOWLEDGE    = 0x11;
const bit<8> OPCODE_UD_SEND_ONLY      = 0x64;
const bit<8> OPCODE_CNP               = 0x81;

// The queue pair of connection management (IBTA volume 1, section 3.5.10).
const bit<24> QPN_GSI = 1;

// MRC has the opcodes whose three upper bits are these (OCP MRC 1.0, table 6-1).
const bit<8> OPCODE_MRC      = 0xc0;
const bit<8> OPCODE_MRC_MASK = 0xe0;

// AETH syndrome, bits 6:5 (IBTA volume 1, table 44).
const bit<2> AETH_ACK = 0;
const bit<2> AETH_RNR = 1;
const bit<2> AETH_NAK = 3;
const bit<8> SYNDROME_ACK_NO_CREDIT = 0x1f;     // credit count 31: end-to-end credits are not used
const bit<8> SYNDROME_NAK_SEQUENCE  = 0x60;
const bit<8> SYNDROME_RNR           = 0x20;

// How often the hold-off of a NAK doubles while the group does not advance: up to 64 times what is configured.
const bit<8> NACK_DOUBLINGS = 6;

// ICMPv6 errors that are due (RFC 4443; RFC 8986 section 4.1, S06, S10 and section 4.1.1). Types below 128 are errors.
const bit<2> ICMP_NONE          = 0;
const bit<2> ICMP_TIME_EXCEEDED = 1;    // type 3, code 0
const bit<2> ICMP_SEGMENTS_LEFT = 2;    // Parameter Problem, type 4, code 0: Segments Left
const bit<2> ICMP_UPPER_LAYER   = 3;    // Parameter Problem, type 4, code 4: SR Upper-layer Header Error

// An ICMPv6 error fits the minimum IPv6 MTU (RFC 4443 section 2.4 c).
const bit<16> ICMP_HEADERS    = 48;
const bit<16> ICMP_MAX_QUOTED = 1232;

// ICMPv6 messages of hosts (RFC 4443 section 4, RFC 4861 section 4, RFC 2710 section 3, RFC 3810 section 5.2).
const bit<8> ICMP_ECHO_REQUEST           = 128;
const bit<8> ICMP_ECHO_REPLY             = 129;
const bit<8> ICMP_LISTENER_FIRST         = 130;
const bit<8> ICMP_LISTENER_LAST          = 132;
const bit<8> ICMP_ROUTER_SOLICITATION    = 133;
const bit<8> ICMP_ROUTER_ADVERTISEMENT   = 134;
const bit<8> ICMP_NEIGHBOR_SOLICITATION  = 135;
const bit<8> ICMP_NEIGHBOR_ADVERTISEMENT = 136;
const bit<8> ICMP_REDIRECT               = 137;
const bit<8> ICMP_LISTENER_REPORT        = 143;

// Neighbor discovery (RFC 4861 sections 7.1 and 4.6.1, RFC 4291 section 2.7.1, RFC 2464 section 7).
const bit<8>   ND_HOP_LIMIT  = 255;
const bit<8>   ND_TARGET_MAC = 2;
const bit<128> ALL_NODES     = 0xff020000000000000000000000000001;
const bit<48>  ALL_NODES_MAC = 0x333300000001;

// ECN codepoints (RFC 3168 section 5).
const bit<2> ECN_NOT_ECT = 0;
const bit<2> ECN_CE      = 3;

const bit<8> DEFAULT_HOP_LIMIT = 64;
