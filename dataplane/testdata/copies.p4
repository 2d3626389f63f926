// What makes, repeats, cuts and reports packets: clone in ingress and egress
// with and without preserved fields, multicast, resubmit, recirculate,
// truncate, digest, exit, drop in egress, priority queues. Each octet of "op"
// asks for one of them.
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

header op_t {
    bit<8>  ingress;
    bit<8>  egress;
    bit<8>  arg;
}
// What the packet knew about itself when it left.
header seen_t {
    bit<8>  instance_type;
    bit<16> port;
    bit<16> rid;
    bit<8>  kept;
    bit<8>  lost;
    bit<16> length;
    bit<8>  depth;
    bit<8>  depth_left;
}

struct headers_t {
    seen_t seen;
    op_t   op;
}

struct digest_t {
    bit<9>  port;
    bit<8>  arg;
    bit<72> wide;
}

struct meta_t {
    @field_list(1)
    bit<8> kept;
    bit<8> lost;
}

parser P(packet_in pkt, out headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.op);
        transition accept;
    }
}

control V(inout headers_t hdr, inout meta_t m) { apply {} }

control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        if (sm.instance_type == 4 || sm.instance_type == 6) {      // recirculated, resubmitted
            m.lost = 0x40 + sm.instance_type[7:0];
            hdr.op.ingress = 0;
            if (hdr.op.egress != 5) { hdr.op.egress = 0; }
            exit;
        }
        m.kept = hdr.op.arg + 1;
        m.lost = 0x33;
        sm.priority = hdr.op.arg[2:0];
        if (hdr.op.ingress == 1) { clone(CloneType.I2E, 5); hdr.op.arg = 0xee; }
        if (hdr.op.ingress == 2) { clone_preserving_field_list(CloneType.I2E, 5, 1); hdr.op.arg = 0xee; m.kept = 0x77; }
        if (hdr.op.ingress == 3) { sm.mcast_grp = 9; }
        if (hdr.op.ingress == 4) { resubmit_preserving_field_list(1); hdr.op.arg = 0xdd; }
        if (hdr.op.ingress == 5) { digest<digest_t>(1, { sm.ingress_port, hdr.op.arg, 64w0x1122334455667788 ++ hdr.op.arg }); }
        if (hdr.op.ingress == 6) { truncate(6); }
        if (hdr.op.ingress == 7) { sm.mcast_grp = 9; mark_to_drop(sm); }
        if (hdr.op.ingress == 8) { sm.mcast_grp = 9; clone(CloneType.I2E, 6); }
        if (hdr.op.ingress == 9) { sm.mcast_grp = 77; }
    }
}

control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        if (hdr.op.egress == 1 && sm.instance_type != 2) { clone_preserving_field_list(CloneType.E2E, 5, 1); hdr.op.arg = 0xcc; }
        if (hdr.op.egress == 2) { recirculate_preserving_field_list(1); hdr.op.arg = 0xbb; }
        if (hdr.op.egress == 3) { mark_to_drop(sm); }
        if (hdr.op.egress == 4) { truncate(5); }
        if (hdr.op.egress == 5) { recirculate_preserving_field_list(1); return; }   // for ever
        if (hdr.op.egress != 2) {
            hdr.seen.setValid();
            hdr.seen.instance_type = sm.instance_type[7:0];
            hdr.seen.port = 7w0 ++ sm.egress_port;
            hdr.seen.rid = sm.egress_rid;
            hdr.seen.kept = m.kept;
            hdr.seen.lost = m.lost;
            hdr.seen.length = sm.packet_length[15:0];
            hdr.seen.depth = sm.enq_qdepth[7:0];
            hdr.seen.depth_left = sm.deq_qdepth[7:0];
        }
    }
}

control C(inout headers_t hdr, inout meta_t m) { apply {} }
control D(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.seen);
        pkt.emit(hdr.op);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
