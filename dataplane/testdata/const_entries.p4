// Entries that come with the program: priorities by position and by number,
// either way round; masks, ranges, prefixes and don't cares; defaults with
// arguments, constant and not.
#include <core.p4>
#include <v1model.p4>

header op_t { bit<8> op; bit<16> a; bit<8> b; }
header out_t { bit<16> r; bit<8> hit; }
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
    action set(bit<16> r) { m.r = r; }
    action add(bit<16> r) { m.r = m.r + r; }
    table exact_t {
        key = { hdr.op.a: exact; hdr.op.b: exact; }
        actions = { set; add; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            (1, 2): set(1);
            (1, 3): add(2);
            (0xffff, 0xff): set(3);
        }
    }
    table lpm_t {
        key = { hdr.op.a: lpm; }
        actions = { set; @tableonly add; }
        default_action = set(9);
        const entries = {
            0x1200 &&& 0xff00: set(1);
            0x1230 &&& 0xfff0: add(2);
            0x1234: set(3);
            _: set(4);
        }
    }
    table ternary_t {
        key = { hdr.op.a: ternary; hdr.op.b: ternary; }
        actions = { set; }
        const default_action = set(0xeeee);
        const entries = {
            (0x1234, _): set(1);
            (0x1200 &&& 0xff00, 0x80 &&& 0x80): set(2);
            (_, 0x80): set(3);
            (0x1200 &&& 0xff00, _): set(4);
        }
    }
    table largest_t {
        key = { hdr.op.a: ternary; }
        actions = { set; NoAction; }
        const default_action = NoAction();
        largest_priority_wins = true;
        priority_delta = 10;
        entries = {
            priority = 100: 0x0001 &&& 0x000f: set(1);
            0x0011 &&& 0x00ff: set(2);
            priority = 200: 0x0111 &&& 0x0fff: set(3);
            const priority = 50: _: set(4);
        }
    }
    table smallest_t {
        key = { hdr.op.a: range; hdr.op.b: optional; }
        actions = { set; NoAction; }
        const default_action = NoAction();
        largest_priority_wins = false;
        entries = {
            const priority = 10: (10 .. 20, _): set(1);
            const priority = 5: (15 .. 30, _): set(2);
            const priority = 1: (16 .. 17, 7): set(3);
            priority = 100: (_, 8): set(4);
        }
    }
    apply {
        sm.egress_spec = 1;
        hdr.o.setValid();
        if (hdr.op.op == 1) { if (exact_t.apply().hit) { hdr.o.hit = 1; } }
        if (hdr.op.op == 2) { if (lpm_t.apply().hit) { hdr.o.hit = 1; } }
        if (hdr.op.op == 3) { if (ternary_t.apply().miss) { hdr.o.hit = 2; } else { hdr.o.hit = 1; } }
        if (hdr.op.op == 4) { largest_t.apply(); }
        if (hdr.op.op == 5) { smallest_t.apply(); }
        hdr.o.r = m.r;
    }
}
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) { apply {} }
control C(inout headers_t hdr, inout meta_t m) { apply {} }
control D(packet_out pkt, in headers_t hdr) { apply { pkt.emit(hdr); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
