package api

import "github.com/weft-sdn/weft/api/hostapi"

// The questions that a controller answers about a resource, and the actions that it carries out on
// one, beside reading and writing it. Each names its kind and its answer.
type (
	// ResetGroup gives a multicast group a new epoch. The answer is the MulticastGroup.
	ResetGroup struct{}
	// ReadGroupState asks the switches of a multicast group. The answer is a GroupState.
	ReadGroupState struct{}

	// ReadReadiness asks whether the fabric is ready for a job. The answer is a JobReadiness.
	ReadReadiness struct{}
	// ReadRacks asks for the ranks of a job by rack. The answer is a JobRacks.
	ReadRacks struct{}
	// Simulate asks what all jobs would get of the fabric, and names none. The answer is a Simulation.
	Simulate struct{ SimulationSpec }
	// RenewJob renews the lease of a job. The answer is the Job.
	RenewJob struct{}
	// RenewLease renews a lease of paths. The answer is the PathLease.
	RenewLease struct{}
	// MoveLease frees the former paths of a lease, whose client uses the new ones. The answer is the
	// PathLease.
	MoveLease struct{}

	// TestNotification asks the controller to send a message without a cause to a notification's
	// receiver. The answer is a NotificationTest.
	TestNotification struct{}

	// ReadTables asks for the tables of a switch's pipeline. The answer is a []Table.
	ReadTables struct{}
	// ReadEntries reads a table back from a switch. The answer is a []TableEntry, in any order.
	ReadEntries struct{ Table string }
	// ReadCounterNames asks for the names of the counters of a switch's pipeline. The answer is a
	// []string, in order.
	ReadCounterNames struct{}
	// ReadCounters reads the counters of a switch. The answer is a []Counter with the nonzero cells in
	// any order.
	ReadCounters struct{}
	// ReadGNMI asks what a switch answers by gNMI. The answer is a SwitchGNMI.
	ReadGNMI struct{}
	// ReadModel asks what a switch is. The answer is a SwitchModel.
	ReadModel struct{}
	// DeleteOrphans removes all orphans of a switch. The answer is a []string, their names.
	DeleteOrphans struct{}

	// ReadEVs asks for the EVs of an EV profile in order: those of an index and behind it, and no
	// more than Limit. The answer is a []EV.
	ReadEVs struct {
		EVFilter
		From, Limit int
	}
	// ReadEVPath asks for the path of an EV of an EV profile. The answer is an EVPath.
	ReadEVPath struct{ EV hostapi.EV }
)

// The filters of lists: what a kind selects by. A field is a parameter of the query, and its zero
// value selects all. The tag "of" has the kind whose resources the value names: a value that names
// none is refused.
type (
	// OnSwitch selects the ports or orphans of one switch.
	OnSwitch struct {
		Switch string `query:"switch" of:"switches" maxLength:"63" doc:"Only ports of this switch."`
	}

	// WantedPorts selects the ports that have a spec. No request has it.
	WantedPorts struct{}

	// Part names a part of the network that jobs depend on.
	Part struct {
		Kind PartKind `query:"kind" required:"true" enum:"link,switch,host,plane" doc:"What it is."`
		Name string   `query:"name" required:"true" minLength:"1" maxLength:"253" doc:"Its name: of a link the id of one of its directions, of a host that in the inventory, of a plane its number."`
	}
	// PartKind is a kind of parts of the network.
	PartKind string

	// EVProfileFilter selects EV profiles.
	EVProfileFilter struct {
		Source      string `query:"source" of:"nodes" maxLength:"253" doc:"Only profiles from this leaf, by name or id."`
		Destination string `query:"destination" of:"nodes" maxLength:"253" doc:"Only profiles to this leaf, by name or id."`
		Host        string `query:"host" of:"hosts" maxLength:"253" doc:"Only profiles that this host holds."`
		Degraded    bool   `query:"degraded" doc:"Only profiles that are less than they were."`
	}

	// EVFilter selects EVs of a profile.
	EVFilter struct {
		State string `query:"state" enum:"GOOD,ASSUMED_BAD,DENIED" doc:"Only EVs of this state."`
		Port  uint8  `query:"port" maximum:"31" doc:"Only EVs of this port."`
	}

	// EVProbeFilter selects what probes have shown.
	EVProbeFilter struct {
		Profile     string `query:"profile" of:"ev-profiles" maxLength:"253" doc:"Only EVs of this profile."`
		Source      string `query:"source" of:"hosts" maxLength:"253" doc:"Only where this host probed last."`
		Destination string `query:"destination" of:"hosts" maxLength:"253" doc:"Only where this host was probed last."`
	}

	// LinkFilter selects links.
	LinkFilter struct {
		Node   string `query:"node" of:"nodes" maxLength:"253" doc:"Only links from or to this switch, by name or id."`
		Plane  int    `query:"plane" of:"planes" minimum:"0" doc:"Only links of this plane; 0 is any."`
		Denied bool   `query:"denied" doc:"Only links over which EVs are denied."`
		Wrong  bool   `query:"wrong" doc:"Only links that are not up, are drained, or over which EVs are denied."`
	}
)

// The kinds of parts.
const (
	PartLink   PartKind = "link"
	PartSwitch PartKind = "switch"
	PartHost   PartKind = "host"
	PartPlane  PartKind = "plane"
	// PartPort is no answer to a question: HOST/PORT of a host.
	PartPort PartKind = "port"
)
