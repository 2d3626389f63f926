// RDMA multicast, ingress: which packets belong to a group, and in which role.

// Roles of a packet in its group.
const bit<3> ROLE_NONE     = 0;
const bit<3> ROLE_TREE     = 1;   // data on its way down
const bit<3> ROLE_ACK      = 2;   // ACK, NAK or RNR NAK of a branch
const bit<3> ROLE_CNP      = 3;
const bit<3> ROLE_POLL     = 4;
const bit<3> ROLE_STATE    = 5;

control MulticastGroup(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std, out bit<3> role) {
    Icrc() icrc;
    bit<32> expected_icrc;
    bit<1> to_proxy;
    bit<16> proxy_group;
    bit<1> encapsulates;         // the group's source does so itself
    bit<32> inner_source;        // of IPv4, 0 of a group of IPv6
    bit<128> source;

    @id(ACTION_SET_GROUP_ID)
    action set_group(@refers_to(mt_group, group) bit<16> group) {
        proxy_group = group;
        to_proxy = 1;
    }

    // The proxy addresses of the groups that pass here. Asked of plain packets, and of those in a tree where they are delivered or
    // enter it.
    @id(TABLE_MT_PROXY_ID) @weft_owner("multicast")
    table mt_proxy {
        key = { hdr.ipv6.dst_addr : exact @name("dst_addr"); }
        actions = { set_group; @defaultonly NoAction; }
        const default_action = NoAction();
        size = MT_GROUPS;
    }

    // nack_holdoff, which doubles as the same NAK is sent again, and cnp_window are microseconds; cnp_limit is CNPs a branch and window, 0 for no limit.
    @id(ACTION_SET_GROUP_STATE_ID)
    action set_group_state(bit<32> epoch, bit<24> designated_qpn, bit<32> live_mask, bit<48> nack_holdoff,
                           bit<48> cnp_window, bit<24> cnp_limit, bit<9> upstream_port, @refers_to(builtin::clone_session_table, session_id) bit<16> cnp_session) {
        meta.mt_known = 1;
        meta.epoch = epoch;
        meta.designated_qpn = designated_qpn;
        meta.live_mask = live_mask;
        meta.nack_holdoff = nack_holdoff;
        meta.cnp_window = cnp_window;
        meta.cnp_limit = cnp_limit;
        meta.upstream_port = upstream_port;
        meta.cnp_session = cnp_session;
    }

    @id(TABLE_MT_GROUP_ID) @weft_owner("multicast")
    table mt_group {
        key = { meta.mt_group : exact @name("group"); }
        actions = { set_group_state; @defaultonly NoAction; }
        const default_action = NoAction();
        size = MT_GROUPS;
    }

    @id(ACTION_SET_BRANCH_ID)
    action set_branch(bit<8> branch, bit<32> epoch, bit<1> receiver, bit<24> msn_offset) {
        meta.branch = branch;
        meta.branch_epoch = epoch;
        meta.branch_receiver = receiver;
        meta.msn_offset = msn_offset;
    }

    // The same where the receiver's queue pair counts other PSNs than the group: psn_offset is what mt_replica adds.
    @id(ACTION_SET_BRANCH_PSN_ID)
    action set_branch_psn(bit<8> branch, bit<32> epoch, bit<1> receiver, bit<24> msn_offset, bit<24> psn_offset) {
        set_branch(branch, epoch, receiver, msn_offset);
        meta.psn_offset = psn_offset;
    }

    @id(ACTION_DROP_NOT_BRANCH_ID)
    action drop_not_branch() {
        meta.drop_reason = DropReason.MT_NOT_BRANCH;
    }

    // Who may answer, and where from.
    @id(TABLE_MT_BRANCH_ID) @weft_owner("multicast")
    table mt_branch {
        key = {
            meta.mt_group      : exact @name("group") @refers_to(mt_group, group);
            std.ingress_port   : exact @name("port");
            hdr.ipv6.src_addr  : exact @name("src_addr");
        }
        actions = { set_branch; set_branch_psn; @defaultonly drop_not_branch; }
        const default_action = drop_not_branch();
        size = MT_BRANCH_ENTRIES;
    }

    // The first switch, provisioned mode: H.Encaps with Segment List {sid, P}.
    @id(ACTION_MT_ENCAPS_ID)
    action mt_encaps(bit<128> outer_source, bit<128> sid) {
        H_ENCAPS(2, outer_source, sid)
        hdr.segment[0].setValid();
        hdr.segment[1].setValid();
        hdr.segment[0].sid = hdr.ipv6.dst_addr;
        hdr.segment[1].sid = sid;
    }

    // The same where the tree starts at this very switch.
    @id(ACTION_MT_ENCAPS_REPLICATE_ID)
    action mt_encaps_replicate(bit<128> outer_source, bit<128> sid, @refers_to(builtin::multicast_group_table, multicast_group_id) bit<16> mcast_group, bit<1> has_local) {
        mt_encaps(outer_source, sid);
        meta.mt_replicate = 1;
        meta.mt_verify_icrc = has_local;
        std.mcast_grp = mcast_group;
    }

    @id(ACTION_DROP_NOT_SOURCE_ID)
    action drop_not_source() {
        meta.drop_reason = DropReason.MT_NOT_SOURCE;
    }

    // In-band mode: the source encapsulates, and its packets arrive at the SID of a tree.
    @id(ACTION_MT_INBAND_ID)
    action mt_inband() {
        encapsulates = 1;
    }

    // The same of a group of IPv4: what the source encapsulates is from its IPv4 address.
    @id(ACTION_MT_INBAND_IPV4_ID)
    action mt_inband_ipv4(bit<32> address) {
        encapsulates = 1;
        inner_source = address;
    }

    // Who may send, and where from: plain packets in provisioned mode, encapsulated ones in in-band mode.
    @id(TABLE_MT_SOURCE_ID) @weft_owner("multicast")
    table mt_source {
        key = {
            meta.mt_group      : exact @name("group") @refers_to(mt_group, group);
            std.ingress_port   : exact @name("port");
            source             : exact @name("src_addr");
        }
        actions = { mt_encaps; mt_encaps_replicate; mt_inband; mt_inband_ipv4; @defaultonly drop_not_source; }
        const default_action = drop_not_source();
        size = MT_SOURCES;
    }

    apply {
        role = ROLE_NONE;
        if (meta.drop_reason == DropReason.NONE && meta.bypass == 0) {
            to_proxy = 0;
            proxy_group = 0;
            encapsulates = 0;
            inner_source = 0;
            if (hdr.ipv6.isValid() &&
                (!hdr.outer_ipv6.isValid() || (meta.mt_replicate == 1 && (meta.mt_verify_icrc == 1 || meta.host_facing == 1)))) {
                mt_proxy.apply();
            }
            if (hdr.packet_out.isValid()) {
                meta.mt_group = hdr.packet_out.group;
                meta.branch = hdr.packet_out.branch;
                role = hdr.packet_out.op == PacketOutOp.POLL ? ROLE_POLL : ROLE_STATE;
            } else if (meta.mt_replicate == 1) {
                role = ROLE_TREE;
            } else if (to_proxy == 1) {
                meta.mt_group = proxy_group;
                if (meta.trimmed == 1) {
                    meta.drop_reason = DropReason.MT_TRIMMED;
                } else if (!hdr.bth.isValid() || !hdr.icrc.isValid()) {
                    meta.drop_reason = DropReason.MT_OPCODE;
                } else if (hdr.aeth.isValid()) {
                    role = ROLE_ACK;
                } else if (hdr.cnp.isValid()) {
                    role = ROLE_CNP;
                } else {
                    role = ROLE_TREE;
                }
            }

            if (role != ROLE_NONE) {
                mt_group.apply();
                if (meta.mt_known == 0) {
                    meta.drop_reason = DropReason.MT_GROUP;
                }
            }

            if (meta.drop_reason == DropReason.NONE) {
                if (role == ROLE_TREE) {
                    bit<1> arrived_encapsulated = meta.mt_replicate;
                    // A plain packet meets the tree here, wherever it comes from. An encapsulated one meets it at the port of its source.
                    bit<1> first_switch = arrived_encapsulated == 0 ? 1w1 : meta.host_facing;
                    // Receivers take what comes down the tree as the source's, so the first switch checks the source.
                    if (first_switch == 1) {
                        source = arrived_encapsulated == 1 ? hdr.outer_ipv6.src_addr : hdr.ipv6.src_addr;
                        mt_source.apply();
                        if (encapsulates != arrived_encapsulated) {
                            meta.drop_reason = DropReason.MT_NOT_SOURCE;
                        } else if (encapsulates == 1) {
                            bit<32> inner = 0;
                            if (hdr.ipv4.isValid()) {
                                inner = hdr.ipv4.src_addr;
                            }
                            if (inner != inner_source) {
                                meta.drop_reason = DropReason.MT_NOT_SOURCE;
                            }
                        }
                    }
                    // What is copied here is not routed here, and loses its hop all the same (RFC 8986 section 5.1, S05).
                    if (arrived_encapsulated == 0 && meta.mt_replicate == 1 && meta.drop_reason == DropReason.NONE) {
                        if (hdr.ipv6.hop_limit <= 1) {
                            meta.drop_reason = DropReason.HOP_LIMIT;
                        }
                        hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
                    }
                    // S01-S05: any segments may be left, and the destination that S03 takes from the Segment List leaves with the
                    // outer header; what counts is the inner packet. The first switch refuses what edges would refuse, for a source
                    // that encapsulates by itself too.
                    if ((meta.mt_verify_icrc == 1 || first_switch == 1) && meta.drop_reason == DropReason.NONE) {
                        // No ICRC can be had for what was trimmed, and a receiver would not know what it is.
                        if (meta.trimmed == 1) {
                            meta.drop_reason = DropReason.MT_TRIMMED;
                        } else if (!hdr.srh.isValid() || hdr.srh.segments_left == 0) {
                            meta.drop_reason = DropReason.SID_SEGMENTS_LEFT;
                        } else if (!hdr.bth.isValid() || to_proxy == 0 || proxy_group != meta.mt_group) {
                            meta.drop_reason = DropReason.MT_INNER;
                        } else if (hdr.bth.opcode > OPCODE_RC_WRITE_ONLY_IMM) {
                            meta.drop_reason = DropReason.MT_OPCODE;
                        } else if (hdr.bth.dest_qpn != meta.designated_qpn) {
                            meta.drop_reason = DropReason.MT_QPN;
                        }
                    }
                } else if (role == ROLE_ACK || role == ROLE_CNP) {
                    mt_branch.apply();
                    if (meta.drop_reason == DropReason.NONE) {
                        bit<32> live = meta.live_mask >> meta.branch;
                        if (hdr.bth.dest_qpn != meta.designated_qpn) {
                            meta.drop_reason = DropReason.MT_QPN;
                        } else if (meta.branch_epoch != meta.epoch ||
                                   (meta.branch_receiver == 0 && hdr.ipv6.flow_label[15:0] != meta.epoch[15:0])) {
                            meta.drop_reason = DropReason.MT_EPOCH;
                        } else if (live[0:0] == 0) {
                            meta.drop_reason = DropReason.MT_DEAD_BRANCH;
                        } else {
                            meta.mt_verify_icrc = 1;
                        }
                    }
                }
            }

            // What is rewritten gets a new ICRC, and a new one would hide a corrupt packet.
            if (meta.mt_verify_icrc == 1 && meta.drop_reason == DropReason.NONE) {
                icrc.apply(hdr, expected_icrc);
                if (expected_icrc != hdr.icrc.crc) {
                    meta.drop_reason = DropReason.ICRC;
                }
            }
            // The ICRC was of the receiver's PSN. From here on it is the source's.
            if (role == ROLE_ACK) {
                hdr.bth.psn = hdr.bth.psn - meta.psn_offset;
            }
        }
    }
}

// Second pass, in-band mode: the TLVs that name this node are parsed, and their receivers get a copy each.
control InbandReceivers(inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        if (meta.drop_reason == DropReason.NONE) {
            meta.mt_replicate = 1;
            if (meta.receiver_count != 0) {
                std.mcast_grp = 10w0 ++ meta.receiver_count;
            } else if (meta.mt_named == 0 && meta.local_fallback == 1) {
                std.mcast_grp = MCAST_TREE + 1 + (meta.mt_group << 1);
            } else {
                meta.drop_reason = DropReason.MT_NO_RECEIVERS;
            }
        }
    }
}
