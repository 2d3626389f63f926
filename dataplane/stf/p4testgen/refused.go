package main

import "slices"

// refused returns the services for packets that the switch drops, or answers with an error, for a
// reason.
func refused() []service {
	tree := slices.Concat(controllerStates, targetStates, otherStates, ipv4States, outerStates,
		[]string{"drop_not_my_station", "drop_source_guard"})
	inTunnel := slices.Concat(notAFrame, ipv4States, segmentLess, []string{"parse_tcp", "parse_icmp",
		"walk_extensions", "parse_udp", "parse_inner_ethernet"})
	return []service{
		{
			name: "refused-responses", keep: "CLONED", never: slices.Concat(tree, requestStates),
			skip: allBut("outermost", "admission", "multicast_group"),
			require: map[string]string{"": "hdr.icrc.isValid() && " + whole, "admission": inner,
				"multicast_group": "meta.drop_reason == DropReason.MT_NOT_BRANCH || " +
					"meta.drop_reason == DropReason.MT_DEAD_BRANCH"},
		},
		{
			name: "refused-data", keep: "CLONED", never: slices.Concat(tree, responseStates),
			skip: allBut("outermost", "traffic_class", "admission", "multicast_group"),
			require: map[string]string{"": "hdr.icrc.isValid() && " + whole, "admission": inner,
				"multicast_group": "meta.drop_reason == DropReason.MT_TRIMMED || " +
					"meta.drop_reason == DropReason.MT_OPCODE"},
		},
		{
			name: "no-replica", keep: "RECIRCULATED", never: notOfSource,
			skip: allBut("outermost", "admission", "multicast_group", "replication"),
			require: map[string]string{"": "hdr.icrc.isValid() && " + whole, "admission": inner,
				"multicast_group": sound + " && meta.mt_replicate == 1 && std.mcast_grp != 0",
				"replication":     "meta.drop_reason == DropReason.MT_REPLICA"},
			edits: []edit{replicas("")},
		},
		{
			name: "no-psn", keep: "CLONED",
			never: slices.Concat(tree, requestStates, []string{"drop_not_branch", "parse_cnp"}),
			skip:  allBut("outermost", "admission", "multicast_group", "aggregation"),
			require: map[string]string{"": "hdr.icrc.isValid() && " + whole, "admission": inner,
				"multicast_group": sound + " && role == ROLE_ACK && meta.live_mask == 3 && meta.branch == 0",
				"aggregation":     "meta.drop_reason == DropReason.MT_NO_PSN"},
			edits: minima(0, 2),
		},
		{
			name: "repeated", keep: "CLONED",
			never: slices.Concat(tree, requestStates, []string{"drop_not_branch", "parse_cnp"}),
			skip: allBut("outermost", "admission", "multicast_group", "aggregation", "clone_role",
				"upstream", "next_hop"),
			require: map[string]string{"": "hdr.icrc.isValid() && " + whole, "admission": inner,
				"multicast_group": sound + " && role == ROLE_ACK && meta.live_mask == 1",
				"aggregation":     "meta.emit == EMIT_RESPONSE"},
			edits: append(minima(0, 1), edit{"event = MtEvent.ACK_ADVANCED;",
				"testgen_assume(false); event = MtEvent.ACK_ADVANCED;"},
				edit{"if (pending == 1 && (again", "testgen_assume(pending == 0); if (pending == 1 && (again"}),
		},
		{
			name: "no-upstream", keep: "RECIRCULATED",
			never: slices.Concat(controllerStates, []string{"parse_ethernet"}),
			skip:  allBut("pfc_target"),
			require: map[string]string{"": whole,
				"pfc_target": "meta.drop_reason == DropReason.PFC_UPSTREAM"},
		},
		{
			name: "pfc-tunnel-port", keep: "RECIRCULATED",
			never: slices.Concat(notAFrame, ipv4States, segmentLess, []string{"parse_inner_ipv6"}),
			skip:  allBut("outermost", "admission", "endpoint", "pfc_command"),
			require: map[string]string{"": "hdr.inner_ethernet.isValid() && " + whole, "admission": inner,
				"endpoint": sound + " && meta.pfc_command == 1"},
			edits: []edit{{"actions = { accept_pfc; accept_pfc_port;", "actions = { accept_pfc_port;"}},
		},
		{
			name: "parameter-problem", keep: "RESUBMITTED", never: inTunnel,
			skip: allBut("icmp_error", "outermost", "this_node", "admission", "endpoint", "routing",
				"next_hop"),
			require: map[string]string{"admission": inner,
				"endpoint": "meta.icmp == ICMP_UPPER_LAYER && meta.node_address != 0"},
		},
		{
			name: "echo-ipv4", keep: "RECIRCULATED",
			never: slices.Concat(notAFrame, ipv6States, []string{"parse_arp", "parse_pfc",
				"parse_ipv4_udp", "parse_tcp"}),
			skip: allBut("admission", "ipv4_departure"),
			require: map[string]string{"": "hdr.echo.isValid() && " + whole,
				"admission": "meta.link_local == 1"},
			edits: checksums,
		},
		{
			name: "srh-length", keep: "RECIRCULATED",
			never: slices.Concat(notAFrame, ipv4States, []string{"parse_inner_ipv6"}),
			skip:  allBut("outermost", "admission"),
			require: map[string]string{"": "std.parser_error == error.SrhLength",
				"admission": "meta.host_facing == 0"},
		},
	}
}
