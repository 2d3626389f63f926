package main

import (
	"fmt"
	"slices"
	"strings"
)

// controls lists the program's controls, except parser_verdict and ingress_drop, which all paths
// pass, and to_controller, since an entry may have any port.
var controls = []string{
	"icmp_error", "outermost", "traffic_class", "cut_packet", "this_node", "slice_field",
	"from_controller", "pfc_target", "pfc_link", "admission", "slices", "endpoint", "pfc_command",
	"connect", "multicast_group", "aggregation", "headend", "policy", "outer_flow_label",
	"inband_receivers", "routing", "host_delivery", "queue_admission",
	"queue_exit", "clone_role", "replication", "upstream", "next_hop",
	"ipv4_departure", "departure",
}

// allBut returns the controls that a model skips, all but the needed. Tables of skipped controls
// are empty.
func allBut(needed ...string) []string {
	return slices.DeleteFunc(slices.Clone(controls), func(c string) bool {
		return slices.Contains(needed, c)
	})
}

// checksums changes how the program verifies checksums. The program sums all fields with the
// checksum and wants 0; the model sums the fields without the checksum and wants the checksum of
// the packet. p4testgen chooses the fields before it knows their sum, so it can only solve the
// second form.
var checksums = []edit{
	{"{ IPV4_CHECKED, hdr.ipv4.checksum, hdr.ipv4.src_addr",
		"{ IPV4_CHECKED, 16w0, hdr.ipv4.src_addr"},
	{"if (sum != 0) {\n            meta.drop_reason = DropReason.IPV4_CHECKSUM",
		"if (sum != hdr.ipv4.checksum) {\n            meta.drop_reason = DropReason.IPV4_CHECKSUM"},
	{"hdr.solicitation.code, hdr.solicitation.checksum,", "hdr.solicitation.code, 16w0,"},
	{"if (sum != 0 || hdr.solicitation.code",
		"if (sum != hdr.solicitation.checksum || hdr.solicitation.code"},
}

// oneExtension has one extension header: p4testgen gives up where an element of a stack is
// extracted with a length.
var oneExtension = []edit{
	{"packet.extract(hdr.extension.next, 48 + (((bit<32>)head[7:0]) << 6));",
		"testgen_assume(head[7:0] == 0); packet.extract(hdr.extension[0], 48);"},
	{"packet.extract(hdr.extension.next, 48 + (((bit<32>)head[7:0]) << 5));",
		"testgen_assume(head[7:0] == 0); packet.extract(hdr.extension[0], 48);"},
	{"packet.extract(hdr.extension.next, 48);", "packet.extract(hdr.extension[0], 48);"},
	{"PROTO_ICMPV6: parse_icmp;\n            EXTENSION_CASES(walk_extensions)\n" +
		"            default:      accept;\n        }\n    }\n\n    // Of a fragment",
		"PROTO_ICMPV6: parse_icmp;\n default: one_extension;\n }\n }\n " +
			"state one_extension { testgen_assume(meta.protocol == PROTO_TCP || " +
			"meta.protocol == PROTO_IPV6); transition accept; }\n    // Of a fragment"},
	{"hdr.extension.last", "hdr.extension[0]"},
}

// noMinimum has the edits for models of packets other than responses.
var noMinimum = []edit{
	{"MINIMUM_OF_8(0)\n", ""}, {"MINIMUM_OF_8(8)\n", ""}, {"MINIMUM_OF_8(16)\n", ""},
	{"MINIMUM_OF_8(24)\n", ""},
}

const (
	inner = sound + " && meta.host_facing == 0"
	whole = "std.parser_error == error.NoError"
)

