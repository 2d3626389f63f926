package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A service is a part of the program, to which a model confines p4testgen: the whole program has
// too many paths. Paths excluded by a model belong to a different model.
type service struct {
	name  string
	keep  string   // the field list that the model knows
	never []string // parser states and actions: a path that comes there ends
	// Controls that do nothing on the paths that are left: a model without them is smaller.
	skip []string
	// What holds after a control; after "" at the start of ingress.
	require map[string]string
	edits   []edit
	unread  []string // registers that have nothing on the paths that are left
	packet  string   // sizes of packets, bits; empty: packetBits
}

// An edit puts a text in the place of another, which the program has.
type edit struct{ old, new string }

// States of the parser by what they read.
var (
	controllerStates = []string{"parse_packet_out"}
	targetStates     = []string{"parse_target"}
	otherStates      = []string{"parse_quoted", "parse_pfc", "parse_tcp", "parse_icmp",
		"walk_extensions"}
	ipv4States     = []string{"parse_ipv4", "parse_arp"}
	outerStates    = []string{"parse_outer_ipv6"}
	tlvStates      = []string{"parse_tlv"}
	requestStates  = []string{"parse_reth", "parse_payload", "parse_cut"}
	responseStates = []string{"parse_aeth", "parse_cnp"}
)

// multicastControls are the controls that only packets of groups reach.
var multicastControls = []string{"multicast_group", "aggregation", "inband_receivers",
	"replication", "upstream"}

// What the data that a source sends to its group does not come to: states with actions, and
// controls.
var (
	notOfSource = slices.Concat(controllerStates, targetStates, otherStates, ipv4States, outerStates,
		responseStates, []string{"drop_not_my_station", "drop_source_guard"})
	notForSource = []string{"aggregation", "upstream", "icmp_error", "traffic_class", "cut_packet",
		"slices", "endpoint", "pfc_command", "connect", "headend", "policy", "queue_admission"}
)

const sound = "meta.drop_reason == DropReason.NONE"

// services are what p4testgen is led to, the program as a whole last: three models, each with the
// fields of one list.
var services = slices.Concat(narrow, ofIPv4(), windows(), minimaOfAll(), refused(), responses(),
	wide)

