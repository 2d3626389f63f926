// A packet is a plain IPv6 packet (ipv6) or an encapsulated one (outer_ipv6, srh, ipv6); the inner one may be IPv4. RoCEv2
// is parsed to its last octet, so that the ICRC can be checked and made anew; of anything else
// what follows the known headers is carried along; an Ethernet frame may be encapsulated too. What the parser refuses, ingress drops and counts.

error {
    SrhLength,
    SegmentsLeft,
    TlvLength,
    TlvReceivers,
    UdpLength
}

// Extension headers that begin with a next header and a length.
#define EXTENSION_CASES(next)       \
            PROTO_HOP_BY_HOP:  next; \
            PROTO_FRAGMENT:    next; \
            PROTO_AH:          next; \
            PROTO_DESTINATION: next; \
            PROTO_MOBILITY:    next; \
            PROTO_HIP:         next; \
            PROTO_SHIM6:       next;

// What follows a BTH. spare is how many octets the frame has beyond its RoCEv2 packet, less than 0 of one that ends too early.
#define PARSE_BTH(spare)                                                                                                 \
        meta.cut = spare[31:31];                                                                                         \
        meta.payload_len = hdr.udp.length - 24;                                                                          \
        verify((hdr.bth.opcode & OPCODE_MRC_MASK) == OPCODE_MRC || hdr.udp.length >= 24, error.UdpLength);               \
        verify((hdr.bth.opcode & OPCODE_MRC_MASK) == OPCODE_MRC || hdr.udp.length == hdr.ipv6.payload_len ||             \
               (spare[31:31] == 1 && hdr.udp.length > hdr.ipv6.payload_len), error.UdpLength);                           \
        transition select(hdr.bth.opcode, spare[31:31]) {                                                                \
            (OPCODE_MRC &&& OPCODE_MRC_MASK, _): accept;                                                                 \
            (OPCODE_RC_ACKNOWLEDGE, _):    parse_aeth;                                                                   \
            (OPCODE_CNP, _):               parse_cnp;                                                                    \
            (_, 1):                        parse_cut;                                                                    \
            (OPCODE_RC_WRITE_FIRST, _):    parse_reth;                                                                   \
            (OPCODE_RC_WRITE_ONLY, _):     parse_reth;                                                                   \
            (OPCODE_RC_WRITE_ONLY_IMM, _): parse_reth;                                                                   \
            default:                       parse_payload;                                                                \
        }