// States that a frame's Ethernet type leads to.
var (
	ipv6States  = []string{"parse_ipv6"}
	notAFrame   = slices.Concat(controllerStates, targetStates, []string{"parse_quoted"})
	segmentLess = []string{"parse_routing"}
	// States missing from plain packets between switches, and states missing from packets in a tunnel.
	plainStates = slices.Concat(notAFrame, ipv4States, segmentLess, []string{"parse_pfc",
		"parse_tcp", "parse_icmp", "walk_extensions", "parse_udp", "parse_inner_ethernet"})
	tunnelStates = slices.Concat(notAFrame, ipv4States, segmentLess, []string{"parse_tcp",
		"parse_icmp", "walk_extensions", "parse_udp", "parse_inner_ethernet"})
)

// queued leaves the controls that a packet passes through a queue.
var queued = allBut("outermost", "traffic_class", "admission", "routing", "queue_admission",
	"queue_exit", "next_hop")

// narrow are the services that one condition leads to.
var narrow = []service{
	{
		name: "pfc-link", keep: "RECIRCULATED",
		never: slices.Concat(notAFrame, ipv6States, ipv4States),
		skip:  allBut("pfc_link", "pfc_command"),
		require: map[string]string{"": "hdr.pfc.isValid() && " + whole,
			"pfc_link": "meta.pfc_command == 1"},
	},
	{
		name: "pfc-tunnel", keep: "RECIRCULATED",
		never: slices.Concat(notAFrame, ipv4States, segmentLess, []string{"parse_inner_ipv6"}),
		skip:  allBut("outermost", "admission", "endpoint", "pfc_command"),
		require: map[string]string{"": "hdr.inner_ethernet.isValid() && " + whole, "admission": inner,
			"endpoint": sound + " && meta.pfc_command == 1"},
	},
	{
		name: "pfc-tunnel-refused", keep: "RECIRCULATED",
		never: slices.Concat(notAFrame, ipv4States, segmentLess, []string{"parse_inner_ipv6"}),
		skip:  allBut("outermost", "admission", "endpoint"),
		require: map[string]string{"": "hdr.inner_ethernet.isValid() && " + whole, "admission": inner,
			"endpoint": "meta.drop_reason == DropReason.SID_ETHERNET || " +
				"meta.drop_reason == DropReason.PFC_FRAME || meta.drop_reason == DropReason.PFC_SOURCE"},
	},
	{
		name: "target-link", keep: "RECIRCULATED",
		never:   slices.Concat(controllerStates, []string{"parse_ethernet"}),
		skip:    allBut("pfc_target"),
		require: map[string]string{"": whole, "pfc_target": sound + " && meta.link_local == 1"},
	},
	{
		name: "arp", keep: "RECIRCULATED",
		never: slices.Concat(notAFrame, ipv6States, []string{"parse_ipv4", "parse_pfc"}),
		skip:  allBut("admission", "ipv4_departure"),
		require: map[string]string{"": "hdr.arp.isValid() && " + whole,
			"admission": "meta.link_local == 1"},
	},
	{
		name: "solicitation", keep: "RECIRCULATED",
		never: slices.Concat(notAFrame, outerStates, ipv4States,
			[]string{"parse_pfc", "parse_udp", "parse_tcp", "walk_extensions", "parse_echo"}),
		skip: allBut("admission"),
		require: map[string]string{
			"":          "hdr.solicitation.isValid() && hdr.ipv6.payload_len == 24 && " + whole,
			"admission": "meta.link_local == 1"},
		edits: append(slices.Clone(checksums),
			edit{"hdr.solicitation.target, hdr.solicitation.options }", "hdr.solicitation.target }"}),
	},
	{
		name: "learning", keep: "RECIRCULATED",
		never: slices.Concat(notAFrame, ipv4States, []string{"parse_outer_icmp", "parse_inner_ethernet",
			"parse_udp", "parse_tcp", "parse_icmp", "walk_extensions", "keep_tlvs", "parse_tlv"}),
		skip: allBut("outermost", "admission", "endpoint", "routing", "next_hop"),
		require: map[string]string{"": "hdr.srh.isValid() && " + whole, "admission": inner,
			"endpoint": sound + " && meta.learned_last_entry != 0"},
		unread: []string{"pfc_seen_list", "pfc_seen_at"},
		edits: []edit{
			// The cell is that of another list, or of none: either is empty.
			{"hash(cell, HashAlgorithm.crc16, 16w0, { segments }, (bit<32>)PFC_SEEN);", "cell = 0;"},
			{"hash(segments, HashAlgorithm.crc32, 32w0,\n                 " +
				"{ hdr.outer_ipv6.src_addr, meta.learned_s0, meta.learned_s1, meta.learned_s2, " +
				"meta.learned_s3, meta.learned_s4,\n                   " +
				"meta.learned_s5, meta.learned_s6, meta.learned_s7 }, 64w0x100000000);", "segments = 1;"},
			{"meta.outer_octets = 48 + meta.srh_left;", "meta.outer_octets = 48 + meta.srh_left; " +
				"testgen_assume(hdr.srh.last_entry == 7);"},
		},
	},
	{
		name: "connect", keep: "RECIRCULATED",
		never: slices.Concat(notAFrame, outerStates, ipv4States, responseStates,
			[]string{"parse_pfc", "parse_tcp", "parse_icmp", "walk_extensions", "parse_reth", "parse_cut"}),
		skip: allBut("outermost", "admission", "connect"),
		require: map[string]string{
			"": "hdr.icrc.isValid() && hdr.bth.opcode == OPCODE_UD_SEND_ONLY && " +
				"hdr.bth.dest_qpn == QPN_GSI && " + whole,
			"admission": sound + " && meta.host_facing == 1",
			"connect": "meta.packet_in != PacketInReason.NONE || " +
				"meta.drop_reason == DropReason.CONNECT_RATE"},
	},
	{
		name: "discovery", keep: "RECIRCULATED",
		never: slices.Concat(notAFrame, ipv6States, ipv4States, []string{"parse_pfc"}),
		skip:  allBut("admission"),
		require: map[string]string{"": "hdr.ethernet.ether_type == ETHERTYPE_LLDP && " + whole,
			"admission": "meta.packet_in != PacketInReason.NONE || " +
				"meta.drop_reason == DropReason.LLDP_RATE"},
	},
	{
		name: "packet-out", keep: "RECIRCULATED",
		never: slices.Concat([]string{"parse_ethernet"}, targetStates),
		skip:  allBut("from_controller"),
		require: map[string]string{"": "hdr.packet_out.isValid()",
			"from_controller": "meta.bypass == 1 && std.egress_spec < 500"},
	},
	{
		name: "state", keep: "CLONED",
		never: slices.Concat([]string{"parse_ethernet"}, targetStates),
		skip:  allBut("from_controller", "multicast_group", "aggregation"),
		require: map[string]string{"": "hdr.packet_out.isValid()",
			"multicast_group": "role == ROLE_STATE && " + sound},
		edits: noMinimum,
	},
	{
		name: "structured-ev", keep: "RECIRCULATED",
		never: slices.Concat(notAFrame, outerStates, ipv4States, responseStates,
			[]string{"parse_pfc", "parse_tcp", "parse_icmp", "walk_extensions"}, requestStates),
		skip: allBut("outermost", "admission", "routing", "next_hop"),
		require: map[string]string{
			"":          "hdr.bth.isValid() && hdr.bth.opcode[7:5] == 6 && " + whole,
			"admission": inner, "routing": "meta.upward == 1"},
	},
	{
		name: "trimming", keep: "RECIRCULATED",
		never: slices.Concat(responseStates, plainStates), skip: queued,
		require: map[string]string{"": "hdr.ipv6.isValid() && " + whole, "admission": inner,
			"traffic_class": "meta.trimmable == 1", "routing": sound,
			"queue_admission": sound + " && meta.trim == 1"},
		unread: []string{"queue_in", "queue_out"},
	},
	{
		name: "marks", keep: "RECIRCULATED",
		never: slices.Concat(responseStates, plainStates), skip: queued,
		require: map[string]string{"": "hdr.ipv6.isValid() && " + whole, "admission": inner,
			"traffic_class": "meta.classed == 1", "routing": sound,
			"queue_admission": sound + " && meta.ecn_marks == 1 && meta.ecn_max == 0"},
		unread: []string{"queue_in", "queue_out"},
	},
	{
		name: "usid", keep: "RECIRCULATED",
		never: plainStates,
		skip:  allBut("outermost", "admission", "endpoint", "routing", "next_hop"),
		require: map[string]string{"": "hdr.ipv6.isValid() && " + whole, "admission": inner,
			"endpoint": sound},
		edits: []edit{{"} else if (behavior == SID_ENDPOINT) {\n",
			"} else if (behavior == SID_ENDPOINT) {\n testgen_assume(argument == 1);"}},
	},
	{
		name: "usid-plain", keep: "RECIRCULATED",
		never: slices.Concat(notAFrame, ipv4States, outerStates,
			[]string{"parse_pfc", "parse_tcp", "parse_icmp", "walk_extensions", "parse_udp"}),
		skip: allBut("outermost", "admission", "endpoint", "routing", "next_hop"),
		require: map[string]string{"": "hdr.ipv6.isValid() && " + whole, "admission": inner,
			"endpoint": sound},
		edits: []edit{{"} else if (behavior == SID_ENDPOINT) {\n",
			"} else if (behavior == SID_ENDPOINT) {\n testgen_assume(argument == 1);"}},
	},
	{
		name: "usd", keep: "RECIRCULATED",
		never: slices.Concat(notAFrame, ipv4States, segmentLess, []string{"parse_tcp", "parse_icmp",
			"walk_extensions", "parse_udp", "parse_inner_ethernet", "end_dt6", "end_dx6"}),
		skip: allBut("outermost", "admission", "endpoint", "routing", "next_hop"),
		require: map[string]string{"": "hdr.ipv6.isValid() && " + whole, "admission": inner,
			"endpoint": "meta.decapsulated == 1", "routing": sound},
		edits: []edit{{"actions = {\n            end; ", "actions = {\n end_flavors; end_x_flavors; "},
			{"end_x; end_flavors; end_x_flavors; un; ua; end_dt6; end_dt4; end_dt46; end_dx6; " +
				"end_replicate; end_mt; end_x_pfc; end_pfc;", ""}},
	},
	{
		name: "upper-layer", keep: "RECIRCULATED",
		never: tunnelStates,
		skip:  allBut("outermost", "admission", "endpoint"),
		require: map[string]string{"": "hdr.ipv6.isValid() && " + whole, "admission": inner,
			"endpoint": "meta.icmp == ICMP_UPPER_LAYER"},
	},
	{
		name: "trimmed-tunnel", keep: "RECIRCULATED",
		never: tunnelStates,
		skip:  allBut("outermost", "traffic_class", "admission", "endpoint", "routing", "next_hop"),
		require: map[string]string{"": "hdr.outer_ipv6.isValid() && hdr.ipv6.isValid() && " + whole,
			"traffic_class": "meta.trimmed == 1", "admission": inner,
			"endpoint": sound + " && meta.decapsulated == 1", "routing": sound},
	},
	{
		name: "receivers", keep: "RECIRCULATED",
		never: append(slices.Clone(notOfSource), "drop_replica"),
		skip:  allBut("outermost", "admission", "multicast_group", "replication"),
		require: map[string]string{"": "hdr.icrc.isValid() && hdr.reth.isValid() && " + whole,
			"admission": inner, "multicast_group": sound + " && meta.mt_replicate == 1"},
		edits: []edit{replicas("to_receiver_psn; to_receiver_reth_psn;")},
	},
	{
		name: "receivers-middle", keep: "RECIRCULATED",
		never: slices.Concat(notOfSource, []string{"drop_replica", "parse_reth"}),
		skip:  allBut("outermost", "admission", "multicast_group", "replication"),
		require: map[string]string{"": "hdr.icrc.isValid() && hdr.udp.checksum != 0 && " + whole,
			"admission":       inner,
			"multicast_group": sound + " && meta.mt_replicate == 1 && std.mcast_grp != 0",
			"replication":     "meta.pass == PASS_DELIVER"},
		edits: []edit{sumWithoutICRC, replicas("to_receiver;")},
	},
	{
		name: "receivers-checksum", keep: "RECIRCULATED",
		never: append(slices.Clone(notOfSource), "drop_replica"),
		skip:  allBut("outermost", "admission", "multicast_group", "replication"),
		require: map[string]string{
			"": "hdr.icrc.isValid() && hdr.reth.isValid() && " +
				"hdr.udp.checksum != 0 && " + whole,
			"admission":       inner,
			"multicast_group": sound + " && meta.mt_replicate == 1 && std.mcast_grp != 0",
			"replication":     "meta.pass == PASS_DELIVER"},
		edits: []edit{sumWithoutICRC, replicas("to_receiver_reth_psn;")},
	},
	{
		name: "vpn-ipv4", keep: "RECIRCULATED",
		never: slices.Concat(onlyIPv4, []string{"drop_not_my_station", "drop_source_guard",
			"parse_ipv4_udp"}),
		skip: allBut("outermost", "admission", "headend", "policy", "outer_flow_label", "routing",
			"next_hop", "ipv4_departure"),
		require: map[string]string{"": "hdr.ipv4.isValid() && " + whole, "admission": inner,
			"policy": sound + " && meta.encapsulated == 1", "routing": sound},
		edits: checksums,
	},
	{
		name: "edge", keep: "RECIRCULATED",
		never: slices.Concat(notAFrame, ipv4States, []string{"parse_tcp", "parse_icmp",
			"walk_extensions", "parse_udp", "parse_inner_ethernet", "keep_tlvs", "parse_tlv"}),
		skip: allBut("outermost", "admission", "endpoint"),
		require: map[string]string{"": "hdr.ipv6.isValid() && " + whole,
			"admission": sound + " && meta.host_facing == 1",
			"endpoint":  "meta.drop_reason == DropReason.SID_FROM_OUTSIDE"},
	},
	{
		name: "inband-source", keep: "RECIRCULATED",
		never: slices.Concat(notAFrame, responseStates, []string{"parse_arp", "parse_pfc", "parse_tcp",
			"parse_icmp", "parse_icmpv4", "walk_extensions", "parse_inner_ethernet", "keep_tlvs",
			"parse_tlv", "parse_cut", "parse_reth"}),
		skip: allBut("outermost", "admission", "endpoint", "multicast_group"),
		require: map[string]string{
			"":                "hdr.icrc.isValid() && hdr.outer_ipv6.isValid() && " + whole,
			"admission":       sound + " && meta.host_facing == 1",
			"endpoint":        sound + " && meta.mt_replicate == 1",
			"multicast_group": "meta.drop_reason == DropReason.MT_QPN"},
		edits: oneSegment,
	},
	{
		name: "inband-source-ipv4", keep: "RECIRCULATED",
		never: slices.Concat(notAFrame, responseStates, []string{"parse_arp", "parse_pfc", "parse_tcp",
			"parse_icmp", "parse_icmpv4", "parse_inner_ipv6", "parse_inner_ethernet", "keep_tlvs",
			"parse_tlv", "parse_cut", "parse_reth"}),
		skip: allBut("outermost", "admission", "endpoint", "multicast_group"),
		require: map[string]string{
			"": "hdr.icrc.isValid() && hdr.outer_ipv6.isValid() && hdr.ipv4.isValid() && " +
				whole,
			"admission":       sound + " && meta.host_facing == 1",
			"endpoint":        sound + " && meta.mt_replicate == 1",
			"multicast_group": "meta.drop_reason == DropReason.MT_QPN"},
		edits: oneSegment,
	},
	{
		name: "inband-named", keep: "RECIRCULATED", never: notInband, skip: notForInband,
		require: inband("meta.receiver_count != 0"),
		edits:   inbandTLVs(8), // an End.MT TLV with a receiver, and padding
	},
	{
		name: "inband-elsewhere", keep: "RECIRCULATED", never: notInband, skip: notForInband,
		require: inband("meta.receiver_count == 0"), edits: inbandTLVs(5),
	},
	{
		name: "long-error", keep: "RESUBMITTED", packet: "10000:12000",
		never: slices.Concat(controllerStates, targetStates, ipv4States, outerStates,
			[]string{"parse_pfc", "parse_udp", "parse_tcp", "parse_icmp", "walk_extensions",
				"drop_not_my_station", "drop_source_guard"}),
		skip: allBut("icmp_error", "outermost", "this_node", "admission", "routing", "next_hop"),
		require: map[string]string{"admission": inner,
			"routing": "meta.pass == PASS_ICMP || meta.icmp == ICMP_TIME_EXCEEDED"},
	},
	{
		name: "extensions", keep: "RECIRCULATED",
		never: slices.Concat(notAFrame, outerStates, ipv4States,
			[]string{"parse_pfc", "parse_tcp", "parse_udp", "parse_icmp"}),
		skip: allBut("outermost", "admission"),
		require: map[string]string{"": "hdr.extension[0].isValid()",
			"admission": "meta.drop_reason == DropReason.NOT_MY_STATION"},
		edits: oneExtension,
	},
	{
		name: "extensions-edge", keep: "RECIRCULATED",
		never: slices.Concat(notAFrame, outerStates, ipv4States, []string{"parse_pfc", "parse_tcp",
			"parse_udp", "parse_icmp", "parse_fragment", "parse_authentication"}),
		skip: allBut("outermost", "admission", "endpoint"),
		require: map[string]string{"": "hdr.extension[0].isValid() && meta.protocol == PROTO_IPV6",
			"admission": sound + " && meta.host_facing == 1",
			"endpoint":  "meta.drop_reason == DropReason.SID_FROM_OUTSIDE"},
		edits: oneExtension,
	},
	{
		name: "tcp", keep: "RECIRCULATED",
		never: slices.Concat(notAFrame, outerStates,
			[]string{"parse_arp", "parse_pfc", "parse_icmp", "parse_icmpv4", "parse_udp", "parse_ipv4_udp",
				"walk_extensions"}),
		skip:    allBut("outermost", "admission", "routing", "next_hop", "ipv4_departure"),
		require: map[string]string{"": "meta.l4_ports != 0", "admission": inner, "routing": sound},
		edits:   checksums,
	},
}

