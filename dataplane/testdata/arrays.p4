// Registers (narrow, of odd width, wide, signed), counters and meters, indexed
// in range and out of range, by 32 and by 64 bits.
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

header op_t { bit<8> op; bit<64> index; bit<160> value; }
header out_t { bit<160> value; bit<8> color; bit<8> direct; }
struct headers_t { out_t o; op_t op; }
struct meta_t { bit<8> color; bit<8> direct; }

parser P(packet_in pkt, out headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.op);
        transition accept;
    }
}

control V(inout headers_t hdr, inout meta_t m) { apply {} }
control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    register<bit<8>, bit<32>>(4) octets;
    register<bit<17>, bit<64>>(700) odd;
    register<bit<160>, bit<32>>(3) wide;
    register<int<16>, bit<32>>(2) signed;
    counter<bit<64>>(300, CounterType.packets_and_bytes) counted;
    meter<bit<64>>(4, MeterType.packets) packets;
    meter<bit<32>>(4, MeterType.bytes) octetmeter;
    direct_counter(CounterType.packets_and_bytes) hits;
    direct_meter<bit<8>>(MeterType.packets) colored;
    action direct() { hits.count(); colored.read(m.direct); }
    table with_direct {
        key = { hdr.op.index: exact; }
        actions = { direct; NoAction; }
        default_action = NoAction();
        counters = hits;
        meters = colored;
    }
    apply {
        sm.egress_spec = 1;
        bit<32> i = hdr.op.index[31:0];
        m.color = 0x77;
        m.direct = 0x77;
        hdr.o.setValid();
        hdr.o.value = 0x5555;
        if (hdr.op.op == 1) { octets.write(i, hdr.op.value[7:0]); }
        if (hdr.op.op == 2) { bit<8> v = 0x99; octets.read(v, i); hdr.o.value = (bit<160>)v; }
        if (hdr.op.op == 3) { odd.write(hdr.op.index, hdr.op.value[16:0]); }
        if (hdr.op.op == 4) { bit<17> v = 0x9; odd.read(v, hdr.op.index); hdr.o.value = (bit<160>)v; }
        if (hdr.op.op == 5) { wide.write(i, hdr.op.value); }
        if (hdr.op.op == 6) { wide.read(hdr.o.value, i); }
        if (hdr.op.op == 7) {
            int<16> v;
            signed.read(v, i);
            v = v - (int<16>)(bit<16>)hdr.op.value[15:0];
            signed.write(i, v);
            hdr.o.value = (bit<160>)(bit<16>)v;
        }
        if (hdr.op.op == 8) { counted.count(hdr.op.index); }
        if (hdr.op.op == 9) { packets.execute_meter<bit<8>>(hdr.op.index, m.color); }
        if (hdr.op.op == 10) { octetmeter.execute_meter<bit<8>>(i, m.color); }
        if (hdr.op.op == 11) { with_direct.apply(); }
        hdr.o.color = m.color;
        hdr.o.direct = m.direct;
    }
}
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) { apply {} }
control C(inout headers_t hdr, inout meta_t m) { apply {} }
control D(packet_out pkt, in headers_t hdr) { apply { pkt.emit(hdr.o); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
