// The edge of the SR domain (RFC 8754 section 5.1, RFC 8986 section 9, draft-pfc section 5). A packet of a host is not
// encapsulated, and its destination is no SID. Two kinds of hosts are exceptions: the source of an in-band group sends to
// the SID of its tree (table mt_source admits it), and an MRC host sends along its own uSIDs (table sid_allowed). Neither
// may encapsulate twice: what a node of the domain takes out of a tunnel is the host's own plain packet.

// Protocols that an endpoint of the domain takes off, or looks into.
#define ENCAPSULATES(protocol)                                               \
    (protocol == PROTO_IPV4 || protocol == PROTO_IPV6 || protocol == PROTO_ROUTING || protocol == PROTO_ETHERNET)

// Extension headers that the parser walks: where it stopped at one, there were too many.
#define EXTENDS(protocol)                                                                      \
    (protocol == PROTO_HOP_BY_HOP || protocol == PROTO_FRAGMENT || protocol == PROTO_AH ||     \
     protocol == PROTO_DESTINATION || protocol == PROTO_MOBILITY || protocol == PROTO_HIP ||   \
     protocol == PROTO_SHIM6)

control DomainEdge(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std, in bit<1> is_local_sid) {
    bit<1>   refused = 0;
    bit<128> block = 0;

    @id(ACTION_SID_OF_DOMAIN_ID)
    action sid_of_domain() {
        refused = 1;
    }

    // A host's prefix inside a prefix of SIDs.
    @id(ACTION_NO_SID_ID)
    action no_sid() { }

    // The SIDs of the domain, of every node. A node's own SIDs need no entry.
    @id(TABLE_SID_SPACE_ID)
    table sid_space {
        key = { hdr.ipv6.dst_addr : lpm @name("dst_addr"); }
        actions = { sid_of_domain; no_sid; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SID_SPACES;
    }

    // block_mask covers the block of the uSIDs: the second container, in the SRH, must be of the same block.
    @id(ACTION_ALLOW_SID_ID)
    action allow_sid(bit<128> block_mask) {
        refused = 0;
        block = block_mask;
    }

    // Which MRC host may start with which uSIDs.
    @id(TABLE_SID_ALLOWED_ID)
    table sid_allowed {
        key = {
            std.ingress_port        : exact @name("port");
            hdr.outer_ipv6.src_addr : exact @name("src_addr");
            hdr.outer_ipv6.dst_addr : lpm @name("dst_addr");
        }
        actions = { allow_sid; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SIDS_ALLOWED;
    }

    apply {
        refused = is_local_sid;
        if (hdr.outer_ipv6.isValid()) {
            refused = 1;
            if (hdr.ipv6.isValid() && !ENCAPSULATES(meta.protocol)) {
                if (meta.mt_replicate == 1) {
                    refused = 0;
                } else if (!hdr.ipv4.isValid()) {
                    sid_allowed.apply();
                    if (hdr.srh.isValid() && (hdr.srh.last_entry != 0 ||
                                              ((hdr.segment[0].sid ^ hdr.outer_ipv6.dst_addr) & block) != 0)) {
                        refused = 1;
                    }
                }
            }
        }
        // Behind extension headers a routing header or a tunnel is what it is without them.
        if (meta.extensions != 0 && ENCAPSULATES(meta.protocol)) {
            refused = 1;
        }
        if (refused == 0) {
            sid_space.apply();
        }
        if (refused == 1) {
            meta.drop_reason = DropReason.SID_FROM_OUTSIDE;
        } else if (meta.extensions != 0 && EXTENDS(meta.protocol)) {
            meta.drop_reason = DropReason.EXTENSION_HEADERS;
        }
    }
}