parser FabricParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t std) {

    state start {
        transition select(std.ingress_port) {
            CPU_PORT: parse_packet_out;
            PFC_PORT: parse_target;
            default:  parse_ethernet;
        }
    }

    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition accept;
    }

    state parse_target {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.target);
        transition accept;
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type, meta.pass) {
            (_, PASS_ICMP):             parse_quoted;
            (ETHERTYPE_IPV6, _):        parse_ipv6;
            (ETHERTYPE_IPV4, _):        parse_ipv4;
            (ETHERTYPE_ARP, _):         parse_arp;
            (ETHERTYPE_MAC_CONTROL, _): parse_pfc;
            default:                    accept;
        }
    }

    // The packet in error, as much of it as fits.
    state parse_quoted {
        bit<32> over = 14 + (bit<32>)ICMP_MAX_QUOTED - std.packet_length;
        meta.quoted = over[31:31] == 1 ? ICMP_MAX_QUOTED : std.packet_length[15:0] - 14;
        packet.extract(hdr.quoted, ((bit<32>)meta.quoted) << 3);
        transition accept;
    }

    state parse_ipv6 {
        bit<56> first = packet.lookahead<bit<56>>();
        transition select(first[7:0]) {
            PROTO_ROUTING:  parse_outer_ipv6;
            PROTO_IPV6:     parse_outer_ipv6;
            PROTO_IPV4:     parse_outer_ipv6;
            PROTO_ETHERNET: parse_outer_ipv6;
            default:        parse_inner_ipv6;
        }
    }

    state parse_outer_ipv6 {
        packet.extract(hdr.outer_ipv6);
        meta.outer_octets = 40;
        transition select(hdr.outer_ipv6.next_header) {
            PROTO_ROUTING:  parse_routing;
            PROTO_IPV4:     parse_ipv4;
            PROTO_ETHERNET: parse_inner_ethernet;
            default:        parse_inner_ipv6;
        }
    }

    state parse_routing {
        bit<24> first = packet.lookahead<bit<24>>();
        transition select(first[7:0]) {
            ROUTING_TYPE_SRH: parse_srh;
            default:          accept;
        }
    }

    state parse_srh {
        packet.extract(hdr.srh);
        meta.srh_left = ((bit<16>)hdr.srh.hdr_ext_len) << 3;
        meta.outer_octets = 48 + meta.srh_left;
        verify(hdr.srh.last_entry < SRH_SEGMENTS, error.SrhLength);
        verify(meta.srh_left >= (((bit<16>)hdr.srh.last_entry + 1) << 4), error.SrhLength);
        verify(hdr.srh.segments_left <= hdr.srh.last_entry + 1, error.SegmentsLeft);
        meta.srh_left = meta.srh_left - (((bit<16>)hdr.srh.last_entry + 1) << 4);
        meta.segment_index = 0;
        transition parse_segment;
    }

    state parse_segment {
        packet.extract(hdr.segment.next);
        meta.segment_index = meta.segment_index + 1;
        bit<8> ahead = hdr.srh.segments_left - meta.segment_index;
        transition select(ahead) {
            0:       keep_segment;
            default: after_segment;
        }
    }

    state keep_segment {
        meta.next_segment = hdr.segment.last.sid;
        transition after_segment;
    }

    state after_segment {
        bit<8> left = hdr.srh.last_entry + 1 - meta.segment_index;
        transition select(left) {
            0:       parse_tlvs;
            default: parse_segment;
        }
    }

    state parse_tlvs {
        transition select(meta.srh_left, meta.pass) {
            (0, _):         after_srh;
            (_, PASS_TLVS): parse_tlv;
            default:        keep_tlvs;
        }
    }

    state keep_tlvs {
        packet.extract(hdr.srh_tlvs, ((bit<32>)meta.srh_left) << 3);
        transition after_srh;
    }

    state after_srh {
        transition select(hdr.srh.next_header) {
            PROTO_IPV6:     parse_inner_ipv6;
            PROTO_IPV4:     parse_ipv4;
            PROTO_ETHERNET: parse_inner_ethernet;
            PROTO_ICMPV6:   parse_outer_icmp;
            default:        accept;
        }
    }

    state parse_outer_icmp {
        bit<8> type = packet.lookahead<bit<8>>();
        meta.icmp_error = ~type[7:7];
        meta.icmp_type = type;
        transition accept;
    }

    state parse_inner_ethernet {
        packet.extract(hdr.inner_ethernet);
        transition select(hdr.inner_ethernet.ether_type) {
            ETHERTYPE_MAC_CONTROL: parse_pfc;
            default:               accept;
        }
    }

    state parse_pfc {
        packet.extract(hdr.pfc);
        transition accept;
    }

    state parse_icmp {
        bit<8> type = packet.lookahead<bit<8>>();
        meta.icmp_error = ~type[7:7];
        meta.icmp_type = type;
        transition select(type, meta.outer_octets, meta.extensions) {
            (ICMP_NEIGHBOR_SOLICITATION, 0, 0): measure_solicitation;
            (ICMP_ECHO_REQUEST, 0, 0):          parse_echo;
            default:                            accept;
        }
    }

    // Of a length that hosts use.
    state measure_solicitation {
        meta.payload_len = hdr.ipv6.payload_len - 24;
        transition select(meta.payload_len) {
            16w0 &&& 16w0xffc0: parse_solicitation;
            default:            accept;
        }
    }

    state parse_solicitation {
        packet.extract(hdr.solicitation, ((bit<32>)meta.payload_len) << 3);
        transition accept;
    }

    state parse_echo {
        packet.extract(hdr.echo);
        transition accept;
    }

    state parse_tlv {
        bit<8> type = packet.lookahead<bit<8>>();
        transition select(type) {
            TLV_PAD1: skip_pad1;
            default:  parse_tlv_head;
        }
    }

    state skip_pad1 {
        packet.advance(8);
        meta.srh_left = meta.srh_left - 1;
        transition select(meta.srh_left) {
            0:       after_srh;
            default: parse_tlv;
        }
    }

    state parse_tlv_head {
        bit<16> head = packet.lookahead<bit<16>>();
        verify(meta.srh_left >= 2 + (bit<16>)head[7:0], error.TlvLength);
        bit<8> other = head[15:8] ^ meta.tlv_type;
        transition select(other) {
            0:       parse_mt_tlv;
            default: skip_tlv;
        }
    }

    state skip_tlv {
        bit<16> head = packet.lookahead<bit<16>>();
        packet.advance((2 + (bit<32>)head[7:0]) << 3);
        meta.srh_left = meta.srh_left - 2 - (bit<16>)head[7:0];
        transition select(meta.srh_left) {
            0:       after_srh;
            default: parse_tlv;
        }
    }

    state parse_mt_tlv {
        packet.extract(hdr.mt_tlv);
        verify((bit<16>)hdr.mt_tlv.length == 22 + ((bit<16>)hdr.mt_tlv.receivers << 4) + ((bit<16>)hdr.mt_tlv.receivers << 2),
               error.TlvReceivers);
        meta.srh_left = meta.srh_left - 2 - (bit<16>)hdr.mt_tlv.length;
        meta.tlv_receivers = hdr.mt_tlv.receivers;
        bit<128> elsewhere = hdr.mt_tlv.edge ^ meta.node_address;
        transition select(elsewhere) {
            0:       parse_receivers;
            default: skip_receivers;
        }
    }

    state skip_receivers {
        packet.advance((((bit<32>)meta.tlv_receivers << 4) + ((bit<32>)meta.tlv_receivers << 2)) << 3);
        transition select(meta.srh_left) {
            0:       after_srh;
            default: parse_tlv;
        }
    }

    state parse_receivers {
        meta.mt_named = 1;
        transition select(meta.tlv_receivers, meta.srh_left) {
            (0, 0):  after_srh;
            (0, _):  parse_tlv;
            default: parse_receiver;
        }
    }

    state parse_receiver {
        verify(meta.receiver_count < MT_TLV_RECEIVERS, error.TlvReceivers);
        packet.extract(hdr.mt_receiver.next);
        meta.receiver_count = meta.receiver_count + 1;
        meta.tlv_receivers = meta.tlv_receivers - 1;
        transition parse_receivers;
    }

    state parse_inner_ipv6 {
        packet.extract(hdr.ipv6);
        meta.protocol = hdr.ipv6.next_header;
        transition select(hdr.ipv6.next_header) {
            PROTO_UDP:    parse_udp;
            PROTO_TCP:    parse_tcp;
            PROTO_ICMPV6: parse_icmp;
            EXTENSION_CASES(walk_extensions)
            default:      accept;
        }
    }

    // IPv4 becomes IPv6 between IPv4-mapped addresses (ipv4.p4). One with options is none.
    state parse_ipv4 {
        bit<8> first = packet.lookahead<bit<8>>();
        transition select(first) {
            IPV4_NO_OPTIONS: map_ipv4;
            default:         accept;
        }
    }

    state map_ipv4 {
        packet.extract(hdr.ipv4);
        verify(hdr.ipv4.total_len >= IPV4_OCTETS, error.PacketTooShort);
        hdr.ipv6.setValid();
        hdr.ipv6.version = 6;
        hdr.ipv6.dscp = hdr.ipv4.dscp;
        hdr.ipv6.ecn = hdr.ipv4.ecn;
        hdr.ipv6.flow_label = 0;
        hdr.ipv6.payload_len = hdr.ipv4.total_len - IPV4_OCTETS;
        hdr.ipv6.next_header = hdr.ipv4.protocol;
        hdr.ipv6.hop_limit = hdr.ipv4.ttl;
        hdr.ipv6.src_addr = IPV4_MAPPED ++ hdr.ipv4.src_addr;
        hdr.ipv6.dst_addr = IPV4_MAPPED ++ hdr.ipv4.dst_addr;
        meta.protocol = hdr.ipv4.protocol;
        transition select(hdr.ipv4.flags[0:0], hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
            (0, 0, PROTO_UDP):  parse_ipv4_udp;
            (0, 0, PROTO_TCP):  parse_tcp;
            (0, 0, PROTO_ICMP): parse_icmpv4;
            default:            accept;
        }
    }

    state parse_ipv4_udp {
        packet.extract(hdr.udp);
        meta.l4_ports = hdr.udp.src_port ++ hdr.udp.dst_port;
        transition select(hdr.udp.dst_port) {
            UDP_PORT_ROCEV2: parse_ipv4_bth;
            default:         accept;
        }
    }

    // MRC is of IPv6 alone: what has its opcodes here is carried along.
    state parse_ipv4_bth {
        packet.extract(hdr.bth);
        bit<32> spare = std.packet_length - (bit<32>)meta.outer_octets - (bit<32>)hdr.udp.length - 34;
        PARSE_BTH(spare)
    }

    state parse_icmpv4 {
        bit<8> type = packet.lookahead<bit<8>>();
        transition select(type, meta.outer_octets) {
            (ICMPV4_ECHO_REQUEST, 0): parse_echo_ipv4;
            default:                  accept;
        }
    }

    // For the controls an echo request of IPv4 is one of ICMPv6.
    state parse_echo_ipv4 {
        meta.icmp_type = ICMP_ECHO_REQUEST;
        packet.extract(hdr.echo);
        transition accept;
    }

    // So a request of ARP is a solicitation, and a reply an advertisement.
    state parse_arp {
        bit<64> head = packet.lookahead<bit<64>>();
        transition select(head[63:16], head[15:0]) {
            (ARP_OF_IPV4, ARP_REQUEST): parse_arp_request;
            (ARP_OF_IPV4, ARP_REPLY):   parse_arp_reply;
            default:                    accept;
        }
    }

    state parse_arp_request {
        meta.icmp_type = ICMP_NEIGHBOR_SOLICITATION;
        transition map_arp;
    }

    state parse_arp_reply {
        meta.icmp_type = ICMP_NEIGHBOR_ADVERTISEMENT;
        transition map_arp;
    }

    state map_arp {
        packet.extract(hdr.arp);
        hdr.ipv6.setValid();
        hdr.ipv6.version = 6;
        hdr.ipv6.dscp = 0;
        hdr.ipv6.ecn = 0;
        hdr.ipv6.flow_label = 0;
        hdr.ipv6.payload_len = 0;
        hdr.ipv6.next_header = PROTO_NONE;
        hdr.ipv6.hop_limit = ND_HOP_LIMIT;
        hdr.ipv6.src_addr = IPV4_MAPPED ++ hdr.arp.sender;
        hdr.ipv6.dst_addr = IPV4_MAPPED ++ hdr.arp.target;
        transition accept;
    }

    // What extension headers lead to decides whether a host may send the packet. Nothing behind them is rewritten.
    // A packet that ends within them is truncated: the first fragment has all of them (RFC 7112).
    state walk_extensions {
        transition select(meta.extensions, meta.protocol) {
            (EXTENSIONS, _):     accept;   // meta.protocol is still one of an extension header
            (_, PROTO_FRAGMENT): parse_fragment;
            (_, PROTO_AH):       parse_authentication;
            default:             parse_options;
        }
    }

    state parse_options {
        bit<16> head = packet.lookahead<bit<16>>();
        packet.extract(hdr.extension.next, 48 + (((bit<32>)head[7:0]) << 6));
        transition after_extension;
    }

    // Its length is in units of 32 bits, less 2 (RFC 4302 section 2.2).
    state parse_authentication {
        bit<16> head = packet.lookahead<bit<16>>();
        packet.extract(hdr.extension.next, 48 + (((bit<32>)head[7:0]) << 5));
        transition after_extension;
    }

    state parse_fragment {
        bit<32> head = packet.lookahead<bit<32>>();
        packet.extract(hdr.extension.next, 48);
        transition select(head[15:3]) {
            0:       after_extension;
            default: later_fragment;
        }
    }

    state after_extension {
        meta.extensions = meta.extensions + 1;
        meta.protocol = hdr.extension.last.next_header;
        transition select(hdr.extension.last.next_header) {
            PROTO_ICMPV6: parse_icmp;
            EXTENSION_CASES(walk_extensions)
            default:      accept;
        }
    }

    // Of a fragment that is not the first, the header tells what the first one begins with, and no more.
    state later_fragment {
        meta.extensions = meta.extensions + 1;
        meta.protocol = hdr.extension.last.next_header;
        transition select(hdr.extension.last.next_header) {
            EXTENSION_CASES(end_of_walk)
            default: accept;
        }
    }

    state end_of_walk {
        meta.protocol = PROTO_NONE;
        transition accept;
    }

    state parse_tcp {
        meta.l4_ports = packet.lookahead<bit<32>>();
        transition accept;
    }

    state parse_udp {
        packet.extract(hdr.udp);
        meta.l4_ports = hdr.udp.src_port ++ hdr.udp.dst_port;
        transition select(hdr.udp.dst_port) {
            UDP_PORT_ROCEV2: parse_bth;
            default:         accept;
        }
    }

    // MRC packets are forwarded, never rewritten, and the UDP length of some is another packet's (OCP MRC 1.0, section
    // 7.5.5.6): nothing behind the BTH is looked at. Of others, one that ends too early may have been trimmed.
    state parse_bth {
        packet.extract(hdr.bth);
        bit<32> spare = std.packet_length - (bit<32>)meta.outer_octets - (bit<32>)hdr.udp.length - 54;
        PARSE_BTH(spare)
    }

    state parse_cut {
        verify(meta.payload_len <= PAYLOAD_BITS / 8 + 16, error.UdpLength);
        transition accept;
    }

    state parse_reth {
        verify(meta.payload_len >= 16, error.UdpLength);
        packet.extract(hdr.reth);
        meta.payload_len = meta.payload_len - 16;
        transition parse_payload;
    }

    state parse_aeth {
        verify(meta.payload_len == 4, error.UdpLength);
        packet.extract(hdr.aeth);
        transition parse_icrc;
    }

    state parse_cnp {
        verify(meta.payload_len == 16, error.UdpLength);
        packet.extract(hdr.cnp);
        transition parse_icrc;
    }

    state parse_payload {
        verify(meta.payload_len <= PAYLOAD_BITS / 8, error.UdpLength);
        packet.extract(hdr.payload, ((bit<32>)meta.payload_len) << 3);
        transition parse_icrc;
    }

    state parse_icrc {
        packet.extract(hdr.icrc);
        transition accept;
    }
}