// sumWithoutICRC has UDP checksums that do not cover the ICRC: a sum of a sum has no solution that
// p4testgen finds.
var sumWithoutICRC = edit{"hdr.payload.data, hdr.icrc.crc }", "hdr.payload.data }"}

// replicas leaves the table of copies these actions, beside the one by default.
func replicas(actions string) edit {
	return edit{"actions = { to_child; to_receiver; to_receiver_reth; to_receiver_psn; " +
		"to_receiver_reth_psn; to_tlv_receivers; @defaultonly",
		"actions = { " + actions + " @defaultonly"}
}

// oneSegment is for models of packets with one segment in the Segment List, still to be visited.
var oneSegment = []edit{{"meta.outer_octets = 48 + meta.srh_left;", "meta.outer_octets = 48 + " +
	"meta.srh_left; testgen_assume(hdr.srh.last_entry == 0 && hdr.srh.segments_left == 1);"}}

// What leads a packet of an in-band group to its second pass.
var (
	notInband = slices.Concat(notAFrame, ipv4States, responseStates,
		[]string{"parse_pfc", "parse_tcp", "parse_icmp", "walk_extensions", "parse_reth", "parse_cut",
			"parse_inner_ethernet", "drop_not_my_station", "drop_source_guard", "drop_replica"})
	notForInband = allBut("outermost", "this_node", "admission", "endpoint", "multicast_group",
		"inband_receivers", "replication")
)

