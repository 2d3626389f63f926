// The end of a packet's way: dropped and counted, or out of a port and counted.

// The last thing in ingress.
control IngressDrop(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    IcmpDecision() icmp_decision;

    @id(COUNTER_INGRESS_DROPS_ID)
    counter<DropReason>(64, CounterType.packets) ingress_drops;     // by DropReason

    apply {
        if (meta.drop_reason != DropReason.NONE) {
            ingress_drops.count(meta.drop_reason);
            if (meta.icmp != ICMP_NONE) {
                icmp_decision.apply(hdr, meta, std);
            }
            mark_to_drop(std);
        }
    }
}

// The last thing in egress.
control Departure(inout metadata_t meta, inout standard_metadata_t std) {

    @id(COUNTER_EGRESS_DROPS_ID)
    counter<DropReason>(64, CounterType.packets) egress_drops;      // by DropReason
    @id(COUNTER_PORT_TX_ID)
    counter<bit<9>>(PORTS, CounterType.packets_and_bytes) port_tx;
    @id(COUNTER_CLASS_TX_ID)
    counter<bit<12>>(QUEUES, CounterType.packets_and_bytes) class_tx;   // by egress port ++ class

    apply {
        if (meta.drop_reason != DropReason.NONE) {
            egress_drops.count(meta.drop_reason);
            mark_to_drop(std);
        } else {
            port_tx.count(std.egress_port);
            if (meta.classed == 1) {
                class_tx.count(std.egress_port ++ meta.class);
            }
        }
    }
}
