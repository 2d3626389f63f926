// The controller's packets: out of a port or into the aggregation, and in with what the switch reports.

control PacketOut(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        if (hdr.packet_out.op == PacketOutOp.SEND) {
            std.egress_spec = hdr.packet_out.egress_port[8:0];
            meta.bypass = 1;
        } else if ((hdr.packet_out.op != PacketOutOp.POLL && hdr.packet_out.op != PacketOutOp.STATE) ||
                   hdr.packet_out.branch >= MT_BRANCHES || std.packet_length != PACKET_OUT_OCTETS) {
            meta.drop_reason = DropReason.PACKET_OUT;
        }
    }
}

// The header of a packet-in, before the packet as it is.
control PacketIn(inout headers_t hdr, inout metadata_t meta) {
    apply {
        hdr.packet_out.setInvalid();
        hdr.packet_in.setValid();
        hdr.packet_in.ingress_port = 7w0 ++ meta.ingress_port;
        hdr.packet_in.reason = meta.packet_in;
        hdr.packet_in.group = meta.mt_group;
        hdr.packet_in.branch = meta.branch;
        hdr.packet_in.epoch = meta.epoch;
        hdr.packet_in.flags = meta.state_flags;
        hdr.packet_in.ack_psn = meta.state_ack_psn;
        hdr.packet_in.rnr_timer = meta.state_rnr_timer;
        hdr.packet_in.msn = meta.state_msn;
        hdr.packet_in.cnp_count = meta.state_cnp_count;
        hdr.packet_in.last_psn = meta.state_last_psn;
        hdr.packet_in.cnp_total = meta.state_cnp_total;
        hdr.packet_in.cnp_branch = meta.state_cnp_branch;
    }
}
