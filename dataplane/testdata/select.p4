// Parser select: several keys, masks, ranges, don't cares, an enum, a bool, a
// port, lookahead in a key, more than 64 bits of key, and no match.
#include <core.p4>
#include <v1model.p4>

enum bit<4> Kind { one = 1, two = 2, wide = 3, port = 4, ahead = 5, none = 6, flag = 7 }

header lead_t { Kind kind; bit<3> small; bool flag; bit<8> b; }
header wide_t { bit<70> key; bit<2> pad; bit<24> more; }
header path_t { bit<8> path; bit<8> error_code; }

struct headers_t { path_t path; lead_t lead; wide_t wide; }
struct meta_t { bit<8> path; }

parser P(packet_in pkt, out headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.lead);
        transition select(hdr.lead.kind) {
            Kind.one: one;
            Kind.two: two;
            Kind.wide: wide;
            Kind.port: port;
            Kind.ahead: ahead;
            Kind.none: none;
            Kind.flag: flag;
            default: accept;
        }
    }
    state one {
        transition select(hdr.lead.b) {
            0: p1;
            0x80 &&& 0xf0: p2;
            10 .. 20: p3;
            _: p4;
        }
    }
    state two {
        transition select(hdr.lead.small, hdr.lead.b) {
            (1, 2): p1;
            (_, 0x40 &&& 0xc0): p2;
            (3 .. 5, _): p3;
            (7, default): p4;
            (_, _): p5;
        }
    }
    state wide {
        pkt.extract(hdr.wide);
        transition select(hdr.wide.key, hdr.wide.more, hdr.lead.small) {
            (70w0x3fffffffffffffffff, 24w1, 0): p1;
            (70w0x200000000000000000 &&& 70w0x300000000000000000, _, 1): p2;
            (70w5, 24w0x0000ff &&& 24w0x00ffff, _): p3;
            default: p4;
        }
    }
    state port {
        transition select(sm.ingress_port) {
            0: p1;
            1: p2;
            2 .. 5: p3;
            default: p4;
        }
    }
    state ahead {
        transition select(pkt.lookahead<bit<12>>()) {
            0x123: p1;
            0x100 &&& 0xf00: p2;
            default: p3;
        }
    }
    state none {
        transition select(hdr.lead.b) {
            1: p1;
            2: reject;
        }
    }
    state flag {
        transition select(hdr.lead.flag, hdr.lead.b[3:2]) {
            (true, 0): p1;
            (true, _): p2;
            (false, 3): p3;
            (false, _): accept;
        }
    }
    state p1 { m.path = 1; transition accept; }
    state p2 { m.path = 2; transition accept; }
    state p3 { m.path = 3; transition accept; }
    state p4 { m.path = 4; transition accept; }
    state p5 { m.path = 5; transition accept; }
}

control V(inout headers_t hdr, inout meta_t m) { apply {} }
control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        hdr.path.setValid();
        hdr.path.path = m.path;
        if (sm.parser_error == error.PacketTooShort) { hdr.path.error_code = 1; }
        if (sm.parser_error == error.NoMatch) { hdr.path.error_code = 2; }
    }
}
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) { apply {} }
control C(inout headers_t hdr, inout meta_t m) { apply {} }
control D(packet_out pkt, in headers_t hdr) { apply { pkt.emit(hdr); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
