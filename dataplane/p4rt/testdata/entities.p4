// One object of every kind that P4Runtime can name, for the tests of package
// p4rt. It also forwards: Ethernet frames by the exact, lpm and ternary tables
// in turn.
#include <core.p4>
#include <v1model.p4>

const bit<9> CPU_PORT = 510;

enum bit<8> Reason { NONE = 0, MISS = 1 }

@controller_header("packet_in")
header packet_in_t {
    bit<9> ingress_port;
    bit<7> pad;
    bit<8> reason;
}

@controller_header("packet_out")
header packet_out_t {
    bit<9> egress_port;
    bit<7> pad;
}

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header ipv6_t {
    bit<4>   version;
    bit<8>   traffic_class;
    bit<20>  flow_label;
    bit<16>  payload_length;
    bit<8>   next_header;
    bit<8>   hop_limit;
    bit<128> src;
    bit<128> dst;
}

struct headers_t {
    packet_in_t  packet_in;
    packet_out_t packet_out;
    ethernet_t   ethernet;
    ipv6_t       ipv6;
}

struct learn_t {
    bit<48> address;
    bit<9>  port;
}

struct meta_t {
    bit<2>  color;
    bit<12> tag;
    bit<1>  known;
}

parser ParserImpl(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    @id(1) value_set<bit<16>>(3) ipv6_types;

    state start {
        transition select(std.ingress_port) {
            CPU_PORT: from_cpu;
            default: ethernet;
        }
    }
    state from_cpu {
        packet.extract(hdr.packet_out);
        transition ethernet;
    }
    state ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            ipv6_types: ipv6;
            default: accept;
        }
    }
    state ipv6 {
        packet.extract(hdr.ipv6);
        transition accept;
    }
}

control VerifyImpl(inout headers_t hdr, inout meta_t meta) { apply {} }
control ComputeImpl(inout headers_t hdr, inout meta_t meta) { apply {} }

control IngressImpl(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    counter(8, CounterType.packets_and_bytes) rx;
    meter(4, MeterType.packets) police;
    register<bit<48>>(4) last_source;
    register<int<12>>(2) signed_value;
    direct_counter(CounterType.packets_and_bytes) station_counter;
    direct_meter<bit<2>>(MeterType.bytes) station_meter;
    action_selector(HashAlgorithm.crc16, 64, 16) ways;
    action_profile(4) hops;

    action drop() { mark_to_drop(std); }
    action forward(bit<9> port) { std.egress_spec = port; }
    action forward_tag(bit<9> port, bit<12> tag) {
        std.egress_spec = port;
        meta.tag = tag;
    }
    action multicast(bit<16> group) { std.mcast_grp = group; }
    action mirror(bit<32> session) { clone(CloneType.I2E, session); }
    action learn() {
        digest<learn_t>(1, { hdr.ethernet.src, std.ingress_port });
    }
    action to_cpu() {
        hdr.packet_in.setValid();
        hdr.packet_in.ingress_port = std.ingress_port;
        hdr.packet_in.pad = 0;
        hdr.packet_in.reason = (bit<8>)Reason.MISS;
        std.egress_spec = CPU_PORT;
    }

    action station_forward(bit<9> port, bit<12> tag) {
        station_counter.count();
        station_meter.read(meta.color);
        std.egress_spec = port;
        meta.tag = tag;
    }

    table station {
        key = { hdr.ethernet.dst: exact @name("dst"); }
        actions = { station_forward; @defaultonly NoAction; }
        default_action = NoAction();
        counters = station_counter;
        meters = station_meter;
        size = 4;
    }

    table route {
        key = { hdr.ipv6.dst: lpm @name("dst"); }
        actions = { forward; drop; multicast; @tableonly forward_tag; }
        default_action = drop();
        size = 1024;
    }

    table acl {
        key = {
            hdr.ethernet.src: ternary @name("src");
            std.ingress_port: range @name("port");
            hdr.ethernet.type: optional @name("type");
            hdr.ethernet.dst: exact @name("dst");
        }
        actions = { drop; mirror; NoAction; }
        default_action = NoAction();
        size = 16;
    }

    table source {
        key = { hdr.ethernet.src: exact @name("src"); }
        actions = { NoAction; @defaultonly learn; }
        default_action = learn();
        support_timeout = true;
        size = 1024;
    }

    table spread {
        key = {
            hdr.ethernet.type: exact @name("type");
            hdr.ethernet.src: selector;
            hdr.ethernet.dst: selector;
        }
        actions = { forward; drop; }
        implementation = ways;
        size = 16;
    }

    table hop {
        key = { hdr.ethernet.type: exact @name("type"); }
        actions = { forward; drop; }
        implementation = hops;
        size = 16;
    }

    table fixed {
        key = { hdr.ethernet.type: exact @name("type"); }
        actions = { drop; NoAction; }
        const default_action = NoAction();
        const entries = {
            0x88cc: drop();
            0x8100: drop();
        }
    }

    table miss {
        actions = { to_cpu; drop; forward; }
        default_action = drop();
    }

    apply {
        rx.count((bit<32>)(bit<3>)std.ingress_port);
        last_source.write(0, hdr.ethernet.src);
        bit<2> c;
        police.execute_meter(0, c);
        signed_value.write(0, (int<12>)-2);
        if (hdr.packet_out.isValid()) {
            std.egress_spec = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
            exit;
        }
        source.apply();
        fixed.apply();
        acl.apply();
        if (!station.apply().hit) {
            if (hdr.ipv6.isValid()) {
                route.apply();
            } else if (!spread.apply().hit) {
                if (!hop.apply().hit) {
                    miss.apply();
                }
            }
        }
    }
}

control EgressImpl(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply {} }

control DeparserImpl(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv6);
    }
}

V1Switch(ParserImpl(), VerifyImpl(), IngressImpl(), EgressImpl(), ComputeImpl(), DeparserImpl()) main;
