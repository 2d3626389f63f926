// Checksums: verified and updated under a condition, over the payload, over
// headers that are not there, into a header that is not there, with algorithms
// other than the Internet's; an input of whole bits that is not whole octets.
#include <core.p4>
#include <v1model.p4>

header op_t { bit<8> op; bit<16> sum; bit<4> x; bit<12> y; bit<16> sum2; }
header opt_t { bit<16> v; bit<16> sum; }
header out_t { bit<8> bad; }
struct headers_t { out_t o; op_t op; opt_t opt; }
struct meta_t { bit<8> kind; bit<16> kept; }

parser P(packet_in pkt, out headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.op);
        m.kind = hdr.op.op;
        transition select(hdr.op.op[7:7]) {
            1: opt;
            default: accept;
        }
    }
    state opt { pkt.extract(hdr.opt); transition accept; }
}

control V(inout headers_t hdr, inout meta_t m) {
    apply {
        verify_checksum(m.kind[6:0] == 1, { hdr.op.op, hdr.op.x, hdr.op.y, hdr.opt.v }, hdr.op.sum, HashAlgorithm.csum16);
        verify_checksum_with_payload(m.kind[6:0] == 2, { hdr.op.op, hdr.op.x, hdr.op.y }, hdr.op.sum, HashAlgorithm.csum16);
        verify_checksum(m.kind[6:0] == 3, { hdr.op.y, hdr.op.x }, hdr.op.sum, HashAlgorithm.crc16);
        verify_checksum(m.kind[6:0] == 4, { hdr.op.y }, hdr.opt.sum, HashAlgorithm.csum16);
    }
}
control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        hdr.o.setValid();
        hdr.o.bad = (bit<8>)sm.checksum_error;
        if (m.kind[6:0] == 5) { hdr.opt.setInvalid(); }
        if (m.kind[6:0] == 6) { hdr.opt.setValid(); hdr.opt.v = 0x1234; }
        if (m.kind[6:0] == 8) { truncate(12); }
    }
}
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) { apply {} }
control C(inout headers_t hdr, inout meta_t m) {
    apply {
        update_checksum(m.kind[6:0] != 0, { hdr.op.op, hdr.op.x, hdr.op.y, hdr.opt.v }, hdr.op.sum, HashAlgorithm.csum16);
        update_checksum_with_payload(m.kind[6:0] >= 2, { hdr.op.op, hdr.op.sum, hdr.o.bad, hdr.op.x, hdr.op.y }, hdr.op.sum2, HashAlgorithm.csum16);
        update_checksum(m.kind[6:0] >= 5, { hdr.op.sum2, hdr.opt.v }, hdr.opt.sum, HashAlgorithm.crc16);
        update_checksum(m.kind[6:0] == 7, { hdr.op.y, hdr.op.x }, hdr.op.sum2, HashAlgorithm.xor16);
    }
}
control D(packet_out pkt, in headers_t hdr) { apply { pkt.emit(hdr); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
