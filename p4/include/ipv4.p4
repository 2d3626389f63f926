// IPv4 of hosts. Inside the program an IPv4 packet is an IPv6 one between IPv4-mapped addresses (RFC 4291 section 2.5.5.2), so
// that every table has one key for both families: the parser makes hdr.ipv6 of what it reads, hdr.ipv4 stays beside it, and the
// last control of egress writes back what has changed. Nothing of IPv6 waits for it. Between switches IPv4 is encapsulated.
// Fragments are carried along, options (RFC 791 section 3.1) are not.

#define IPV4_CHECKED                                                                             \
    hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len,             \
    hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.fragment_offset, hdr.ipv4.ttl, hdr.ipv4.protocol

// The header of a packet that the switch takes or takes out of a tunnel (RFC 1812 section 5.2.2).
control VerifyIpv4(inout headers_t hdr, inout metadata_t meta) {
    bit<16> sum;

    apply {
        hash(sum, HashAlgorithm.csum16, 16w0,
             { IPV4_CHECKED, hdr.ipv4.checksum, hdr.ipv4.src_addr, hdr.ipv4.dst_addr }, 32w0x10000);
        if (sum != 0) {
            meta.drop_reason = DropReason.IPV4_CHECKSUM;
        }
    }
}

// The last thing in egress.
control Ipv4Departure(inout headers_t hdr) {
    bit<16> sum;

    apply {
        if (hdr.ipv4.isValid()) {
            bit<16> total_len = hdr.ipv6.payload_len + IPV4_OCTETS;
            // What passes unchanged keeps its checksum, right or wrong.
            if (hdr.ipv4.ttl != hdr.ipv6.hop_limit || hdr.ipv4.dscp != hdr.ipv6.dscp || hdr.ipv4.ecn != hdr.ipv6.ecn ||
                hdr.ipv4.total_len != total_len || hdr.ipv4.src_addr != hdr.ipv6.src_addr[31:0] ||
                hdr.ipv4.dst_addr != hdr.ipv6.dst_addr[31:0]) {
                hdr.ipv4.ttl = hdr.ipv6.hop_limit;
                hdr.ipv4.dscp = hdr.ipv6.dscp;
                hdr.ipv4.ecn = hdr.ipv6.ecn;
                hdr.ipv4.total_len = total_len;
                hdr.ipv4.src_addr = hdr.ipv6.src_addr[31:0];
                hdr.ipv4.dst_addr = hdr.ipv6.dst_addr[31:0];
                hash(sum, HashAlgorithm.csum16, 16w0, { IPV4_CHECKED, 16w0, hdr.ipv4.src_addr, hdr.ipv4.dst_addr }, 32w0x10000);
                hdr.ipv4.checksum = sum;
            }
            hdr.ethernet.ether_type = hdr.outer_ipv6.isValid() ? ETHERTYPE_IPV6 : ETHERTYPE_IPV4;
            hdr.ipv6.setInvalid();
        } else if (hdr.arp.isValid()) {
            hdr.ipv6.setInvalid();
        }
    }
}

// Invariant CRC over IPv4 (IBTA annex A17): the header as it is on the wire, but type of service, time to live and checksum,
// which are ones, and without the switch's own changes to what it covers written back yet.
#define ICRC_PSEUDO_HEADER_IPV4                                                        \
    64w0xffffffffffffffff, hdr.ipv4.version, hdr.ipv4.ihl, 8w0xff, total_len,          \
    hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.fragment_offset, 8w0xff,         \
    hdr.ipv4.protocol, 16w0xffff, hdr.ipv6.src_addr[31:0], hdr.ipv6.dst_addr[31:0],    \
    hdr.udp.src_port, hdr.udp.dst_port, hdr.udp.length, 16w0xffff,                     \
    hdr.bth.opcode, hdr.bth.solicited, hdr.bth.migreq, hdr.bth.pad_count,              \
    hdr.bth.tver, hdr.bth.pkey, 8w0xff, hdr.bth.dest_qpn, hdr.bth.ack_req,             \
    hdr.bth.reserved2, hdr.bth.psn

control IcrcIpv4(inout headers_t hdr, out bit<32> crc) {
    apply {
        bit<16> total_len = hdr.ipv6.payload_len + IPV4_OCTETS;
        if (hdr.aeth.isValid()) {
            hash(crc, HashAlgorithm.crc32, 32w0, { ICRC_PSEUDO_HEADER_IPV4, hdr.aeth.syndrome, hdr.aeth.msn }, 64w0x100000000);
        } else if (hdr.cnp.isValid()) {
            hash(crc, HashAlgorithm.crc32, 32w0, { ICRC_PSEUDO_HEADER_IPV4, hdr.cnp.reserved }, 64w0x100000000);
        } else if (hdr.reth.isValid()) {
            hash(crc, HashAlgorithm.crc32, 32w0,
                 { ICRC_PSEUDO_HEADER_IPV4, hdr.reth.va, hdr.reth.rkey, hdr.reth.dma_length, hdr.payload.data },
                 64w0x100000000);
        } else {
            hash(crc, HashAlgorithm.crc32, 32w0, { ICRC_PSEUDO_HEADER_IPV4, hdr.payload.data }, 64w0x100000000);
        }
    }
}

// A header for a response to an IPv4 source, which the switch makes from scratch.
control MakeIpv4(inout headers_t hdr) {
    apply {
        hdr.ipv4.setValid();
        hdr.ipv4.version = 4;
        hdr.ipv4.ihl = 5;
        hdr.ipv4.dscp = 0;
        hdr.ipv4.ecn = 0;
        hdr.ipv4.identification = 0;
        hdr.ipv4.flags = IPV4_DONT_FRAGMENT;
        hdr.ipv4.fragment_offset = 0;
        hdr.ipv4.ttl = 0;            // not that of hdr.ipv6: the checksum is due
        hdr.ipv4.protocol = PROTO_UDP;
    }
}
