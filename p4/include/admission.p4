// Which packets a switch looks at: IPv6, for its own MAC, from a host only with an address of its own; and LLDP.
control Admission(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    Discovery() discovery;
    bit<128> src_addr = 0;

    // host_facing: the port leads out of the SR domain. Its packets pass the source guard and the domain's edge.
    @id(0x01000040)
    action set_port(bit<1> host_facing, bit<16> vrf) {
        meta.host_facing = host_facing;
        meta.vrf = vrf;
    }

    // A port without an entry leads out of the domain, to no known host: the source guard drops all that it receives.
    @id(0x02000040)
    table port {
        key = { std.ingress_port : exact @name("port"); }
        actions = { set_port; }
        const default_action = set_port(1, 0);
        size = PORTS;
    }

    @id(0x01000041)
    action accept_station() { }

    @id(0x01000042)
    action drop_not_my_station() {
        meta.drop_reason = DropReason.NOT_MY_STATION;
    }

    @id(0x02000041)
    table my_station {
        key = { hdr.ethernet.dst_addr : exact @name("dst_addr"); }
        actions = { accept_station; @defaultonly drop_not_my_station; }
        const default_action = drop_not_my_station();
        size = PORTS;
    }

    @id(0x01000043)
    action allow_source() { }

    @id(0x01000044)
    action drop_source_guard() {
        meta.drop_reason = DropReason.SOURCE_GUARD;
    }

    // BCP 38 at the domain's edge (draft section 9).
    @id(0x02000042)
    table source_guard {
        key = {
            std.ingress_port : exact @name("port");
            src_addr         : lpm @name("src_addr");
        }
        actions = { allow_source; @defaultonly drop_source_guard; }
        const default_action = drop_source_guard();
        size = SOURCE_PREFIXES;
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
                if (my_station.apply().hit) {
                    port.apply();
                    if (meta.host_facing == 1) {
                        source_guard.apply();
                        // Nor may a host hide another's address inside an encapsulation of its own.
                        if (hdr.outer_ipv6.isValid() && hdr.ipv6.isValid() && hdr.ipv6.src_addr != src_addr) {
                            meta.drop_reason = DropReason.SOURCE_GUARD;
                        }
                    }
                }
            }
        }
    }
}
