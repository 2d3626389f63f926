// Which packets a switch looks at: IPv6 and IPv4, for its own MAC, from a host only with an address of its own; LLDP; and what
// hosts say of themselves as neighbors.
control Admission(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    Discovery() discovery;
    NeighborMessage() neighbor_message;
    NeighborAnswer() neighbor_answer;
    VerifyIpv4() verify_ipv4;
    bit<1>   guarded = 0;            // the source must be one that the port may have
    bit<128> src_addr = 0;
    bit<32>  project = 0;

    // host_facing: the port leads out of the SR domain. Its packets pass the source guard and the domain's edge.
    @id(ACTION_SET_PORT_ID)
    action set_port(bit<1> host_facing, bit<16> vrf) {
        meta.host_facing = host_facing;
        meta.vrf = vrf;
    }

    // A port without an entry leads out of the domain, to no known host: the source guard drops all that it receives.
    @id(TABLE_PORT_ID)
    table port {
        key = { std.ingress_port : exact @name("port"); }
        actions = { set_port; }
        const default_action = set_port(1, 0);
        size = PORTS;
    }

    @id(ACTION_ACCEPT_STATION_ID)
    action accept_station() { }

    @id(ACTION_DROP_NOT_MY_STATION_ID)
    action drop_not_my_station() {
        meta.drop_reason = DropReason.NOT_MY_STATION;
    }

    @id(TABLE_MY_STATION_ID)
    table my_station {
        key = { hdr.ethernet.dst_addr : exact @name("dst_addr"); }
        actions = { accept_station; @defaultonly drop_not_my_station; }
        const default_action = drop_not_my_station();
        size = PORTS;
    }

    @id(ACTION_ALLOW_SOURCE_ID)
    action allow_source() { }

    // Of a host of an isolated project.
    @id(ACTION_ALLOW_SOURCE_OF_ID)
    action allow_source_of(@refers_to(isolation, project) bit<32> of) {
        project = of;
    }

    @id(ACTION_DROP_SOURCE_GUARD_ID)
    action drop_source_guard() {
        meta.drop_reason = DropReason.SOURCE_GUARD;
    }

    // BCP 38 at the domain's edge (draft section 9).
    @id(TABLE_SOURCE_GUARD_ID)
    table source_guard {
        key = {
            std.ingress_port : exact @name("port");
            src_addr         : lpm @name("src_addr");
        }
        actions = { allow_source; allow_source_of; @defaultonly drop_source_guard; }
        const default_action = drop_source_guard();
        size = SOURCE_PREFIXES;
    }

    @id(ACTION_ALLOW_DESTINATION_ID)
    action allow_destination() { }

    @id(ACTION_DROP_ISOLATED_ID)
    action drop_isolated() {
        meta.drop_reason = DropReason.ISOLATED;
    }

    // Where hosts may send to, by what the source guard says of them; 0 are those of no isolated project. What counts
    // is where the packet ends, whatever SIDs it passes. A VRF keeps its own packets in.
    @id(TABLE_ISOLATION_ID)
    table isolation {
        key = {
            project           : exact @name("project");
            hdr.ipv6.dst_addr : lpm @name("dst_addr");
        }
        actions = { allow_destination; drop_isolated; @defaultonly NoAction; }
        const default_action = NoAction();
        size = ISOLATED_PREFIXES;
    }

    apply {
        if (REACHES_ENDPOINT) {
            src_addr = hdr.outer_ipv6.isValid() ? hdr.outer_ipv6.src_addr : hdr.ipv6.src_addr;
            if ((!hdr.ipv6.isValid() && !hdr.outer_ipv6.isValid()) ||
                (hdr.outer_ipv6.isValid() && hdr.outer_ipv6.version != 6) ||
                (hdr.ipv6.isValid() && hdr.ipv6.version != 6)) {
                meta.drop_reason = DropReason.NOT_IPV6;
                if (hdr.ethernet.ether_type == ETHERTYPE_LLDP) {
                    discovery.apply(hdr, meta, std);
                }
            } else {
                if (hdr.ipv4.isValid() && !hdr.outer_ipv6.isValid()) {
                    verify_ipv4.apply(hdr, meta);
                }
                if (meta.icmp_type[7:7] == 1 && !hdr.outer_ipv6.isValid() && meta.drop_reason == DropReason.NONE) {
                    neighbor_message.apply(hdr, meta, std);
                    if (meta.nd.message == ND_NONE && hdr.arp.isValid()) {
                        meta.nd.message = ND_REFUSED;
                        meta.drop_reason = DropReason.NOT_IPV6;
                    }
                }
                if (meta.nd.message != ND_NONE) {
                    guarded = meta.nd.message == ND_REFUSED ? 1w0 : 1w1;
                } else if (my_station.apply().hit) {
                    port.apply();
                    guarded = meta.host_facing;
                }
                if (guarded == 1) {
                    source_guard.apply();
                    if (meta.nd.message != ND_NONE) {
                        neighbor_answer.apply(hdr, meta, std);
                    } else {
                        // Nor may a host hide another's address inside an encapsulation of its own. That of IPv4 is table
                        // mt_source's to judge.
                        if (hdr.outer_ipv6.isValid() && hdr.ipv6.isValid() && !hdr.ipv4.isValid() &&
                            hdr.ipv6.src_addr != src_addr) {
                            meta.drop_reason = DropReason.SOURCE_GUARD;
                        }
                        // Or its own IPv4 address where it is not one.
                        if (IS_MAPPED(src_addr) && !hdr.ipv4.isValid()) {
                            meta.drop_reason = DropReason.MAPPED_ADDRESS;
                        }
                        if (meta.vrf == 0 && hdr.ipv6.isValid() && meta.drop_reason == DropReason.NONE) {
                            isolation.apply();
                        }
                    }
                }
            }
        }
    }
}

// A packet that SIDs lead to a host's port ends there, whatever its destination is. Where projects are isolated, that is the
// host's own: at ingress the destination alone was judged.
control Delivery(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {

    @id(ACTION_DELIVER_ID)
    action deliver() { }

    @id(ACTION_DROP_DELIVERY_ID)
    action drop_delivery() {
        meta.drop_reason = DropReason.ISOLATED;
    }

    @id(TABLE_DELIVERY_ID)
    table delivery {
        key = {
            std.egress_spec   : exact @name("port");
            hdr.ipv6.dst_addr : lpm @name("dst_addr");
        }
        actions = { deliver; drop_delivery; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SOURCE_PREFIXES;
    }

    apply {
        if ((meta.decapsulated == 1 || hdr.outer_ipv6.isValid()) && meta.drop_reason == DropReason.NONE && hdr.ipv6.isValid() &&
            meta.mt_replicate == 0 && meta.bypass == 0) {
            delivery.apply();
        }
    }
}
