// A switch of two hosts, on ports 1 and 2, whose addresses it knows; what is for
// neither goes out of the other port. Compiled into l2.json by
//   p4c-bm2-ss -o l2.json l2.p4
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

struct headers_t { ethernet_t ethernet; }
struct meta_t {}

parser L2Parser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control L2Ingress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action drop() { mark_to_drop(std); }
    action forward(bit<9> port) { std.egress_spec = port; }

    table hosts {
        key = { hdr.ethernet.dst: exact; }
        actions = { forward; @defaultonly NoAction; }
        const entries = {
            0x020000000101: forward(1);
            0x020000000102: forward(2);
        }
        const default_action = NoAction;
    }
    table others {
        key = { std.ingress_port: exact; }
        actions = { forward; @defaultonly drop; }
        const entries = {
            1: forward(2);
            2: forward(1);
        }
        const default_action = drop;
    }

    apply {
        if (!hosts.apply().hit) {
            others.apply();
        }
    }
}

control L2Egress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply {} }
control L2Verify(inout headers_t hdr, inout meta_t meta) { apply {} }
control L2Compute(inout headers_t hdr, inout meta_t meta) { apply {} }
control L2Deparser(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.ethernet); } }

V1Switch(L2Parser(), L2Verify(), L2Ingress(), L2Egress(), L2Compute(), L2Deparser()) main;
