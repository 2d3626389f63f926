// Control flow: switch on the action run and on an expression, hit and miss,
// exit and return at every depth, actions called directly, nested conditions,
// short circuits, conditional operators, loops.
#include <core.p4>
#include <v1model.p4>

header op_t { bit<8> op; bit<8> a; bit<8> b; }
header out_t { bit<8> path; bit<8> egress; bit<16> sum; }
struct headers_t { out_t o; op_t op; }
struct meta_t { bit<8> path; bit<16> sum; }

parser P(packet_in pkt, out headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.op);
        transition accept;
    }
}

control V(inout headers_t hdr, inout meta_t m) { apply {} }

control Inner(inout headers_t hdr, inout meta_t m) {
    action leave() { m.path = m.path + 1; exit; }
    action stay(bit<8> n) {
        if (n == 5) { return; }
        m.path = m.path + n;
    }
    apply {
        if (hdr.op.a == 1) { return; }
        m.path = m.path + 0x10;
        if (hdr.op.a == 2) { leave(); }
        m.path = m.path + 0x20;
        if (hdr.op.a == 3) { exit; }
        stay(hdr.op.b);
        m.path = m.path + 0x40;
    }
}

control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    Inner() inner;
    action one() { m.path = 1; }
    action two(bit<8> n) { m.path = n; }
    action three() { m.path = 3; exit; }
    table t {
        key = { hdr.op.a: exact; }
        actions = { one; two; three; NoAction; }
        default_action = NoAction();
    }
    table t4 {
        key = { hdr.op.a: exact; }
        actions = { one; two; NoAction; }
        const default_action = NoAction();
        const entries = { 1: one(); 2: two(9); }
    }
    table u {
        key = { hdr.op.b: exact; }
        actions = { one; NoAction; }
        const default_action = NoAction();
        const entries = { 1: one(); }
    }
    table v {
        key = { hdr.op.b: exact; }
        actions = { one; NoAction; }
        const default_action = NoAction();
        const entries = { 2: one(); }
    }
    apply {
        sm.egress_spec = 1;
        hdr.o.setValid();
        if (hdr.op.op == 1) {
            switch (t.apply().action_run) {
                one: { m.sum = 1; }
                two:
                three: { m.sum = 2; }
                default: { m.sum = 3; }
            }
            m.sum = m.sum + 0x100;
        }
        if (hdr.op.op == 2) {
            switch (hdr.op.a) {
                1: { m.sum = 1; }
                2:
                3: { m.sum = 2; }
                0xff: { exit; }
                default: { m.sum = 4; }
            }
        }
        if (hdr.op.op == 3) { inner.apply(hdr, m); m.sum = 7; }
        if (hdr.op.op == 4) {
            if (t4.apply().hit && u.apply().miss) { m.sum = 1; } else if (hdr.op.a > 3 || v.apply().hit) { m.sum = 2; } else { m.sum = 3; }
        }
        if (hdr.op.op == 5) {
            for (bit<8> i = 0; i < 10; i = i + 1) {
                if (i == hdr.op.a) { continue; }
                if (i == hdr.op.b) { break; }
                m.sum = m.sum + (bit<16>)i;
            }
        }
        if (hdr.op.op == 7) { m.sum = hdr.op.a == 0 ? (hdr.op.b == 0 ? 16w1 : 16w2) : (hdr.op.b == 0 ? 16w3 : 16w4); }
        if (hdr.op.op == 8) { if (!(hdr.op.a == 1) && (hdr.op.b == 1 || hdr.op.b == 2) != (hdr.op.a == 2)) { m.sum = 1; } }
        if (hdr.op.op == 9) { if (hdr.op.a == 1) { return; } m.sum = 5; }
        m.path = m.path | 0x80;
    }
}
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    action last() { hdr.o.egress = 1; exit; }
    apply {
        hdr.o.path = m.path;
        hdr.o.sum = m.sum;
        if (hdr.op.b == 1) { last(); }
        hdr.o.egress = hdr.o.egress + 2;
    }
}
control C(inout headers_t hdr, inout meta_t m) { apply {} }
control D(packet_out pkt, in headers_t hdr) { apply { pkt.emit(hdr); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
