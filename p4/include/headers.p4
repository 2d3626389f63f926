// Wire formats, outermost first.

@controller_header("packet_in")
header packet_in_t {
    bit<16>        ingress_port;
    PacketInReason reason;
    bit<16>        group;
    bit<8>         branch;
    bit<32>        epoch;
    bit<8>         flags;       // bit 0 branch valid, bit 1 NAK pending, bit 2 last_psn known, bit 3 pending is RNR
    bit<24>        ack_psn;
    bit<8>         rnr_timer;
    bit<24>        msn;
    bit<24>        cnp_count;   // of the branch, in the window that is open or was the last
    bit<24>        last_psn;    // last m sent upstream: everything before it was acknowledged
    bit<24>        cnp_total;   // CNPs sent upstream for the group
    bit<8>         cnp_branch;  // branch with the most CNPs in that window
}

@controller_header("packet_out")
header packet_out_t {
    PacketOutOp op;
    bit<16>     egress_port;
    bit<16>     group;
    bit<8>      branch;
}
const bit<32> PACKET_OUT_OCTETS = 6;

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

header ipv6_t {
    bit<4>   version;
    bit<6>   dscp;
    bit<2>   ecn;
    bit<20>  flow_label;
    bit<16>  payload_len;
    bit<8>   next_header;
    bit<8>   hop_limit;
    bit<128> src_addr;
    bit<128> dst_addr;
}

// RFC 791, without options.
header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<6>  dscp;
    bit<2>  ecn;
    bit<16> total_len;
    bit<16> identification;
    bit<3>  flags;
    bit<13> fragment_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src_addr;
    bit<32> dst_addr;
}
const bit<16> IPV4_OCTETS = 20;

// RFC 826, of Ethernet and IPv4.
header arp_t {
    bit<16> hardware;
    bit<16> protocol;
    bit<8>  hardware_octets;
    bit<8>  protocol_octets;
    bit<16> operation;
    bit<48> sender_mac;
    bit<32> sender;
    bit<48> target_mac;
    bit<32> target;
}

// Between the program and the target: an Ethernet header of ETHERTYPE_TARGET, this, and in a PAUSE the PFC frame's own fields.
header target_t {
    TargetOp     op;
    PfcDirection direction;
    bit<16>      port;
    bit<8>       priority;
    bit<8>       upstream;
    bit<16>      reserved;
}
const bit<32> PAUSE_OCTETS = 42;

// IEEE 802.3 annex 31D: a time a class, in 512 bit times of the port's speed.
header pfc_t {
    bit<16> opcode;
    bit<8>  reserved;
    bit<8>  classes;         // bit n: the time of class n counts
    bit<16> time0;
    bit<16> time1;
    bit<16> time2;
    bit<16> time3;
    bit<16> time4;
    bit<16> time5;
    bit<16> time6;
    bit<16> time7;
}

// Up to the shortest frame of Ethernet.
header pfc_pad_t {
    bit<208> zero;
}
const bit<16> PFC_OCTETS = 60;

// RFC 8754 section 2.
header srh_t {
    bit<8>  next_header;
    bit<8>  hdr_ext_len;
    bit<8>  routing_type;
    bit<8>  segments_left;
    bit<8>  last_entry;
    bit<8>  flags;
    bit<16> tag;
}

header segment_t {
    bit<128> sid;
}

// The TLV area, opaque: nodes that pass a packet on emit it as it came.
header srh_tlvs_t {
    varbit<SRH_TLV_BITS> data;
}

// End.MT TLV (draft section 7.2) up to its first receiver; parsed at edges only, never emitted.
header mt_tlv_t {
    bit<8>   type;
    bit<8>   length;
    bit<16>  reserved;
    bit<128> edge;
    bit<8>   receivers;
    bit<24>  reserved2;
}

header mt_receiver_t {
    bit<128> address;
    bit<24>  qpn;
    bit<8>   reserved;
}

// An extension header of RFC 8200 section 4, RFC 4302 or of their kind, carried along as it came.
header extension_t {
    bit<8>                 next_header;
    bit<8>                 hdr_ext_len;
    varbit<EXTENSION_BITS> data;
}

header udp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> length;
    bit<16> checksum;
}

// IBTA volume 1 section 9.2, annex A17 for FECN and BECN.
header bth_t {
    bit<8>  opcode;
    bit<1>  solicited;
    bit<1>  migreq;
    bit<2>  pad_count;
    bit<4>  tver;
    bit<16> pkey;
    bit<1>  fecn;
    bit<1>  becn;
    bit<6>  reserved;
    bit<24> dest_qpn;
    bit<1>  ack_req;
    bit<7>  reserved2;
    bit<24> psn;
}

header reth_t {
    bit<64> va;
    bit<32> rkey;
    bit<32> dma_length;
}

header aeth_t {
    bit<8>  syndrome;
    bit<24> msn;
}

header cnp_t {
    bit<128> reserved;
}

header payload_t {
    varbit<PAYLOAD_BITS> data;
}

header icrc_t {
    bit<32> crc;
}

// RFC 4443 sections 3.3 and 3.4.
header icmp_error_t {
    bit<8>  type;
    bit<8>  code;
    bit<16> checksum;
    bit<32> pointer;
}

header quoted_t {
    varbit<QUOTED_BITS> data;
}

// RFC 4861 section 4.3, with its options.
header solicitation_t {
    bit<8>   type;
    bit<8>   code;
    bit<16>  checksum;
    bit<32>  reserved;
    bit<128> target;
    varbit<ND_OPTION_BITS> options;
}

// RFC 4861 sections 4.4 and 4.6.1.
header advertisement_t {
    bit<8>   type;
    bit<8>   code;
    bit<16>  checksum;
    bit<1>   router;
    bit<1>   solicited;
    bit<1>   override;
    bit<29>  reserved;
    bit<128> target;
    bit<8>   option_type;
    bit<8>   option_length;
    bit<48>  mac;
}
const bit<16> ND_ADVERTISEMENT_OCTETS = 32;

// RFC 4443 section 4.1, as far as a reply differs.
header echo_t {
    bit<8>  type;
    bit<8>  code;
    bit<16> checksum;
}

struct headers_t {
    packet_in_t                      packet_in;
    packet_out_t                     packet_out;
    ethernet_t                       ethernet;
    ipv6_t                           outer_ipv6;   // only of encapsulated packets and SRHs
    srh_t                            srh;
    segment_t[SRH_SEGMENTS]          segment;
    srh_tlvs_t                       srh_tlvs;
    ethernet_t                       inner_ethernet;   // Next Header 143
    target_t                         target;
    pfc_t                            pfc;
    pfc_pad_t                        pfc_pad;
    mt_tlv_t                         mt_tlv;
    mt_receiver_t[MT_TLV_RECEIVERS]  mt_receiver;
    ipv6_t                           ipv6;         // the innermost one
    ipv4_t                           ipv4;         // of which ipv6 was made
    arp_t                            arp;          // so too
    extension_t[EXTENSIONS]          extension;    // behind it
    icmp_error_t                     icmp_error;
    quoted_t                         quoted;       // packet in error, from its IPv6 header on
    solicitation_t                   solicitation; // of a neighbor
    advertisement_t                  advertisement;
    echo_t                           echo;         // request
    udp_t                            udp;
    bth_t                            bth;
    reth_t                           reth;
    aeth_t                           aeth;
    cnp_t                            cnp;
    payload_t                        payload;
    icrc_t                           icrc;
}
