// Signed arithmetic: wrapping, saturating, shifts that keep the sign, sign
// extension and truncation by casts, comparison, odd widths, arguments.
#include <core.p4>
#include <v1model.p4>

header op_t { bit<8> op; int<16> a; int<16> b; bit<8> n; int<32> wide; }
header out_t { int<16> r; }
struct headers_t { out_t o; op_t op; }
struct meta_t { int<11> odd; int<16> given; }

parser P(packet_in pkt, out headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.op);
        transition accept;
    }
}

control V(inout headers_t hdr, inout meta_t m) { apply {} }
control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    action give(int<16> x) {
        m.given = x >> 1;
        if (x < 0) { m.given = m.given - 16s100; }
    }
    table given {
        key = { hdr.op.n: exact; hdr.op.b: exact; }
        actions = { give; }
        default_action = give(16s9);
        const entries = {
            (1, 16s1): give(16s11);
            (2, 16s0x10): give(16s7);
        }
    }
    apply {
        int<16> a = hdr.op.a;
        int<16> b = hdr.op.b;
        int<16> r = 0;
        sm.egress_spec = 1;
        if (hdr.op.op == 1) { r = a + b; }
        if (hdr.op.op == 2) { r = a - b; }
        if (hdr.op.op == 3) { r = a * b; }
        if (hdr.op.op == 4) { r = -a; }
        if (hdr.op.op == 5) { r = ~a; }
        if (hdr.op.op == 6) { r = a |+| b; }
        if (hdr.op.op == 7) { r = a |-| b; }
        if (hdr.op.op == 8) { r = a << 3; }
        if (hdr.op.op == 9) { r = a >> 3; }
        if (hdr.op.op == 10) { r = a >> hdr.op.n; }
        if (hdr.op.op == 11) { r = a << hdr.op.n; }
        if (hdr.op.op == 12) { r = (a < b) ? 16s1 : 16s0; }
        if (hdr.op.op == 13) { r = (a >= b) ? 16s1 : 16s0; }
        if (hdr.op.op == 14) { r = (a == b) ? a : b; }
        if (hdr.op.op == 15) { r = (int<16>)(int<8>)hdr.op.n; }
        if (hdr.op.op == 16) { r = (int<16>)(int<5>)(bit<5>)(bit<16>)a; }
        if (hdr.op.op == 17) { r = a & b; }
        if (hdr.op.op == 18) { r = a | -16s7; }
        if (hdr.op.op == 19) { r = (a < 0) ? -a : a; }
        if (hdr.op.op == 20) { r = (int<16>)(bit<16>)hdr.op.n * 16s2; }
        if (hdr.op.op == 21) { hdr.op.wide = (int<32>)a; }
        if (hdr.op.op == 22) { hdr.op.wide = (int<32>)a * (int<32>)b; }
        if (hdr.op.op == 23) { m.odd = (int<11>)a; m.odd = m.odd |+| (int<11>)b; r = (int<16>)m.odd; }
        if (hdr.op.op == 24) { given.apply(); r = m.given; }
        hdr.o.setValid();
        hdr.o.r = r;
    }
}
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) { apply {} }
control C(inout headers_t hdr, inout meta_t m) { apply {} }
control D(packet_out pkt, in headers_t hdr) { apply { pkt.emit(hdr); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
