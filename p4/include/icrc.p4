// Invariant CRC of RoCEv2, here over IPv6 and in ipv4.p4 over IPv4 (IBTA annex A17): CRC-32 over the packet from the IPv6 header
// up to the ICRC, with 64 one bits in front and the fields that routers change set to ones.
// It travels with its octets swapped.

#define ICRC_PSEUDO_HEADER                                                             \
    64w0xffffffffffffffff, hdr.ipv6.version, 8w0xff, 20w0xfffff, hdr.ipv6.payload_len, \
    hdr.ipv6.next_header, 8w0xff, hdr.ipv6.src_addr, hdr.ipv6.dst_addr,                \
    hdr.udp.src_port, hdr.udp.dst_port, hdr.udp.length, 16w0xffff,                     \
    hdr.bth.opcode, hdr.bth.solicited, hdr.bth.migreq, hdr.bth.pad_count,              \
    hdr.bth.tver, hdr.bth.pkey, 8w0xff, hdr.bth.dest_qpn, hdr.bth.ack_req,             \
    hdr.bth.reserved2, hdr.bth.psn

// The ICRC that the packet as it stands ought to carry.
control Icrc(inout headers_t hdr, out bit<32> icrc) {
    IcrcIpv4() icrc_ipv4;
    bit<32> crc;

    apply {
        if (hdr.ipv4.isValid()) {
            icrc_ipv4.apply(hdr, crc);
        } else if (hdr.aeth.isValid()) {
            hash(crc, HashAlgorithm.crc32, 32w0, { ICRC_PSEUDO_HEADER, hdr.aeth.syndrome, hdr.aeth.msn }, 64w0x100000000);
        } else if (hdr.cnp.isValid()) {
            hash(crc, HashAlgorithm.crc32, 32w0, { ICRC_PSEUDO_HEADER, hdr.cnp.reserved }, 64w0x100000000);
        } else if (hdr.reth.isValid()) {
            hash(crc, HashAlgorithm.crc32, 32w0,
                 { ICRC_PSEUDO_HEADER, hdr.reth.va, hdr.reth.rkey, hdr.reth.dma_length, hdr.payload.data }, 64w0x100000000);
        } else {
            hash(crc, HashAlgorithm.crc32, 32w0, { ICRC_PSEUDO_HEADER, hdr.payload.data }, 64w0x100000000);
        }
        icrc = crc[7:0] ++ crc[15:8] ++ crc[23:16] ++ crc[31:24];
    }
}

// Of IPv4 the sum is the same: that of an IPv4-mapped address is that of the IPv4 address, modulo 0xffff.
#define UDP_PSEUDO_HEADER                                                              \
    hdr.ipv6.src_addr, hdr.ipv6.dst_addr, 16w0, hdr.udp.length, 24w0, PROTO_UDP,       \
    hdr.udp.src_port, hdr.udp.dst_port, hdr.udp.length,                                \
    hdr.bth.opcode, hdr.bth.solicited, hdr.bth.migreq, hdr.bth.pad_count,              \
    hdr.bth.tver, hdr.bth.pkey, hdr.bth.fecn, hdr.bth.becn, hdr.bth.reserved,          \
    hdr.bth.dest_qpn, hdr.bth.ack_req, hdr.bth.reserved2, hdr.bth.psn

// The UDP checksum of a RoCEv2 request; only for packets that carry one. It covers the ICRC, so
// it comes after it.
control UdpChecksum(inout headers_t hdr) {
    bit<16> sum;

    apply {
        if (hdr.reth.isValid()) {
            hash(sum, HashAlgorithm.csum16, 16w0,
                 { UDP_PSEUDO_HEADER, hdr.reth.va, hdr.reth.rkey, hdr.reth.dma_length, hdr.payload.data, hdr.icrc.crc },
                 32w0x10000);
        } else {
            hash(sum, HashAlgorithm.csum16, 16w0, { UDP_PSEUDO_HEADER, hdr.payload.data, hdr.icrc.crc }, 32w0x10000);
        }
        // Zero means "no checksum" (RFC 8200 section 8.1).
        hdr.udp.checksum = sum == 0 ? 16w0xffff : sum;
    }
}
