// What travels beside a packet. Field lists say what survives a second pass; a clone gets the values
// of the end of ingress, whenever it was asked for.

// Why a packet comes round again.
const bit<2> PASS_FIRST   = 0;
const bit<2> PASS_TLVS    = 1;   // parse the End.MT TLVs that name this node
const bit<2> PASS_DELIVER = 2;   // rewritten for its receiver: forward by FIB lookup (draft section 6.2, S11)
const bit<2> PASS_ICMP    = 3;   // dropped, and now to become an ICMPv6 error

// What egress is to build from scratch.
const bit<2> EMIT_NONE     = 0;
const bit<2> EMIT_RESPONSE = 1;  // ACK or NAK
const bit<2> EMIT_CNP      = 2;

// What is found out about a message of neighbor discovery.
struct nd_t {
    bit<3>   message;
    bit<2>   whose;              // the target
    bit<128> target;
    bit<48>  mac;                // that answers for it
    bit<9>   port;               // that it is at
    bit<48>  interval;
    bit<48>  tolerance;
}

struct metadata_t {
    @field_list(RECIRCULATED, RESUBMITTED)
    bit<2>   pass;
    @field_list(RECIRCULATED, CLONED)
    bit<16>  mt_group;
    @field_list(RECIRCULATED, RESUBMITTED)
    bit<128> node_address;
    @field_list(RECIRCULATED)
    bit<8>   tlv_type;
    @field_list(RECIRCULATED)
    bit<1>   local_fallback;     // receivers are provisioned for packets whose TLVs do not name this node

    DropReason drop_reason;

    // Parser.
    bit<16>  srh_left;           // octets of the SRH not yet parsed
    bit<8>   segment_index;      // next segment to parse
    bit<128> next_segment;       // Segment List[Segments Left - 1]
    bit<8>   tlv_receivers;      // receivers left in the TLV being parsed
    bit<6>   receiver_count;     // receivers found for this node
    bit<1>   mt_named;           // a TLV names this node
    bit<16>  payload_len;        // octets between the transport headers and the ICRC
    bit<32>  l4_ports;
    bit<8>   protocol;           // that the extension headers of the innermost IPv6 header lead to
    bit<8>   extensions;         // extension headers parsed
    bit<16>  outer_octets;       // of the outer IPv6 header and its SRH
    bit<1>   cut;                // the frame ends before its RoCEv2 packet does

    // Classes of service.
    bit<6>   dscp;               // of the outermost header, as received
    bit<1>   classed;            // the DSCP has a class
    bit<3>   class;
    bit<1>   trimmable;
    bit<1>   trimmed;            // by this or an earlier switch
    bit<1>   queued;             // the queue is counted
    bit<32>  queue;              // egress port ++ class
    bit<32>  sequence;           // of the packet in its queue
    bit<1>   ecn_marks;
    bit<32>  ecn_min;            // packets
    bit<32>  ecn_max;
    bit<1>   trim;               // to be done in egress
    bit<6>   trim_dscp;
    bit<16>  trim_size;
    bit<1>   trim_set_length;

    // Neighbor discovery.
    nd_t     nd;

    // Routing.
    bit<128> dst;                // destination address that forwarding looks at
    bit<1>   routed;             // egress port and neighbor are chosen
    bit<1>   bypass;             // egress port is chosen, nothing else is to be done
    bit<1>   host_facing;
    @field_list(RESUBMITTED)
    bit<16>  vrf;
    bit<16>  neighbor;
    bit<16>  ecmp;
    bit<1>   upward;             // the destination is not below this switch
    bit<1>   encapsulated;       // outer headers are new
    bit<1>   decapsulated;
    bit<1>   link_local;         // the frame's MAC addresses are written
    bit<20>  slice_mask;         // bits of an outer flow label that are the slice's id
    bit<20>  slice;              // of the outer header, as received
    bit<20>  outer_slice;        // of the outer header that is made
    bit<16>  policy;             // to encapsulate into
    bit<128> service_sid;        // the last segment
    bit<6>   outer_dscp;

    // PFC.
    bit<9>   pfc_port;           // whose queues are paused
    bit<8>   pfc_classes;        // that may be
    bit<1>   pfc_command;        // the frame is for the target

    // A segment list, in the order of the SRH, for the digest.
    bit<128> learned_source;
    bit<128> learned_sid;
    bit<8>   learned_last_entry;
    bit<8>   learned_left;
    bit<128> learned_s0;
    bit<128> learned_s1;
    bit<128> learned_s2;
    bit<128> learned_s3;
    bit<128> learned_s4;
    bit<128> learned_s5;
    bit<128> learned_s6;
    bit<128> learned_s7;

    // ICMPv6 errors.
    @field_list(RESUBMITTED)
    bit<2>   icmp;               // the one that is due
    @field_list(RESUBMITTED)
    bit<128> icmp_to;
    @field_list(RESUBMITTED)
    bit<16>  icmp_pointer;
    bit<1>   icmp_error;         // the packet is one itself
    bit<8>   icmp_type;          // of the innermost packet, 0 of one that is not ICMPv6
    bit<16>  quoted;             // octets of the packet in error

    // Multicast groups: entry data.
    bit<1>   mt_replicate;       // goes to the PRE
    bit<1>   mt_verify_icrc;     // this node has receivers of its own
    bit<1>   mt_known;
    @field_list(CLONED)
    bit<32>  epoch;
    bit<24>  designated_qpn;
    bit<32>  live_mask;
    bit<48>  nack_holdoff;
    bit<48>  cnp_window;
    bit<24>  cnp_limit;
    bit<9>   upstream_port;
    bit<16>  cnp_session;
    @field_list(CLONED)
    bit<8>   branch;
    bit<32>  branch_epoch;
    bit<1>   branch_receiver;    // a receiver, not a child node
    bit<24>  msn_offset;
    bit<24>  psn_offset;         // of the receiver's PSNs to those of the source

    // Responses to build: of the packet, and of its clone.
    bit<2>   emit;
    @field_list(CLONED)
    bit<2>   clone_emit;
    bit<24>  emit_psn;
    bit<8>   emit_syndrome;
    bit<24>  emit_msn;
    bit<1>   set_icrc;

    // Packet-in.
    @field_list(CLONED)
    bit<9>   ingress_port;       // a clone has lost its own
    @field_list(CLONED)
    PacketInReason packet_in;
    bit<8>   state_flags;
    bit<24>  state_ack_psn;
    bit<8>   state_rnr_timer;
    bit<24>  state_msn;
    bit<24>  state_cnp_count;
    bit<24>  state_last_psn;
    bit<24>  state_cnp_total;
    bit<8>   state_cnp_branch;
}
