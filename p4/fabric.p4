// The Weft fabric: one program for every switch of the network.
//
//            +---------+   +-----------+   +----------+   +-----------+   +-------------+
//  parser -> | Traffic |-> | Admission |-> | Endpoint |-> | Multicast |-> | Aggregation |--------+
//            | Class   |   | MAC, BCP38|   | local SID|   | group,role|   | of responses|        |
//            +---------+   +-----------+   +----------+   +-----------+   +-------------+        v
//                                                               |    +---------+   +---------+   +-----------+
//                                                               +--> | Headend |-> | Routing |-> | Queue     |
//                                                                    +---------+   | IP, ECMP|   | Admission |
//      +---------+                  any drop that calls for an                     | EV      |   +-----------+
//      | Icmp    | <--------------- ICMPv6 error goes round once                   +---------+         |
//      | Error   | -> Routing                                                                    traffic manager
//      +---------+                                                                                     |
//                                    copies of a tree    +-------------+   +-----------+               |
//                      +---------+ <---------------------| Replication |<--| Queue     |<--------------+
//        deparser <--- | NextHop |                       +-------------+   | Exit: ECN |
//                      +---------+ <---------------------| Upstream    |<--| trimming  |
//                                    ACK, NAK, CNP       +-------------+   +-----------+
//
// Features are tables, not forks: a switch whose tables are empty drops everything, and counts it.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

#include "include/sizes.p4"
#include "include/constants.p4"
#include "include/headers.p4"
#include "include/metadata.p4"
#include "include/parser.p4"
#include "include/icrc.p4"
#include "include/classes.p4"
#include "include/icmp.p4"
#include "include/admission.p4"
#include "include/slices.p4"
#include "include/pfc.p4"
#include "include/learning.p4"
#include "include/edge.p4"
#include "include/srv6.p4"
#include "include/policy.p4"
#include "include/multicast.p4"
#include "include/aggregation.p4"
#include "include/ev.p4"
#include "include/routing.p4"
#include "include/replication.p4"
#include "include/upstream.p4"

control FabricIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    TrafficClass() traffic_class;
    Admission() admission;
    Endpoint() endpoint;
    MulticastGroup() multicast_group;
    Aggregation() aggregation;
    SliceField() slice_field;
    Slices() slices;
    PfcLink() pfc_link;
    PfcCommand() pfc_command;
    PfcTarget() pfc_target;
    Headend() headend;
    Policy() policy;
    OuterFlowLabel() outer_flow_label;
    Routing() routing;
    QueueAdmission() queue_admission;
    IcmpDecision() icmp_decision;
    IcmpError() icmp_error;

    bit<3> role = ROLE_NONE;

    @id(0x12000001)
    counter<DropReason>(64, CounterType.packets) ingress_drops;     // by DropReason
    @id(0x12000002)
    counter<bit<9>>(PORTS, CounterType.packets_and_bytes) port_rx;

    // Who this switch is: its loopback, and the TLV type that stands for End.MT.
    @id(0x01000001)
    action set_node(bit<128> address, bit<8> tlv_type) {
        meta.node_address = address;
        meta.tlv_type = tlv_type;
    }

    @id(0x02000001)
    table node {
        key = {}
        actions = { set_node; @defaultonly NoAction; }
        default_action = NoAction();
        size = 1;
    }

    apply {
        if (std.parser_error != error.NoError) {
            if (std.parser_error == error.PacketTooShort) {
                meta.drop_reason = DropReason.PARSE_TRUNCATED;
            } else if (std.parser_error == error.SrhLength) {
                meta.drop_reason = DropReason.PARSE_SRH_LENGTH;
            } else if (std.parser_error == error.SegmentsLeft) {
                meta.drop_reason = DropReason.PARSE_SEGMENTS_LEFT;
            } else if (std.parser_error == error.TlvLength) {
                meta.drop_reason = DropReason.PARSE_TLV_LENGTH;
            } else if (std.parser_error == error.TlvReceivers) {
                meta.drop_reason = DropReason.PARSE_TLV_RECEIVERS;
            } else if (std.parser_error == error.UdpLength) {
                meta.drop_reason = DropReason.PARSE_UDP_LENGTH;
            } else {
                meta.drop_reason = DropReason.PARSE_OTHER;
            }
        }
        if (meta.pass == PASS_ICMP) {
            icmp_error.apply(hdr, meta, std);
        }
        if (hdr.outer_ipv6.isValid()) {
            meta.dst = hdr.outer_ipv6.dst_addr;
            meta.dscp = hdr.outer_ipv6.dscp;
        } else {
            meta.dst = hdr.ipv6.dst_addr;
            meta.dscp = hdr.ipv6.dscp;
        }
        if (meta.drop_reason == DropReason.NONE && (hdr.ipv6.isValid() || hdr.outer_ipv6.isValid())) {
            traffic_class.apply(meta, std);
        }
        if (meta.cut == 1 && meta.trimmed == 0 && meta.drop_reason == DropReason.NONE &&
            (hdr.bth.opcode & OPCODE_MRC_MASK) != OPCODE_MRC) {
            meta.drop_reason = hdr.udp.length == hdr.ipv6.payload_len ? DropReason.PARSE_TRUNCATED : DropReason.PARSE_UDP_LENGTH;
        }

        if (meta.pass == PASS_FIRST) {
            meta.ingress_port = std.ingress_port;
            port_rx.count(std.ingress_port);
            node.apply();
            slice_field.apply(meta);
            if (hdr.packet_out.isValid()) {
                if (hdr.packet_out.op == PacketOutOp.SEND) {
                    std.egress_spec = hdr.packet_out.egress_port[8:0];
                    meta.bypass = 1;
                } else if ((hdr.packet_out.op != PacketOutOp.POLL && hdr.packet_out.op != PacketOutOp.STATE) ||
                           hdr.packet_out.branch >= MT_BRANCHES || std.packet_length != PACKET_OUT_OCTETS) {
                    meta.drop_reason = DropReason.PACKET_OUT;
                }
            } else if (std.ingress_port == PFC_PORT) {
                if (meta.drop_reason == DropReason.NONE) {
                    pfc_target.apply(hdr, meta, std);
                }
            } else if (hdr.pfc.isValid() && !hdr.outer_ipv6.isValid()) {
                pfc_link.apply(hdr, meta, std);
            } else {
                // A SID may have to answer an SRH that the parser has refused.
                if (meta.drop_reason == DropReason.NONE || meta.drop_reason == DropReason.PARSE_SRH_LENGTH ||
                    meta.drop_reason == DropReason.PARSE_SEGMENTS_LEFT) {
                    admission.apply(hdr, meta, std);
                    if (meta.drop_reason == DropReason.NONE || meta.drop_reason == DropReason.PARSE_SRH_LENGTH ||
                        meta.drop_reason == DropReason.PARSE_SEGMENTS_LEFT) {
                        slices.apply(hdr, meta, std);
                        endpoint.apply(hdr, meta, std);
                    }
                }
            }
            if (meta.pfc_command == 1 && meta.drop_reason == DropReason.NONE) {
                pfc_command.apply(hdr, meta, std);
            }
            if (meta.drop_reason == DropReason.NONE && meta.bypass == 0) {
                multicast_group.apply(hdr, meta, std, role);
            }
            if (meta.drop_reason == DropReason.NONE) {
                if (role > ROLE_TREE) {
                    aggregation.apply(hdr, meta, std, role);
                    meta.bypass = 1;
                } else if (meta.mt_replicate == 0 && meta.bypass == 0 && hdr.ipv6.isValid() && !hdr.outer_ipv6.isValid()) {
                    headend.apply(hdr, meta, std);
                }
                if (meta.policy != 0) {
                    policy.apply(hdr, meta, std);
                }
            }
            if (meta.encapsulated == 1) {
                outer_flow_label.apply(hdr, meta);
            }
        } else if (meta.pass == PASS_TLVS && meta.drop_reason == DropReason.NONE) {
            meta.mt_replicate = 1;
            if (meta.receiver_count != 0) {
                std.mcast_grp = 10w0 ++ meta.receiver_count;
            } else if (meta.mt_named == 0 && meta.local_fallback == 1) {
                std.mcast_grp = MCAST_TREE + 1 + (meta.mt_group << 1);
            } else {
                meta.drop_reason = DropReason.MT_NO_RECEIVERS;
            }
        }

        if (meta.drop_reason == DropReason.NONE && meta.mt_replicate == 0 && meta.bypass == 0) {
            routing.apply(hdr, meta, std);
        }
        if (meta.classed == 1 && meta.mt_replicate == 0 && meta.drop_reason == DropReason.NONE) {
            queue_admission.apply(meta, std);
        }
        if (meta.drop_reason != DropReason.NONE) {
            ingress_drops.count(meta.drop_reason);
            if (meta.icmp != ICMP_NONE) {
                icmp_decision.apply(hdr, meta, std);
            }
            mark_to_drop(std);
        }
    }
}

control FabricEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    QueueExit() queue_exit;
    Replication() replication;
    Upstream() upstream;
    NextHop() next_hop;

    @id(0x12000003)
    counter<DropReason>(64, CounterType.packets) egress_drops;      // by DropReason
    @id(0x12000004)
    counter<bit<9>>(PORTS, CounterType.packets_and_bytes) port_tx;
    @id(0x12000092)
    counter<bit<12>>(QUEUES, CounterType.packets_and_bytes) class_tx;   // by egress port ++ class

    apply {
        if (meta.queued == 1) {
            queue_exit.apply(hdr, meta, std);
        }
        if (meta.emit == EMIT_NONE) {
            meta.emit = meta.clone_emit;
        }
        if (std.egress_port == CPU_PORT) {
            hdr.packet_out.setInvalid();
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = 7w0 ++ meta.ingress_port;
            hdr.packet_in.reason = meta.packet_in;
            hdr.packet_in.group = meta.mt_group;
            hdr.packet_in.branch = meta.branch;
            hdr.packet_in.epoch = meta.epoch;
            hdr.packet_in.flags = meta.state_flags;
            hdr.packet_in.ack_psn = meta.state_ack_psn;
            hdr.packet_in.rnr_timer = meta.state_rnr_timer;
            hdr.packet_in.msn = meta.state_msn;
            hdr.packet_in.cnp_count = meta.state_cnp_count;
            hdr.packet_in.last_psn = meta.state_last_psn;
            hdr.packet_in.cnp_total = meta.state_cnp_total;
            hdr.packet_in.cnp_branch = meta.state_cnp_branch;
        } else if (hdr.packet_out.isValid() && meta.emit == EMIT_NONE) {
            hdr.packet_out.setInvalid();
        } else if (meta.link_local == 0) {
            if (meta.mt_replicate == 1) {
                replication.apply(hdr, meta, std);
            } else if (meta.emit != EMIT_NONE) {
                upstream.apply(hdr, meta, std);
            }
            if ((meta.pass == PASS_FIRST || meta.mt_replicate == 0) && meta.drop_reason == DropReason.NONE) {
                next_hop.apply(hdr, meta);
            }
        }
        if (meta.drop_reason != DropReason.NONE) {
            egress_drops.count(meta.drop_reason);
            mark_to_drop(std);
        } else {
            port_tx.count(std.egress_port);
            if (meta.classed == 1) {
                class_tx.count(std.egress_port ++ meta.class);
            }
        }
    }
}

control NoVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control NoComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control FabricDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.packet_out);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.outer_ipv6);
        packet.emit(hdr.srh);
        packet.emit(hdr.segment);
        packet.emit(hdr.srh_tlvs);
        packet.emit(hdr.inner_ethernet);
        packet.emit(hdr.target);
        packet.emit(hdr.pfc);
        packet.emit(hdr.pfc_pad);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.icmp_error);
        packet.emit(hdr.quoted);
        packet.emit(hdr.udp);
        packet.emit(hdr.bth);
        packet.emit(hdr.reth);
        packet.emit(hdr.aeth);
        packet.emit(hdr.cnp);
        packet.emit(hdr.payload);
        packet.emit(hdr.icrc);
    }
}

V1Switch(FabricParser(), NoVerifyChecksum(), FabricIngress(), FabricEgress(), NoComputeChecksum(), FabricDeparser()) main;
