// SRv6 policies: the segments before the last one, which is the service's (an End.DT6 of a tenant, or the End.X.PFC of a node
// upstream). What goes into one is decided elsewhere: meta.policy, and service_sid, outer_dscp and outer_slice with it.

#define SEGMENT(i, s)                                                        \
    hdr.segment[i].setValid();                                               \
    hdr.segment[i].sid = s;

// n segments in all; first is the next one to visit, the others are set by the caller.
#define VIA(n, source, first)                                                \
    outer(source, first, octets + 8 + 16 * n, PROTO_ROUTING);                \
    hdr.srh.setValid();                                                      \
    hdr.srh.next_header = inner;                                             \
    hdr.srh.hdr_ext_len = 2 * n;                                             \
    hdr.srh.routing_type = ROUTING_TYPE_SRH;                                 \
    hdr.srh.segments_left = n - 1;                                           \
    hdr.srh.last_entry = n - 1;                                              \
    hdr.srh.flags = 0;                                                       \
    hdr.srh.tag = 0;                                                         \
    SEGMENT(0, meta.service_sid)

// The first segment is this node's own End.X: it stays in the list as one that was visited, and the packet leaves by its
// adjacency (RFC 8986 section 4.2, S13-S15).
#define VISITED(next, out_port, out_neighbor)                                \
    hdr.srh.segments_left = hdr.srh.segments_left - 1;                       \
    hdr.outer_ipv6.dst_addr = next;                                          \
    meta.dst = next;                                                         \
    std.egress_spec = out_port;                                              \
    meta.neighbor = out_neighbor;                                            \
    meta.routed = 1;

