// Standard metadata: what ingress and egress see of ports, lengths as headers
// come and go, instance types, timestamps that never run backwards, errors,
// and what the user's metadata is worth at the start.
#include <core.p4>
#include <v1model.p4>

header op_t { bit<8> op; bit<8> v; }
header ext_t { bit<24> a; bit<24> b; }
header out_t {
    bit<9> ingress_port; bit<9> in_spec; bit<9> in_port; bit<9> out_port; bit<9> out_spec; bit<3> priority;
    bit<32> in_type; bit<32> out_type; bit<32> in_length; bit<32> mid_length; bit<32> out_length;
    bit<16> rid; bit<16> group; bit<8> times; bit<8> meta; bit<1> checksum_error; bit<7> error_code;
}
struct headers_t { out_t o; op_t op; ext_t[3] ext; ext_t more; }
struct meta_t { bit<8> v; bit<48> ingress; bit<32> mid; out_t o; }

parser P(packet_in pkt, out headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    state start {
        m.v = m.v + 3;
        pkt.extract(hdr.op);
        transition select(hdr.op.op) {
            1 .. 9: ext;
            default: accept;
        }
    }
    state ext { pkt.extract(hdr.ext.next); transition accept; }
}

control V(inout headers_t hdr, inout meta_t m) { apply {} }
control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        m.o.setValid();
        m.o.ingress_port = sm.ingress_port;
        m.o.in_spec = sm.egress_spec;
        m.o.in_port = sm.egress_port;
        m.o.in_type = sm.instance_type;
        m.o.in_length = sm.packet_length;
        m.o.group = sm.mcast_grp;
        m.o.priority = sm.priority;
        m.o.checksum_error = sm.checksum_error;
        if (sm.parser_error == error.PacketTooShort) { m.o.error_code = 1; }
        m.ingress = sm.ingress_global_timestamp;
        sm.egress_spec = 1;
        if (hdr.op.op == 1) { hdr.ext[0].setInvalid(); }
        if (hdr.op.op == 2) { hdr.more.setValid(); }
        if (hdr.op.op == 3) { hdr.ext.push_front(1); }
        if (hdr.op.op == 4) { hdr.ext.pop_front(1); }
        if (hdr.op.op == 5) { hdr.ext[0].setInvalid(); hdr.ext[0].setValid(); hdr.more.setValid(); hdr.more.setValid(); }
        if (hdr.op.op == 6) { hdr.more = hdr.ext[0]; }
        if (hdr.op.op == 7) { hdr.ext[1] = hdr.ext[2]; hdr.ext[0] = hdr.ext[2]; }
        m.o.mid_length = sm.packet_length;
    }
}
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        m.o.out_port = sm.egress_port;
        m.o.out_spec = sm.egress_spec;
        m.o.out_type = sm.instance_type;
        m.o.out_length = sm.packet_length;
        m.o.rid = sm.egress_rid;
        m.o.meta = m.v;
        if (sm.egress_global_timestamp >= sm.ingress_global_timestamp) { m.o.times = 1; }
        if (m.ingress == sm.ingress_global_timestamp) { m.o.times = m.o.times + 2; }
        if (sm.enq_timestamp >= sm.ingress_global_timestamp[31:0]) { m.o.times = m.o.times + 4; }
        if (sm.deq_timedelta < 10000000) { m.o.times = m.o.times + 8; }
        if (sm.deq_qdepth < 64 && sm.enq_qdepth < 64) { m.o.times = m.o.times + 16; }
        hdr.o = m.o;
    }
}
control C(inout headers_t hdr, inout meta_t m) { apply {} }
control D(packet_out pkt, in headers_t hdr) { apply { pkt.emit(hdr); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
