// Slices (draft-pfc section 3, RFC 9543): a tenant's own queues at the nodes that know of them. The id of a slice is in low
// bits of the outer flow label, as many as slice_field says, on all nodes alike; the others are left to ECMP.
control SliceField(inout metadata_t meta) {

    // 0: there are no slices.
    @id(ACTION_SET_SLICE_FIELD_ID)
    action set_slice_field(bit<20> mask) {
        meta.slice_mask = mask;
    }

    @id(TABLE_SLICE_FIELD_ID) @weft_owner("pfc")
    table slice_field {
        key = {}
        actions = { set_slice_field; @defaultonly NoAction; }
        default_action = NoAction();
        size = 1;
    }

    apply {
        slice_field.apply();
    }
}

// The queue of what comes encapsulated. A host's flow label selects no slice. A PFC frame keeps the class of its DSCP: it must
// not wait behind what it is to stop.
control Slices(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {

    @id(ACTION_SET_SLICE_ID)
    action set_slice(bit<3> class, bit<3> priority) {
        meta.classed = 1;
        meta.class = class;
        std.priority = priority;
    }

    @id(TABLE_SLICE_ID) @weft_owner("pfc")
    table slice {
        key = { meta.slice : exact @name("slice"); }
        actions = { set_slice; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SLICES;
    }

    apply {
        if (meta.slice_mask != 0 && hdr.outer_ipv6.isValid() && meta.host_facing == 0 && REACHES_ENDPOINT) {
            meta.slice = hdr.outer_ipv6.flow_label & meta.slice_mask;
            if (!hdr.pfc.isValid()) {
                slice.apply();
            }
        }
    }
}
