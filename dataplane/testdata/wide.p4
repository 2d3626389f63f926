// Wide integers: 200 bits at no octet's boundary in metadata, a field of 2,048
// bits, 129 bits with a sign.
#include <core.p4>
#include <v1model.p4>

header op_t { bit<8> op; bit<8> n; bit<200> a; bit<200> b; }
header big_t { bit<2048> big; }
header out_t { bit<200> r; }
struct headers_t { out_t o; op_t op; big_t big; }
struct meta_t { bit<3> pad; bit<200> a; int<129> s; }

parser P(packet_in pkt, out headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.op);
        transition select(hdr.op.op) {
            21 .. 22: big;
            default: accept;
        }
    }
    state big { pkt.extract(hdr.big); transition accept; }
}

control V(inout headers_t hdr, inout meta_t m) { apply {} }
control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        m.a = hdr.op.a;
        bit<200> a = m.a;
        bit<200> b = hdr.op.b;
        bit<200> r = 0;
        sm.egress_spec = 1;
        if (hdr.op.op == 1) { r = a + b; }
        if (hdr.op.op == 2) { r = a - b; }
        if (hdr.op.op == 3) { r = a * b; }
        if (hdr.op.op == 4) { r = a & b; }
        if (hdr.op.op == 5) { r = a | ~b; }
        if (hdr.op.op == 6) { r = a ^ b; }
        if (hdr.op.op == 7) { r = a << 67; }
        if (hdr.op.op == 8) { r = a >> 67; }
        if (hdr.op.op == 9) { r = a << hdr.op.n; }
        if (hdr.op.op == 10) { r = a >> hdr.op.n; }
        if (hdr.op.op == 11) { r = a |+| b; }
        if (hdr.op.op == 12) { r = a |-| b; }
        if (hdr.op.op == 13) { r = (a < b) ? a : b; }
        if (hdr.op.op == 14) { r = (a == b) ? 200w1 : 200w2; }
        if (hdr.op.op == 15) { r = a[199:100] ++ b[99:0]; }
        if (hdr.op.op == 16) { r = (bit<200>)a[130:3]; }
        if (hdr.op.op == 17) { r = -a; }
        if (hdr.op.op == 18) { r = (bit<200>)(bit<65>)a; }
        if (hdr.op.op == 19) { r = a + 200w0x10000000000000000; }
        if (hdr.op.op == 20) { r = (a >= b) ? 200w0xff : (b - a); }
        if (hdr.op.op == 21) { hdr.big.big = hdr.big.big + (bit<2048>)a; }
        if (hdr.op.op == 22) { hdr.big.big = (hdr.big.big << 250) ^ (hdr.big.big >> 251); }
        if (hdr.op.op == 23) { m.s = (int<129>)(bit<129>)a; m.s = m.s >> 5; r[128:0] = (bit<129>)m.s; if (m.s < 0) { r[199:199] = 1; } }
        hdr.o.setValid();
        hdr.o.r = r;
    }
}
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) { apply {} }
control C(inout headers_t hdr, inout meta_t m) { apply {} }
control D(packet_out pkt, in headers_t hdr) { apply { pkt.emit(hdr); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
