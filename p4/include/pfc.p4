// PFC over SRv6 (draft-pfc), IEEE 802.1Qbb. The program decides who may pause what, and carries the signal; the target holds
// packets, watches its queues and keeps time. Between them goes PFC_PORT: a PAUSE to the target, XOFF and XON from it.

// A PFC frame of the link itself.
control PfcLink(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {

    // classes: bit n lets frames of this port pause priority n of it.
    @id(ACTION_ACCEPT_LINK_PFC_ID)
    action accept_link_pfc(bit<8> classes) {
        meta.pfc_port = std.ingress_port;
        meta.pfc_classes = classes;
        meta.pfc_command = 1;
    }

    @id(ACTION_DROP_PFC_PORT_ID)
    action drop_pfc_port() {
        meta.drop_reason = DropReason.PFC_PORT;
    }

    @id(TABLE_PFC_PORT_ID) @weft_owner("pfc")
    table pfc_port {
        key = { std.ingress_port : exact @name("port"); }
        actions = { accept_link_pfc; @defaultonly drop_pfc_port; }
        const default_action = drop_pfc_port();
        size = PORTS;
    }

    apply {
        if (hdr.ethernet.dst_addr != PFC_MAC || hdr.pfc.opcode != PFC_OPCODE) {
            meta.drop_reason = DropReason.PFC_FRAME;
        } else {
            pfc_port.apply();
        }
    }
}

// An Ethernet frame at an End.X.PFC or End.PFC SID with no segments left (draft-pfc section 2, upper-layer header, S01-S04).
// meta.pfc_port is the SID's interface J.
control PfcTunnel(inout headers_t hdr, inout metadata_t meta) {

    @id(ACTION_ACCEPT_PFC_ID)
    action accept_pfc(bit<8> classes) {
        meta.pfc_classes = classes;
        meta.pfc_command = 1;
    }

    // At a SID without an interface.
    @id(ACTION_ACCEPT_PFC_PORT_ID)
    action accept_pfc_port(bit<8> classes, bit<9> port) {
        meta.pfc_port = port;
        meta.pfc_classes = classes;
        meta.pfc_command = 1;
    }

    @id(ACTION_DROP_PFC_SOURCE_ID)
    action drop_pfc_source() {
        meta.drop_reason = DropReason.PFC_SOURCE;
    }

    // Who may signal through a tunnel, and for which slice.
    @id(TABLE_PFC_TUNNEL_ID) @weft_owner("pfc")
    table pfc_tunnel {
        key = {
            hdr.outer_ipv6.dst_addr : exact @name("sid");
            hdr.outer_ipv6.src_addr : exact @name("src_addr");
            meta.slice              : exact @name("slice");
        }
        actions = { accept_pfc; accept_pfc_port; @defaultonly drop_pfc_source; }
        const default_action = drop_pfc_source();
        size = PFC_TUNNELS;
    }

    apply {
        if (hdr.inner_ethernet.dst_addr != PFC_MAC) {
            meta.drop_reason = DropReason.SID_ETHERNET;
        } else if (!hdr.pfc.isValid() || hdr.pfc.opcode != PFC_OPCODE) {
            meta.drop_reason = DropReason.PFC_FRAME;
        } else {
            pfc_tunnel.apply();
        }
    }
}

#define COUNT_PAUSE(n)                                                       \
    if (hdr.pfc.classes[n:n] == 1) {                                         \
        if (hdr.pfc.time##n == 0) {                                          \
            pfc_xon_rx.count(meta.pfc_port ++ 3w##n);                        \
        } else {                                                             \
            pfc_xoff_rx.count(meta.pfc_port ++ 3w##n);                       \
        }                                                                    \
    }

// A PFC frame that is accepted becomes a command to the target.
control PfcCommand(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {

    @id(COUNTER_PFC_XOFF_RX_ID)
    counter<bit<12>>(QUEUES, CounterType.packets) pfc_xoff_rx;      // commands to pause, by port ++ priority
    @id(COUNTER_PFC_XON_RX_ID)
    counter<bit<12>>(QUEUES, CounterType.packets) pfc_xon_rx;       // and to go on

    apply {
        if (meta.pfc_command == 1 && meta.drop_reason == DropReason.NONE) {
            hdr.pfc.classes = hdr.pfc.classes & meta.pfc_classes;
            if (hdr.pfc.classes == 0) {
                meta.drop_reason = DropReason.PFC_CLASS;
            } else {
                COUNT_PAUSE(0)
                COUNT_PAUSE(1)
                COUNT_PAUSE(2)
                COUNT_PAUSE(3)
                COUNT_PAUSE(4)
                COUNT_PAUSE(5)
                COUNT_PAUSE(6)
                COUNT_PAUSE(7)
                if (hdr.inner_ethernet.isValid()) {
                    hdr.ethernet.src_addr = hdr.inner_ethernet.src_addr;
                }
                hdr.outer_ipv6.setInvalid();
                hdr.srh.setInvalid();
                hdr.segment.pop_front(SRH_SEGMENTS);
                hdr.srh_tlvs.setInvalid();
                hdr.inner_ethernet.setInvalid();
                hdr.ethernet.dst_addr = PFC_MAC;
                hdr.ethernet.ether_type = ETHERTYPE_TARGET;
                hdr.pfc.reserved = 0;
                hdr.target.setValid();
                hdr.target.op = TargetOp.PAUSE;
                hdr.target.direction = PfcDirection.EGRESS;
                hdr.target.port = 7w0 ++ meta.pfc_port;
                hdr.target.priority = 0;
                hdr.target.upstream = 0;
                hdr.target.reserved = 0;
                truncate(PAUSE_OCTETS);
                std.egress_spec = PFC_PORT;
                std.priority = 0;
                meta.classed = 0;
                meta.bypass = 1;
                meta.link_local = 1;
            }
        }
    }
}

#define SET_TIME(n)                                                          \
    hdr.pfc.time##n = 0;                                                     \
    if (hdr.target.priority[2:0] == n) {                                     \
        hdr.pfc.time##n = pause;                                             \
    }

// What the target has to say.
control PfcTarget(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    bit<16> pause = 0;
    bit<1>  known = 0;

    @id(COUNTER_PFC_XOFF_TX_ID)
    counter<bit<12>>(QUEUES, CounterType.packets) pfc_xoff_tx;      // frames made to pause, by port ++ priority of the queue
    @id(COUNTER_PFC_XON_TX_ID)
    counter<bit<12>>(QUEUES, CounterType.packets) pfc_xon_tx;       // and to go on

    // A queue that is watched. The target reads these entries; of them the program needs quanta alone, the time of an XOFF.
    //   buffer           octets that may wait; more is dropped. 0: as many as the target has for a queue.
    //   xoff, xon        octets: XOFF when more than xoff wait, XON when no more than xon do. xoff 0: no PFC frames are made.
    //   refresh          nanoseconds from an XOFF to the next while more than xon wait
    //   upstreams        of pfc_upstream, each of which gets a frame
    //   rate             kbit/s of the queue, 0 for no limit
    //   watchdog         microseconds that a paused queue may go without a packet leaving it; 0: for ever
    //   watchdog_action  a WatchdogAction
    // Octets are those of frames as received; buffer, rate and watchdog are for egress queues.
    @id(ACTION_SET_PFC_QUEUE_ID) @noWarn("unused")
    action set_pfc_queue(bit<48> buffer, bit<48> xoff, bit<48> xon, bit<16> quanta, bit<32> refresh, @refers_to(pfc_upstream, upstream) bit<8> upstreams,
                         bit<32> rate, bit<32> watchdog, WatchdogAction watchdog_action) {
        known = 1;
        pause = quanta;
    }

    @id(TABLE_PFC_QUEUE_ID) @weft_owner("pfc")
    table pfc_queue {
        key = {
            hdr.target.direction : exact @name("direction");
            hdr.target.port      : exact @name("port");
            hdr.target.priority  : exact @name("priority");
        }
        actions = { set_pfc_queue; @defaultonly NoAction; }
        const default_action = NoAction();
        size = PFC_QUEUES;
    }

    // Into a tunnel to the End.X.PFC SID of a node upstream. priority is that of the frame, on its way out of this switch.
    @id(ACTION_PFC_TO_TUNNEL_ID)
    action pfc_to_tunnel(@refers_to(sr_policy, policy) bit<16> policy, bit<128> sid, bit<20> slice, bit<6> dscp, bit<3> class, bit<3> priority, bit<48> src_mac) {
        meta.policy = policy;
        meta.service_sid = sid;
        meta.outer_slice = slice;
        meta.outer_dscp = dscp;
        meta.classed = 1;
        meta.class = class;
        std.priority = priority;
        hdr.inner_ethernet.setValid();
        hdr.inner_ethernet.dst_addr = PFC_MAC;
        hdr.inner_ethernet.src_addr = src_mac;
        hdr.inner_ethernet.ether_type = ETHERTYPE_MAC_CONTROL;
        hdr.ethernet.ether_type = ETHERTYPE_IPV6;
    }

    // To the neighbor on a link.
    @id(ACTION_PFC_TO_LINK_ID)
    action pfc_to_link(bit<9> port, bit<3> priority, bit<48> src_mac) {
        std.egress_spec = port;
        std.priority = priority;
        hdr.ethernet.dst_addr = PFC_MAC;
        hdr.ethernet.src_addr = src_mac;
        hdr.ethernet.ether_type = ETHERTYPE_MAC_CONTROL;
        meta.bypass = 1;
        meta.link_local = 1;
    }

    @id(ACTION_DROP_PFC_UPSTREAM_ID)
    action drop_pfc_upstream() {
        meta.drop_reason = DropReason.PFC_UPSTREAM;
    }

    @id(TABLE_PFC_UPSTREAM_ID) @weft_owner("pfc")
    table pfc_upstream {
        key = {
            hdr.target.direction : exact @name("direction");
            hdr.target.port      : exact @name("port");
            hdr.target.priority  : exact @name("priority");
            hdr.target.upstream  : exact @name("upstream");
        }
        actions = { pfc_to_tunnel; pfc_to_link; @defaultonly drop_pfc_upstream; }
        const default_action = drop_pfc_upstream();
        size = PFC_UPSTREAMS;
    }

    apply {
        if (meta.drop_reason == DropReason.NONE) {
            if (hdr.target.op == TargetOp.XOFF || hdr.target.op == TargetOp.XON) {
                pfc_queue.apply();
                if (known == 0) {
                    meta.drop_reason = DropReason.PFC_UPSTREAM;
                } else {
                    pfc_upstream.apply();
                }
                if (meta.drop_reason == DropReason.NONE) {
                    if (hdr.target.op == TargetOp.XOFF) {
                        pfc_xoff_tx.count(hdr.target.port[8:0] ++ hdr.target.priority[2:0]);
                    } else {
                        pfc_xon_tx.count(hdr.target.port[8:0] ++ hdr.target.priority[2:0]);
                        pause = 0;
                    }
                    hdr.pfc.setValid();
                    hdr.pfc.opcode = PFC_OPCODE;
                    hdr.pfc.reserved = 0;
                    hdr.pfc.classes = 8w1 << hdr.target.priority[2:0];
                    SET_TIME(0)
                    SET_TIME(1)
                    SET_TIME(2)
                    SET_TIME(3)
                    SET_TIME(4)
                    SET_TIME(5)
                    SET_TIME(6)
                    SET_TIME(7)
                    hdr.pfc_pad.setValid();
                    hdr.pfc_pad.zero = 0;
                    hdr.target.setInvalid();
                }
            } else if (hdr.target.op == TargetOp.STATE || hdr.target.op == TargetOp.STORM || hdr.target.op == TargetOp.STORM_OVER) {
                meta.packet_in = PacketInReason.PFC;
                std.egress_spec = CPU_PORT;
                meta.bypass = 1;
            } else {
                meta.drop_reason = DropReason.TARGET_FRAME;
            }
        }
    }
}
