// Scenario 2 of draft-pfc section 3: a node that understands PFC looks at the segment lists of the data packets that reach its
// SIDs, and tells the controller (a program cannot make entries) of those that lead back to an End.X.PFC SID.

// Digest: a data packet came whose segment list leads back to a node that understands PFC. Segments as in the SRH, the last
// one to be visited first; what is not there is 0.
struct pfc_policy_t {
    bit<128> source;
    bit<128> dst_addr;           // SID of this node
    bit<20>  slice;
    bit<9>   port;               // that it came by
    bit<8>   last_entry;
    bit<8>   segments_left;
    bit<128> s0;
    bit<128> s1;
    bit<128> s2;
    bit<128> s3;
    bit<128> s4;
    bit<128> s5;
    bit<128> s6;
    bit<128> s7;
}

#define KEEP_SEGMENT(i)                                                      \
    if (hdr.segment[i].isValid()) {                                          \
        meta.learned_s##i = hdr.segment[i].sid;                              \
    }

// A table cannot be asked twice for a packet, so there is one a place in the list.
#define PFC_SID(i)                                                           \
    @id(TABLE_PFC_SID_##i##_ID) @weft_owner("pfc")                           \
    table pfc_sid_##i {                                                      \
        key = { meta.learned_s##i : exact @name("sid"); }                    \
        actions = { upstream_pfc; @defaultonly NoAction; }                   \
        const default_action = NoAction();                                   \
        size = PFC_SIDS;                                                     \
    }

#define FIND_UPSTREAM(i)                                                     \
    if (found == 0 && hdr.srh.segments_left < i && hdr.srh.last_entry >= i) { \
        pfc_sid_##i.apply();                                                 \
    }

control PfcLearning(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    // What was reported: which list, and when (microseconds, plus 1). Lists that share a cell take turns.
    register<bit<32>, bit<32>>(PFC_SEEN) pfc_seen_list;
    register<bit<48>, bit<32>>(PFC_SEEN) pfc_seen_at;

    bit<48> report_again = 0;
    bit<48> age_needed = 0;
    bit<1>  found = 0;
    bit<32> segments = 0;
    bit<32> seen_list = 0;
    bit<16> cell = 0;
    bit<48> seen_at = 0;

    // A list is reported once in a lifetime (microseconds): so a report that was lost comes again, and a list that is no more is
    // forgotten. 0 is never.
    @id(ACTION_SET_LEARNING_ID)
    action set_learning(bit<48> lifetime) {
        report_again = lifetime;
    }

    @id(TABLE_PFC_LEARNING_ID) @weft_owner("pfc")
    table pfc_learning {
        key = {}
        actions = { set_learning; @defaultonly NoAction; }
        default_action = NoAction();
        size = 1;
    }

    @id(ACTION_UPSTREAM_PFC_ID)
    action upstream_pfc() {
        found = 1;
    }

    PFC_SID(1)
    PFC_SID(2)
    PFC_SID(3)
    PFC_SID(4)
    PFC_SID(5)
    PFC_SID(6)
    PFC_SID(7)

    apply {
        pfc_learning.apply();
        if (report_again != 0) {
            KEEP_SEGMENT(0)
            KEEP_SEGMENT(1)
            KEEP_SEGMENT(2)
            KEEP_SEGMENT(3)
            KEEP_SEGMENT(4)
            KEEP_SEGMENT(5)
            KEEP_SEGMENT(6)
            KEEP_SEGMENT(7)
            hash(segments, HashAlgorithm.crc32, 32w0,
                 { hdr.outer_ipv6.src_addr, meta.learned_s0, meta.learned_s1, meta.learned_s2, meta.learned_s3, meta.learned_s4,
                   meta.learned_s5, meta.learned_s6, meta.learned_s7 }, 64w0x100000000);
            hash(cell, HashAlgorithm.crc16, 16w0, { segments }, (bit<32>)PFC_SEEN);
            pfc_seen_list.read(seen_list, 16w0 ++ cell);
            pfc_seen_at.read(seen_at, 16w0 ++ cell);
            // Another list's cell is taken sooner, but not by every packet.
            age_needed = seen_list == segments ? report_again : report_again >> 4;
            if (seen_at == 0 || std.ingress_global_timestamp + 1 - seen_at >= age_needed) {
                FIND_UPSTREAM(1)
                FIND_UPSTREAM(2)
                FIND_UPSTREAM(3)
                FIND_UPSTREAM(4)
                FIND_UPSTREAM(5)
                FIND_UPSTREAM(6)
                FIND_UPSTREAM(7)
                if (found == 1) {
                    pfc_seen_list.write(16w0 ++ cell, segments);
                    pfc_seen_at.write(16w0 ++ cell, std.ingress_global_timestamp + 1);
                    meta.learned_source = hdr.outer_ipv6.src_addr;
                    meta.learned_sid = hdr.outer_ipv6.dst_addr;
                    meta.learned_last_entry = hdr.srh.last_entry;
                    meta.learned_left = hdr.srh.segments_left;
                    digest<pfc_policy_t>(DIGEST_RECEIVER, { meta.learned_source, meta.learned_sid, meta.slice, std.ingress_port,
                        meta.learned_last_entry, meta.learned_left, meta.learned_s0, meta.learned_s1, meta.learned_s2,
                        meta.learned_s3, meta.learned_s4, meta.learned_s5, meta.learned_s6, meta.learned_s7 });
                }
            }
        }
    }
}
