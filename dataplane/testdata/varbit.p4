// Variable-length fields: one that starts at an octet and one that starts
// within one, lengths of none, too long for the field, too long for the
// packet, not of whole octets, and below zero; copied from header to header
// and hashed.
#include <core.p4>
#include <v1model.p4>

header lead_t { bit<8> op; bit<32> bits; }
header plain_t { bit<8> before; varbit<64> v; bit<8> after; }
header within_t { bit<4> before; varbit<64> v; bit<12> after; }
header info_t { bit<8> error_code; bit<32> crc; bit<32> length; }

struct headers_t { info_t info; lead_t lead; plain_t plain; within_t within; plain_t copied; }
struct meta_t {}

parser P(packet_in pkt, out headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.lead);
        transition select(hdr.lead.op[3:0]) {
            1: plain;
            2: within;
            3: both;
            4: below;
            default: accept;
        }
    }
    state plain { pkt.extract(hdr.plain, hdr.lead.bits); transition accept; }
    state within { pkt.extract(hdr.within, hdr.lead.bits); transition accept; }
    state both { pkt.extract(hdr.within, hdr.lead.bits); pkt.extract(hdr.plain, hdr.lead.bits + 8); transition accept; }
    state below { pkt.extract(hdr.plain, hdr.lead.bits - 64); transition accept; }
}

control V(inout headers_t hdr, inout meta_t m) { apply {} }
control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        hdr.info.setValid();
        if (sm.parser_error == error.PacketTooShort) { hdr.info.error_code = 1; }
        if (sm.parser_error == error.HeaderTooShort) { hdr.info.error_code = 2; }
        if (sm.parser_error == error.ParserInvalidArgument) { hdr.info.error_code = 3; }
        if (hdr.lead.op[7:4] == 1) { hdr.copied = hdr.plain; hdr.plain.after = 0; }
        if (hdr.lead.op[7:4] == 2) { hdr.plain.setInvalid(); }
        if (hdr.lead.op[7:4] == 3) { hdr.within.after = 0x123; hdr.within.before = 0xf; hdr.plain.before = 0; }
        if (hdr.lead.op[7:4] == 4) { hash(hdr.info.crc, HashAlgorithm.crc32, 32w0, { hdr.plain.before, hdr.plain.v, hdr.within.v, hdr.within.after }, 64w0x100000000); }
    }
}
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    apply { hdr.info.length = sm.packet_length; }
}
control C(inout headers_t hdr, inout meta_t m) { apply {} }
control D(packet_out pkt, in headers_t hdr) { apply { pkt.emit(hdr); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