// inbandTLVs are the edits for an SRH of one segment and of an Hdr Ext Len: 2 is the segment.
func inbandTLVs(octets int) []edit {
	return append(slices.Clone(oneSegment), replicas("to_tlv_receivers;"), edit{
		"meta.srh_left = ((bit<16>)hdr.srh.hdr_ext_len) << 3;",
		fmt.Sprintf("testgen_assume(hdr.srh.hdr_ext_len == %d); ", octets) +
			"meta.srh_left = ((bit<16>)hdr.srh.hdr_ext_len) << 3;"})
}

func inband(receivers string) map[string]string {
	return map[string]string{"": "hdr.icrc.isValid() && " + whole, "admission": inner,
		"endpoint":         sound + " && meta.mt_replicate == 1",
		"multicast_group":  sound + " && meta.mt_verify_icrc == 0 && std.mcast_grp != 0",
		"inband_receivers": receivers, "replication": "meta.pass != PASS_FIRST"}
}

// states with IPv4 alone, and RoCEv2 in it.
var onlyIPv4 = slices.Concat(notAFrame, outerStates, []string{"parse_inner_ipv6", "parse_arp",
	"parse_pfc", "parse_tcp", "parse_icmpv4"})

// ofIPv4 are the services of groups of IPv4.
func ofIPv4() []service {
	var out []service
	for _, of := range []struct{ name, valid string }{
		{"write", "hdr.reth.isValid()"}, {"middle", "!hdr.reth.isValid()"},
	} {
		out = append(out, service{
			name: "ipv4-" + of.name, keep: "RECIRCULATED",
			never: slices.Concat(onlyIPv4, responseStates, []string{"drop_not_my_station",
				"drop_source_guard", "parse_cut"}),
			skip: allBut("outermost", "admission", "multicast_group", "outer_flow_label",
				"replication", "next_hop", "ipv4_departure"),
			require: map[string]string{"": "hdr.icrc.isValid() && " + of.valid + " && " + whole,
				"admission":       inner,
				"multicast_group": sound + " && meta.mt_replicate == 1 && meta.mt_verify_icrc == 1"},
			edits: checksums,
		})
	}
	for _, of := range []struct{ name, state, role string }{
		{"aeth", "parse_cnp", "ROLE_ACK"}, {"cnp", "parse_aeth", "ROLE_CNP"},
	} {
		out = append(out, service{
			name: "ipv4-" + of.name, keep: "CLONED",
			never: slices.Concat(onlyIPv4, requestStates, []string{"drop_not_my_station",
				"drop_source_guard", "drop_not_branch", of.state}),
			skip: allBut("outermost", "admission", "multicast_group", "aggregation", "clone_role",
				"upstream", "next_hop", "ipv4_departure"),
			require: map[string]string{"": "hdr.icrc.isValid() && " + whole, "admission": inner,
				"multicast_group": "role == " + of.role + " && " + sound + " && meta.live_mask == 1"},
			edits: slices.Concat(checksums, minima(0, 1)),
		}, service{
			name: "ipv6-" + of.name, keep: "CLONED",
			never: slices.Concat(controllerStates, targetStates, otherStates, ipv4States, outerStates,
				requestStates, []string{"drop_not_my_station", "drop_source_guard", "drop_not_branch",
					of.state}),
			skip: allBut("outermost", "admission", "multicast_group", "aggregation", "clone_role",
				"upstream", "next_hop"),
			require: map[string]string{"": "hdr.icrc.isValid() && " + whole, "admission": inner,
				"multicast_group": "role == " + of.role + " && " + sound + " && meta.live_mask == 1"},
			edits: minima(0, 1),
		})
	}
	return out
}

