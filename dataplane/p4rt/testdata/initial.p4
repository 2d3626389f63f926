// Tables whose entries the program brings along: constant ones, and ones that
// a client may change.
#include <core.p4>
#include <v1model.p4>

header pair_t {
    bit<8> left;
    bit<8> right;
}

struct headers_t {
    pair_t pair;
}

struct meta_t {}

parser ParserImpl(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.pair);
        transition accept;
    }
}

control VerifyImpl(inout headers_t hdr, inout meta_t meta) { apply {} }
control ComputeImpl(inout headers_t hdr, inout meta_t meta) { apply {} }

control IngressImpl(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action forward(bit<9> port) { std.egress_spec = port; }
    action drop() { mark_to_drop(std); }

    table left {
        key = { hdr.pair.left: exact @name("left"); }
        actions = { forward; drop; }
        default_action = drop();
        size = 3;
        entries = {
            1: forward(1);
            2: forward(2);
        }
    }

    table right {
        key = { hdr.pair.right: ternary @name("right"); }
        actions = { forward; drop; NoAction; }
        default_action = NoAction();
        const entries = {
            0x10 &&& 0xf0: drop();
            0x00 &&& 0x00: NoAction();
        }
    }

    apply {
        left.apply();
        right.apply();
    }
}

control EgressImpl(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply {} }

control DeparserImpl(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.pair); }
}

V1Switch(ParserImpl(), VerifyImpl(), IngressImpl(), EgressImpl(), ComputeImpl(), DeparserImpl()) main;
