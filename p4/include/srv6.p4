// SRv6 endpoints (RFC 8986), tree SIDs (RFC 9524, End.MT) and headend encapsulation.

// Takes the outer headers off. The inner packet keeps the congestion that the outer one met
// (RFC 6040 section 4.2), and is what is left of one that was trimmed when the outer one says so.
control Decapsulate(inout headers_t hdr, inout metadata_t meta) {
    VerifyIpv4() verify_ipv4;

    apply {
        if (hdr.ipv4.isValid()) {
            verify_ipv4.apply(hdr, meta);
        }
        if (hdr.outer_ipv6.ecn == 3) {
            if (hdr.ipv6.ecn == 0) {
                meta.drop_reason = DropReason.ECN_NOT_CAPABLE;
            }
            hdr.ipv6.ecn = 3;
        } else if (hdr.outer_ipv6.ecn == 1 && hdr.ipv6.ecn == 2) {
            hdr.ipv6.ecn = 1;
        }
        if (meta.trimmed == 1) {
            hdr.ipv6.dscp = hdr.outer_ipv6.dscp;
        }
        hdr.outer_ipv6.setInvalid();
        hdr.srh.setInvalid();
        hdr.segment.pop_front(SRH_SEGMENTS);
        hdr.srh_tlvs.setInvalid();
    }
}

// What is to be done at a SID.
const bit<2> SID_NONE     = 0;
const bit<2> SID_ENDPOINT = 1;   // End, End.X and their NEXT-CSID flavors uN and uA
const bit<2> SID_DECAPS   = 2;   // End.DT6, End.DT4, End.DT46, End.DX6; uDT6 and uDX6 are the same at SIDs of the NEXT-CSID format

