// Parser: loops over a header stack, next and last, lookahead, advance, varbit,
// verify, a value set, wide and mixed keys, a header union; then push, pop and
// an index computed at run time.
#include <core.p4>
#include <v1model.p4>

error { BadMark }

header lead_t {
    bit<8>  kind;
    bit<4>  hi;
    bit<4>  lo;
    bit<8>  index;
}
header label_t {
    bit<23> label;
    bit<1>  bottom;
}
header blob_t {
    bit<8>       length;
    varbit<2040> data;
    bit<8>       after;
}
header wide_t {
    bit<80> key;
    bit<3>  a;
    bit<5>  b;
}
header left_t  { bit<8> kind; bit<8> v; }
header right_t { bit<8> kind; bit<16> v; }
header_union either_t {
    left_t  left;
    right_t right;
}
header info_t {
    bit<32> error_code;
    bit<8>  path;
    bit<24> label;
}

struct headers_t {
    info_t     info;
    lead_t     lead;
    label_t[4] label;
    blob_t     blob;
    wide_t     wide;
    either_t   either;
}

struct meta_t {
    bit<8> path;
}

parser P(packet_in pkt, out headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    value_set<bit<8>>(4) special;

    state start {
        m.path = 1;
        pkt.extract(hdr.lead);
        transition select(hdr.lead.kind, hdr.lead.hi, hdr.lead.lo) {
            (1, _, _): labels;
            (2, _, _): blob;
            (3, _, _): wide;
            (4, 1, 2 &&& 2): skip;
            (5, _, _): union;
            default: other;
        }
    }
    state labels {
        pkt.extract(hdr.label.next);
        transition select(hdr.label.last.bottom) {
            1: accept;
            default: labels;
        }
    }
    state blob {
        bit<8> n = pkt.lookahead<bit<8>>();
        verify(n != 0xee, error.BadMark);
        pkt.extract(hdr.blob, (bit<32>)n << 3);
        m.path = 2;
        transition accept;
    }
    state wide {
        pkt.extract(hdr.wide);
        transition select(hdr.wide.key, hdr.wide.a, hdr.wide.b) {
            (80w0x00112233445566778899, 1, _): p3;
            (80w0x00112233445566778800 &&& 80w0xffffffffffffffffff00, _, 7 .. 9): p4;
            default: accept;
        }
    }
    state p3 {
        m.path = 3;
        transition accept;
    }
    state p4 {
        m.path = 4;
        transition accept;
    }
    state skip {
        bit<16> n = pkt.lookahead<bit<16>>();
        pkt.advance(((bit<32>)n) << 3);
        m.path = 5;
        transition accept;
    }
    state union {
        transition select(pkt.lookahead<bit<8>>()) {
            1: left;
            2: right;
        }
    }
    state left {
        pkt.extract(hdr.either.left);
        transition accept;
    }
    state right {
        pkt.extract(hdr.either.right);
        transition accept;
    }
    state other {
        transition select(hdr.lead.kind) {
            special: p6;
            default: accept;
        }
    }
    state p6 {
        m.path = 6;
        transition accept;
    }
}

control V(inout headers_t hdr, inout meta_t m) { apply {} }

control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        hdr.info.setValid();
        hdr.info.path = m.path;
        if (sm.parser_error == error.NoError) { hdr.info.error_code = 0; }
        else if (sm.parser_error == error.PacketTooShort) { hdr.info.error_code = 1; }
        else if (sm.parser_error == error.StackOutOfBounds) { hdr.info.error_code = 2; }
        else if (sm.parser_error == error.HeaderTooShort) { hdr.info.error_code = 3; }
        else if (sm.parser_error == error.BadMark) { hdr.info.error_code = 4; }
        else if (sm.parser_error == error.NoMatch) { hdr.info.error_code = 5; }
        else { hdr.info.error_code = 99; }

        if (hdr.lead.isValid() && hdr.lead.kind == 1) {
            if (hdr.lead.lo == 1) { hdr.label.push_front(1); hdr.label[0].setValid(); hdr.label[0].label = 5; }
            if (hdr.lead.lo == 2) { hdr.label.pop_front(1); }
            if (hdr.lead.lo == 3) { hdr.label.pop_front(2); }
            if (hdr.lead.lo == 4) { hdr.label.push_front(2); hdr.label[1].setValid(); }
            if (hdr.lead.lo == 5 && hdr.lead.index < 4) {
                hdr.info.label = hdr.label[hdr.lead.index].label ++ hdr.label[hdr.lead.index].bottom;
                hdr.label[hdr.lead.index].label = 0x7fffff;
            }
        }
        if (hdr.either.right.isValid()) {
            hdr.either.left.setValid();
            hdr.either.left.v = 0xbb;
        } else if (hdr.either.isValid()) {
            hdr.either.left.v = 0xaa;
        }
    }
}

control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) { apply {} }
control C(inout headers_t hdr, inout meta_t m) { apply {} }
control D(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.info);
        pkt.emit(hdr.lead);
        pkt.emit(hdr.label);
        pkt.emit(hdr.blob);
        pkt.emit(hdr.wide);
        pkt.emit(hdr.either);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
