// A program in three versions (p4c -DVERSION<n>), for the tests of
// RECONCILE_AND_COMMIT: version 2 adds a table, version 3 lacks one and has a
// smaller counter.
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}
struct headers_t { ethernet_t ethernet; }
struct meta_t { }

parser ParserImpl(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control VerifyImpl(inout headers_t hdr, inout meta_t meta) { apply {} }
control ComputeImpl(inout headers_t hdr, inout meta_t meta) { apply {} }

control IngressImpl(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    @id(1) direct_counter(CounterType.packets_and_bytes) station_counter;
#ifdef VERSION3
    @id(2) counter(2, CounterType.packets_and_bytes) rx;
#else
    @id(2) counter(4, CounterType.packets_and_bytes) rx;
#endif
    @id(3) register<bit<16>>(4) seen;
    @id(4) action_selector(HashAlgorithm.crc16, 64, 16) ways;

    @id(10) action drop() { mark_to_drop(std); }
    @id(11) action forward(bit<9> port) { std.egress_spec = port; }
    @id(12) action station_forward(bit<9> port) {
        station_counter.count();
        std.egress_spec = port;
    }

#ifndef VERSION3
    @id(20) table station {
        key = { hdr.ethernet.dst: exact @name("dst"); }
        actions = { station_forward; @defaultonly drop; }
        default_action = drop();
        counters = station_counter;
        size = 16;
    }
#endif
    @id(21) table spread {
        key = {
            hdr.ethernet.type: exact @name("type");
            hdr.ethernet.src: selector;
        }
        actions = { forward; drop; }
        implementation = ways;
        size = 16;
    }
#ifdef VERSION2
    @id(22) table extra {
        key = { hdr.ethernet.src: exact @name("src"); }
        actions = { drop; NoAction; }
        size = 16;
    }
#endif
    @id(23) table miss {
        actions = { drop; forward; }
        default_action = drop();
    }

    apply {
        rx.count((bit<32>)(bit<1>)std.ingress_port);
        seen.write(0, hdr.ethernet.type);
        if (!spread.apply().hit) {
            miss.apply();
        }
#ifndef VERSION3
        station.apply();
#endif
#ifdef VERSION2
        extra.apply();
#endif
    }
}

control EgressImpl(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply {} }
control DeparserImpl(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.ethernet); } }

V1Switch(ParserImpl(), VerifyImpl(), IngressImpl(), EgressImpl(), ComputeImpl(), DeparserImpl()) main;
