// Structured EVs (OCP MRC 1.0, sections 9.1 and 9.3.4): the sender has chosen the way up, each switch takes its own field of
// the packet's entropy value. Only for MRC packets that are in no tunnel; a control packet has an EV like any other.
control StructuredEv(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    bit<32> ev = 0;
    bit<32> mask = 0;

    // The field of this switch is (EV >> right) & ones.
    @id(ACTION_SET_FIELD_ID)
    action set_field(bit<8> right, bit<32> ones) {
        ev = (hdr.udp.src_port ++ hdr.ipv6.flow_label[15:0]) >> right;
        mask = ones;
    }

    @id(TABLE_EV_FIELD_ID)
    table ev_field {
        key = {}
        actions = { set_field; @defaultonly NoAction; }
        default_action = NoAction();
        size = 1;
    }

    @id(ACTION_EV_FORWARD_ID)
    action ev_forward(bit<9> port, @refers_to(neighbor, id) bit<16> neighbor) {
        std.egress_spec = port;
        meta.neighbor = neighbor;
        meta.routed = 1;
    }

    @id(ACTION_DROP_EV_FIELD_ID)
    action drop_ev_field() {
        meta.drop_reason = DropReason.EV_FIELD;
    }

    @id(TABLE_EV_UP_ID)
    table ev_up {
        key = { ev : exact @name("value"); }
        actions = { ev_forward; @defaultonly drop_ev_field; }
        const default_action = drop_ev_field();
        size = EV_VALUES;
    }

    apply {
        if (!hdr.outer_ipv6.isValid() && hdr.bth.isValid() && (hdr.bth.opcode & OPCODE_MRC_MASK) == OPCODE_MRC) {
            ev_field.apply();
            if (mask != 0) {
                ev = ev & mask;
                ev_up.apply();
            }
        }
    }
}
