// Hashes: every algorithm of v1model, ranges from a base, a range of nothing,
// inputs that are not whole octets, constants, fields of headers that are not
// there, signed fields, expressions; and random numbers between equal bounds.
#include <core.p4>
#include <v1model.p4>

header op_t { bit<8> op; bit<32> a; bit<3> x; bit<13> y; bit<128> d; int<16> s; }
header opt_t { bit<32> v; }
header out_t { bit<64> r; }
struct headers_t { out_t o; op_t op; opt_t opt; }
struct meta_t { bit<11> odd; bit<64> r; }

parser P(packet_in pkt, out headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.op);
        transition select(hdr.op.op[7:7]) {
            1: opt;
            default: accept;
        }
    }
    state opt { pkt.extract(hdr.opt); transition accept; }
}

control V(inout headers_t hdr, inout meta_t m) { apply {} }
control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        bit<7> op = hdr.op.op[6:0];
        m.odd = hdr.op.a[10:0];
        if (op == 1) { hash(m.r, HashAlgorithm.crc32, 64w0, { hdr.op.a, hdr.op.d }, 64w0x100000000); }
        if (op == 2) { hash(m.r, HashAlgorithm.crc32_custom, 64w0, { hdr.op.a, hdr.op.d }, 64w0x100000000); }
        if (op == 3) { hash(m.r, HashAlgorithm.crc16, 64w0, { hdr.op.a, hdr.op.d }, 64w0x10000); }
        if (op == 4) { hash(m.r, HashAlgorithm.crc16_custom, 64w0, { hdr.op.a, hdr.op.d }, 64w0x10000); }
        if (op == 5) { hash(m.r, HashAlgorithm.identity, 64w0, { hdr.op.a, hdr.op.d }, 64w0xffffffffffffffff); }
        if (op == 6) { hash(m.r, HashAlgorithm.csum16, 64w0, { hdr.op.a, hdr.op.d }, 64w0x10000); }
        if (op == 7) { hash(m.r, HashAlgorithm.xor16, 64w0, { hdr.op.a, hdr.op.d }, 64w0x10000); }
        if (op == 8) { hash(m.r, HashAlgorithm.crc32, 64w1000, { hdr.op.x, hdr.op.y, hdr.op.a }, 64w17); }
        if (op == 9) { hash(m.r, HashAlgorithm.crc32, 64w5, { hdr.op.a }, 64w0); }
        if (op == 10) { hash(m.r, HashAlgorithm.crc16, 64w0, { hdr.op.x, 5w9, m.odd, 7w0x55, hdr.op.y }, 64w0x10000); }
        if (op == 11) { hash(m.r, HashAlgorithm.csum16, 64w0, { hdr.op.x, hdr.op.d, hdr.op.y }, 64w0x10000); }
        if (op == 12) { hash(m.r, HashAlgorithm.crc32, 64w0, { hdr.opt.v, hdr.op.a }, 64w0x100000000); }
        if (op == 13) { hash(m.r, HashAlgorithm.crc32, 64w0, { hdr.opt, hdr.op }, 64w0x100000000); }
        if (op == 14) { hash(m.r, HashAlgorithm.xor16, 64w0, { hdr.op.s, hdr.op.x }, 64w0x10000); }
        if (op == 15) { bit<16> r; hash(r, HashAlgorithm.crc32, 16w0xfff0, { hdr.op.a }, 16w0xffff); m.r = (bit<64>)r; }
        if (op == 16) { hash(m.r, HashAlgorithm.identity, 64w0, { hdr.op.x, hdr.op.y }, 64w0xffffffffffffffff); }
        if (op == 17) { random(m.r, 64w7, 64w7); }
        if (op == 18) { m.r = 9; random(m.r, 64w8, 64w7); }
        if (op == 19) { bit<8> n; random(n, 8w10, 8w13); if (n >= 10 && n <= 13) { m.r = 1; } else { m.r = (bit<64>)n; } }
        if (op == 20) { hash(m.r, HashAlgorithm.crc32, 64w0xffffffffffffffff, { hdr.op.a }, 64w0x100000000); }
        if (op == 21) { hash(m.r, HashAlgorithm.crc16, 64w0, { hdr.op.a + 1, hdr.op.a ++ hdr.op.x }, 64w0x10000); }
        if (op == 22) { bit<128> r; hash(r, HashAlgorithm.crc32, 128w1, { hdr.op.a }, 128w0x100000000); m.r = r[63:0] + r[127:64]; }
        hdr.o.setValid();
        hdr.o.r = m.r;
    }
}
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) { apply {} }
control C(inout headers_t hdr, inout meta_t m) { apply {} }
control D(packet_out pkt, in headers_t hdr) { apply { pkt.emit(hdr.o); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
