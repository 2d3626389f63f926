package target

import "fmt"

// A Feature is a function that a model may need from a system, by its name in messages.
type Feature string

// The features.
const (
	UN           Feature = "uN"
	UA           Feature = "uA"
	UDT6         Feature = "uDT6"
	Block16      Feature = "uSID block of 16 bits"
	SRH          Feature = "second uSID container in an SRH"
	StructuredEV Feature = "structured EV (mode stev)"
	FlowHash     Feature = "hash over the IPv6 flow label"
	Routes       Feature = "static IPv6 route"
	QoS          Feature = "class of traffic by DSCP"
	ECN          Feature = "ECN threshold"
	Trimming     Feature = "packet trimming"
	TrimLastHop  Feature = "DSCP of its own for what is trimmed at the last hop"
	Multicast    Feature = "reliable multicast"
	PFCOverSRv6  Feature = "PFC over SRv6"
)

// ability defines how well a system supports a feature.
type ability struct {
	since string // the first version that has it; "": all that Weft supports
	words string // how that version is called; "": the system and since
	never string // why no version has it
	// live is the first version with a gNMI server that takes the feature, and table the table that
	// older servers refuse; "": all servers of versions with the feature take it.
	live, table string
}

func (a *ability) needs(s System) string {
	if a.words != "" {
		return a.words
	}
	return fmt.Sprintf("%s %s or later", s, a.since)
}

const onlyP4 = "only the P4 program does it"

var everywhere = map[Feature]ability{
	StructuredEV: {never: "switches take fields of UDP source port and flow label, and " + onlyP4},
	Multicast:    {never: onlyP4},
	PFCOverSRv6:  {never: onlyP4},
}

// abilities lists the features of each system. Sources, of August 2026: the YANG modules, bgpcfgd
// and FRR versions of the branches of sonic-buildimage, and the high level designs of SONiC;
// NVIDIA's reference of NVUE; FRR's user manual and change log; for EOS only public primers, so a
// feature missing in the primers counts as unknown.
var abilities = map[System]map[Feature]ability{
	SONiC: with(map[Feature]ability{
		UN:       {since: "202505"},
		UA:       {since: "202611", words: "SONiC of August 2026 or later"},
		UDT6:     {since: "202505"}, // as uDT46
		Block16:  {since: "202505"},
		SRH:      {since: "202505"},
		FlowHash: {},
		Routes:   {},
		QoS:      {},
		// generic_config_updater/field_operation_validators.py of 202505 lets no new row pass.
		ECN:         {live: "202511", table: "WRED_PROFILE"},
		Trimming:    {since: "202505", live: "202511", table: "BUFFER_PROFILE"},
		TrimLastHop: {since: "202505"},
	}),
	EOS: with(map[Feature]ability{
		UN:     {since: "4.36"},
		Routes: {},
		QoS:    {},
		ECN:    {},
	}),
	Cumulus: with(map[Feature]ability{
		UN:          {since: "5.14"},
		UA:          {since: "5.14"},
		UDT6:        {never: "Cumulus Linux ends no tunnel of SRv6: NICs do"},
		Block16:     {since: "5.14"},
		Routes:      {},
		QoS:         {},
		ECN:         {},
		Trimming:    {since: "5.14"},
		TrimLastHop: {since: "5.14"},
	}),
	FRR: with(map[Feature]ability{
		UN:       {since: "10.3"},
		UA:       {since: "10.4"},
		UDT6:     {since: "10.3"},
		Block16:  {since: "10.3"},
		SRH:      {since: "10.3"},
		Routes:   {},
		FlowHash: {never: "the kernel hashes: net.ipv6.fib_multipath_hash_policy is no setting of FRR"},
		QoS:      {never: "FRR leaves queues to the kernel"},
		ECN:      {never: "FRR leaves queues to the kernel"},
		Trimming: {never: "Linux does not trim"},
	}),
	// net/ipv6/seg6_local.c, and what the agent makes of it.
	Linux: with(map[Feature]ability{
		UN:       {since: "6.1"},
		UA:       {since: "6.6"},
		UDT6:     {since: "6.1"}, // all that Weft supports
		Block16:  {since: "6.1"},
		SRH:      {since: "6.1"},
		Routes:   {},
		FlowHash: {never: "the kernel hashes: net.ipv6.fib_multipath_hash_policy"},
		QoS:      {},
		ECN:      {never: "End.DT6 does not hand on marks of congestion, and the agent sets none"},
		Trimming: {never: "Linux does not trim"},
	}),
}

// with adds what is the same for all systems.
func with(of map[Feature]ability) map[Feature]ability {
	for f, a := range everywhere {
		of[f] = a
	}
	return of
}