// windows are the services of CNPs whose window is over, or open.
func windows() []service {
	var out []service
	for _, of := range []struct{ name, after string }{
		{"over", "meta.emit == EMIT_CNP && meta.packet_in != PacketInReason.NONE"},
		{"absorbed", "meta.drop_reason == DropReason.MT_CNP_ABSORBED"},
	} {
		out = append(out, service{
			name: "cnp-" + of.name, keep: "CLONED",
			never: slices.Concat(controllerStates, targetStates, otherStates, ipv4States, outerStates,
				requestStates, []string{"drop_not_my_station", "drop_source_guard", "drop_not_branch",
					"parse_aeth"}),
			skip: allBut("outermost", "admission", "multicast_group", "aggregation", "clone_role",
				"upstream", "next_hop"),
			require: map[string]string{"": "hdr.icrc.isValid() && " + whole, "admission": inner,
				"multicast_group": "role == ROLE_CNP && " + sound, "aggregation": of.after},
			edits: noMinimum,
		})
	}
	return append(out, service{
		name: "poll-idle", keep: "CLONED",
		never: slices.Concat([]string{"parse_ethernet"}, targetStates),
		skip:  allBut("from_controller", "multicast_group", "aggregation"),
		require: map[string]string{"": "hdr.packet_out.isValid()",
			"multicast_group": "role == ROLE_POLL && " + sound + " && meta.live_mask == 1",
			"aggregation":     "meta.drop_reason == DropReason.MT_POLL_IDLE"},
		edits: minima(0, 1),
	}, service{
		name: "poll-answer", keep: "CLONED",
		never: slices.Concat([]string{"parse_ethernet"}, targetStates),
		skip: allBut("from_controller", "multicast_group", "aggregation", "clone_role",
			"upstream", "next_hop"),
		require: map[string]string{"": "hdr.packet_out.isValid()",
			"multicast_group": "role == ROLE_POLL && " + sound + " && meta.live_mask == 1",
			"aggregation":     sound},
		edits: minima(0, 1),
	})
}

