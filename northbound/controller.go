package northbound

import (
	"context"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/controller/intent"
	"github.com/weft-sdn/weft/topology"
)

// AnyVersion is the expectation of an update that is not conditional.
const AnyVersion uint64 = 0

// Controller is what the API needs of a controller. Its methods are called from
// many goroutines. What they return is the caller's to read and nobody's to
// change. Errors that are the client's are *[intent.Error]; a switch that cannot
// be reached is one with the code [CodeUnavailable].
type Controller interface {
	// Groups returns every multicast group, ordered by name.
	Groups(ctx context.Context) ([]intent.MulticastGroup, error)
	// Group returns one multicast group.
	Group(ctx context.Context, name string) (intent.MulticastGroup, error)
	// CreateGroup makes a group whose name must be free.
	CreateGroup(ctx context.Context, name string, spec intent.Spec) (intent.MulticastGroup, error)
	// UpdateGroup replaces the spec of a group that has the expected version; the
	// same spec again changes nothing, the version included.
	UpdateGroup(ctx context.Context, name string, spec intent.Spec, expect uint64) (intent.MulticastGroup, error)
	// DeleteGroup starts the removal of a group that has the expected version.
	DeleteGroup(ctx context.Context, name string, expect uint64) error
	// ResetGroup gives a group a new epoch, and a new initial PSN unless it is nil.
	ResetGroup(ctx context.Context, name string, initialPSN *uint32, expect uint64) (intent.MulticastGroup, error)
	// GroupState asks the switches of a group's tree for the state of its
	// branches. What a switch does not answer in time is missing from its node.
	GroupState(ctx context.Context, name string) ([]NodeState, error)

	// Topology returns the network as it is known now.
	Topology() *topology.Snapshot
	// Hosts returns the hosts of the inventory, ordered by name.
	Hosts() []Host
	// Switches returns the switches of the inventory, ordered by name.
	Switches() []Switch
	// Tables returns the tables of a switch with their present number of entries.
	Tables(ctx context.Context, sw string) ([]Table, error)
	// Entries reads a table back from a switch, ordered by entry id.
	Entries(ctx context.Context, sw, table string) ([]Entry, error)
	// Counters reads the counters of a switch, ordered by name and index.
	Counters(ctx context.Context, sw string) ([]Counter, error)

	// Readiness says what the controller still waits for.
	Readiness() []Check
}

// CodeUnavailable is the code of an [intent.Error] about a switch that cannot be
// reached at the moment.
const CodeUnavailable intent.Code = "unavailable"

// Host is an end system of the inventory.
type Host struct {
	Name    string     `json:"name" doc:"Name in the inventory."`
	Address netip.Addr `json:"address" doc:"IPv6 address the host is reached by."`
	Switch  string     `json:"switch" doc:"The switch it is attached to."`
	Port    uint32     `json:"port" doc:"Port of that switch."`
}

// Switch is a device of the inventory and the state of its session.
type Switch struct {
	ID       string          `json:"id" doc:"Name in the inventory; names the switch in paths."`
	Node     topology.NodeID `json:"node,omitempty" doc:"Node of the topology that the switch is; empty until it is seen there."`
	Loopback netip.Addr      `json:"loopback,omitzero" doc:"The node's loopback address."`
	Address  string          `json:"address,omitempty" doc:"host:port of the P4Runtime server; empty when the switch is not programmed."`
	DeviceID uint64          `json:"deviceId,omitempty" doc:"P4Runtime device id."`
	State    SwitchState     `json:"state" enum:"unmanaged,down,connecting,backup,syncing,ready" doc:"ready: connected, primary, and holding all that is wanted."`
	Since    time.Time       `json:"since,omitzero" doc:"When the switch came into this state."`
	Reason   string          `json:"reason,omitempty" doc:"Why the switch is not ready."`
	Pipeline string          `json:"pipeline,omitempty" doc:"Cookie of the pipeline on the switch, in hexadecimal."`
	Wanted   int             `json:"wanted" doc:"Entities the controller wants on the switch."`
	Failed   int             `json:"failed" doc:"Wanted entities that the switch refused."`
}

// SwitchState is where the controller stands with a switch.
type SwitchState string

// The states of a switch.
const (
	SwitchUnmanaged  SwitchState = "unmanaged"
	SwitchDown       SwitchState = "down"
	SwitchConnecting SwitchState = "connecting"
	SwitchBackup     SwitchState = "backup"
	SwitchSyncing    SwitchState = "syncing"
	SwitchReady      SwitchState = "ready"
)

