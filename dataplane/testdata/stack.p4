// Header stacks: next, last, lastIndex and size, too many elements, push and
// pop by more than there is room for, elements at an index known at run time,
// and a whole stack assigned.
#include <core.p4>
#include <v1model.p4>

header lead_t { bit<8> op; bit<8> index; bit<8> value; }
header elem_t { bit<7> v; bit<1> bottom; }
header info_t { bit<8> error_code; bit<32> last; bit<32> size; bit<8> got; bit<4> valid; bit<4> copies; }

struct headers_t { info_t info; lead_t lead; elem_t[4] elem; elem_t[4] copied; }
struct meta_t { bit<32> last; bit<32> size; }

parser P(packet_in pkt, out headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.lead);
        transition select(hdr.lead.op) {
            0xf0: accept;
            default: elements;
        }
    }
    state elements {
        pkt.extract(hdr.elem.next);
        m.last = hdr.elem.lastIndex;
        transition select(hdr.elem.last.bottom) {
            1: done;
            default: elements;
        }
    }
    state done {
        m.size = hdr.elem.size;
        transition accept;
    }
}

control V(inout headers_t hdr, inout meta_t m) { apply {} }
control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        hdr.info.setValid();
        hdr.info.last = m.last;
        hdr.info.size = m.size;
        if (sm.parser_error == error.StackOutOfBounds) { hdr.info.error_code = 1; }
        if (sm.parser_error == error.PacketTooShort) { hdr.info.error_code = 2; }
        if (hdr.lead.op == 1) { hdr.elem.push_front(1); }
        if (hdr.lead.op == 2) { hdr.elem.push_front(3); }
        if (hdr.lead.op == 3) { hdr.elem.push_front(4); }
        if (hdr.lead.op == 4) { hdr.elem.push_front(9); }
        if (hdr.lead.op == 5) { hdr.elem.pop_front(1); }
        if (hdr.lead.op == 6) { hdr.elem.pop_front(3); }
        if (hdr.lead.op == 7) { hdr.elem.pop_front(9); }
        if (hdr.lead.op == 8) { hdr.elem.push_front(1); hdr.elem[0].setValid(); hdr.elem[0].v = hdr.lead.value[6:0]; }
        if (hdr.lead.op == 9 && hdr.lead.index < 4) { hdr.info.got = 1w0 ++ hdr.elem[hdr.lead.index].v; }
        if (hdr.lead.op == 10 && hdr.lead.index < 4) { hdr.elem[hdr.lead.index].v = hdr.lead.value[6:0]; }
        if (hdr.lead.op == 11 && hdr.lead.index < 4) { hdr.elem[hdr.lead.index].setInvalid(); }
        if (hdr.lead.op == 12) { hdr.copied = hdr.elem; hdr.elem[0].v = 0x55; }
        if (hdr.lead.op == 13) { hdr.elem[0] = hdr.elem[1]; hdr.elem[2].setValid(); hdr.elem[2].v = 1; }
        if (hdr.lead.op == 14) { hdr.elem.pop_front(1); hdr.elem.push_front(2); hdr.elem[1].setValid(); hdr.elem[1].v = 3; }
        if (hdr.elem[0].isValid()) { hdr.info.valid = hdr.info.valid | 8; }
        if (hdr.elem[1].isValid()) { hdr.info.valid = hdr.info.valid | 4; }
        if (hdr.elem[2].isValid()) { hdr.info.valid = hdr.info.valid | 2; }
        if (hdr.elem[3].isValid()) { hdr.info.valid = hdr.info.valid | 1; }
        if (hdr.copied[1].isValid()) { hdr.info.copies = 1; }
    }
}
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) { apply {} }
control C(inout headers_t hdr, inout meta_t m) { apply {} }
control D(packet_out pkt, in headers_t hdr) { apply { pkt.emit(hdr); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
