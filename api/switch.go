package api

import "time"

// SwitchStatus is what the controller knows about a switch.
type SwitchStatus struct {
	Name      string    `json:"name" doc:"Name in the inventory."`
	Node      string    `json:"node,omitempty" doc:"Node of the topology that the switch is; absent until it is seen there."`
	System    string    `json:"system,omitempty" doc:"What runs on the switch, when it is not the P4 program: sonic or linux."`
	Address   string    `json:"address,omitempty" doc:"host:port of the server by which it is programmed: of P4Runtime, or of gNMI where System is given."`
	DeviceID  uint64    `json:"deviceId,omitempty" doc:"P4Runtime device id."`
	Managed   bool      `json:"managed" doc:"The controller programs the switch."`
	Connected bool      `json:"connected" doc:"Read back, and being kept up."`
	Since     time.Time `json:"since,omitzero" doc:"When connected changed last."`
	Reason    string    `json:"reason,omitempty" doc:"Why it is not connected."`
	Entries   int       `json:"entries" doc:"Entities on the switch."`
	Pending   int       `json:"pending" doc:"Outstanding updates."`
	Synced    bool      `json:"synced" doc:"Connected, and nothing is pending."`
	// Settling is true before inventory.Intervals.Settle has passed without a change of the topology.
	Settling   bool         `json:"settling,omitempty" doc:"The topology may still be incomplete: the controller removes no routes, neighbors and SIDs yet, and does not aggregate routes."`
	Conditions Conditions   `json:"conditions,omitempty" doc:"OrphansKept, while the switch holds entries that no resource explains; InventoryDiffers, while it reports other ports than are configured or advertised; Miscabled, while LLDP contradicts the known cables; Unsupported, while its system or hardware cannot do something that it should; Undescribed, while what is known of the topology lacks its SRv6 locator, its SIDs or the ports of its links; Contested, while another installation programs it."`
	Errors     []string     `json:"errors,omitempty" doc:"Refused updates that are tried again, at most ten."`
	Ports      *SwitchPorts `json:"ports,omitempty" doc:"What the switch says of its ports by gNMI; absent until it was asked."`
}

// SwitchPorts is what a switch reports about its ports by gNMI.
type SwitchPorts struct {
	Up      int      `json:"up" doc:"Ports that are up."`
	Down    []uint32 `json:"down,omitempty" doc:"P4Runtime ports that are down, in order."`
	Error   string   `json:"error,omitempty" doc:"Why the switch does not report now: the rest is its last report."`
	Ignored uint64   `json:"ignored,omitempty" doc:"What it said that made no sense, up to the last change."`
}

// Table describes a table of a switch's P4 program.
type Table struct {
	Name    string   `json:"name" doc:"Name in the P4 program."`
	Size    int64    `json:"size" doc:"Entries the table has room for."`
	Fields  []string `json:"fields" doc:"What it matches on."`
	Actions []string `json:"actions"`
}

// TableEntry is a table entry in names and typed values: numbers are uint64; addresses, prefixes
// and numbers over 64 bits are strings.
type TableEntry struct {
	Table    string  `json:"table"`
	Match    []Field `json:"match" doc:"In the order of the key."`
	Priority int32   `json:"priority,omitempty" doc:"Higher wins; only in tables with ternary, range or optional fields."`
	Default  bool    `json:"default,omitempty" doc:"The table's default action."`
	Action   string  `json:"action,omitempty" doc:"Absent when the entry refers to member or group."`
	Params   []Field `json:"params,omitempty"`
	Member   uint32  `json:"member,omitempty" doc:"Member of the table's action profile."`
	Group    uint32  `json:"group,omitempty" doc:"Group of the table's action selector."`
	Intent   *Intent `json:"intent,omitempty" doc:"What the entry follows from; absent for a default action."`
}

// Intent is what a client wants, or the network is, from which an entry follows.
type Intent struct {
	Kind string `json:"kind" enum:"multicast-group,pfc-policy,topology" doc:"pfc-policy: SRv6 policies, tenants and PFC policies together."`
	Name string `json:"name,omitempty" doc:"Of a multicast group."`
	// Owner is the number of the owner of the entry in the controller.
	Owner int `json:"-"`
}

// Field is a match field or an action parameter with its value.
type Field struct {
	Name  string `json:"name"`
	Value any    `json:"value" doc:"A number, or a string: an address, prefix (2001:db8::/32), masked value (256&&&0x1f0), range (1..5), number over 64 bits (0x…), or * for anything."`
}

// Counter is a cell of an indirect counter. A cell without a name in the P4 program has its index
// as name.
type Counter struct {
	Counter string `json:"counter" doc:"Name in the P4 program."`
	Index   int64  `json:"index"`
	Name    string `json:"name" doc:"What the index stands for: a drop reason, an event, a port."`
	Packets int64  `json:"packets"`
	Octets  int64  `json:"octets"`
}