// wide are the services that p4testgen finds much in, and takes long for.
var wide = []service{
	{
		name: "poll", keep: "CLONED",
		never: slices.Concat([]string{"parse_ethernet"}, targetStates),
		skip: []string{"icmp_error", "outermost", "traffic_class", "cut_packet", "pfc_command",
			"connect"},
		require: map[string]string{
			"":                "hdr.packet_out.isValid() && std.packet_length == PACKET_OUT_OCTETS",
			"multicast_group": "(role == ROLE_POLL || role == ROLE_STATE) && " + sound,
		},
		edits: minima(0, 4),
	},
	{
		name: "source", keep: "RECIRCULATED",
		never: notOfSource, skip: notForSource,
		require: map[string]string{
			"":          "hdr.icrc.isValid() && std.parser_error == error.NoError",
			"admission": sound + " && meta.host_facing == 0",
		},
	},
	{
		name: "copies", keep: "RECIRCULATED",
		never: notOfSource, skip: notForSource,
		require: map[string]string{
			"":                "hdr.icrc.isValid() && std.parser_error == error.NoError",
			"admission":       sound + " && meta.host_facing == 0",
			"multicast_group": sound + " && meta.mt_replicate == 1",
		},
	},
	{
		name: "tree", keep: "RECIRCULATED",
		never: slices.Concat(controllerStates, targetStates, otherStates, ipv4States, tlvStates,
			responseStates, []string{"parse_inner_ethernet", "drop_not_my_station", "drop_source_guard"}),
		skip: []string{"aggregation", "upstream", "icmp_error", "traffic_class", "cut_packet",
			"slices", "pfc_command",
			"connect", "headend", "policy", "queue_admission"},
		require: map[string]string{
			"": "hdr.icrc.isValid() && hdr.outer_ipv6.isValid() && " +
				"std.parser_error == error.NoError",
			"admission":       sound + " && meta.host_facing == 0",
			"multicast_group": sound,
			"endpoint":        sound + " && meta.mt_replicate == 1",
		},
	},
	{
		name: "policy", keep: "RECIRCULATED",
		never: slices.Concat(controllerStates, targetStates, otherStates, ipv4States, outerStates,
			[]string{"parse_bth", "drop_not_my_station", "drop_source_guard"}),
		skip: slices.Concat(multicastControls, []string{
			"icmp_error", "traffic_class", "cut_packet", "slices", "endpoint", "pfc_command",
			"connect", "queue_admission"}),
		require: map[string]string{
			"":          "hdr.ipv6.isValid() && std.parser_error == error.NoError",
			"admission": sound + " && meta.host_facing == 0",
			"headend":   sound + " && (meta.policy != 0 || meta.encapsulated == 1)",
		},
	},
	{
		name: "endpoint", keep: "RESUBMITTED",
		never: slices.Concat(controllerStates, targetStates, ipv4States, tlvStates,
			[]string{"parse_quoted", "parse_tcp", "walk_extensions", "parse_bth", "drop_not_my_station",
				"drop_source_guard", "parse_inner_ethernet", "end_replicate", "end_mt"}),
		skip: slices.Concat(multicastControls, []string{
			"icmp_error", "traffic_class", "cut_packet", "pfc_command",
			"connect", "headend", "policy", "queue_admission"}),
		require: map[string]string{
			"":          "hdr.outer_ipv6.isValid()",
			"admission": "meta.host_facing == 0",
		},
	},
	{
		name: "errors", keep: "RESUBMITTED",
		never: slices.Concat(controllerStates, targetStates, ipv4States, outerStates,
			[]string{"parse_pfc", "parse_udp", "parse_tcp", "walk_extensions", "drop_not_my_station",
				"drop_source_guard"}),
		skip: slices.Concat(multicastControls, []string{"traffic_class", "cut_packet", "slices",
			"pfc_command", "connect", "headend", "policy", "queue_admission"}),
		require: map[string]string{"admission": sound + " && meta.host_facing == 0"},
	},
	{
		name: "target", keep: "RECIRCULATED",
		never: slices.Concat(controllerStates, []string{"parse_ethernet"}),
		skip: slices.Concat(multicastControls, []string{"icmp_error", "outermost", "traffic_class",
			"cut_packet", "pfc_command", "connect", "headend"}),
	},
	{
		name: "pfc", keep: "RECIRCULATED",
		never: slices.Concat(controllerStates, targetStates, ipv4States,
			[]string{"parse_quoted", "parse_inner_ipv6", "parse_outer_icmp", "drop_not_my_station",
				"drop_source_guard"}),
		skip: slices.Concat(multicastControls, []string{"icmp_error", "traffic_class",
			"cut_packet", "connect", "headend", "policy", "queue_admission"}),
		require: map[string]string{"": "hdr.pfc.isValid()"},
	},
	{
		name: "neighbors", keep: "RECIRCULATED",
		never: slices.Concat(controllerStates, targetStates, outerStates,
			[]string{"parse_quoted", "parse_pfc", "parse_udp", "parse_ipv4_udp", "parse_tcp",
				"walk_extensions"}),
		skip: slices.Concat(multicastControls, []string{
			"icmp_error", "traffic_class", "cut_packet", "slices", "endpoint", "pfc_command",
			"connect", "headend", "policy", "queue_admission"}),
		require: map[string]string{"": "meta.icmp_type[7:7] == 1 && std.parser_error == error.NoError"},
	},
	{
		name: "classes", keep: "RECIRCULATED",
		never: slices.Concat(controllerStates, targetStates, otherStates, ipv4States, outerStates,
			[]string{"parse_bth", "drop_not_my_station", "drop_source_guard"}),
		skip: slices.Concat(multicastControls, []string{
			"icmp_error", "cut_packet", "slices", "endpoint", "pfc_command",
			"connect", "headend", "policy"}),
		require: map[string]string{
			"":                "hdr.ipv6.isValid() && std.parser_error == error.NoError",
			"traffic_class":   "meta.classed == 1",
			"admission":       sound + " && meta.host_facing == 0",
			"routing":         sound,
			"queue_admission": "meta.queued == 1",
		},
	},
	{
		name: "ipv4", keep: "RECIRCULATED",
		never: slices.Concat(controllerStates, targetStates, otherStates, outerStates,
			[]string{"parse_inner_ipv6", "parse_arp", "parse_icmpv4", "drop_not_my_station",
				"drop_source_guard"}),
		skip: []string{"icmp_error", "traffic_class", "cut_packet", "slices", "endpoint", "pfc_command",
			"connect", "policy", "queue_admission"},
		require: map[string]string{
			"":          "hdr.ipv4.isValid()",
			"admission": sound + " && meta.host_facing == 0",
		},
	},
	{name: "whole-recirculated", keep: "RECIRCULATED"},
	{name: "whole-cloned", keep: "CLONED"},
	{name: "whole-resubmitted", keep: "RESUBMITTED"},
}

