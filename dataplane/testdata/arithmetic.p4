// Unsigned arithmetic of 32 and 64 bits: wrapping, saturating, shifts by more
// than the width, slices, concatenations, casts, division by constants.
#include <core.p4>
#include <v1model.p4>

header op_t { bit<8> op; bit<32> a; bit<32> b; bit<64> wide; }
header out_t { bit<32> r; }
struct headers_t { out_t o; op_t op; }
struct meta_t {}

parser P(packet_in pkt, out headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.op);
        transition accept;
    }
}

control V(inout headers_t hdr, inout meta_t m) { apply {} }
control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        bit<32> a = hdr.op.a;
        bit<32> b = hdr.op.b;
        bit<32> r = 0;
        sm.egress_spec = 1;
        if (hdr.op.op == 1) { r = a + b; }
        if (hdr.op.op == 2) { r = a - b; }
        if (hdr.op.op == 3) { r = a * b; }
        if (hdr.op.op == 4) { r = a & b; }
        if (hdr.op.op == 5) { r = a | b; }
        if (hdr.op.op == 6) { r = a ^ b; }
        if (hdr.op.op == 7) { r = ~a; }
        if (hdr.op.op == 8) { r = -a; }
        if (hdr.op.op == 9) { r = a << b[4:0]; }
        if (hdr.op.op == 10) { r = a >> b[4:0]; }
        if (hdr.op.op == 11) { r = a << b[7:0]; }
        if (hdr.op.op == 12) { r = a >> b[7:0]; }
        if (hdr.op.op == 13) { r = a |+| b; }
        if (hdr.op.op == 14) { r = a |-| b; }
        if (hdr.op.op == 15) { r = a << 40; }
        if (hdr.op.op == 16) { r = a >> 3; }
        if (hdr.op.op == 17) { r = (a == b) ? 32w1 : 32w0; }
        if (hdr.op.op == 18) { r = (a < b) ? 32w1 : 32w0; }
        if (hdr.op.op == 19) { r = (a >= b) ? a : b; }
        if (hdr.op.op == 20) { r = a[15:8] ++ b[7:0] ++ a[31:16]; }
        if (hdr.op.op == 21) { r = (bit<32>)a[6:0] + (bit<32>)(b[2:0] |+| 3w7); }
        if (hdr.op.op == 22) { r = a * 3 - b / 4; }
        if (hdr.op.op == 23) { r = a % 16 + b / 8; }
        if (hdr.op.op == 24) { r = (bit<32>)(bit<4>)a + (bit<32>)(bit<1>)b; }
        if (hdr.op.op == 25) { r = (a & 0xff00) >> 8 | (b & 0xff) << 8; }
        if (hdr.op.op == 26) { r = (a ^ b) & ~(a | 0x0f0f0f0f); }
        if (hdr.op.op == 27) { r = (bit<32>)((bit<64>)a * (bit<64>)b >> 32); }
        if (hdr.op.op == 129) { hdr.op.wide = (bit<64>)a + (bit<64>)b; }
        if (hdr.op.op == 130) { hdr.op.wide = (bit<64>)a << b[7:0]; }
        if (hdr.op.op == 131) { hdr.op.wide = ((bit<64>)a << 32) - (bit<64>)b; }
        if (hdr.op.op == 132) { hdr.op.wide = (32w0 ++ a) |-| (32w0 ++ b); }
        if (hdr.op.op == 133) { hdr.op.wide = ((bit<64>)a * (bit<64>)b) |+| 0xffffffff00000000; }
        if (hdr.op.op == 134) { hdr.op.wide = ~(bit<64>)a >> b[5:0]; }
        hdr.o.setValid();
        hdr.o.r = r;
    }
}
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) { apply {} }
control C(inout headers_t hdr, inout meta_t m) { apply {} }
control D(packet_out pkt, in headers_t hdr) { apply { pkt.emit(hdr); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
