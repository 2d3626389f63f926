// Registers (narrow, wide, signed), counters, meters (direct and not), hash
// algorithms, random, action profiles, selectors and idle timeouts.
#include <core.p4>

#include <v1model.p4>

header op_t {
    bit<8>   op;
    bit<32>  index;
    bit<128> value;
}
header out_t {
    bit<128> value;
    bit<64>  small;
}

struct headers_t {
    out_t o;
    op_t  op;
}

struct meta_t {
    bit<2>  color;
    bit<2>  direct_color;
    bit<16> selected;
}

parser P(packet_in pkt, out headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    state start {
        pkt.extract(hdr.op);
        transition accept;
    }
}

control V(inout headers_t hdr, inout meta_t m) { apply {} }

control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) {
    register<bit<128>>(1000) wide;
    register<bit<17>>(70000) narrow;
    register<int<16>>(4) signed;
    counter(300, CounterType.packets_and_bytes) counted;
    meter(4, MeterType.packets) metered;
    direct_meter<bit<2>>(MeterType.bytes) direct;
    action_profile(8) profile;
    action_selector(HashAlgorithm.crc16, 16, 16) chooser;

    action choose(bit<16> v) { m.selected = v; }
    action drop() { mark_to_drop(sm); }
    action colour() { direct.read(m.direct_color); }

    table via_profile {
        key = { hdr.op.index: exact; }
        actions = { choose; drop; NoAction; }
        implementation = profile;
    }
    table via_selector {
        key = { hdr.op.index: exact; hdr.op.value: selector; }
        actions = { choose; drop; NoAction; }
        implementation = chooser;
    }
    table metered_table {
        key = { hdr.op.index: exact; }
        actions = { colour; NoAction; }
        default_action = NoAction();
        meters = direct;
        support_timeout = true;
    }

    apply {
        sm.egress_spec = 1;
        hdr.o.setValid();
        if (hdr.op.op == 1) { wide.write(hdr.op.index, hdr.op.value); }
        if (hdr.op.op == 2) { wide.read(hdr.o.value, hdr.op.index); }
        if (hdr.op.op == 3) { narrow.write(hdr.op.index, hdr.op.value[16:0]); }
        if (hdr.op.op == 4) { bit<17> v; narrow.read(v, hdr.op.index); hdr.o.small = 47w0 ++ v; }
        if (hdr.op.op == 5) {
            int<16> v;
            signed.read(v, hdr.op.index);
            v = v - (int<16>)(bit<16>)hdr.op.value[15:0];
            signed.write(hdr.op.index, v);
            hdr.o.small = (bit<64>)(int<64>)v;
        }
        if (hdr.op.op == 6) { counted.count(hdr.op.index); }
        if (hdr.op.op == 7) { metered.execute_meter<bit<2>>(hdr.op.index, m.color); hdr.o.small = 62w0 ++ m.color; }
        if (hdr.op.op == 8) { hash(hdr.o.small, HashAlgorithm.crc32, 64w1, { hdr.op.value }, 64w0x100000000); }
        if (hdr.op.op == 9) { hash(hdr.o.small, HashAlgorithm.crc16, 64w0, { hdr.op.index, hdr.op.value }, 64w1000); }
        if (hdr.op.op == 10) { hash(hdr.o.small, HashAlgorithm.csum16, 64w0, { 3w5, hdr.op.value, 5w9, hdr.op.index }, 64w0x10000); }
        if (hdr.op.op == 11) { hash(hdr.o.small, HashAlgorithm.xor16, 64w0, { hdr.op.value, 8w1 }, 64w0x10000); }
        if (hdr.op.op == 12) { hash(hdr.o.small, HashAlgorithm.identity, 64w0, { hdr.op.value }, 64w0xffffffffffffffff); }
        if (hdr.op.op == 13) { bit<64> r; random(r, 64w10, 32w0 ++ hdr.op.index); hdr.o.small = r; }
        if (hdr.op.op == 14) { via_profile.apply(); hdr.o.small = 48w0 ++ m.selected; }
        if (hdr.op.op == 15) {
            if (via_selector.apply().hit) { hdr.o.value = 1; }
            hdr.o.small = 48w0 ++ m.selected;
        }
        if (hdr.op.op == 16) { metered_table.apply(); hdr.o.small = 62w0 ++ m.direct_color; }
        if (hdr.op.op == 17) { assert(hdr.op.index != 0); log_msg("index {}", { hdr.op.index }); }
        if (hdr.op.op == 18) { hash(hdr.o.small, HashAlgorithm.crc32, 64w0, { sm.ingress_port, hdr.op.value }, 64w0x100000000); }
    }
}

control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t sm) { apply {} }
control C(inout headers_t hdr, inout meta_t m) { apply {} }
control D(packet_out pkt, in headers_t hdr) {
    apply { pkt.emit(hdr.o); }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
