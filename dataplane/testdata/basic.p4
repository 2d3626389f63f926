// Parser with select, exact and lpm tables, ternary with priorities, range,
// const entries, direct counters, header validity, drop.
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header ip_t {
    bit<4>   version;
    bit<8>   tclass;
    bit<20>  flow;
    bit<128> src;
    bit<128> dst;
}

header tag_t {
    bit<3>  prio;
    bit<13> id;
}

struct headers_t {
    ethernet_t ethernet;
    tag_t      tag;
    ip_t       ip;
}

struct meta_t {
    bit<16> vrf;
    bit<8>  class;
}

parser P(packet_in pkt, out headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x8100: tag;
            0x86dd: ip;
            0x9000 &&& 0xff00: accept;
            default: accept;
        }
    }
    state tag {
        pkt.extract(hdr.tag);
        transition ip;
    }
    state ip {
        pkt.extract(hdr.ip);
        transition accept;
    }
}

control V(inout headers_t hdr, inout meta_t m) { apply {} }

control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    direct_counter(CounterType.packets_and_bytes) hits;

    action drop() { mark_to_drop(sm); }
    action forward(bit<9> port) { sm.egress_spec = port; }
    action set_vrf(bit<16> vrf) { m.vrf = vrf; }
    action set_class(bit<8> class) { m.class = class; }
    action rewrite(bit<9> port, bit<128> dst) {
        sm.egress_spec = port;
        hdr.ip.dst = dst;
        hdr.ip.flow[7:0] = hdr.ip.flow[7:0] + 1;
    }

    table port {
        key = { sm.ingress_port: exact; hdr.tag.id: exact; }
        actions = { set_vrf; }
        default_action = set_vrf(1);
    }
    table route {
        key = { m.vrf: exact; hdr.ip.dst: lpm; }
        actions = { forward; rewrite; drop; }
        const default_action = drop();
        counters = hits;
        size = 8;
    }
    table acl {
        key = { hdr.ip.src: ternary; hdr.ip.flow: range; hdr.ip.isValid(): exact; }
        actions = { drop; set_class; NoAction; }
        default_action = NoAction();
    }
    table types {
        key = { hdr.ethernet.type: ternary; }
        actions = { forward; drop; }
        const default_action = drop();
        const entries = {
            0x0800: forward(7);
            0x0800 &&& 0xff00: forward(8);
            0x9000 &&& 0xf000: forward(9);
        }
    }
    apply {
        port.apply();
        if (hdr.ip.isValid()) {
            if (route.apply().hit) {
                acl.apply();
                if (m.class == 3) {
                    hdr.ip.tclass = m.class;
                }
            }
        } else {
            types.apply();
        }
        if (hdr.tag.isValid() && hdr.tag.id == 5) {
            hdr.tag.setInvalid();
            hdr.ethernet.type = 0x86dd;
        }
    }
}

control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) { apply {} }
control C(inout headers_t hdr, inout meta_t m) { apply {} }
control D(packet_out pkt, in headers_t hdr) {
    apply {
        pkt.emit(hdr.ethernet);
        pkt.emit(hdr.tag);
        pkt.emit(hdr.ip);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
