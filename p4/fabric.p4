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
// Packet-outs and PFC frames pass controls of their own in the place of Admission and Endpoint.
// Features are tables, not forks: a switch whose tables are empty drops everything, and counts it.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

#include "include/sizes.p4"
#include "include/p4runtime_ids.p4"
#include "include/ids.p4"
#include "include/constants.p4"
#include "include/headers.p4"
#include "include/metadata.p4"
#include "include/parser.p4"
#include "include/packetio.p4"
#include "include/arrival.p4"
#include "include/ipv4.p4"
#include "include/icrc.p4"
#include "include/classes.p4"
#include "include/icmp.p4"
#include "include/discovery.p4"
#include "include/neighbors.p4"
#include "include/admission.p4"
#include "include/slices.p4"
#include "include/pfc.p4"
#include "include/learning.p4"
#include "include/edge.p4"
#include "include/srv6.p4"
#include "include/policy.p4"
#include "include/multicast.p4"
#include "include/connect.p4"
#include "include/aggregation.p4"
#include "include/ev.p4"
#include "include/routing.p4"
#include "include/replication.p4"
#include "include/upstream.p4"
#include "include/departure.p4"

control FabricIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    ParserVerdict() parser_verdict;
    IcmpError() icmp_error;
    Outermost() outermost;
    TrafficClass() traffic_class;
    CutPacket() cut_packet;
    Node() this_node;
    SliceField() slice_field;
    PacketOut() from_controller;
    PfcTarget() pfc_target;
    PfcLink() pfc_link;
    Admission() admission;
    Slices() slices;
    Endpoint() endpoint;
    PfcCommand() pfc_command;
    Connect() connect;
    MulticastGroup() multicast_group;
    Aggregation() aggregation;
    Headend() headend;
    Policy() policy;
    OuterFlowLabel() outer_flow_label;
    InbandReceivers() inband_receivers;
    Routing() routing;
    Delivery() host_delivery;
    QueueAdmission() queue_admission;
    IngressDrop() ingress_drop;

    bit<3> role = ROLE_NONE;

    apply {
        parser_verdict.apply(meta, std);
        icmp_error.apply(hdr, meta);
        outermost.apply(hdr, meta);
        traffic_class.apply(hdr, meta, std);
        cut_packet.apply(hdr, meta);
        if (meta.pass == PASS_FIRST) {
            this_node.apply(meta, std);
            slice_field.apply(meta);
            if (hdr.packet_out.isValid()) {
                from_controller.apply(hdr, meta, std);
            } else if (std.ingress_port == PFC_PORT) {
                pfc_target.apply(hdr, meta, std);
            } else if (hdr.pfc.isValid() && !hdr.outer_ipv6.isValid()) {
                pfc_link.apply(hdr, meta, std);
            } else {
                admission.apply(hdr, meta, std);
                slices.apply(hdr, meta, std);
                endpoint.apply(hdr, meta, std);
            }
            pfc_command.apply(hdr, meta, std);
            connect.apply(hdr, meta, std);
            multicast_group.apply(hdr, meta, std, role);
            if (role > ROLE_TREE) {
                aggregation.apply(hdr, meta, std, role);
            } else {
                headend.apply(hdr, meta, std);
                policy.apply(hdr, meta, std);
            }
            outer_flow_label.apply(hdr, meta);
        } else if (meta.pass == PASS_TLVS) {
            inband_receivers.apply(meta, std);
        }
        routing.apply(hdr, meta, std);
        host_delivery.apply(hdr, meta, std);
        queue_admission.apply(meta, std);
        ingress_drop.apply(hdr, meta, std);
    }
}

control FabricEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    QueueExit() queue_exit;
    CloneRole() clone_role;
    PacketIn() to_controller;
    Replication() replication;
    Upstream() upstream;
    NextHop() next_hop;
    Ipv4Departure() ipv4_departure;
    Departure() departure;

    apply {
        queue_exit.apply(hdr, meta, std);
        clone_role.apply(meta);
        if (std.egress_port == CPU_PORT) {
            to_controller.apply(hdr, meta);
        } else if (hdr.packet_out.isValid() && meta.emit == EMIT_NONE) {
            hdr.packet_out.setInvalid();
        } else if (meta.link_local == 0) {
            if (meta.mt_replicate == 1) {
                replication.apply(hdr, meta, std);
            } else if (meta.emit != EMIT_NONE) {
                upstream.apply(hdr, meta, std);
            }
            next_hop.apply(hdr, meta);
        }
        ipv4_departure.apply(hdr);
        departure.apply(meta, std);
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
        packet.emit(hdr.ipv4);
        packet.emit(hdr.arp);
        packet.emit(hdr.extension);
        packet.emit(hdr.icmp_error);
        packet.emit(hdr.solicitation);
        packet.emit(hdr.advertisement);
        packet.emit(hdr.echo);
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
