// ICMPv6 errors (RFC 4443). A packet that calls for one is dropped and counted as ever; then it is resubmitted as it came, and in
// its second pass it is the quotation in the error. So the error quotes what was received, as much as fits, and its checksum is
// over parsed octets only: one over the rest of a packet goes wrong on BMv2 when that is cut off.

// First pass: whether there is to be an error.
control IcmpDecision(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    register<bit<48>, bit<32>>(1) icmp_next;      // when the next error is due at the configured rate

    bit<48> interval = 0;
    bit<48> tolerance = 0;
    bit<48> next = 0;
    bit<128> dst_addr = 0;

    @id(COUNTER_ICMP_EVENTS_ID)
    counter<IcmpEvent>(8, CounterType.packets) icmp_events;

    // Rate limit (RFC 4443 section 2.4 f): one error an interval on average, burst of them at once. Microseconds.
    @id(ACTION_SET_ICMP_ID)
    action set_icmp(bit<48> spacing, bit<48> burst_time) {
        interval = spacing;
        tolerance = burst_time;
    }

    @id(TABLE_ICMP_ERRORS_ID)
    table icmp_errors {
        key = {}
        actions = { set_icmp; @defaultonly NoAction; }
        default_action = NoAction();
        size = 1;
    }

    apply {
        icmp_errors.apply();
        if (interval != 0 && meta.node_address != 0) {
            if (hdr.outer_ipv6.isValid() && meta.encapsulated == 0) {
                meta.icmp_to = hdr.outer_ipv6.src_addr;
                dst_addr = hdr.outer_ipv6.dst_addr;
            } else {
                meta.icmp_to = hdr.ipv6.src_addr;
                dst_addr = hdr.ipv6.dst_addr;
            }
            meta.icmp_pointer = 40;
            if (meta.icmp == ICMP_SEGMENTS_LEFT) {
                meta.icmp_pointer = 43;
            } else if (hdr.srh.isValid()) {
                meta.icmp_pointer = 48 + (((bit<16>)hdr.srh.hdr_ext_len) << 3);
            }
            if (meta.icmp_error == 1 || meta.decapsulated == 1 || meta.icmp_to == 0 || IS_MAPPED(meta.icmp_to) || meta.icmp_to[127:120] == 0xff ||
                dst_addr[127:120] == 0xff) {
                icmp_events.count(IcmpEvent.UNANSWERABLE);
            } else {
                icmp_next.read(next, 0);
                if (next < std.ingress_global_timestamp) {
                    next = std.ingress_global_timestamp;
                }
                if (next - std.ingress_global_timestamp > tolerance) {
                    icmp_events.count(IcmpEvent.LIMITED);
                } else {
                    icmp_next.write(0, next + interval);
                    icmp_events.count(meta.icmp == ICMP_TIME_EXCEEDED ? IcmpEvent.TIME_EXCEEDED : IcmpEvent.PARAMETER_PROBLEM);
                    meta.pass = PASS_ICMP;
                    resubmit_preserving_field_list(RESUBMITTED);
                }
            }
        }
    }
}

// Second pass: the packet becomes the error.
control IcmpError(inout headers_t hdr, inout metadata_t meta) {
    bit<16> sum;

    apply {
        if (meta.pass == PASS_ICMP) {
            hdr.ethernet.ether_type = ETHERTYPE_IPV6;
            hdr.ipv6.setValid();
            hdr.ipv6.version = 6;
            hdr.ipv6.dscp = 0;
            hdr.ipv6.ecn = 0;
            hdr.ipv6.flow_label = 0;
            hdr.ipv6.payload_len = ICMP_HEADERS - 40 + meta.quoted;
            hdr.ipv6.next_header = PROTO_ICMPV6;
            hdr.ipv6.hop_limit = DEFAULT_HOP_LIMIT;
            hdr.ipv6.src_addr = meta.node_address;
            hdr.ipv6.dst_addr = meta.icmp_to;
            hdr.icmp_error.setValid();
            hdr.icmp_error.type = meta.icmp == ICMP_TIME_EXCEEDED ? 8w3 : 8w4;
            hdr.icmp_error.code = meta.icmp == ICMP_UPPER_LAYER ? 8w4 : 8w0;
            hdr.icmp_error.pointer = meta.icmp == ICMP_TIME_EXCEEDED ? 32w0 : 16w0 ++ meta.icmp_pointer;
            hash(sum, HashAlgorithm.csum16, 16w0,
                 { hdr.ipv6.src_addr, hdr.ipv6.dst_addr, 16w0, hdr.ipv6.payload_len, 24w0, PROTO_ICMPV6, hdr.icmp_error.type,
                   hdr.icmp_error.code, hdr.icmp_error.pointer, hdr.quoted.data }, 32w0x10000);
            hdr.icmp_error.checksum = sum;
            truncate((bit<32>)(14 + ICMP_HEADERS + ICMP_MAX_QUOTED));
            meta.icmp = ICMP_NONE;
            meta.l4_ports = 0;
        }
    }
}
