// Verify with errors of the program, lookahead of odd widths, advance by
// constants and by what the packet says, past the end too.
#include <core.p4>
#include <v1model.p4>

error { BadMark, BadSum }

header lead_t { bit<8> op; bit<8> n; }
header rest_t { bit<16> v; }
header info_t { bit<8> error_code; bit<8> path; bit<48> seen; }

struct headers_t { info_t info; lead_t lead; rest_t rest; }
struct meta_t { bit<8> path; bit<48> seen; bit<8> mark; }

parser P(packet_in pkt, out headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.lead);
        m.path = 1;
        transition select(hdr.lead.op) {
            1: marked;
            2: ahead;
            3: skip;
            4: skip_bits;
            5: skip_much;
            6: look_struct;
            default: accept;
        }
    }
    state marked {
        verify(hdr.lead.n != 0xee, error.BadMark);
        m.path = 2;
        verify(hdr.lead.n < 0x80 || hdr.lead.n == 0xff, error.BadSum);
        m.path = 3;
        transition rest;
    }
    state ahead {
        m.seen = (bit<48>)pkt.lookahead<bit<37>>();
        m.path = 4;
        transition rest;
    }
    state skip {
        pkt.advance(((bit<32>)hdr.lead.n) << 3);
        m.path = 5;
        transition rest;
    }
    state skip_bits {
        pkt.advance((bit<32>)hdr.lead.n);
        m.path = 6;
        transition rest;
    }
    state skip_much {
        pkt.advance(0xfffffff8);
        m.path = 7;
        transition rest;
    }
    state look_struct {
        rest_t r = pkt.lookahead<rest_t>();
        m.seen = (bit<48>)r.v;
        m.path = 8;
        transition select(pkt.lookahead<bit<3>>()) {
            5: accept;
            default: rest;
        }
    }
    state rest {
        pkt.extract(hdr.rest);
        transition accept;
    }
}

control V(inout headers_t hdr, inout meta_t m) { apply {} }
control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        hdr.info.setValid();
        hdr.info.path = m.path;
        hdr.info.seen = m.seen;
        hdr.info.error_code = 0xff;
        if (sm.parser_error == error.NoError) { hdr.info.error_code = 0; }
        if (sm.parser_error == error.PacketTooShort) { hdr.info.error_code = 1; }
        if (sm.parser_error == error.BadMark) { hdr.info.error_code = 2; }
        if (sm.parser_error == error.BadSum) { hdr.info.error_code = 3; }
        if (sm.parser_error == error.ParserInvalidArgument) { hdr.info.error_code = 4; }
    }
}
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) { apply {} }
control C(inout headers_t hdr, inout meta_t m) { apply {} }
control D(packet_out pkt, in headers_t hdr) { apply { pkt.emit(hdr); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
