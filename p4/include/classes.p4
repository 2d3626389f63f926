// Classes of service: what class a packet has, what happens when its class has no room at the egress port (trimming,
// OCP MRC 1.0 sections 7.5.3 and 7.5.5.1), and congestion marks. Nothing is done to a packet whose DSCP has no class.
//
// Queues are watched by two numbers a port and class, each with one writer: queue_in, the sequence number of the last packet
// that ingress let in, and queue_out, that of the last one that egress has seen. A class keeps its order, so the difference is
// what waits; and a packet that a target lost between the two is forgotten with the next one that gets through. What is
// replicated or cloned is not counted, and goes into the queues all the same: the targets' own depths must leave room for it.

register<bit<32>, bit<32>>(QUEUES) queue_in;
register<bit<32>, bit<32>>(QUEUES) queue_out;

control TrafficClass(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {

    // The queue is that of the priority, 0 the lowest; all DSCPs of a class must have the same.
    @id(ACTION_SET_CLASS_ID)
    action set_class(bit<3> class, bit<3> priority) {
        meta.classed = 1;
        meta.class = class;
        std.priority = priority;
    }

    @id(ACTION_SET_TRIMMABLE_CLASS_ID)
    action set_trimmable_class(bit<3> class, bit<3> priority) {
        set_class(class, priority);
        meta.trimmable = 1;
    }

    // What switches have trimmed.
    @id(ACTION_SET_TRIMMED_CLASS_ID)
    action set_trimmed_class(bit<3> class, bit<3> priority) {
        set_class(class, priority);
        meta.trimmed = 1;
    }

    @id(TABLE_TRAFFIC_CLASS_ID)
    table traffic_class {
        key = { meta.dscp : exact @name("dscp"); }
        actions = { set_class; set_trimmable_class; set_trimmed_class; @defaultonly NoAction; }
        const default_action = NoAction();
        size = DSCPS;
    }

    apply {
        if (meta.drop_reason == DropReason.NONE && (hdr.ipv6.isValid() || hdr.outer_ipv6.isValid())) {
            traffic_class.apply();
        }
    }
}

// The last thing in ingress.
control QueueAdmission(inout metadata_t meta, inout standard_metadata_t std) {
    bit<32> limit;
    bit<32> trim_limit;
    bit<1>  last_hop;

    @id(COUNTER_CLASS_TRIMS_ID)
    counter<bit<12>>(QUEUES, CounterType.packets) class_trims;      // by egress port ++ class the packet had before
    @id(COUNTER_CLASS_DROPS_ID)
    counter<bit<12>>(QUEUES, CounterType.packets) class_drops;      // by egress port ++ class

    // limit is the number of packets that may wait; it must be less than the depth of the target's queue.
    @id(ACTION_SET_QUEUE_ID)
    action set_queue(bit<32> packets) {
        meta.queued = 1;
        limit = packets;
    }

    // A data class. ECN marks are set from ecn_min on with a probability that grows to 1 at ecn_max; last_hop says that the
    // port faces a host; trim_packets is the limit of the class of trimmed packets at this port.
    @id(ACTION_SET_DATA_QUEUE_ID)
    action set_data_queue(bit<32> packets, bit<32> ecn_min, bit<32> ecn_max, bit<32> trim_packets, bit<1> host_facing) {
        set_queue(packets);
        meta.ecn_marks = 1;
        meta.ecn_min = ecn_min;
        meta.ecn_max = ecn_max;
        trim_limit = trim_packets;
        last_hop = host_facing;
    }

    @id(TABLE_CLASS_QUEUE_ID)
    table class_queue {
        key = {
            std.egress_spec : exact @name("port");
            meta.class      : exact @name("class");
        }
        actions = { set_queue; set_data_queue; @defaultonly NoAction; }
        const default_action = NoAction();
        size = QUEUES;
    }

    // size is in octets, from the Ethernet header on, of the packet as it leaves. set_length makes the outermost IPv6 header
    // say the length that is left.
    @id(ACTION_SET_TRIMMING_ID)
    action set_trimming(bit<16> octets, bit<6> dscp, bit<6> dscp_last_hop, bit<3> class, bit<3> priority, bit<1> set_length) {
        meta.trim = 1;
        meta.trimmed = 1;
        meta.trim_size = octets;
        meta.trim_dscp = last_hop == 1 ? dscp_last_hop : dscp;
        meta.trim_set_length = set_length;
        meta.ecn_marks = 0;
        meta.class = class;
        std.priority = priority;
    }

    @id(TABLE_TRIMMING_ID)
    table trimming {
        key = {}
        actions = { set_trimming; @defaultonly NoAction; }
        default_action = NoAction();
        size = 1;
    }

    apply {
        if (meta.classed == 1 && meta.mt_replicate == 0 && meta.drop_reason == DropReason.NONE) {
            bit<32> arrived;
            bit<32> left;
            bit<32> waiting;
            limit = 0;
            trim_limit = 0;
            last_hop = 0;
            class_queue.apply();
            if (meta.queued == 1) {
                meta.queue = 20w0 ++ std.egress_spec ++ meta.class;
                queue_in.read(arrived, meta.queue);
                queue_out.read(left, meta.queue);
                waiting = arrived - left;
                // Only after the program was replaced: what still waits is of the time before.
                if (waiting[31:31] == 1) {
                    arrived = left;
                    waiting = 0;
                }
                // What the switch made itself is not held back.
                if (waiting >= limit && meta.bypass == 0) {
                    if (meta.trimmable == 1) {
                        trimming.apply();
                    }
                    if (meta.trim == 0) {
                        class_drops.count(meta.queue[11:0]);
                        meta.drop_reason = DropReason.QUEUE_FULL;
                    } else {
                        class_trims.count(meta.queue[11:0]);
                        meta.queue = 20w0 ++ std.egress_spec ++ meta.class;
                        queue_in.read(arrived, meta.queue);
                        queue_out.read(left, meta.queue);
                        waiting = arrived - left;
                        if (waiting[31:31] == 1) {
                            arrived = left;
                            waiting = 0;
                        }
                        if (waiting >= trim_limit) {
                            class_drops.count(meta.queue[11:0]);
                            meta.drop_reason = DropReason.TRIM_QUEUE_FULL;
                        }
                    }
                }
                if (meta.drop_reason == DropReason.NONE) {
                    meta.sequence = arrived + 1;
                    queue_in.write(meta.queue, meta.sequence);
                }
            }
        }
    }
}

// The first thing in egress, of packets whose queue is counted.
control QueueExit(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    @id(COUNTER_CLASS_MARKS_ID)
    counter<bit<12>>(QUEUES, CounterType.packets) class_marks;          // by egress port ++ class

    apply {
        if (meta.queued == 1) {
            bit<32> arrived;
            bit<32> waiting;
            bit<32> chance;
            bit<1>  mark = 0;
            queue_out.write(meta.queue, meta.sequence);

            // Decided when the packet leaves, by what waits behind it: a mark made on arrival would be older by the time in the queue.
            bit<2> ecn = hdr.outer_ipv6.isValid() ? hdr.outer_ipv6.ecn : hdr.ipv6.ecn;
            if (meta.ecn_marks == 1 && ecn != ECN_NOT_ECT && ecn != ECN_CE && meta.bypass == 0) {
                queue_in.read(arrived, meta.queue);
                waiting = arrived - meta.sequence;
                if (waiting[31:31] == 1) {
                    waiting = 0;
                }
                if (waiting >= meta.ecn_max) {
                    mark = 1;
                } else if (waiting > meta.ecn_min) {
                    random(chance, 32w0, meta.ecn_max - meta.ecn_min - 1);
                    if (chance < waiting - meta.ecn_min) {
                        mark = 1;
                    }
                }
                if (mark == 1) {
                    class_marks.count(std.egress_port ++ meta.class);
                    if (hdr.outer_ipv6.isValid()) {
                        hdr.outer_ipv6.ecn = ECN_CE;
                    } else {
                        hdr.ipv6.ecn = ECN_CE;
                    }
                }
            }

            if (meta.trim == 1) {
                if (hdr.outer_ipv6.isValid()) {
                    hdr.outer_ipv6.dscp = meta.trim_dscp;
                    if (meta.trim_set_length == 1 && hdr.outer_ipv6.payload_len > meta.trim_size - 54) {
                        hdr.outer_ipv6.payload_len = meta.trim_size - 54;
                    }
                } else {
                    bit<16> rest = meta.trim_size - (hdr.ipv4.isValid() ? 14 + IPV4_OCTETS : 54);
                    hdr.ipv6.dscp = meta.trim_dscp;
                    if (meta.trim_set_length == 1 && hdr.ipv6.payload_len > rest) {
                        hdr.ipv6.payload_len = rest;
                    }
                }
                truncate((bit<32>)meta.trim_size);
            }
        }
    }
}
