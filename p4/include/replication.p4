// RDMA multicast, egress: what each copy of a tree's packet becomes.

// The copies of a fan-out group take one receiver each. P4 has no run-time index into a stack.
#define TAKE_RECEIVER(i)                                     \
    if (std.egress_rid == RID_FANOUT + i) {                  \
        address = hdr.mt_receiver[i].address;                \
        qpn = hdr.mt_receiver[i].qpn;                        \
    }

#define TAKE_RECEIVER_OF_4(i)                                \
    TAKE_RECEIVER(i) else TAKE_RECEIVER(i+1) else TAKE_RECEIVER(i+2) else TAKE_RECEIVER(i+3)

#define TAKE_RECEIVER_OF_8(i)                                \
    if (std.egress_rid < RID_FANOUT + i + 4) { TAKE_RECEIVER_OF_4(i) } else { TAKE_RECEIVER_OF_4(i+4) }

control Replication(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    Decapsulate() decapsulate;
    Icrc() icrc;
    bit<32> new_icrc;
    UdpChecksum() udp_checksum;

    bit<128> address = 0;
    bit<24>  qpn = 0;
    bit<1>   rewrite_source = 0;
    bit<1>   deliver = 0;
    bit<128> proxy = 0;

    // RFC 9524 section 2.2: DA becomes the branch's downstream SID.
    @id(ACTION_TO_CHILD_ID)
    action to_child(bit<128> sid, @refers_to(neighbor, id) bit<16> neighbor) {
        hdr.outer_ipv6.dst_addr = sid;
        meta.neighbor = neighbor;
    }

    // Draft section 6.2, S07-S09. rewrite_source makes the proxy address the source, as an
    // unmodified RC QP expects.
    @id(ACTION_TO_RECEIVER_ID)
    action to_receiver(bit<128> receiver, bit<24> receiver_qpn, bit<1> proxy_source) {
        address = receiver;
        qpn = receiver_qpn;
        rewrite_source = proxy_source;
        deliver = 1;
    }

    // The same where receivers registered memory at different addresses.
    @id(ACTION_TO_RECEIVER_RETH_ID)
    action to_receiver_reth(bit<128> receiver, bit<24> receiver_qpn, bit<1> proxy_source, bit<64> va_offset, bit<32> rkey) {
        to_receiver(receiver, receiver_qpn, proxy_source);
        hdr.reth.va = hdr.reth.va + va_offset;
        hdr.reth.rkey = rkey;
    }

    // The same two where the receiver's queue pair counts other PSNs than the group's source: it chose its first one by itself.
    @id(ACTION_TO_RECEIVER_PSN_ID)
    action to_receiver_psn(bit<128> receiver, bit<24> receiver_qpn, bit<1> proxy_source, bit<24> psn_offset) {
        to_receiver(receiver, receiver_qpn, proxy_source);
        hdr.bth.psn = hdr.bth.psn + psn_offset;
    }

    @id(ACTION_TO_RECEIVER_RETH_PSN_ID)
    action to_receiver_reth_psn(bit<128> receiver, bit<24> receiver_qpn, bit<1> proxy_source, bit<64> va_offset, bit<32> rkey,
                                bit<24> psn_offset) {
        to_receiver_reth(receiver, receiver_qpn, proxy_source, va_offset, rkey);
        hdr.bth.psn = hdr.bth.psn + psn_offset;
    }

    // In-band mode: once more through the parser, for the TLVs that name this node.
    @id(ACTION_TO_TLV_RECEIVERS_ID)
    action to_tlv_receivers(bit<1> fallback) {
        meta.local_fallback = fallback;
        meta.pass = PASS_TLVS;
    }

    @id(ACTION_DROP_REPLICA_ID)
    action drop_replica() {
        meta.drop_reason = DropReason.MT_REPLICA;
    }

    @id(TABLE_MT_REPLICA_ID) @weft_owner("multicast")
    table mt_replica {
        key = {
            meta.mt_group  : exact @name("group") @refers_to(mt_group, group);
            std.egress_rid : exact @name("rid") @referenced_by(builtin::multicast_group_table, replica.instance);
        }
        actions = { to_child; to_receiver; to_receiver_reth; to_receiver_psn; to_receiver_reth_psn; to_tlv_receivers; @defaultonly drop_replica; }
        const default_action = drop_replica();
        size = MT_BRANCH_ENTRIES;
    }

    @id(ACTION_ALLOW_TLV_RECEIVER_ID)
    action allow_tlv_receiver(bit<1> proxy_source) {
        rewrite_source = proxy_source;
        deliver = 1;
    }

    @id(ACTION_DROP_TLV_RECEIVER_ID)
    action drop_tlv_receiver() {
        meta.drop_reason = DropReason.MT_TLV_RECEIVER;
    }

    // A receiver in a TLV must have a response branch, or no branch would count its ACKs.
    @id(TABLE_MT_TLV_RECEIVER_ID) @weft_owner("multicast")
    table mt_tlv_receiver {
        key = {
            meta.mt_group : exact @name("group") @refers_to(mt_group, group);
            address       : exact @name("address");
        }
        actions = { allow_tlv_receiver; @defaultonly drop_tlv_receiver; }
        const default_action = drop_tlv_receiver();
        size = MT_CELLS;
    }

    apply {
        if (std.egress_rid >= RID_FANOUT) {
            if (std.egress_rid < RID_FANOUT + 16) {
                if (std.egress_rid < RID_FANOUT + 8) { TAKE_RECEIVER_OF_8(0) } else { TAKE_RECEIVER_OF_8(8) }
            } else {
                if (std.egress_rid < RID_FANOUT + 24) { TAKE_RECEIVER_OF_8(16) } else { TAKE_RECEIVER_OF_8(24) }
            }
            mt_tlv_receiver.apply();
        } else {
            mt_replica.apply();
        }

        if (deliver == 1) {
            proxy = hdr.ipv6.dst_addr;
            decapsulate.apply(hdr, meta);
            hdr.ipv6.dst_addr = address;
            if (rewrite_source == 1) {
                hdr.ipv6.src_addr = proxy;
            }
            hdr.ipv6.hop_limit = DEFAULT_HOP_LIMIT;
            hdr.bth.dest_qpn = qpn;
            icrc.apply(hdr, new_icrc);
            hdr.icrc.crc = new_icrc;
            if (hdr.udp.checksum != 0) {
                udp_checksum.apply(hdr);
            }
            meta.pass = PASS_DELIVER;
        }
        if (meta.pass != PASS_FIRST && meta.drop_reason == DropReason.NONE) {
            recirculate_preserving_field_list(RECIRCULATED);
        }
    }
}
