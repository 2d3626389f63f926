// Match kinds: exact, lpm, ternary, range (narrow and of 128 bits), optional,
// all of them mixed; keys of headers that are not there; bool and signed keys,
// and a key that is an expression.
#include <core.p4>
#include <v1model.p4>

header op_t { bit<8> op; bit<16> a; bit<12> b; bit<4> c; bit<128> d; int<8> s; }
header opt_t { bit<16> v; }
header out_t { bit<16> r; }
struct headers_t { out_t o; op_t op; opt_t opt; }
struct meta_t { bit<16> r; bool odd; }

parser P(packet_in pkt, out headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.op);
        m.odd = hdr.op.a[0:0] == 1;
        transition select(hdr.op.op[7:7]) {
            1: opt;
            default: accept;
        }
    }
    state opt { pkt.extract(hdr.opt); transition accept; }
}

control V(inout headers_t hdr, inout meta_t m) { apply {} }
control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    action set(bit<16> r) { m.r = r; }
    table exact_t {
        key = { hdr.op.a: exact; hdr.op.b: exact @name("bee"); }
        actions = { set; NoAction; }
        size = 16;
        default_action = set(0xdddd);
    }
    table lpm_t {
        key = { hdr.op.c: exact; hdr.op.d: lpm; }
        actions = { set; NoAction; }
        default_action = NoAction();
    }
    table ternary_t {
        key = { hdr.op.a: ternary; hdr.op.d: ternary; }
        actions = { set; NoAction; }
        default_action = NoAction();
    }
    table range_t {
        key = { hdr.op.a: range; hdr.op.c: exact; }
        actions = { set; NoAction; }
        default_action = NoAction();
    }
    table wide_range_t {
        key = { hdr.op.d: range; }
        actions = { set; NoAction; }
        default_action = NoAction();
    }
    table optional_t {
        key = { hdr.op.a: optional; hdr.op.b: optional; }
        actions = { set; NoAction; }
        default_action = NoAction();
    }
    table mixed_t {
        key = { hdr.op.a: lpm; hdr.op.b: ternary; hdr.op.c: range; hdr.op.d: exact; }
        actions = { set; NoAction; }
        default_action = NoAction();
    }
    table invalid_t {
        key = { hdr.opt.v: exact; hdr.opt.isValid(): exact; }
        actions = { set; NoAction; }
        default_action = NoAction();
    }
    table odd_t {
        key = { m.odd: exact; hdr.op.s: exact; hdr.op.a & 0xff00: exact @name("high"); hdr.op.b[7:4]: ternary @name("nibble"); }
        actions = { set; NoAction; }
        default_action = NoAction();
    }
    table keyless_t {
        actions = { set; NoAction; }
        default_action = NoAction();
    }
    apply {
        sm.egress_spec = 1;
        bit<7> op = hdr.op.op[6:0];
        if (op == 1) { exact_t.apply(); }
        if (op == 2) { lpm_t.apply(); }
        if (op == 3) { ternary_t.apply(); }
        if (op == 4) { range_t.apply(); }
        if (op == 5) { wide_range_t.apply(); }
        if (op == 6) { optional_t.apply(); }
        if (op == 7) { mixed_t.apply(); }
        if (op == 8) { invalid_t.apply(); }
        if (op == 9) { odd_t.apply(); }
        if (op == 10) { keyless_t.apply(); }
        hdr.o.setValid();
        hdr.o.r = m.r;
    }
}
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) { apply {} }
control C(inout headers_t hdr, inout meta_t m) { apply {} }
control D(packet_out pkt, in headers_t hdr) { apply { pkt.emit(hdr); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
