// IPv6 forwarding: longest prefix match, then a neighbor, an ECMP group, or what the packet's structured EV says.
control Routing(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    StructuredEv() structured_ev;
    bit<16> spread;
    bit<32> multiplier;

    @id(ACTION_FORWARD_ID)
    action forward(bit<9> port, @refers_to(neighbor, id) bit<16> neighbor) {
        std.egress_spec = port;
        meta.neighbor = neighbor;
        meta.routed = 1;
    }

    @id(ACTION_ECMP_GROUP_ID)
    action ecmp_group(@refers_to(ecmp, group) bit<16> group) {
        meta.ecmp = group;
    }

    // To a destination that is not below this switch: MRC packets go up by their structured EV where this switch has a field of
    // it, all others by the group.
    @id(ACTION_FORWARD_UP_ID)
    action forward_up(@refers_to(ecmp, group) bit<16> group) {
        meta.ecmp = group;
        meta.upward = 1;
    }

    @id(ACTION_DROP_NO_ROUTE_ID)
    action drop_no_route() {
        meta.drop_reason = DropReason.NO_ROUTE;
    }

    @id(TABLE_IPV6_ROUTE_ID) @weft_owner("routes")
    table ipv6_route {
        key = {
            meta.vrf : exact @name("vrf") @weft_owner("pfc");
            meta.dst : lpm @name("dst_addr");
        }
        actions = { forward; ecmp_group; forward_up; drop_no_route; }
        const default_action = drop_no_route();
        size = ROUTES;
    }

    // Tiers that share a hash would make the same choice again among the flows that an earlier one sent this way. Multiplied
    // by a number of each switch's own, and the upper bits taken, they do not (Fibonacci hashing). A CRC started
    // elsewhere would not do: it changes all flows' hashes by the same bits.
    @id(ACTION_SET_MULTIPLIER_ID)
    action set_multiplier(bit<32> odd) {
        multiplier = odd;
    }

    @id(TABLE_ECMP_HASH_ID)
    table ecmp_hash {
        key = {}
        actions = { set_multiplier; @defaultonly NoAction; }
        default_action = NoAction();
        size = 1;
    }

    @id(SELECTOR_ECMP_SELECTOR_ID)
    action_selector(HashAlgorithm.crc16, ECMP_MEMBERS, 16) ecmp_selector;

    @id(TABLE_ECMP_ID) @weft_owner("routes")
    table ecmp {
        key = {
            meta.ecmp : exact @name("group");
            spread    : selector;
        }
        actions = { forward; drop_no_route; }
        const default_action = drop_no_route();
        implementation = ecmp_selector;
        size = ECMP_GROUPS;
    }

    apply {
        if (meta.drop_reason == DropReason.NONE && meta.mt_replicate == 0 && meta.bypass == 0) {
            bit<20> flow_label;
            bit<128> src_addr;
            if (hdr.outer_ipv6.isValid()) {
                flow_label = hdr.outer_ipv6.flow_label;
                src_addr = hdr.outer_ipv6.src_addr;
            } else {
                flow_label = hdr.ipv6.flow_label;
                src_addr = hdr.ipv6.src_addr;
            }
            if (meta.routed == 0) {
                ipv6_route.apply();
                if (meta.upward == 1) {
                    structured_ev.apply(hdr, meta, std);
                }
                if (meta.ecmp != 0 && meta.routed == 0 && meta.drop_reason == DropReason.NONE) {
                    bit<32> flow;
                    bit<8> protocol = 0; // of a frame in a tunnel: it has none
                    if (hdr.ipv6.isValid()) {
                        protocol = hdr.ipv6.next_header;
                    }
                    hash(flow, HashAlgorithm.crc32, 32w0, { 12w0, flow_label, src_addr, meta.dst, protocol, meta.l4_ports }, 64w0x100000000);
                    multiplier = 0;
                    ecmp_hash.apply();
                    flow = flow * (multiplier | 1);
                    spread = flow[31:16];
                    ecmp.apply();
                }
            }

            // A packet that this switch made (an encapsulation, a receiver's copy, an ICMPv6 error) starts at its full
            // Hop Limit; one that it passes on loses one.
            if (meta.drop_reason == DropReason.NONE && meta.pass == PASS_FIRST) {
                if (hdr.outer_ipv6.isValid() && meta.encapsulated == 0) {
                    if (hdr.outer_ipv6.hop_limit <= 1) {
                        meta.drop_reason = DropReason.HOP_LIMIT;
                        meta.icmp = ICMP_TIME_EXCEEDED;
                    }
                    hdr.outer_ipv6.hop_limit = hdr.outer_ipv6.hop_limit - 1;
                } else if (hdr.ipv6.isValid()) {
                    if (hdr.ipv6.hop_limit <= 1) {
                        meta.drop_reason = DropReason.HOP_LIMIT;
                        meta.icmp = ICMP_TIME_EXCEEDED;
                    }
                    hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
                }
            }
        }
    }
}

// The link layer of the next hop.
control NextHop(inout headers_t hdr, inout metadata_t meta) {

    @id(ACTION_SET_MACS_ID)
    action set_macs(bit<48> src_addr, bit<48> dst_addr) {
        hdr.ethernet.src_addr = src_addr;
        hdr.ethernet.dst_addr = dst_addr;
    }

    @id(ACTION_DROP_NO_NEIGHBOR_ID)
    action drop_no_neighbor() {
        meta.drop_reason = DropReason.NO_NEIGHBOR;
    }

    @id(TABLE_NEIGHBOR_ID)
    table neighbor {
        key = { meta.neighbor : exact @name("id"); }
        actions = { set_macs; drop_no_neighbor; }
        const default_action = drop_no_neighbor();
        size = NEIGHBORS;
    }

    apply {
        if ((meta.pass == PASS_FIRST || meta.mt_replicate == 0) && meta.drop_reason == DropReason.NONE) {
            neighbor.apply();
        }
    }
}
