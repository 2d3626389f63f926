// Frames that end where the parser still wants something, headers that go and come again, and metadata
// that is read where only some packets, or none, have written it.
#include <core.p4>
#include <v1model.p4>

header kind_t {
    bit<8> value;
}

header pair_t {
    bit<16> first;
    bit<16> second;
}

struct headers_t {
    kind_t kind;
    pair_t pair;
    pair_t result;
    pair_t more;
}

struct metadata_t {
    bit<16> ahead;
    bit<8> found;
    bit<8> turn;  // read by the parser alone, written nowhere
    bit<8> count; // read by an action alone, written nowhere
    bit<16> one;  // written on one way
    bit<16> two;  // written on the other
}

parser Read(packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    state start {
        packet.extract(h.kind);
        transition select(h.kind.value[1:0]) {
            0: look;
            1: skip;
            2: take;
            default: other;
        }
    }
    state other {
        transition select(m.turn) {
            0: accept;
            default: take;
        }
    }
    // The second field is what is read, and both have to be there.
    state look {
        m.ahead = packet.lookahead<pair_t>().second;
        transition accept;
    }
    // As many octets as the rest of the octet says, up to the very end.
    state skip {
        packet.advance((bit<32>) h.kind.value[7:2] << 3);
        transition accept;
    }
    state take {
        packet.extract(h.pair);
        verify(h.pair.first != h.pair.second, error.NoMatch);
        transition accept;
    }
}

control Check(inout headers_t h, inout metadata_t m) {
    apply {}
}

control In(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    action note(bit<8> n) {
        m.found = n;
    }
    action bump() {
        m.found = m.count + 9;
    }
    table of_kind {
        key = { h.kind.value: ternary; }
        actions = { bump; NoAction; }
        default_action = NoAction();
        const entries = {
            0x10 &&& 0x10: bump();
        }
    }
    table of_gone {
        key = { h.pair.first: exact; h.pair.second: ternary; }
        actions = { note; NoAction; }
        default_action = NoAction();
        const entries = {
            (0, 0 &&& 0xffff): note(7);
            (0, _): note(8);
        }
    }
    apply {
        s.egress_spec = 1;
        bit<16> before = h.pair.first;
        bool had = h.pair.isValid();
        if (had) {
            h.pair.setInvalid();
        }
        of_gone.apply();
        of_kind.apply();
        if (h.kind.value[3:3] == 1) {
            m.one = h.kind.value ++ h.kind.value;
        } else {
            m.two = h.kind.value ++ h.kind.value;
        }
        h.more.setValid();
        h.more.first = m.one;
        h.more.second = m.two;
        h.result.setValid();
        h.result.first = (bit<16>) m.found << 8;
        if (s.parser_error == error.NoError) {
            h.result.second = m.ahead;
        } else if (s.parser_error == error.PacketTooShort) {
            h.result.second = 0xeeee;
        } else {
            h.result.second = 0xdddd;
        }
        if (had && before[0:0] == 1) {
            h.pair.setValid();
        }
    }
}

control Out(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    apply {}
}

control Sum(inout headers_t h, inout metadata_t m) {
    apply {}
}

control Emit(packet_out packet, in headers_t h) {
    apply {
        packet.emit(h.kind);
        packet.emit(h.result);
        packet.emit(h.more);
        packet.emit(h.pair);
    }
}

V1Switch(Read(), Check(), In(), Out(), Sum(), Emit()) main;
