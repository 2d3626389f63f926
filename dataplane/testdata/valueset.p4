// Parser value sets: of one field, of a struct, one that is empty.
#include <core.p4>
#include <v1model.p4>

struct pair_t {
    @match(exact) bit<9>  a;
    @match(exact) bit<16> b;
}
header lead_t { bit<9> kind; bit<7> pad; bit<9> a; bit<7> more; bit<16> b; }
header path_t { bit<8> path; }

struct headers_t { path_t path; lead_t lead; }
struct meta_t { bit<8> path; }

parser P(packet_in pkt, out headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    value_set<bit<9>>(4) kinds;
    value_set<bit<9>>(4) empty;
    value_set<pair_t>(4) pairs;
    state start {
        pkt.extract(hdr.lead);
        transition select(hdr.lead.kind) {
            empty: p1;
            kinds: p2;
            default: more;
        }
    }
    state more {
        transition select(hdr.lead.a, hdr.lead.b) {
            pairs: p3;
            (1, 1): p4;
            default: accept;
        }
    }
    state p1 { m.path = 1; transition accept; }
    state p2 { m.path = 2; transition accept; }
    state p3 { m.path = 3; transition accept; }
    state p4 { m.path = 4; transition accept; }
}

control V(inout headers_t hdr, inout meta_t m) { apply {} }
control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        hdr.path.setValid();
        hdr.path.path = m.path;
    }
}
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) { apply {} }
control C(inout headers_t hdr, inout meta_t m) { apply {} }
control D(packet_out pkt, in headers_t hdr) { apply { pkt.emit(hdr); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
