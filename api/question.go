package api

// The questions that a controller answers about a resource, and the actions that it carries out on
// one, beside reading and writing it. Each names the kind that has it, and its answer.
type (
	// ResetGroup gives a multicast group a new epoch. The answer is the MulticastGroup.
	ResetGroup struct{}
	// ReadGroupState asks the switches of a multicast group. The answer is a GroupState.
	ReadGroupState struct{}

	// ReadTables asks for the tables of a switch's pipeline. The answer is a []Table.
	ReadTables struct{}
	// ReadEntries reads a table back from a switch. The answer is a []TableEntry, in any order.
	ReadEntries struct{ Table string }
	// ReadCounterNames asks for the names of the counters of a switch's pipeline. The answer is a
	// []string, in order.
	ReadCounterNames struct{}
	// ReadCounters reads the counters of a switch. The answer is a []Counter, in any order, of the
	// cells that are not zero.
	ReadCounters struct{}
	// ReadGNMI asks what a switch answers by gNMI. The answer is a SwitchGNMI.
	ReadGNMI struct{}
	// DeleteOrphans removes all orphans of a switch. The answer is a []string, their names.
	DeleteOrphans struct{}
)

// OnSwitch selects the ports or orphans of one switch.
type OnSwitch struct{ Switch string }