// Table is a table of a switch's pipeline.
type Table struct {
	Name    string        `json:"name" doc:"Name in the P4 program."`
	Size    int64         `json:"size" doc:"Entries the table has room for."`
	Entries int           `json:"entries" doc:"Entries it holds, without the default."`
	Key     []TableKey    `json:"key" doc:"Fields matched on, in order."`
	Actions []TableAction `json:"actions" doc:"Actions an entry can have."`
	Const   bool          `json:"const" doc:"The entries come with the program."`
}

// TableKey is a field of a table's key.
type TableKey struct {
	Name  string `json:"name"`
	Match string `json:"match" enum:"exact,lpm,ternary,range,optional"`
	Width int    `json:"width" doc:"Width in bits."`
}

// TableAction is an action of a table.
type TableAction struct {
	Name   string       `json:"name"`
	Params []TableParam `json:"params"`
}

// TableParam is a parameter of an action.
type TableParam struct {
	Name  string `json:"name"`
	Width int    `json:"width" doc:"Width in bits."`
}

// Entry is a table entry in the names of the P4 program. Values are numbers, or
// strings for addresses, prefixes ("2001:db8::/32"), masked values
// ("256&&&0x1f0"), ranges ("1..5") and numbers over 64 bits ("0x…"); "*" is a
// field that matches anything.
type Entry struct {
	ID       string         `json:"id" doc:"Names the entry within its switch; made of table, key and priority."`
	Match    map[string]any `json:"match" doc:"Value of each field of the key."`
	Priority int32          `json:"priority,omitempty" doc:"Higher wins; only in tables with ternary, range or optional fields."`
	Default  bool           `json:"default,omitempty" doc:"The table's default action."`
	Const    bool           `json:"const,omitempty" doc:"Comes with the program."`
	Action   string         `json:"action,omitempty"`
	Params   map[string]any `json:"params,omitempty" doc:"Arguments of the action."`
	Member   uint32         `json:"member,omitempty" doc:"Member of the table's action profile."`
	Group    uint32         `json:"group,omitempty" doc:"Group of the table's action selector."`
	Actions  []MemberAction `json:"actions,omitempty" doc:"What the members of the group do."`
}

// MemberAction is what a member of an action profile does.
type MemberAction struct {
	Member uint32         `json:"member"`
	Weight int32          `json:"weight"`
	Action string         `json:"action"`
	Params map[string]any `json:"params,omitempty"`
}

// Counter is a cell of a counter of a switch.
type Counter struct {
	Name    string `json:"name" doc:"Name in the P4 program."`
	Index   int64  `json:"index"`
	Label   string `json:"label,omitempty" doc:"What the index stands for: a drop reason, an event."`
	Packets int64  `json:"packets"`
	Bytes   *int64 `json:"bytes,omitempty" doc:"Octets; absent when only packets are counted."`
}

// NodeState is what a switch of a tree knows about a group.
type NodeState struct {
	Switch   string        `json:"switch"`
	Index    uint16        `json:"index" doc:"Number of the group on its switches."`
	LastPSN  *uint32       `json:"lastPsn,omitempty" doc:"m of the node: everything before it was acknowledged upstream; absent when nothing was yet."`
	CNPTotal uint32        `json:"cnpTotal" doc:"CNPs sent upstream."`
	Branches []BranchState `json:"branches"`
	Error    string        `json:"error,omitempty" doc:"Why branches are missing."`
}

// BranchState is the aggregation state of a branch. AckPSN and EPSN mean nothing
// unless Valid.
type BranchState struct {
	Index      uint8      `json:"index"`
	Child      string     `json:"child,omitempty" doc:"The child node, when the branch is one."`
	Receiver   netip.Addr `json:"receiver,omitzero" doc:"The receiver, when the branch is one."`
	AckPSN     uint32     `json:"ackPsn" doc:"The branch has everything up to here."`
	EPSN       uint32     `json:"ePsn" doc:"The PSN the branch expects next: ackPsn + 1 modulo 2^24."`
	NAKPending bool       `json:"nakPending" doc:"The branch asked for ePsn again and has not got it."`
	RNRPending bool       `json:"rnrPending" doc:"What is pending is an RNR NAK."`
	MSN        uint32     `json:"msn"`
	CNPCount   uint32     `json:"cnpCount" doc:"CNPs of the branch in the window that is open, or was last."`
	Valid      bool       `json:"valid" doc:"The branch has reported in this epoch."`
	Epoch      uint32     `json:"epoch" doc:"Epoch of the branch's registers."`
}

// Check is one thing a controller waits for before it is ready.
type Check struct {
	Name    string `json:"name" doc:"What is checked: bgp-ls, or switch/NAME."`
	OK      bool   `json:"ok"`
	Message string `json:"message,omitempty"`
}
