// Builds the ACK, NAK or CNP that goes upstream, from scratch: whatever packet made it due, what
// leaves is the same. Between nodes it is IPv6, also of a group of IPv4, and addressed like a receiver's (P, designated QPN), comes
// from the node's address and carries the epoch; only the source's own switch addresses the source.
control Upstream(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    Icrc() icrc;
    bit<32> new_icrc;
    MakeIpv4() make_ipv4;
    bit<128> parent_sid = 0;
    bit<32> entry_epoch = 0;

    @id(ACTION_TO_SOURCE_ID)
    action to_source(bit<128> proxy, bit<128> address, bit<24> qpn, @refers_to(neighbor, id) bit<16> neighbor) {
        hdr.ipv6.src_addr = proxy;
        hdr.ipv6.dst_addr = address;
        hdr.ipv6.flow_label = 0;
        hdr.bth.dest_qpn = qpn;
        meta.neighbor = neighbor;
    }

    @id(ACTION_TO_PARENT_ID)
    action to_parent(bit<128> proxy, bit<128> node_address, bit<32> epoch, bit<24> designated_qpn, @refers_to(neighbor, id) bit<16> neighbor) {
        hdr.ipv6.src_addr = node_address;
        hdr.ipv6.dst_addr = proxy;
        hdr.ipv6.flow_label = 4w0 ++ epoch[15:0];
        entry_epoch = epoch;
        hdr.bth.dest_qpn = designated_qpn;
        meta.neighbor = neighbor;
    }

    // A parent behind routers that know nothing of groups: IPv6 in IPv6 to its End.DT6 SID.
    @id(ACTION_TO_PARENT_ENCAPS_ID)
    action to_parent_encaps(bit<128> proxy, bit<128> node_address, bit<32> epoch, bit<24> designated_qpn,
                            bit<128> sid, @refers_to(neighbor, id) bit<16> neighbor) {
        to_parent(proxy, node_address, epoch, designated_qpn, neighbor);
        parent_sid = sid;
    }

    @id(ACTION_DROP_NO_UPSTREAM_ID)
    action drop_no_upstream() {
        meta.drop_reason = DropReason.MT_UPSTREAM;
    }

    @id(TABLE_MT_UPSTREAM_ID) @weft_owner("multicast")
    table mt_upstream {
        key = { meta.mt_group : exact @name("group") @refers_to(mt_group, group); }
        actions = { to_source; to_parent; to_parent_encaps; @defaultonly drop_no_upstream; }
        const default_action = drop_no_upstream();
        size = MT_GROUPS;
    }

    apply {
        hdr.packet_out.setInvalid();
        hdr.outer_ipv6.setInvalid();
        hdr.srh.setInvalid();
        hdr.segment.pop_front(SRH_SEGMENTS);
        hdr.srh_tlvs.setInvalid();
        hdr.ipv4.setInvalid();
        hdr.reth.setInvalid();
        hdr.payload.setInvalid();

        hdr.ethernet.setValid();
        hdr.ethernet.ether_type = ETHERTYPE_IPV6;
        hdr.ipv6.setValid();
        hdr.ipv6.version = 6;
        hdr.ipv6.dscp = 0;
        hdr.ipv6.ecn = 0;
        hdr.ipv6.next_header = PROTO_UDP;
        hdr.ipv6.hop_limit = DEFAULT_HOP_LIMIT;
        hdr.udp.setValid();
        hdr.udp.src_port = 2w3 ++ meta.mt_group[13:0];
        hdr.udp.dst_port = UDP_PORT_ROCEV2;
        hdr.udp.checksum = 0;
        hdr.bth.setValid();
        hdr.bth.solicited = 0;
        hdr.bth.migreq = 0;
        hdr.bth.pad_count = 0;
        hdr.bth.tver = 0;
        hdr.bth.pkey = 0xffff;
        hdr.bth.fecn = 0;
        hdr.bth.reserved = 0;
        hdr.bth.ack_req = 0;
        hdr.bth.reserved2 = 0;
        hdr.icrc.setValid();
        if (meta.emit == EMIT_CNP) {
            hdr.aeth.setInvalid();
            hdr.cnp.setValid();
            hdr.cnp.reserved = 0;
            hdr.bth.opcode = OPCODE_CNP;
            hdr.bth.becn = 1;
            hdr.bth.psn = 0;
            hdr.udp.length = 40;
        } else {
            hdr.cnp.setInvalid();
            hdr.aeth.setValid();
            hdr.aeth.syndrome = meta.emit_syndrome;
            hdr.aeth.msn = meta.emit_msn;
            hdr.bth.opcode = OPCODE_RC_ACKNOWLEDGE;
            hdr.bth.becn = 0;
            hdr.bth.psn = meta.emit_psn;
            hdr.udp.length = 28;
        }
        hdr.ipv6.payload_len = hdr.udp.length;

        // What waited in a queue while the entries moved to another epoch was computed for another
        // membership, and must not pass for an answer of the new one.
        entry_epoch = meta.epoch;
        mt_upstream.apply();
        if (entry_epoch != meta.epoch) {
            meta.drop_reason = DropReason.MT_EPOCH;
        }
        if (IS_MAPPED(hdr.ipv6.src_addr)) {
            make_ipv4.apply(hdr);
        }
        icrc.apply(hdr, new_icrc);
        hdr.icrc.crc = new_icrc;
        if (parent_sid != 0) {
            hdr.outer_ipv6.setValid();
            hdr.outer_ipv6.version = 6;
            hdr.outer_ipv6.dscp = 0;
            hdr.outer_ipv6.ecn = 0;
            hdr.outer_ipv6.flow_label = hdr.ipv6.flow_label;
            hdr.outer_ipv6.payload_len = hdr.ipv6.payload_len + 40;
            hdr.outer_ipv6.next_header = PROTO_IPV6;
            hdr.outer_ipv6.hop_limit = DEFAULT_HOP_LIMIT;
            hdr.outer_ipv6.src_addr = hdr.ipv6.src_addr;
            hdr.outer_ipv6.dst_addr = parent_sid;
        }
    }
}

// A clone of a response becomes what the original asked for.
control CloneRole(inout metadata_t meta) {
    apply {
        if (meta.emit == EMIT_NONE) {
            meta.emit = meta.clone_emit;
        }
    }
}
