// What a packet is when it arrives: sound, of which class, and where.

// A condition of the controls that look at SIDs: a SID may have to answer an SRH that the parser has refused.
#define REACHES_ENDPOINT                                                     \
    (meta.drop_reason == DropReason.NONE || meta.drop_reason == DropReason.PARSE_SRH_LENGTH || \
     meta.drop_reason == DropReason.PARSE_SEGMENTS_LEFT)

// The drop reason of a parser error.
control ParserVerdict(inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        if (std.parser_error != error.NoError) {
            if (std.parser_error == error.PacketTooShort) {
                meta.drop_reason = DropReason.PARSE_TRUNCATED;
            } else if (std.parser_error == error.SrhLength) {
                meta.drop_reason = DropReason.PARSE_SRH_LENGTH;
            } else if (std.parser_error == error.SegmentsLeft) {
                meta.drop_reason = DropReason.PARSE_SEGMENTS_LEFT;
            } else if (std.parser_error == error.TlvLength) {
                meta.drop_reason = DropReason.PARSE_TLV_LENGTH;
            } else if (std.parser_error == error.TlvReceivers) {
                meta.drop_reason = DropReason.PARSE_TLV_RECEIVERS;
            } else if (std.parser_error == error.UdpLength) {
                meta.drop_reason = DropReason.PARSE_UDP_LENGTH;
            } else {
                meta.drop_reason = DropReason.PARSE_OTHER;
            }
        }
    }
}

// Destination and DSCP of the outermost IPv6 header.
control Outermost(inout headers_t hdr, inout metadata_t meta) {
    apply {
        if (hdr.outer_ipv6.isValid()) {
            meta.dst = hdr.outer_ipv6.dst_addr;
            meta.dscp = hdr.outer_ipv6.dscp;
        } else {
            meta.dst = hdr.ipv6.dst_addr;
            meta.dscp = hdr.ipv6.dscp;
        }
    }
}

// A frame that ends before its RoCEv2 packet does: trimmed packets and those of MRC may, all others are truncated.
control CutPacket(inout headers_t hdr, inout metadata_t meta) {
    apply {
        if (meta.cut == 1 && meta.trimmed == 0 && meta.drop_reason == DropReason.NONE &&
            (hdr.bth.opcode & OPCODE_MRC_MASK) != OPCODE_MRC) {
            meta.drop_reason = hdr.udp.length == hdr.ipv6.payload_len ? DropReason.PARSE_TRUNCATED : DropReason.PARSE_UDP_LENGTH;
        }
    }
}

// This switch, and the port by which the packet came.
control Node(inout metadata_t meta, inout standard_metadata_t std) {

    @id(COUNTER_PORT_RX_ID)
    counter<bit<9>>(PORTS, CounterType.packets_and_bytes) port_rx;

    // Who this switch is: its loopback, and the TLV type that stands for End.MT.
    @id(ACTION_SET_NODE_ID)
    action set_node(bit<128> address, bit<8> tlv_type) {
        meta.node_address = address;
        meta.tlv_type = tlv_type;
    }

    @id(TABLE_NODE_ID)
    table node {
        key = {}
        actions = { set_node; @defaultonly NoAction; }
        default_action = NoAction();
        size = 1;
    }

    apply {
        meta.ingress_port = std.ingress_port;
        port_rx.count(std.ingress_port);
        node.apply();
    }
}
