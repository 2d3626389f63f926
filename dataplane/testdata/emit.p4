// Deparser: headers that are not there, one emitted twice, a stack, a union, in
// an order of its own; and what may be said on the way: log_msg and assert.
#include <core.p4>
#include <v1model.p4>

header op_t { bit<8> op; bit<8> v; }
header a_t { bit<8> v; }
header b_t { bit<16> v; }
header_union u_t { a_t a; b_t b; }
struct headers_t { op_t op; a_t a; b_t b; a_t[3] s; u_t u; }
struct meta_t {}

parser P(packet_in pkt, out headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.op);
        log_msg("op {} of value {}", { hdr.op.op, hdr.op.v });
        transition accept;
    }
}

control V(inout headers_t hdr, inout meta_t m) { apply {} }
control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        log_msg("no value");
        if (hdr.op.op[0:0] == 1) { hdr.a.setValid(); hdr.a.v = 0xa1; }
        if (hdr.op.op[1:1] == 1) { hdr.b.setValid(); hdr.b.v = 0xb1b2; }
        if (hdr.op.op[2:2] == 1) { hdr.s[0].setValid(); hdr.s[0].v = 0xc0; hdr.s[2].setValid(); hdr.s[2].v = 0xc2; }
        if (hdr.op.op[3:3] == 1) { hdr.u.b.setValid(); hdr.u.b.v = 0xd1d2; }
        if (hdr.op.op[4:4] == 1) { hdr.u.a.setValid(); hdr.u.a.v = 0xe1; }
        if (hdr.op.op[5:5] == 1) { hdr.op.setInvalid(); }
        assume(sm.egress_spec == 1);
    }
}
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) { apply {} }
control C(inout headers_t hdr, inout meta_t m) { apply {} }
control D(packet_out pkt, in headers_t hdr) {
    apply {
        log_msg("leaves");
        pkt.emit(hdr.b);
        pkt.emit(hdr.op);
        pkt.emit(hdr.a);
        pkt.emit(hdr.s);
        pkt.emit(hdr.b);
        pkt.emit(hdr.u);
        pkt.emit(hdr.a);
        assert(hdr.op.op != 0x7f);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