control Policy(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    bit<16> octets;      // of what is encapsulated
    bit<8>  inner;       // its protocol

    action outer(in bit<128> source, in bit<128> dst, in bit<16> length, in bit<8> next_header) {
        hdr.outer_ipv6.setValid();
        hdr.outer_ipv6.version = 6;
        hdr.outer_ipv6.dscp = meta.outer_dscp;
        hdr.outer_ipv6.ecn = hdr.ipv6.isValid() ? hdr.ipv6.ecn : ECN_NOT_ECT;
        hdr.outer_ipv6.payload_len = length;
        hdr.outer_ipv6.next_header = next_header;
        hdr.outer_ipv6.hop_limit = DEFAULT_HOP_LIMIT;
        hdr.outer_ipv6.src_addr = source;
        hdr.outer_ipv6.dst_addr = dst;
        meta.dst = dst;
        meta.vrf = 0;
        meta.encapsulated = 1;
    }

    // Best effort: no SRH, the service's SID is the destination.
    @id(ACTION_VIA_0_ID)
    action via_0(bit<128> source) {
        outer(source, meta.service_sid, octets, inner);
    }

    @id(ACTION_VIA_1_ID)
    action via_1(bit<128> source, bit<128> s1) {
        VIA(2, source, s1)
        SEGMENT(1, s1)
    }

    @id(ACTION_VIA_2_ID)
    action via_2(bit<128> source, bit<128> s1, bit<128> s2) {
        VIA(3, source, s1)
        SEGMENT(1, s2) SEGMENT(2, s1)
    }

    @id(ACTION_VIA_3_ID)
    action via_3(bit<128> source, bit<128> s1, bit<128> s2, bit<128> s3) {
        VIA(4, source, s1)
        SEGMENT(1, s3) SEGMENT(2, s2) SEGMENT(3, s1)
    }

    @id(ACTION_VIA_4_ID)
    action via_4(bit<128> source, bit<128> s1, bit<128> s2, bit<128> s3, bit<128> s4) {
        VIA(5, source, s1)
        SEGMENT(1, s4) SEGMENT(2, s3) SEGMENT(3, s2) SEGMENT(4, s1)
    }

    @id(ACTION_VIA_5_ID)
    action via_5(bit<128> source, bit<128> s1, bit<128> s2, bit<128> s3, bit<128> s4, bit<128> s5) {
        VIA(6, source, s1)
        SEGMENT(1, s5) SEGMENT(2, s4) SEGMENT(3, s3) SEGMENT(4, s2) SEGMENT(5, s1)
    }

    @id(ACTION_VIA_6_ID)
    action via_6(bit<128> source, bit<128> s1, bit<128> s2, bit<128> s3, bit<128> s4, bit<128> s5, bit<128> s6) {
        VIA(7, source, s1)
        SEGMENT(1, s6) SEGMENT(2, s5) SEGMENT(3, s4) SEGMENT(4, s3) SEGMENT(5, s2) SEGMENT(6, s1)
    }

    @id(ACTION_VIA_7_ID)
    action via_7(bit<128> source, bit<128> s1, bit<128> s2, bit<128> s3, bit<128> s4, bit<128> s5, bit<128> s6, bit<128> s7) {
        VIA(8, source, s1)
        SEGMENT(1, s7) SEGMENT(2, s6) SEGMENT(3, s5) SEGMENT(4, s4) SEGMENT(5, s3) SEGMENT(6, s2) SEGMENT(7, s1)
    }

    @id(ACTION_VIA_ADJACENCY_1_ID)
    action via_adjacency_1(bit<128> source, bit<9> port, @refers_to(neighbor, id) bit<16> neighbor, bit<128> s1) {
        via_1(source, s1);
        VISITED(meta.service_sid, port, neighbor)
    }

    @id(ACTION_VIA_ADJACENCY_2_ID)
    action via_adjacency_2(bit<128> source, bit<9> port, @refers_to(neighbor, id) bit<16> neighbor, bit<128> s1, bit<128> s2) {
        via_2(source, s1, s2);
        VISITED(s2, port, neighbor)
    }

    @id(ACTION_VIA_ADJACENCY_3_ID)
    action via_adjacency_3(bit<128> source, bit<9> port, @refers_to(neighbor, id) bit<16> neighbor, bit<128> s1, bit<128> s2, bit<128> s3) {
        via_3(source, s1, s2, s3);
        VISITED(s2, port, neighbor)
    }

    @id(ACTION_VIA_ADJACENCY_4_ID)
    action via_adjacency_4(bit<128> source, bit<9> port, @refers_to(neighbor, id) bit<16> neighbor, bit<128> s1, bit<128> s2, bit<128> s3, bit<128> s4) {
        via_4(source, s1, s2, s3, s4);
        VISITED(s2, port, neighbor)
    }

    @id(ACTION_VIA_ADJACENCY_5_ID)
    action via_adjacency_5(bit<128> source, bit<9> port, @refers_to(neighbor, id) bit<16> neighbor, bit<128> s1, bit<128> s2, bit<128> s3, bit<128> s4,
                           bit<128> s5) {
        via_5(source, s1, s2, s3, s4, s5);
        VISITED(s2, port, neighbor)
    }

    @id(ACTION_VIA_ADJACENCY_6_ID)
    action via_adjacency_6(bit<128> source, bit<9> port, @refers_to(neighbor, id) bit<16> neighbor, bit<128> s1, bit<128> s2, bit<128> s3, bit<128> s4,
                           bit<128> s5, bit<128> s6) {
        via_6(source, s1, s2, s3, s4, s5, s6);
        VISITED(s2, port, neighbor)
    }

    @id(ACTION_VIA_ADJACENCY_7_ID)
    action via_adjacency_7(bit<128> source, bit<9> port, @refers_to(neighbor, id) bit<16> neighbor, bit<128> s1, bit<128> s2, bit<128> s3, bit<128> s4,
                           bit<128> s5, bit<128> s6, bit<128> s7) {
        via_7(source, s1, s2, s3, s4, s5, s6, s7);
        VISITED(s2, port, neighbor)
    }

    @id(ACTION_DROP_SR_POLICY_ID)
    action drop_sr_policy() {
        meta.drop_reason = DropReason.SR_POLICY;
    }

    @id(TABLE_SR_POLICY_ID) @weft_owner("pfc")
    table sr_policy {
        key = { meta.policy : exact @name("policy"); }
        actions = {
            via_0; via_1; via_2; via_3; via_4; via_5; via_6; via_7;
            via_adjacency_1; via_adjacency_2; via_adjacency_3; via_adjacency_4; via_adjacency_5; via_adjacency_6; via_adjacency_7;
            @defaultonly drop_sr_policy;
        }
        const default_action = drop_sr_policy();
        size = SR_POLICIES;
    }

    apply {
        if (meta.policy != 0 && meta.drop_reason == DropReason.NONE) {
            if (hdr.inner_ethernet.isValid()) {
                octets = PFC_OCTETS;
                inner = PROTO_ETHERNET;
            } else {
                octets = hdr.ipv6.payload_len + 40;
                inner = PROTO_IPV6;
                // While the packet is in its tenant's VRF: the error goes back there.
                if (hdr.ipv6.hop_limit <= 1) {
                    meta.drop_reason = DropReason.HOP_LIMIT;
                    meta.icmp = ICMP_TIME_EXCEEDED;
                }
            }
            if (meta.drop_reason == DropReason.NONE) {
                sr_policy.apply();
            }
        }
    }
}