// responses are the services of ACKs and CNPs, each with the minimum over some branches: over any
// branches, and over branches that have all reported.
func responses() []service {
	var out []service
	for from := 0; from < 32; from += branchesOfModel {
		mask := uint32(((1 << branchesOfModel) - 1) << from)
		s := service{
			name: fmt.Sprintf("responses-%d", from), keep: "CLONED",
			never: slices.Concat(controllerStates, targetStates, otherStates, ipv4States, outerStates,
				requestStates, []string{"drop_not_my_station", "drop_source_guard", "drop_not_branch"}),
			skip: []string{"icmp_error", "traffic_class", "cut_packet", "slices", "endpoint",
				"pfc_command", "connect", "headend", "policy", "routing", "queue_admission"},
			require: map[string]string{
				"":          "hdr.icrc.isValid() && std.parser_error == error.NoError",
				"admission": sound + " && meta.host_facing == 0",
				"multicast_group": fmt.Sprintf("role > ROLE_TREE && "+sound+
					" && (meta.live_mask & 32w%#x) == 0", ^mask),
			},
			edits: minima(from, branchesOfModel),
		}
		out = append(out, s)
		s.name = fmt.Sprintf("complete-%d", from)
		s.require = maps.Clone(s.require)
		s.require["multicast_group"] = fmt.Sprintf("role > ROLE_TREE && "+sound+
			" && meta.live_mask == 32w%#x", mask)
		s.edits = append(minima(from, branchesOfModel), edit{
			"if (cell[63:32] != meta.epoch) {  ", // of the macro
			"testgen_assume(cell[63:32] == meta.epoch); if (cell[63:32] != meta.epoch) {  "})
		out = append(out, s)
	}
	return out
}

// branchesOfModel are the branches that a model takes the minimum of.
const branchesOfModel = 4

// minima are the edits for a minimum over n branches. The program's macro reads a register for each
// branch, and p4testgen has one entry for each table, so each reading gets its own table.
func minima(from, n int) []edit {
	var tables, calls strings.Builder
	for i := from; i < from+n; i++ {
		tables.WriteString(storedTable("branch_state", fmt.Sprint("_", i), array{"64", "MT_CELLS"}))
		tables.WriteString(storedTable("branch_msn", fmt.Sprint("_", i), array{"32", "MT_CELLS"}))
		fmt.Fprintf(&calls, "MINIMUM_OF(%d)\n", i)
	}
	const fresh = "role != ROLE_ACK || meta.branch != i" // the branch's own cell has been written
	return []edit{
		{"MINIMUM_OF_8(0)\n", calls.String()},
		{"MINIMUM_OF_8(8)\n", ""}, {"MINIMUM_OF_8(16)\n", ""}, {"MINIMUM_OF_8(24)\n", ""},
		{storedRead("branch_state", "", "cell", "base + i", ""),
			storedRead("branch_state", "_##i", "cell", "base + i", fresh)},
		{storedRead("branch_msn", "", "msn", "base + i", ""),
			storedRead("branch_msn", "_##i", "msn", "base + i", fresh)},
		{"    bit<32> base = 0;\n", tables.String() + "\n    bit<32> base = 0;\n"},
	}
}

// timestamp is the time of a model in microseconds: every packet arrives at a switch at this time.
const timestamp = "48w0x100000"

