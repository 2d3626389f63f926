// Responses of the branches become one stream upstream (draft section 5.3; docs/multicast.md,
// Responses). All PSN arithmetic is modulo 2^24.
//
// A cell of branch_state is  epoch 32 | AckPSN 24 | NAK pending 1 | RNR rank 6 | 0;
// of another epoch it is invalid. The pending NAK's ePSN is AckPSN + 1. An RNR timer's rank orders
// timer codes by duration: code 0, the longest, is 32; 0 is no RNR.
// A cell of group_sent is  epoch 32 | PSN 24 | 0, one of group_nack  epoch 32 | PSN 24 | doublings 8.

#define BEFORE(ahead) (ahead != 0 && ahead[23:23] == 0)

// One branch of the minimum: AckPSN and the NAK state at it, and MSN.
#define MINIMUM_OF(i)                                                                \
    if (meta.live_mask[i:i] == 1) {                                                  \
        branch_state.read(cell, base + i);                                           \
        if (cell[63:32] != meta.epoch) {                                             \
            complete = 0;                                                            \
        } else {                                                                     \
            branch_msn.read(msn, base + i);                                          \
            ahead = min_msn - msn[23:0];                                             \
            if (found == 0 || BEFORE(ahead)) {                                       \
                min_msn = msn[23:0];                                                 \
            }                                                                        \
            ahead = min_ack - cell[31:8];                                            \
            if (found == 0 || BEFORE(ahead)) {                                       \
                found = 1;                                                           \
                min_ack = cell[31:8];                                                \
                pending = cell[7:7];                                                 \
                rank = cell[6:1];                                                    \
            } else if (ahead == 0) {                                                 \
                pending = pending | cell[7:7];                                       \
                if (cell[6:1] > rank) {                                              \
                    rank = cell[6:1];                                                \
                }                                                                    \
            }                                                                        \
        }                                                                            \
    }

#define MINIMUM_OF_8(i)                                                              \
    if (meta.live_mask[i+7:i] != 0) {                                                \
        MINIMUM_OF(i) MINIMUM_OF(i+1) MINIMUM_OF(i+2) MINIMUM_OF(i+3)                \
        MINIMUM_OF(i+4) MINIMUM_OF(i+5) MINIMUM_OF(i+6) MINIMUM_OF(i+7)              \
    }

