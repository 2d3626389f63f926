// Neighbor discovery of hosts (RFC 4861, and RFC 826 for IPv4), at the ports that have an entry. The switch answers for the
// gateway of a port, and for neighbors in its prefix that it knows: what a host has resolved outlives the controller. All else of
// it that may tell who is where goes to the controller, at a rate. Messages have one hop: nothing of them is forwarded. What a
// host may not say is dropped, each kind counted apart: RA and Redirect (RFC 6105), reports of multicast listeners, which a
// routed port has no use for. The parser has made a solicitation of a request of ARP, and an advertisement of a reply.

// What becomes of a message of ICMPv6 or ARP.
const bit<3> ND_NONE     = 0;    // it is none of these: as any packet
const bit<3> ND_REFUSED  = 1;
const bit<3> ND_SOLICIT  = 2;
const bit<3> ND_ECHO     = 3;
const bit<3> ND_REPORT   = 4;    // to the controller

// Whose the target is.
const bit<2> ND_UNKNOWN  = 0;
const bit<2> ND_GATEWAY  = 1;
const bit<2> ND_NEIGHBOR = 2;

// What the message is, before its source is looked at.
control NeighborMessage(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {

    // At a port without an entry there is no neighbor discovery. Rate limit of what goes to the controller: one message an
    // interval on average, a burst at once. Microseconds.
    @id(ACTION_SET_ND_PORT_ID)
    action set_nd_port(bit<48> spacing, bit<48> burst_time) {
        meta.nd.interval = spacing;
        meta.nd.tolerance = burst_time;
    }

    @id(TABLE_ND_PORT_ID)
    table nd_port {
        key = { std.ingress_port : exact @name("port"); }
        actions = { set_nd_port; @defaultonly NoAction; }
        const default_action = NoAction();
        size = PORTS;
    }

    // An address of this switch, which is the gateway of hosts.
    @id(ACTION_ND_GATEWAY_ID)
    action nd_gateway(bit<48> mac) {
        meta.nd.whose = ND_GATEWAY;
        meta.nd.mac = mac;
    }

    // A host in the prefix of hosts here, which is not at their port: this switch forwards to it (RFC 4389).
    @id(ACTION_ND_NEIGHBOR_ID)
    action nd_neighbor(bit<48> mac, bit<9> port) {
        meta.nd.whose = ND_NEIGHBOR;
        meta.nd.mac = mac;
        meta.nd.port = port;
    }

    @id(TABLE_ND_TARGET_ID)
    table nd_target {
        key = { meta.nd.target : exact @name("target"); }
        actions = { nd_gateway; nd_neighbor; @defaultonly NoAction; }
        const default_action = NoAction();
        size = ND_TARGETS;
    }

    apply {
        if (nd_port.apply().hit) {
            meta.nd.target = hdr.solicitation.isValid() ? hdr.solicitation.target : hdr.ipv6.dst_addr;
            nd_target.apply();
            if (meta.icmp_type == ICMP_ECHO_REQUEST) {
                if (hdr.echo.isValid() && meta.nd.whose == ND_GATEWAY) {
                    meta.nd.message = ND_ECHO;
                }
            } else if (meta.icmp_type >= ICMP_LISTENER_FIRST && meta.icmp_type <= ICMP_LISTENER_LAST ||
                       meta.icmp_type == ICMP_LISTENER_REPORT) {
                meta.nd.message = ND_REFUSED;
                meta.drop_reason = DropReason.LISTENER_REPORT;
            } else if (meta.icmp_type == ICMP_ROUTER_ADVERTISEMENT || meta.icmp_type == ICMP_REDIRECT) {
                meta.nd.message = ND_REFUSED;
                meta.drop_reason = DropReason.ND_ROUTER;
            } else if (meta.icmp_type == ICMP_ROUTER_SOLICITATION || meta.icmp_type == ICMP_NEIGHBOR_ADVERTISEMENT ||
                       meta.icmp_type == ICMP_NEIGHBOR_SOLICITATION) {
                meta.nd.message = meta.icmp_type == ICMP_NEIGHBOR_SOLICITATION ? ND_SOLICIT : ND_REPORT;
                // RFC 4861 sections 6.1 and 7.1.
                if (hdr.ipv6.hop_limit != ND_HOP_LIMIT || meta.extensions != 0 ||
                    (meta.nd.message == ND_SOLICIT && !hdr.solicitation.isValid() && !hdr.arp.isValid())) {
                    meta.nd.message = ND_REFUSED;
                    meta.drop_reason = DropReason.ND_INVALID;
                }
            }
        }
    }
}

// The answer, once it is known whether the port may have the source.
control NeighborAnswer(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    register<bit<48>, bit<32>>(PORTS) nd_next;       // by port: when the next message to the controller is due

    @id(COUNTER_ND_EVENTS_ID)
    counter<NdEvent>(8, CounterType.packets) nd_events;

    bit<16> sum = 0;
    bit<17> wide = 0;
    bit<48> next = 0;
    bit<1>  link_local = 0;
    bit<1>  detects = 0;             // duplicate addresses: the source is ::
    bit<1>  admitted = 0;
    bit<1>  invalid = 0;
    bit<1>  announces = 0;           // an address of the sender's own (RFC 5227 section 3)
    NdEvent event = NdEvent.NONE;

    apply {
        link_local = hdr.ipv6.src_addr[127:118] == 10w0x3fa ? 1w1 : 1w0;
        detects = hdr.ipv6.src_addr == 0 ? 1w1 : 1w0;
        admitted = meta.drop_reason == DropReason.NONE ? 1w1 : link_local;
        meta.drop_reason = DropReason.NONE;
        if (meta.nd.message == ND_SOLICIT && hdr.arp.isValid()) {
            detects = hdr.arp.sender == 0 ? 1w1 : 1w0;
            announces = hdr.arp.sender == hdr.arp.target ? 1w1 : 1w0;
            // Of a multicast or broadcast address.
            invalid = hdr.arp.sender[31:29] == 7 || hdr.arp.target[31:29] == 7 ? 1w1 : 1w0;
        } else if (meta.nd.message == ND_SOLICIT) {
            hash(sum, HashAlgorithm.csum16, 16w0,
                 { hdr.ipv6.src_addr, hdr.ipv6.dst_addr, 16w0, hdr.ipv6.payload_len, 24w0, PROTO_ICMPV6,
                   hdr.solicitation.type, hdr.solicitation.code, hdr.solicitation.checksum, hdr.solicitation.reserved,
                   hdr.solicitation.target, hdr.solicitation.options }, 32w0x10000);
            if (sum != 0 || hdr.solicitation.code != 0 || hdr.solicitation.target[127:120] == 0xff ||
                hdr.ipv6.src_addr[127:120] == 0xff || hdr.ipv6.payload_len[2:0] != 0) {
                invalid = 1;
            }
        }
        if (meta.nd.message == ND_SOLICIT) {
            if (invalid == 1) {
                meta.drop_reason = DropReason.ND_INVALID;
            } else if (announces == 1) {
                meta.nd.message = ND_REPORT;
            } else if (meta.nd.whose == ND_GATEWAY && (admitted == 1 || detects == 1)) {
                event = detects == 1 ? NdEvent.DEFENDED : NdEvent.GATEWAY;
            } else if (admitted == 0 || detects == 1) {
                meta.nd.message = ND_REPORT;
            } else if (meta.nd.whose == ND_NEIGHBOR && meta.nd.port != std.ingress_port) {
                event = NdEvent.NEIGHBOR;
            } else {
                meta.drop_reason = DropReason.ND_TARGET;
            }
        } else if (meta.nd.message == ND_ECHO) {
            if (admitted == 1) {
                event = NdEvent.ECHO;
            } else {
                meta.drop_reason = DropReason.SOURCE_GUARD;
            }
        }

        if (event == NdEvent.ECHO) {
            // From type 128 to 129, of IPv4 from 8 to 0 (RFC 1624, with the carry).
            wide = (1w0 ++ hdr.echo.checksum) + (hdr.ipv4.isValid() ? 17w0x0800 : 17w0xfeff);
            hdr.echo.checksum = wide[15:0] + (15w0 ++ wide[16:16]);
            hdr.echo.type = hdr.ipv4.isValid() ? ICMPV4_ECHO_REPLY : ICMP_ECHO_REPLY;
            hdr.ipv6.dst_addr = hdr.ipv6.src_addr;
            hdr.ipv6.src_addr = meta.nd.target;
            hdr.ipv6.hop_limit = DEFAULT_HOP_LIMIT;
            hdr.ethernet.dst_addr = hdr.ethernet.src_addr;
        } else if (event != NdEvent.NONE && hdr.arp.isValid()) {
            hdr.arp.operation = ARP_REPLY;
            hdr.arp.target_mac = hdr.ethernet.src_addr;
            hdr.arp.target = hdr.arp.sender;
            hdr.arp.sender_mac = meta.nd.mac;
            hdr.arp.sender = meta.nd.target[31:0];
            hdr.ethernet.dst_addr = hdr.ethernet.src_addr;
        } else if (event != NdEvent.NONE) {
            hdr.solicitation.setInvalid();
            hdr.advertisement.setValid();
            hdr.advertisement.type = ICMP_NEIGHBOR_ADVERTISEMENT;
            hdr.advertisement.code = 0;
            hdr.advertisement.router = meta.nd.whose == ND_GATEWAY ? 1w1 : 1w0;
            hdr.advertisement.solicited = ~detects;
            hdr.advertisement.override = meta.nd.whose == ND_GATEWAY ? 1w1 : 1w0;
            hdr.advertisement.reserved = 0;
            hdr.advertisement.target = meta.nd.target;
            hdr.advertisement.option_type = ND_TARGET_MAC;
            hdr.advertisement.option_length = 1;
            hdr.advertisement.mac = meta.nd.mac;
            hdr.ethernet.dst_addr = hdr.ethernet.src_addr;
            hdr.ipv6.dst_addr = hdr.ipv6.src_addr;
            if (detects == 1) {
                hdr.ethernet.dst_addr = ALL_NODES_MAC;
                hdr.ipv6.dst_addr = ALL_NODES;
            }
            hdr.ipv6.src_addr = meta.nd.target;
            hdr.ipv6.hop_limit = ND_HOP_LIMIT;
            hdr.ipv6.flow_label = 0;
            hdr.ipv6.payload_len = ND_ADVERTISEMENT_OCTETS;
            hash(sum, HashAlgorithm.csum16, 16w0,
                 { hdr.ipv6.src_addr, hdr.ipv6.dst_addr, 16w0, hdr.ipv6.payload_len, 24w0, PROTO_ICMPV6,
                   hdr.advertisement.type, hdr.advertisement.code, 16w0, hdr.advertisement.router,
                   hdr.advertisement.solicited, hdr.advertisement.override, hdr.advertisement.reserved,
                   hdr.advertisement.target, hdr.advertisement.option_type, hdr.advertisement.option_length,
                   hdr.advertisement.mac }, 32w0x10000);
            hdr.advertisement.checksum = sum;
            truncate((bit<32>)(54 + ND_ADVERTISEMENT_OCTETS));
        }
        if (event != NdEvent.NONE) {
            nd_events.count(event);
            hdr.ethernet.src_addr = meta.nd.mac;
            std.egress_spec = std.ingress_port;
            meta.link_local = 1;
            meta.bypass = 1;
        } else if (meta.nd.message == ND_REPORT && meta.drop_reason == DropReason.NONE) {
            nd_next.read(next, 23w0 ++ std.ingress_port);
            if (next < std.ingress_global_timestamp) {
                next = std.ingress_global_timestamp;
            }
            if (next - std.ingress_global_timestamp > meta.nd.tolerance) {
                meta.drop_reason = DropReason.ND_RATE;
            } else {
                nd_next.write(23w0 ++ std.ingress_port, next + meta.nd.interval);
                nd_events.count(NdEvent.REPORTED);
                meta.packet_in = PacketInReason.ND;
                std.egress_spec = CPU_PORT;
                meta.bypass = 1;
            }
        }
    }
}