// minimaOfAll are the minima that a poll computes: over 8 branches that all report the same AckPSN,
// each with a higher RNR rank than the one before it (ties); and over one branch, which has
// reported or has not (lone).
func minimaOfAll() []service {
	const tie = "testgen_assume(cell[63:32] == meta.epoch && (found == 0 || " +
		"(cell[31:8] == min_ack && cell[6:1] > rank))); "
	const macro = "if (cell[63:32] != meta.epoch) {  "
	var out []service
	for from := 0; from < 32; from += 8 {
		mask := uint32(0xff << from)
		edits := minima(from, 8)
		for _, of := range []struct {
			name, live string
			edits      []edit
		}{
			{"ties", fmt.Sprintf("meta.live_mask == 32w%#x", mask),
				append(slices.Clone(edits), edit{macro, tie + macro})},
			{"lone", fmt.Sprintf("(meta.live_mask & 32w%#x) == 0 && "+
				"(meta.live_mask & (meta.live_mask - 1)) == 0", ^mask), edits},
		} {
			out = append(out, service{
				name: fmt.Sprintf("%s-%d", of.name, from), keep: "CLONED",
				never: slices.Concat([]string{"parse_ethernet"}, targetStates),
				skip: allBut("from_controller", "multicast_group", "aggregation", "clone_role",
					"upstream", "next_hop"),
				require: map[string]string{"": "hdr.packet_out.isValid() && " + whole,
					"multicast_group": "role == ROLE_POLL && " + sound + " && meta.epoch != 0 && " + of.live},
				edits: of.edits,
			})
		}
	}
	return out
}

// unreadEdit has a model take a register for empty.
func unreadEdit(name string) edit {
	table := "stored_" + strings.TrimSpace(name) + ".apply();"
	return edit{table, "if (false) { " + table + " }"}
}
