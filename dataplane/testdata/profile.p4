// Action profiles and selectors: entries that name members and groups, what is
// run after a member's action, hits and misses.
#include <core.p4>
#include <v1model.p4>

header op_t { bit<8> op; bit<16> a; bit<32> flow; }
header out_t { bit<16> r; bit<8> path; }
struct headers_t { out_t o; op_t op; }
struct meta_t { bit<16> r; }

parser P(packet_in pkt, out headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.op);
        transition accept;
    }
}

control V(inout headers_t hdr, inout meta_t m) { apply {} }
control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    action_profile(16) mine;
    action_profile(16) others;
    action_profile(16) thirds;
    action_selector(HashAlgorithm.crc16, 16, 16) chosen;
    action_selector(HashAlgorithm.identity, 16, 16) plain;
    action set(bit<16> r) { m.r = r; }
    action more() { m.r = m.r + 0x100; }
    table first {
        key = { hdr.op.a: exact; }
        actions = { set; more; NoAction; }
        implementation = mine;
    }
    table third {
        key = { hdr.op.a: exact; }
        actions = { set; more; NoAction; }
        implementation = thirds;
    }
    table second {
        key = { hdr.op.a: lpm; }
        actions = { set; more; NoAction; }
        implementation = others;
    }
    table by_flow {
        key = { hdr.op.a: exact; hdr.op.flow: selector; hdr.op.op: selector; }
        actions = { set; more; NoAction; }
        implementation = chosen;
    }
    table by_number {
        key = { hdr.op.a: ternary; hdr.op.flow: selector; }
        actions = { set; NoAction; }
        implementation = plain;
    }
    apply {
        sm.egress_spec = 1;
        hdr.o.setValid();
        if (hdr.op.op == 1) { if (third.apply().hit) { hdr.o.path = 1; } else { hdr.o.path = 2; } }
        if (hdr.op.op == 2) { first.apply(); second.apply(); }
        if (hdr.op.op == 3) {
            switch (by_flow.apply().action_run) {
                set: { hdr.o.path = 1; }
                more: { hdr.o.path = 2; }
                default: { hdr.o.path = 3; }
            }
        }
        if (hdr.op.op == 4) { if (by_number.apply().miss) { hdr.o.path = 4; } }
        hdr.o.r = m.r;
    }
}
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) { apply {} }
control C(inout headers_t hdr, inout meta_t m) { apply {} }
control D(packet_out pkt, in headers_t hdr) { apply { pkt.emit(hdr); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
