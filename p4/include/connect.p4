// Applications connect to groups by RDMA CM: what hosts send to queue pair 1 of a proxy address goes to the controller, which
// answers by packet-out. The source guard has bound the source address to the port. What has no entry is no group's data either.
control Connect(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    register<bit<48>, bit<32>>(PORTS) connect_next;  // by port: when the next message is due at the configured rate

    bit<48> interval = 0;
    bit<48> tolerance = 0;
    bit<48> next = 0;

    // Who may connect, and the rate limit of each port: one message an interval on average, a burst at once. Microseconds.
    // The group may have no tree yet, and no entry in mt_group.
    @id(ACTION_SET_CONNECT_ID)
    action set_connect(bit<16> group, bit<48> spacing, bit<48> burst_time) {
        meta.mt_group = group;
        interval = spacing;
        tolerance = burst_time;
    }

    @id(TABLE_MT_CONNECT_ID) @weft_owner("multicast")
    table mt_connect {
        key = {
            hdr.ipv6.dst_addr : exact @name("dst_addr");
            hdr.ipv6.src_addr : lpm @name("src_addr");
        }
        actions = { set_connect; @defaultonly NoAction; }
        const default_action = NoAction();
        size = MT_CONNECTS;
    }

    apply {
        if (meta.drop_reason == DropReason.NONE && meta.bypass == 0 && meta.host_facing == 1 && meta.trimmed == 0 &&
            !hdr.outer_ipv6.isValid() && hdr.bth.isValid() && hdr.icrc.isValid() &&
            hdr.bth.opcode == OPCODE_UD_SEND_ONLY && hdr.bth.dest_qpn == QPN_GSI) {
            mt_connect.apply();
            if (interval != 0) {
                connect_next.read(next, 23w0 ++ std.ingress_port);
                if (next < std.ingress_global_timestamp) {
                    next = std.ingress_global_timestamp;
                }
                if (next - std.ingress_global_timestamp > tolerance) {
                    meta.drop_reason = DropReason.CONNECT_RATE;
                } else {
                    connect_next.write(23w0 ++ std.ingress_port, next + interval);
                    meta.packet_in = PacketInReason.CONNECT;
                    std.egress_spec = CPU_PORT;
                    meta.bypass = 1;
                }
            }
        }
    }
}
