// Checksums: verified and updated, conditional, with payload.
#include <core.p4>
#include <v1model.p4>

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  tos;
    bit<16> length;
    bit<16> id;
    bit<16> frag;
    bit<8>  ttl;
    bit<8>  proto;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}
header options_t { varbit<320> data; }
header udp_t {
    bit<16> src;
    bit<16> dst;
    bit<16> length;
    bit<16> checksum;
}

struct headers_t {
    ipv4_t    ip;
    options_t options;
    udp_t     udp;
}
struct meta_t { }

parser P(packet_in pkt, out headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.ip);
        verify(hdr.ip.ihl >= 5, error.HeaderTooShort);
        pkt.extract(hdr.options, ((bit<32>)hdr.ip.ihl - 5) << 5);
        transition select(hdr.ip.proto) {
            17: udp;
            default: accept;
        }
    }
    state udp {
        pkt.extract(hdr.udp);
        transition accept;
    }
}

#define IP_FIELDS hdr.ip.version, hdr.ip.ihl, hdr.ip.tos, hdr.ip.length, hdr.ip.id, hdr.ip.frag, \
    hdr.ip.ttl, hdr.ip.proto, hdr.ip.src, hdr.ip.dst, hdr.options.data

control V(inout headers_t hdr, inout meta_t m) {
    apply {
        verify_checksum(hdr.ip.isValid(), { IP_FIELDS }, hdr.ip.checksum, HashAlgorithm.csum16);
        verify_checksum_with_payload(hdr.udp.isValid() && hdr.udp.checksum != 0,
            { hdr.ip.src, hdr.ip.dst, 8w0, hdr.ip.proto, hdr.udp.length, hdr.udp.src, hdr.udp.dst, hdr.udp.length },
            hdr.udp.checksum, HashAlgorithm.csum16);
    }
}

control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = sm.checksum_error == 1 ? 9w2 : 9w1;
        hdr.ip.ttl = hdr.ip.ttl - 1;
        hdr.ip.dst[7:0] = 8w99;
    }
}

control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) { apply {} }

control C(inout headers_t hdr, inout meta_t m) {
    apply {
        update_checksum(hdr.ip.isValid(), { IP_FIELDS }, hdr.ip.checksum, HashAlgorithm.csum16);
        update_checksum_with_payload(hdr.udp.isValid() && hdr.udp.checksum != 0,
            { hdr.ip.src, hdr.ip.dst, 8w0, hdr.ip.proto, hdr.udp.length, hdr.udp.src, hdr.udp.dst, hdr.udp.length },
            hdr.udp.checksum, HashAlgorithm.csum16);
    }
}

control D(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.ip);
        pkt.emit(hdr.options);
        pkt.emit(hdr.udp);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
