// Discovery of links. LLDP frames (IEEE 802.1AB) go to the controller, which sends its own by packet-out. A switch without an
// entry drops them, as all that is not IPv6.
control Discovery(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    register<bit<48>, bit<32>>(PORTS) lldp_next;     // by port: when the next frame is due at the configured rate

    bit<48> interval = 0;
    bit<48> tolerance = 0;
    bit<48> next = 0;

    // Rate limit of each port: one frame an interval on average, a burst at once. Microseconds.
    @id(ACTION_SET_DISCOVERY_ID)
    action set_discovery(bit<48> spacing, bit<48> burst_time) {
        interval = spacing;
        tolerance = burst_time;
    }

    @id(TABLE_DISCOVERY_ID)
    table discovery {
        key = { hdr.ethernet.dst_addr : exact @name("dst_addr"); }
        actions = { set_discovery; @defaultonly NoAction; }
        const default_action = NoAction();
        size = LLDP_ADDRESSES;
    }

    apply {
        discovery.apply();
        if (interval != 0) {
            lldp_next.read(next, 23w0 ++ std.ingress_port);
            if (next < std.ingress_global_timestamp) {
                next = std.ingress_global_timestamp;
            }
            if (next - std.ingress_global_timestamp > tolerance) {
                meta.drop_reason = DropReason.LLDP_RATE;
            } else {
                lldp_next.write(23w0 ++ std.ingress_port, next + interval);
                meta.drop_reason = DropReason.NONE;
                meta.packet_in = PacketInReason.LLDP;
                std.egress_spec = CPU_PORT;
                meta.bypass = 1;
            }
        }
    }
}
