// Types: nested structs, tuples and headers compared and assigned, bool fields,
// enums, errors kept in metadata, casts, slices written, concatenation.
#include <core.p4>
#include <v1model.p4>

enum bit<8> Color { red = 1, green = 2, blue = 7 }
enum Shape { round, square }
header op_t { bit<8> op; bit<8> v; }
header pair_t { bit<4> x; bit<12> y; bool f; bit<7> pad; Color c; }
header out_t { bit<32> r; bit<8> flags; }
struct inner_t { bit<8> a; bool b; }
struct outer_t { inner_t i; bit<16> w; Color c; Shape s; error e; int<5> n; }
struct headers_t { out_t o; op_t op; pair_t p; pair_t q; }
struct meta_t { outer_t one; outer_t two; bit<32> r; }
type bit<9> own_port_t;

parser P(packet_in pkt, out headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.op);
        pkt.extract(hdr.p);
        transition select(hdr.op.op) {
            0x40 .. 0x7f: second;
            default: accept;
        }
    }
    state second { pkt.extract(hdr.q); transition accept; }
}

control V(inout headers_t hdr, inout meta_t m) { apply {} }
control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        bit<6> op = hdr.op.op[5:0];
        sm.egress_spec = 1;
        m.one = { { hdr.op.v, hdr.p.f }, 4w0 ++ hdr.p.y, hdr.p.c, Shape.square, sm.parser_error, -5s3 };
        m.two = m.one;
        hdr.o.setValid();
        if (op == 1) { if (hdr.p == hdr.q) { m.r = 1; } else { m.r = 2; } }
        if (op == 2) { if (m.one == m.two) { m.r = 1; } m.two.i.b = !m.two.i.b; if (m.one == m.two) { m.r = m.r + 2; } }
        if (op == 3) { m.r[23:16] = hdr.op.v; m.r[3:0] = hdr.p.x; m.r[11:4] = hdr.p.y[11:4]; }
        if (op == 4) { m.r = hdr.p.y ++ hdr.p.x ++ hdr.op.v ++ (bit<8>)hdr.p.c; }
        if (op == 5) { if (hdr.p.c == Color.blue) { m.r = 1; } else if (hdr.p.c == Color.green) { m.r = 2; } hdr.p.c = Color.red; }
        if (op == 6) { hdr.p.f = hdr.op.v == 3 || hdr.p.f; m.r = (bit<32>)(bit<1>)hdr.p.f; }
        if (op == 7) { hdr.q = hdr.p; hdr.q.x = 0xf; hdr.p.setInvalid(); }
        if (op == 8) { m.r = (bit<32>)(bit<8>)(int<8>)m.one.n; if (m.one.n < 0) { m.r = m.r | 0x100; } }
        if (op == 9) { tuple<bit<8>, bit<16>> t = { hdr.op.v, 16w7 }; tuple<bit<8>, bit<16>> u = { 8w3, 16w7 }; if (t == u) { m.r = 1; } }
        if (op == 10) { if (m.one.e == error.NoError) { m.r = 1; } if (m.one.s == Shape.square) { m.r = m.r + 2; } }
        if (op == 11) { own_port_t p = (own_port_t)sm.ingress_port; m.r = (bit<32>)(bit<9>)p; }
        if (op == 12) { hdr.q = { 1, 2, true, 3, Color.green }; }
        if (op == 13) { pair_t t = hdr.p; t.y = t.y + 1; hdr.p = t; if (t.isValid()) { m.r = 9; } }
        if (hdr.p.isValid()) { hdr.o.flags[0:0] = 1; }
        if (hdr.q.isValid()) { hdr.o.flags[7:7] = 1; }
        hdr.o.r = m.r;
    }
}
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) { apply {} }
control C(inout headers_t hdr, inout meta_t m) { apply {} }
control D(packet_out pkt, in headers_t hdr) { apply { pkt.emit(hdr); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
