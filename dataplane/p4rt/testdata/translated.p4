// Types that clients know by other values than the program, for the tests of
// package p4rt: strings (names of virtual networks, ports) and wider numbers;
// and a digest of the types that P4Data has forms for.
#include <core.p4>
#include <v1model.p4>

const bit<9> CPU_PORT = 510;

@p4runtime_translation("weft.test/port", string)
@p4runtime_translation_mappings({ {"cpu", 510}, {"uplink", 0x1} })
type bit<9> port_name_t;

@p4runtime_translation("weft.test/network", string)
type bit<2> network_t;

@p4runtime_translation("weft.test/port_number", bit<32>)
type bit<9> port_number_t;

@p4runtime_translation("weft.test/label", 8)
type bit<16> label_t;

@controller_header("packet_in")
header packet_in_t {
    port_name_t port;
    bit<7>      pad;
}

@controller_header("packet_out")
header packet_out_t {
    port_number_t port;
    bit<7>        pad;
}

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

struct headers_t {
    packet_in_t  packet_in;
    packet_out_t packet_out;
    ethernet_t   ethernet;
}

struct meta_t {
    network_t     network;
    port_name_t   name;
    port_number_t number;
    label_t       label;
}

struct seen_t {
    port_name_t   name;
    port_number_t number;
}

enum Shape { ROUND, LONG, FLAT }
enum bit<16> Kind { IPV4 = 0x0800, IPV6 = 0x86dd }

struct kinds_t {
    Shape            shape;
    Kind             kind;
    error            problem;
    bool             known;
    int<12>          below;
    tuple<bit<4>, bool> pair;
    ethernet_t       ethernet;
}

parser ParserImpl(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        meta.name = (port_name_t)std.ingress_port;
        meta.number = (port_number_t)std.ingress_port;
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
        meta.label = (label_t)hdr.ethernet.type;
        transition accept;
    }
}

control VerifyImpl(inout headers_t hdr, inout meta_t meta) { apply {} }
control ComputeImpl(inout headers_t hdr, inout meta_t meta) { apply {} }

control IngressImpl(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<port_name_t>(2) last;
    action_profile(4) ways;

    action drop() { mark_to_drop(std); }
    action set_network(network_t network) { meta.network = network; }
    action forward(port_name_t port) { std.egress_spec = (bit<9>)port; }
    action forward_number(port_number_t port) { std.egress_spec = (bit<9>)port; }
    action see() { digest<seen_t>(1, { meta.name, meta.number }); }
    action kinds() {
        Shape shape = Shape.ROUND;
        if (hdr.ethernet.type == 0x1234) {
            shape = Shape.FLAT;
        }
        digest<kinds_t>(1, { shape, (Kind)hdr.ethernet.type, std.parser_error, hdr.ethernet.isValid(), (int<12>)-5, { 4w7, true }, hdr.ethernet });
    }
    action to_cpu() {
        hdr.packet_in.setValid();
        hdr.packet_in.port = meta.name;
        hdr.packet_in.pad = 0;
        std.egress_spec = CPU_PORT;
    }

    table ports {
        key = { meta.name: exact @name("port"); }
        actions = { set_network; see; kinds; @defaultonly NoAction; }
        default_action = NoAction();
    }

    table networks {
        key = {
            meta.network: optional @name("network");
            hdr.ethernet.dst: exact @name("dst");
        }
        actions = { forward; forward_number; to_cpu; @defaultonly NoAction; }
        default_action = NoAction();
        size = 8;
    }

    table numbers {
        key = {
            meta.number: ternary @name("number");
            meta.label: range @name("label");
            hdr.ethernet.dst: exact @name("dst");
        }
        actions = { drop; forward_number; @defaultonly NoAction; }
        default_action = NoAction();
    }

    table labels {
        key = { meta.label: lpm @name("label"); }
        actions = { forward; }
        implementation = ways;
    }

    apply {
        last.write(0, meta.name);
        if (hdr.packet_out.isValid()) {
            std.egress_spec = (bit<9>)hdr.packet_out.port;
            hdr.packet_out.setInvalid();
            exit;
        }
        ports.apply();
        networks.apply();
        numbers.apply();
        labels.apply();
    }
}

control EgressImpl(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply {} }

control DeparserImpl(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
    }
}

V1Switch(ParserImpl(), VerifyImpl(), IngressImpl(), EgressImpl(), ComputeImpl(), DeparserImpl()) main;