// others replaces program text that p4testgen cannot follow. p4testgen hands both sides of a shift
// to Z3, and Z3 refuses operands of different widths. p4testgen takes two values as unknown: a
// slice of a value shifted by a variable amount, though not all bits of that value; and a condition
// on a field of an invalid header, even after a check of validity. p4testgen stops at a random
// number with bounds that are not constant.
var others = strings.NewReplacer(
	"std.ingress_global_timestamp", timestamp,
	"<< meta.branch", "<< (bit<32>)meta.branch", ">> meta.branch", ">> (bit<32>)meta.branch",
	"<< nacked[7:0]", "<< (bit<48>)nacked[7:0]", ">> right", ">> (bit<32>)right",
	"8w1 << hdr.target.priority[2:0]", "8w1 << (bit<8>)hdr.target.priority[2:0]",
	"live[0:0] == 0", "(live & 32w1) == 0",
	"if (argument == 0 && (!hdr.srh.isValid() || hdr.srh.segments_left == 0)) {",
	"bit<1> ends = 1; if (hdr.srh.isValid()) { ends = hdr.srh.segments_left == 0 ? 1w1 : 1w0; } "+
		"if (argument == 0 && ends == 1) {",
	"hdr.ipv6.isValid() &&\n                hdr.srh.segments_left < hdr.srh.last_entry) {",
	"hdr.ipv6.isValid()) if (hdr.srh.segments_left < hdr.srh.last_entry) {",
	"if (hdr.srh.isValid() && hdr.srh.segments_left != 0) {",
	"bit<1> more = 0; if (hdr.srh.isValid()) { more = hdr.srh.segments_left != 0 ? 1w1 : 1w0; } "+
		"if (more == 1) {",
	"} else if (!hdr.srh.isValid() || hdr.srh.segments_left == 0) {",
	"} else if (!hdr.srh.isValid()) { meta.drop_reason = DropReason.SID_SEGMENTS_LEFT; "+
		"} else if (hdr.srh.segments_left == 0) {",
	"if (hdr.srh.isValid() && (hdr.srh.last_entry",
	"if (hdr.srh.isValid()) if ((hdr.srh.last_entry",
	"random(chance, 32w0, meta.ecn_max - meta.ecn_min - 1);", "chance = 0; testgen_assume(false);",
)

// assumption declares the extern by which p4testgen leaves paths on which a condition is false.
const assumption = "extern void testgen_assume(in bool assumption);\n"

// lead changes the texts of a model, by file, to those of a service.
func (s *service) lead(texts map[string]string) error {
	for name, t := range texts {
		texts[name] = others.Replace(t)
	}
	edits := s.edits
	for _, name := range s.unread {
		edits = append(edits[:len(edits):len(edits)], unreadEdit(name))
	}
	for _, e := range edits {
		n := 0
		for name, t := range texts {
			n += strings.Count(t, e.old)
			texts[name] = strings.ReplaceAll(t, e.old, e.new)
		}
		if n == 0 {
			return fmt.Errorf("service %s: the program has no %q", s.name, e.old)
		}
	}
	for _, never := range s.never {
		n := 0
		for name, t := range texts {
			for _, head := range []string{" state " + never + " {", " action " + never + "("} {
				i := strings.Index(t, head)
				if i < 0 {
					continue
				}
				at := i + strings.Index(t[i:], "{") + 1
				texts[name] = t[:at] + " testgen_assume(false);" + t[at:]
				n++
			}
		}
		if n != 1 {
			return fmt.Errorf("service %s: the program has %d states or actions %s, want 1", s.name, n,
				never)
		}
	}
	const program = "fabric.p4"
	text := texts[program]
	apply := func(control string) (int, int) {
		i := strings.Index(text, " "+control+".apply(")
		if i < 0 {
			return i, i
		}
		return i + 1, i + strings.Index(text[i:], ";") + 1
	}
	for control, condition := range s.require {
		first := "parser_verdict"
		_, at := apply(cmp.Or(control, first))
		if control == "" {
			at, _ = apply(first)
		}
		if at < 0 {
			return fmt.Errorf("service %s: the program does not apply %s", s.name, control)
		}
		text = text[:at] + " testgen_assume(" + condition + "); " + text[at:]
	}
	for _, control := range s.skip {
		from, to := apply(control)
		if from < 0 {
			return fmt.Errorf("service %s: the program does not apply %s", s.name, control)
		}
		text = text[:from] + ";" + text[to:]
	}
	texts[program] = assumption + text
	return nil
}