// Local SIDs. Leaves meta.dst at the address to route by. A uSID (RFC 9800: a SID of the NEXT-CSID flavor) is matched by its
// block and itself; what is behind it in the address is its Argument.
control Endpoint(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    Decapsulate() decapsulate;
    PfcTunnel() pfc_tunnel;
    PfcLearning() pfc_learning;
    DomainEdge() domain_edge;
    bit<2>   behavior = SID_NONE;
    bit<1>   decaps = 0;
    bit<1>   psp = 0;
    bit<1>   usd = 0;
    bit<1>   usid = 0;
    bit<1>   argument = 0;           // there is one: the container goes on
    bit<1>   pfc = 0;                // Ethernet frames are looked at for PFC's
    bit<1>   is_sid = 0;
    bit<128> tree_source = 0;
    bit<1>   service = 0;
    bit<1>   takes_ipv6 = 0;         // out of a tunnel that ends
    bit<1>   takes_ipv4 = 0;
    bit<128> shifted = 0;
    bit<8>   hop_limit = 0;

    // RFC 8986 section 4.1, S01-S15.
    @id(ACTION_END_ID)
    action end() {
        behavior = SID_ENDPOINT;
    }

    // RFC 8986 section 4.2.
    @id(ACTION_END_X_ID)
    action end_x(bit<9> port, @refers_to(neighbor, id) bit<16> neighbor) {
        end();
        std.egress_spec = port;
        meta.neighbor = neighbor;
        meta.routed = 1;
    }

    // The flavors of RFC 8986 section 4.16. USP needs no parameter: what follows the SRH is looked at whether the SRH is
    // taken off first or not.
    @id(ACTION_END_FLAVORS_ID)
    action end_flavors(bit<1> with_psp, bit<1> with_usd) {
        end();
        psp = with_psp;
        usd = with_usd;
    }

    @id(ACTION_END_X_FLAVORS_ID)
    action end_x_flavors(bit<9> port, @refers_to(neighbor, id) bit<16> neighbor, bit<1> with_psp, bit<1> with_usd) {
        end_x(port, neighbor);
        psp = with_psp;
        usd = with_usd;
    }

    // RFC 9800 section 4.1.1, End with NEXT-CSID. The block has 16 bits (f1616) or 32. A SID of two uSIDs (pair) is a node's and
    // a local one behind it, done in one step.
    @id(ACTION_UN_ID)
    action un(bit<1> f1616, bit<1> pair, bit<1> with_psp, bit<1> with_usd) {
        end_flavors(with_psp, with_usd);
        usid = 1;
        if (f1616 == 1) {
            if (pair == 1) {
                shifted = meta.dst[127:112] ++ meta.dst[79:0] ++ 32w0;
            } else {
                shifted = meta.dst[127:112] ++ meta.dst[95:0] ++ 16w0;
            }
            argument = shifted[111:0] == 0 ? 1w0 : 1w1;
        } else {
            if (pair == 1) {
                shifted = meta.dst[127:96] ++ meta.dst[63:0] ++ 32w0;
            } else {
                shifted = meta.dst[127:96] ++ meta.dst[79:0] ++ 16w0;
            }
            argument = shifted[95:0] == 0 ? 1w0 : 1w1;
        }
    }

    // RFC 9800 section 4.1.2, End.X with NEXT-CSID: over its adjacency without a lookup.
    @id(ACTION_UA_ID)
    action ua(bit<1> f1616, bit<1> pair, bit<1> with_psp, bit<1> with_usd, bit<9> port, @refers_to(neighbor, id) bit<16> neighbor) {
        un(f1616, pair, with_psp, with_usd);
        std.egress_spec = port;
        meta.neighbor = neighbor;
        meta.routed = 1;
    }

    // RFC 8986 section 4.6; uDT6.
    @id(ACTION_END_DT6_ID)
    action end_dt6(@weft_owner("pfc") bit<16> vrf) {
        behavior = SID_DECAPS;
        takes_ipv6 = 1;
        meta.vrf = vrf;
    }

    // RFC 8986 section 4.7.
    @id(ACTION_END_DT4_ID) @weft_owner("pfc")
    action end_dt4(bit<16> vrf) {
        behavior = SID_DECAPS;
        takes_ipv4 = 1;
        meta.vrf = vrf;
    }

    // RFC 8986 section 4.8.
    @id(ACTION_END_DT46_ID) @weft_owner("pfc")
    action end_dt46(bit<16> vrf) {
        end_dt4(vrf);
        takes_ipv6 = 1;
    }

    // RFC 8986 section 4.4; uDX6.
    @id(ACTION_END_DX6_ID)
    action end_dx6(bit<9> port, @refers_to(neighbor, id) bit<16> neighbor) {
        behavior = SID_DECAPS;
        takes_ipv6 = 1;
        std.egress_spec = port;
        meta.neighbor = neighbor;
        meta.routed = 1;
    }

    // draft-pfc section 2: End.X, and an Ethernet frame with no segments left may pause interface J, the port. flavors are bits.
    @id(ACTION_END_X_PFC_ID)
    action end_x_pfc(bit<9> port, @refers_to(neighbor, id) bit<16> neighbor, bit<8> flavors) {
        end_x_flavors(port, neighbor, flavors[0:0], flavors[2:2]);
        meta.pfc_port = port;
        pfc = 1;
    }

    // draft-pfc section 3, scenario 1: the same of a node.
    @id(ACTION_END_PFC_ID)
    action end_pfc(bit<8> flavors) {
        end_flavors(flavors[0:0], flavors[2:2]);
        pfc = 1;
    }

    // RFC 9524 section 2.2: a copy per branch, Segments Left untouched. With receivers of its own
    // (has_local) the node is also an End.MT edge of the tree. source is where the tree's encapsulation starts: no other
    // outer source address is taken.
    @id(ACTION_END_REPLICATE_ID)
    action end_replicate(@refers_to(mt_group, group) bit<16> group, @refers_to(builtin::multicast_group_table, multicast_group_id) bit<16> mcast_group, bit<1> has_local, bit<128> source) {
        meta.mt_group = group;
        meta.mt_replicate = 1;
        meta.mt_verify_icrc = has_local;
        std.mcast_grp = mcast_group;
        tree_source = source;
    }

    // Draft section 6.2.
    @id(ACTION_END_MT_ID)
    action end_mt(@refers_to(mt_group, group) bit<16> group, @refers_to(builtin::multicast_group_table, multicast_group_id) bit<16> mcast_group, bit<128> source) {
        end_replicate(group, mcast_group, 1, source);
    }

    @id(TABLE_LOCAL_SID_ID)
    table local_sid {
        key = { meta.dst : lpm @name("dst_addr"); }
        actions = {
            end; end_x; end_flavors; end_x_flavors; un; ua; end_dt6; end_dt4; end_dt46; end_dx6; end_replicate; end_mt; end_x_pfc; end_pfc;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        size = LOCAL_SIDS;
    }

    // The SID behind one of this node's own that is next: both are done with in one pass.
    @id(ACTION_SERVICE_DT6_ID)
    action service_dt6(bit<16> vrf) {
        meta.vrf = vrf;
        service = 1;
        takes_ipv6 = 1;
    }

    @id(ACTION_SERVICE_DT4_ID)
    action service_dt4(bit<16> vrf) {
        meta.vrf = vrf;
        service = 1;
        takes_ipv4 = 1;
    }

    @id(ACTION_SERVICE_DT46_ID)
    action service_dt46(bit<16> vrf) {
        service_dt4(vrf);
        takes_ipv6 = 1;
    }

    @id(TABLE_SERVICE_SID_ID) @weft_owner("pfc")
    table service_sid {
        key = { meta.dst : exact @name("dst_addr"); }
        actions = { service_dt6; service_dt4; service_dt46; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SERVICE_SIDS;
    }

    apply {
        if (REACHES_ENDPOINT) {
            if (local_sid.apply().hit) {
                is_sid = 1;
            }
            if (meta.host_facing == 1) {
                domain_edge.apply(hdr, meta, std, is_sid);
                if (meta.drop_reason == DropReason.SID_FROM_OUTSIDE || meta.drop_reason == DropReason.EXTENSION_HEADERS) {
                    behavior = SID_NONE;
                    meta.mt_replicate = 0;
                }
            }
            hop_limit = hdr.outer_ipv6.isValid() ? hdr.outer_ipv6.hop_limit : hdr.ipv6.hop_limit;
            if (behavior != SID_NONE && meta.drop_reason == DropReason.NONE && hdr.srh.isValid() && hdr.ipv6.isValid() &&
                hdr.srh.segments_left < hdr.srh.last_entry) {
                pfc_learning.apply(hdr, meta, std);
            }
            if (meta.drop_reason != DropReason.NONE) {
                // What the parser has refused of an SRH (RFC 8986 section 4.1, S05-S10).
                if (behavior == SID_ENDPOINT && hdr.srh.segments_left != 0 && hop_limit <= 1) {
                    meta.drop_reason = DropReason.HOP_LIMIT;
                    meta.icmp = ICMP_TIME_EXCEEDED;
                } else if (behavior != SID_NONE && hdr.srh.segments_left != 0) {
                    meta.icmp = ICMP_SEGMENTS_LEFT;
                }
            } else if (behavior == SID_ENDPOINT) {
                if (argument == 0 && (!hdr.srh.isValid() || hdr.srh.segments_left == 0)) {
                    // RFC 8986 section 4.1.1; section 4.16.3 for USD; draft-pfc section 2 for an Ethernet frame.
                    if (pfc == 1 && hdr.inner_ethernet.isValid()) {
                        pfc_tunnel.apply(hdr, meta);
                    } else if (usd == 1 && hdr.outer_ipv6.isValid() && hdr.ipv6.isValid()) {
                        decaps = 1;
                    } else {
                        meta.drop_reason = hdr.srh.isValid() ? DropReason.SID_SEGMENTS_LEFT : DropReason.SID_UPPER_LAYER;
                        meta.icmp = ICMP_UPPER_LAYER;
                    }
                } else if (hop_limit <= 1) {
                    meta.drop_reason = DropReason.HOP_LIMIT;
                    meta.icmp = ICMP_TIME_EXCEEDED;
                } else if (argument == 1) {
                    meta.dst = shifted;
                    if (hdr.outer_ipv6.isValid()) {
                        hdr.outer_ipv6.dst_addr = shifted;
                    } else {
                        hdr.ipv6.dst_addr = shifted;
                    }
                } else {
                    hdr.srh.segments_left = hdr.srh.segments_left - 1;
                    hdr.outer_ipv6.dst_addr = meta.next_segment;
                    meta.dst = meta.next_segment;
                    // RFC 8986 section 4.16.1.
                    if (psp == 1 && hdr.srh.segments_left == 0) {
                        hdr.outer_ipv6.next_header = hdr.srh.next_header;
                        hdr.outer_ipv6.payload_len = hdr.outer_ipv6.payload_len - 8 - (((bit<16>)hdr.srh.hdr_ext_len) << 3);
                        hdr.srh.setInvalid();
                        hdr.segment.pop_front(SRH_SEGMENTS);
                        hdr.srh_tlvs.setInvalid();
                    }
                    if (meta.routed == 0) {
                        service_sid.apply();
                    }
                    if (service == 1) {
                        behavior = SID_DECAPS;
                    }
                }
            }
            if (behavior == SID_DECAPS && meta.drop_reason == DropReason.NONE) {
                if (hdr.srh.isValid() && hdr.srh.segments_left != 0) {
                    meta.drop_reason = DropReason.SID_SEGMENTS_LEFT;
                    meta.icmp = ICMP_SEGMENTS_LEFT;
                } else if (!hdr.outer_ipv6.isValid() || !hdr.ipv6.isValid() ||
                           (hdr.ipv4.isValid() ? takes_ipv4 : takes_ipv6) == 0) {
                    meta.drop_reason = DropReason.SID_UPPER_LAYER;
                    meta.icmp = ICMP_UPPER_LAYER;
                } else {
                    decaps = 1;
                }
            }
            if (decaps == 1) {
                meta.dst = hdr.ipv6.dst_addr;
                meta.decapsulated = 1;
                decapsulate.apply(hdr, meta);
            }
            if (meta.mt_replicate == 1 && meta.drop_reason == DropReason.NONE) {
                if (!hdr.outer_ipv6.isValid()) {
                    meta.drop_reason = DropReason.SID_UPPER_LAYER;
                } else if (hdr.outer_ipv6.src_addr != tree_source) {
                    meta.drop_reason = DropReason.MT_NOT_SOURCE;
                } else if (hdr.outer_ipv6.hop_limit <= 1) {
                    meta.drop_reason = DropReason.HOP_LIMIT;
                } else {
                    hdr.outer_ipv6.hop_limit = hdr.outer_ipv6.hop_limit - 1;
                }
            }
        }
    }
}

// H.Encaps (RFC 8986 section 5.1) of ipv6 into outer_ipv6 and an SRH with room for n segments;
// the caller fills the Segment List. A macro, since a header stack's size is fixed when compiled.
#define H_ENCAPS(n, source, sid)                                             \
    if (hdr.outer_ipv6.isValid()) {                                          \
        meta.drop_reason = DropReason.ENCAPS_TWICE;                          \
    }                                                                        \
    hdr.outer_ipv6.setValid();                                               \
    hdr.outer_ipv6.version = 6;                                              \
    hdr.outer_ipv6.dscp = hdr.ipv6.dscp;                                     \
    hdr.outer_ipv6.ecn = hdr.ipv6.ecn;                                       \
    hdr.outer_ipv6.payload_len = hdr.ipv6.payload_len + 40 + 8 + 16 * n;     \
    hdr.outer_ipv6.next_header = PROTO_ROUTING;                              \
    hdr.outer_ipv6.hop_limit = DEFAULT_HOP_LIMIT;                            \
    hdr.outer_ipv6.src_addr = source;                                        \
    hdr.outer_ipv6.dst_addr = sid;                                           \
    hdr.srh.setValid();                                                      \
    hdr.srh.next_header = PROTO_IPV6;                                        \
    hdr.srh.hdr_ext_len = 2 * n;                                             \
    hdr.srh.routing_type = ROUTING_TYPE_SRH;                                 \
    hdr.srh.segments_left = n - 1;                                           \
    hdr.srh.last_entry = n - 1;                                              \
    hdr.srh.flags = 0;                                                       \
    hdr.srh.tag = 0;                                                         \
    meta.dst = sid;                                                          \
    meta.encapsulated = 1;

// What there is to say of all encapsulations. The flow label of the outer header: one per inner flow, so that ECMP in the middle of the
// network spreads by inner flows (RFC 6437, RFC 8754 section 5.5), and the slice.
control OuterFlowLabel(inout headers_t hdr, inout metadata_t meta) {
    apply {
        if (meta.encapsulated == 1) {
            bit<32> flow = 0;
            // PFC frames of a tunnel have one way.
            if (hdr.ipv6.isValid()) {
                hash(flow, HashAlgorithm.crc32, 32w0,
                     { hdr.ipv6.src_addr, hdr.ipv6.dst_addr, 12w0, hdr.ipv6.flow_label, hdr.ipv6.next_header, meta.l4_ports },
                     64w0x100000000);
            }
            // Whoever encapsulated counted an IPv6 header.
            if (hdr.ipv4.isValid()) {
                hdr.outer_ipv6.payload_len = hdr.outer_ipv6.payload_len - 40 + IPV4_OCTETS;
                if (hdr.srh.isValid()) {
                    hdr.srh.next_header = PROTO_IPV4;
                } else {
                    hdr.outer_ipv6.next_header = PROTO_IPV4;
                }
            }
            hdr.outer_ipv6.flow_label = (flow[19:0] & ~meta.slice_mask) | (meta.outer_slice & meta.slice_mask);
        }
    }
}

// Steering into SRv6 policies by inner destination (RFC 9256 section 8.4).
control Headend(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {

    @id(ACTION_H_ENCAPS_1_ID)
    action h_encaps_1(bit<128> source, bit<128> s1) {
        H_ENCAPS(1, source, s1)
        hdr.segment[0].setValid();
        hdr.segment[0].sid = s1;
    }

    @id(ACTION_H_ENCAPS_2_ID)
    action h_encaps_2(bit<128> source, bit<128> s1, bit<128> s2) {
        H_ENCAPS(2, source, s1)
        hdr.segment[0].setValid();
        hdr.segment[1].setValid();
        hdr.segment[0].sid = s2;
        hdr.segment[1].sid = s1;
    }

    @id(ACTION_H_ENCAPS_3_ID)
    action h_encaps_3(bit<128> source, bit<128> s1, bit<128> s2, bit<128> s3) {
        H_ENCAPS(3, source, s1)
        hdr.segment[0].setValid();
        hdr.segment[1].setValid();
        hdr.segment[2].setValid();
        hdr.segment[0].sid = s3;
        hdr.segment[1].sid = s2;
        hdr.segment[2].sid = s1;
    }

    // A tenant's traffic into a policy of sr_policy, which others may use too; sid is the far end's End.DT6 for the tenant.
    // priority is the queue here.
    @id(ACTION_VPN_STEER_ID) @weft_owner("pfc")
    action vpn_steer(@refers_to(sr_policy, policy) bit<16> policy, bit<128> sid, bit<20> slice, bit<6> dscp, bit<3> class, bit<3> priority) {
        meta.policy = policy;
        meta.service_sid = sid;
        meta.outer_slice = slice;
        meta.outer_dscp = dscp;
        meta.classed = 1;
        meta.class = class;
        std.priority = priority;
    }

    @id(TABLE_SRV6_POLICY_ID)
    table srv6_policy {
        key = {
            meta.vrf : exact @name("vrf");
            meta.dst : lpm @name("dst_addr");
        }
        actions = { h_encaps_1; h_encaps_2; h_encaps_3; vpn_steer; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SRV6_POLICIES;
    }

    apply {
        if (meta.drop_reason == DropReason.NONE && meta.mt_replicate == 0 && meta.bypass == 0 &&
            hdr.ipv6.isValid() && !hdr.outer_ipv6.isValid()) {
            srv6_policy.apply();
        }
    }
}
