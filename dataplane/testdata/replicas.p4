// Copies and returns: clones of ingress and egress with fields kept, resubmit,
// recirculate, multicast, truncation, and what wins when a packet asks for
// several of them at once. Every packet that leaves says what it is.
#include <core.p4>
#include <v1model.p4>

header op_t { bit<8> in_op; bit<8> out_op; bit<8> n; }
header tag_t { bit<8> kind; bit<8> rid; bit<16> length; bit<8> kept; bit<8> other; bit<8> round; }
struct headers_t { tag_t tag; op_t op; }
struct meta_t {
    @field_list(1) bit<8> kept;
    @field_list(1, 2) bit<8> other;
    @field_list(1, 2, 3) bit<8> round;
    bit<8> lost;
}

parser P(packet_in pkt, out headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    state start {
        transition select(sm.instance_type) {
            4: again; // recirculated: it has a tag
            default: op;
        }
    }
    state again { pkt.extract(hdr.tag); transition op; }
    state op { pkt.extract(hdr.op); transition accept; }
}

control V(inout headers_t hdr, inout meta_t m) { apply {} }
control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        bit<8> op = hdr.op.in_op;
        sm.egress_spec = 1;
        if (m.round == 0) { m.kept = 0xa0; m.other = 0xb0; m.lost = 0xc0; }
        m.kept = m.kept + 1;
        m.other = m.other + 1;
        m.round = m.round + 1;
        if (op == 1 || op == 12) { clone(CloneType.I2E, 5); }
        if (op == 2) { clone_preserving_field_list(CloneType.I2E, 5, 1); }
        if (op == 3) { clone_preserving_field_list(CloneType.I2E, 5, 2); m.other = 0xee; }
        if (op == 4 && m.round < 3) { resubmit_preserving_field_list(3); }
        if (op == 5 && m.round < 4) { resubmit_preserving_field_list(1); }
        if (op == 6) { sm.mcast_grp = 7; }
        if (op == 7) { sm.mcast_grp = 8; }
        if (op == 8) { mark_to_drop(sm); }
        if (op == 9) { sm.mcast_grp = 7; mark_to_drop(sm); }
        if (op == 10) { mark_to_drop(sm); sm.mcast_grp = 7; }
        if (op == 11) { mark_to_drop(sm); sm.egress_spec = 2; }
        if (op == 12) { mark_to_drop(sm); }
        if (op == 13 && m.round < 2) { clone_preserving_field_list(CloneType.I2E, 5, 1); resubmit_preserving_field_list(1); sm.mcast_grp = 7; }
        if (op == 14) { clone(CloneType.I2E, 6); }
        if (op == 15) { clone(CloneType.I2E, 99); }
        if (op == 16) { clone(CloneType.I2E, 5); clone(CloneType.I2E, 6); }
        if (op == 17) { truncate((bit<32>)hdr.op.n); }
        if (op == 18) { truncate(12); truncate(20); }
        if (op == 19) { truncate(8); sm.mcast_grp = 7; }
        if (op == 20) { truncate(8); clone(CloneType.I2E, 5); }
        if (op == 21 && m.round < 2) { mark_to_drop(sm); resubmit_preserving_field_list(3); }
        if (op == 22) { hdr.op.n = 0xff; clone(CloneType.I2E, 5); }
    }
}
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        bit<8> op = hdr.op.out_op;
        if (!hdr.tag.isValid()) { hdr.tag.setValid(); }
        hdr.tag.kind = (bit<8>)sm.instance_type;
        hdr.tag.rid = (bit<8>)sm.egress_rid;
        hdr.tag.length = (bit<16>)sm.packet_length;
        hdr.tag.kept = m.kept;
        hdr.tag.other = m.other;
        hdr.tag.round = m.round;
        if (sm.instance_type == 2) { return; } // a clone of egress: once is enough
        if (op == 1) { clone(CloneType.E2E, 5); }
        if (op == 2) { clone_preserving_field_list(CloneType.E2E, 5, 1); }
        if (op == 3) { clone_preserving_field_list(CloneType.E2E, 5, 2); mark_to_drop(sm); }
        if (op == 4 && m.round < 3) { recirculate_preserving_field_list(3); }
        if (op == 5 && m.round < 2) { recirculate_preserving_field_list(1); hdr.op.n = hdr.op.n + 1; }
        if (op == 6 && m.round < 2) { recirculate_preserving_field_list(3); mark_to_drop(sm); }
        if (op == 7 && m.round < 2) { recirculate_preserving_field_list(3); clone_preserving_field_list(CloneType.E2E, 5, 3); }
        if (op == 8) { truncate((bit<32>)hdr.op.n); }
        if (op == 9 && m.round < 2) { truncate(14); recirculate_preserving_field_list(3); }
        if (op == 10) { truncate(9); clone(CloneType.E2E, 5); }
        if (op == 11) { clone(CloneType.E2E, 6); }
        if (op == 12) { mark_to_drop(sm); }
        if (op == 13) { hdr.op.setInvalid(); clone(CloneType.E2E, 5); }
    }
}
control C(inout headers_t hdr, inout meta_t m) { apply {} }
control D(packet_out pkt, in headers_t hdr) { apply { pkt.emit(hdr); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