control Aggregation(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std, in bit<3> role) {
    register<bit<64>, bit<32>>(MT_CELLS)  branch_state;
    register<bit<32>, bit<32>>(MT_CELLS)  branch_msn;
    register<bit<64>, bit<32>>(MT_CELLS)  branch_cnp;        // window 32 | CNPs 32
    register<bit<64>, bit<32>>(MT_GROUPS) group_sent;        // last m sent upstream
    register<bit<64>, bit<32>>(MT_GROUPS) group_nack;        // last m sent as a NAK, and how often its hold-off has doubled
    register<bit<48>, bit<32>>(MT_GROUPS) group_nack_time;
    register<bit<64>, bit<32>>(MT_GROUPS) cnp_open;          // epoch 32 | window 31 | open 1
    register<bit<48>, bit<32>>(MT_GROUPS) cnp_start;
    register<bit<64>, bit<32>>(MT_GROUPS) cnp_worst;         // CNPs 32 | branch 8 | 0
    register<bit<32>, bit<32>>(MT_GROUPS) cnp_total;

    @id(COUNTER_MT_EVENTS_ID)
    counter<MtEvent>(16, CounterType.packets) mt_events;

    bit<32> base = 0;
    bit<32> index = 0;
    bit<64> cell = 0;
    bit<24> ahead = 0;

    // The minimum over the live branches.
    bit<1>  found = 0;
    bit<1>  complete = 1;
    bit<24> min_ack = 0;
    bit<24> min_msn = 0;
    bit<32> msn = 0;
    bit<1>  pending = 0;
    bit<6>  rank = 0;

    // The response.
    bit<24> ack = 0;
    bit<1>  advancing = 0;
    bit<1>  nack = 0;               // sequence or RNR NAK that is not behind its branch's AckPSN
    bit<1>  repeated = 0;           // the same NAK as before
    bit<1>  fatal = 0;
    bit<1>  lowest = 0;             // from the lowest live branch

    bit<64> sent = 0;
    bit<64> nacked = 0;
    bit<48> nack_time = 0;
    bit<8>  doublings = 0;
    bit<24> m = 0;
    bit<1>  sent_known = 0;
    bit<1>  moved = 0;
    MtEvent event = MtEvent.NONE;

    bit<64> window = 0;
    bit<48> window_start = 0;
    bit<64> worst = 0;
    bit<32> count = 0;
    bit<32> total = 0;
    bit<1>  window_over = 0;
    bit<1>  window_opened = 0;

    apply {
        if (meta.drop_reason == DropReason.NONE) {
            base = (bit<32>)meta.mt_group << 5;
            index = base + (bit<32>)meta.branch;
            group_sent.read(sent, (bit<32>)meta.mt_group);
            cnp_open.read(window, (bit<32>)meta.mt_group);
            cnp_start.read(window_start, (bit<32>)meta.mt_group);
            cnp_worst.read(worst, (bit<32>)meta.mt_group);
            if (sent[63:32] == meta.epoch) {
                sent_known = 1;
            }

            if (role == ROLE_ACK) {
                // Store what the branch reports.
                branch_state.read(cell, index);
                ack = hdr.aeth.syndrome[6:5] == AETH_ACK ? hdr.bth.psn : hdr.bth.psn - 1;
                ahead = ack - cell[31:8];
                if (cell[63:32] != meta.epoch) {
                    advancing = 1;
                    cell = meta.epoch ++ ack ++ 8w0;
                } else if (BEFORE(ahead)) {
                    advancing = 1;
                    cell = meta.epoch ++ ack ++ 8w0;
                }
                if (hdr.aeth.syndrome[7:7] == 1 || hdr.aeth.syndrome[6:5] == 2) {
                    meta.drop_reason = DropReason.MT_SYNDROME;
                } else if (hdr.aeth.syndrome[6:5] == AETH_NAK && hdr.aeth.syndrome[4:0] != 0) {
                    fatal = 1;
                } else if (hdr.aeth.syndrome[6:5] != AETH_ACK && ack == cell[31:8]) {
                    nack = 1;
                    repeated = cell[7:7];
                    if (hdr.aeth.syndrome[6:5] == AETH_RNR) {
                        rank = hdr.aeth.syndrome[4:0] == 0 ? 6w32 : 1w0 ++ hdr.aeth.syndrome[4:0];
                    } else {
                        rank = cell[6:1];
                    }
                    cell = cell[63:8] ++ 1w1 ++ rank ++ 1w0;
                }
                if (meta.drop_reason == DropReason.NONE) {
                    branch_state.write(index, cell);
                    if (advancing == 1) {
                        branch_msn.write(index, 8w0 ++ (hdr.aeth.msn + meta.msn_offset));
                    }
                }
                if ((meta.live_mask & ((32w1 << meta.branch) - 1)) == 0) {
                    lowest = 1;
                }
            }

            if ((role == ROLE_ACK || role == ROLE_POLL) && meta.drop_reason == DropReason.NONE) {
                rank = 0;
                MINIMUM_OF_8(0)
                MINIMUM_OF_8(8)
                MINIMUM_OF_8(16)
                MINIMUM_OF_8(24)
                if (found == 0) {
                    complete = 0;
                }
                m = min_ack + 1;
                ahead = m - sent[31:8];
                if (sent_known == 0 || BEFORE(ahead)) {
                    moved = 1;
                }
                group_nack.read(nacked, (bit<32>)meta.mt_group);
                group_nack_time.read(nack_time, (bit<32>)meta.mt_group);
                // The hold-off doubles with every NAK of the same m: a branch that never answers again leaves its NAK pending, and each
                // NAK makes the source send all over.
                bit<1> again = nacked[63:8] == meta.epoch ++ m ? 1w1 : 1w0;

                if (fatal == 1) {
                    // Its own PSN would acknowledge for other branches.
                    if (complete == 0 && sent_known == 0) {
                        meta.drop_reason = DropReason.MT_NO_PSN;
                    } else {
                        if (complete == 0) {
                            m = sent[31:8];
                        }
                        event = MtEvent.NAK_FATAL;
                        meta.emit_syndrome = hdr.aeth.syndrome;
                    }
                } else if (complete == 1) {
                    if (nack == 1 && ack != min_ack) {
                        repeated = 0;
                    }
                    if (pending == 1 && (again == 0 || repeated == 1 ||
                                         std.ingress_global_timestamp - nack_time >= meta.nack_holdoff << nacked[7:0])) {
                        if (again == 1) {
                            doublings = nacked[7:0] == NACK_DOUBLINGS ? NACK_DOUBLINGS : nacked[7:0] + 1;
                        }
                        group_nack.write((bit<32>)meta.mt_group, meta.epoch ++ m ++ doublings);
                        group_nack_time.write((bit<32>)meta.mt_group, std.ingress_global_timestamp);
                        if (rank != 0) {
                            event = MtEvent.NAK_RNR;
                            meta.emit_syndrome = SYNDROME_RNR | (3w0 ++ rank[4:0]);
                        } else {
                            event = MtEvent.NAK_SEQUENCE;
                            meta.emit_syndrome = SYNDROME_NAK_SEQUENCE;
                        }
                    } else if (moved == 1) {
                        event = MtEvent.ACK_ADVANCED;
                        meta.emit_syndrome = SYNDROME_ACK_NO_CREDIT;
                    } else if (role == ROLE_ACK && nack == 0 && advancing == 0 && lowest == 1) {
                        // The source is repeating itself, since an earlier answer was lost.
                        event = MtEvent.ACK_REPEATED;
                        meta.emit_syndrome = SYNDROME_ACK_NO_CREDIT;
                    }
                }

                if (event != MtEvent.NONE) {
                    meta.emit = EMIT_RESPONSE;
                    meta.emit_psn = meta.emit_syndrome == SYNDROME_ACK_NO_CREDIT ? m - 1 : m;
                    if (complete == 1) {
                        meta.emit_msn = min_msn;
                        if (moved == 1) {
                            group_sent.write((bit<32>)meta.mt_group, meta.epoch ++ m ++ 8w0);
                        }
                    }
                    mt_events.count(event);
                }
            }

            // CNP windows: counted per branch, one CNP upstream when the window is over.
            if (role != ROLE_STATE && meta.drop_reason == DropReason.NONE) {
                if (window[63:32] != meta.epoch) {
                    window = meta.epoch ++ window[31:1] ++ 1w0;
                }
                if (window[0:0] == 1 && std.ingress_global_timestamp - window_start >= meta.cnp_window) {
                    window_over = 1;
                    window = window[63:1] ++ 1w0;
                }
                if (role == ROLE_CNP) {
                    if (window[0:0] == 0) {
                        window_opened = 1;
                        window = meta.epoch ++ (window[31:1] + 1) ++ 1w1;
                        worst = 0;
                        cnp_start.write((bit<32>)meta.mt_group, std.ingress_global_timestamp);
                        mt_events.count(MtEvent.CNP_WINDOW);
                    }
                    branch_cnp.read(cell, index);
                    if (cell[62:32] == window[31:1]) {
                        count = cell[31:0];
                    }
                    if (meta.cnp_limit != 0 && count >= 8w0 ++ meta.cnp_limit) {
                        meta.drop_reason = DropReason.MT_CNP_RATE;
                    } else {
                        count = count + 1;
                        branch_cnp.write(index, 1w0 ++ window[31:1] ++ count);
                        if (count > worst[63:32]) {
                            worst = count ++ meta.branch ++ 24w0;
                        }
                    }
                    cnp_worst.write((bit<32>)meta.mt_group, worst);
                }
                if (window_over == 1 || window_opened == 1) {
                    cnp_open.write((bit<32>)meta.mt_group, window);
                }
                if (window_over == 1) {
                    cnp_total.read(total, (bit<32>)meta.mt_group);
                    cnp_total.write((bit<32>)meta.mt_group, total + 1);
                    mt_events.count(MtEvent.CNP_SENT);
                }
            }

            // A packet can become one answer; a second one is a clone.
            if (role == ROLE_STATE) {
                branch_state.read(cell, index);
                branch_msn.read(msn, index);
                meta.state_flags = 5w0 ++ sent_known ++ 2w0;
                if (cell[63:32] == meta.epoch) {
                    meta.state_flags = 4w0 ++ (cell[6:1] != 0 ? 1w1 : 1w0) ++ sent_known ++ cell[7:7] ++ 1w1;
                    meta.state_ack_psn = cell[31:8];
                    meta.state_rnr_timer = 3w0 ++ cell[5:1];
                    meta.state_msn = msn[23:0];
                }
                if (sent_known == 1) {
                    meta.state_last_psn = sent[31:8];
                }
                branch_cnp.read(cell, index);
                if (window[63:32] == meta.epoch) {
                    meta.state_cnp_count = cell[62:32] == window[31:1] ? cell[23:0] : 0;
                    meta.state_cnp_branch = worst[31:24];
                }
                cnp_total.read(total, (bit<32>)meta.mt_group);
                meta.state_cnp_total = total[23:0];
                meta.packet_in = PacketInReason.STATE;
            } else if (meta.emit == EMIT_RESPONSE) {
                if (window_over == 1) {
                    meta.clone_emit = EMIT_CNP;
                    clone_preserving_field_list(CloneType.I2E, (bit<32>)meta.cnp_session, CLONED);
                }
            } else if (window_over == 1) {
                if (window_opened == 1) {
                    meta.packet_in = PacketInReason.CNP_WINDOW;
                    clone_preserving_field_list(CloneType.I2E, (bit<32>)CPU_SESSION, CLONED);
                }
                meta.drop_reason = DropReason.NONE;
                meta.emit = EMIT_CNP;
            } else if (window_opened == 1) {
                meta.packet_in = PacketInReason.CNP_WINDOW;
            } else if (meta.drop_reason == DropReason.NONE) {
                meta.drop_reason = role == ROLE_ACK ? DropReason.MT_ABSORBED :
                                   (role == ROLE_CNP ? DropReason.MT_CNP_ABSORBED : DropReason.MT_POLL_IDLE);
            }

            if (meta.emit == EMIT_NONE && meta.packet_in != PacketInReason.NONE) {
                std.egress_spec = CPU_PORT;
            } else {
                std.egress_spec = meta.upstream_port;
            }
            meta.bypass = 1;
        }
    }
}
