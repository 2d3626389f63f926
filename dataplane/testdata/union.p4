// Header unions: at most one member is valid, whoever made it so; a union
// assigned; a stack of unions with next.
#include <core.p4>
#include <v1model.p4>

header lead_t { bit<8> op; bit<8> count; }
header small_t { bit<8> kind; bit<8> v; }
header large_t { bit<8> kind; bit<24> v; }
header_union either_t { small_t small; large_t large; }
header info_t { bit<8> error_code; bit<8> flags; }

struct headers_t { info_t info; lead_t lead; either_t one; either_t two; either_t[3] many; }
struct meta_t { bit<8> left; }

parser P(packet_in pkt, out headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.lead);
        m.left = hdr.lead.count;
        transition select(pkt.lookahead<bit<8>>()) {
            1: small;
            2: large;
            default: many;
        }
    }
    state small { pkt.extract(hdr.one.small); transition many; }
    state large { pkt.extract(hdr.one.large); transition many; }
    state many {
        transition select(m.left) {
            0: accept;
            default: next;
        }
    }
    state next {
        m.left = m.left - 1;
        transition select(pkt.lookahead<bit<8>>()) {
            1: next_small;
            2: next_large;
            default: accept;
        }
    }
    state next_small {
        pkt.extract(hdr.many.next.small);
        transition many;
    }
    state next_large {
        pkt.extract(hdr.many.next.large);
        transition many;
    }
}

control V(inout headers_t hdr, inout meta_t m) { apply {} }
control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        hdr.info.setValid();
        if (sm.parser_error == error.StackOutOfBounds) { hdr.info.error_code = 1; }
        if (sm.parser_error == error.PacketTooShort) { hdr.info.error_code = 2; }
        if (hdr.lead.op == 1) { hdr.one.small.setValid(); hdr.one.small = { 1, 0x77 }; }
        if (hdr.lead.op == 2) { hdr.one.large.setValid(); hdr.one.large = { 2, 0x123456 }; }
        if (hdr.lead.op == 3) { hdr.one.small.setInvalid(); }
        if (hdr.lead.op == 4) { hdr.one.large.setInvalid(); }
        if (hdr.lead.op == 5) { hdr.two = hdr.one; }
        if (hdr.lead.op == 6) { hdr.two.small.setValid(); hdr.two.small.v = 9; hdr.two = hdr.one; }
        if (hdr.lead.op == 7) { hdr.many[1].large.setValid(); hdr.many[1].large.v = 7; hdr.many[0].small.setInvalid(); }
        if (hdr.one.isValid()) { hdr.info.flags = hdr.info.flags | 1; }
        if (hdr.one.small.isValid()) { hdr.info.flags = hdr.info.flags | 2; }
        if (hdr.one.large.isValid()) { hdr.info.flags = hdr.info.flags | 4; }
        if (hdr.two.isValid()) { hdr.info.flags = hdr.info.flags | 8; }
    }
}
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) { apply {} }
control C(inout headers_t hdr, inout meta_t m) { apply {} }
control D(packet_out pkt, in headers_t hdr) { apply { pkt.emit(hdr); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
