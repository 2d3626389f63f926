package api

import "time"

// OrphanKind is the kind of resource that an orphan belonged to, according to the orphan's entries.
type OrphanKind string

// The kinds of orphans.
const (
	OrphanGroup      OrphanKind = "multicast-group"
	OrphanTenant     OrphanKind = "tenant"
	OrphanSRv6Policy OrphanKind = "srv6-policy"
	OrphanSlice      OrphanKind = "slice"
	OrphanPFC        OrphanKind = "pfc-policy"
)

// Orphan is a set of switch entries that no resource explains. The controller keeps the entries.
type Orphan struct {
	Name   string     `json:"name" doc:"Kind, index and switch: multicast-group-5@N1."`
	Switch string     `json:"switch" doc:"Name of the switch that holds it."`
	Kind   OrphanKind `json:"kind" enum:"multicast-group,tenant,srv6-policy,slice,pfc-policy" doc:"What it was part of. Entries of pfc-policy are the queues, tunnels and learning of all PFC policies together."`
	// Index is the group number, the tenant's VRF, or the number of a segment list or slice.
	Index uint32 `json:"index" doc:"Index of the group, VRF of the tenant, number of the segment list or slice on the switch; 0 for pfc-policy."`
	// Detail describes the orphan's identity, taken from the entries.
	Detail  string    `json:"detail,omitempty" doc:"What the entries say of it: the proxy address of a group, the ports of a tenant, the SIDs of a segment list."`
	Entries int       `json:"entries" doc:"Entities of it on the switch."`
	Since   time.Time `json:"since" doc:"When the controller found it first."`
	Reason  string    `json:"reason" doc:"Why it is an orphan."`
	// Removal is when the policy of the configuration removes it.
	Removal time.Time `json:"removal,omitzero" doc:"When the configuration has it removed; absent: it is kept."`
	// Connected is false while the switch is away.
	Connected bool `json:"connected" doc:"The switch is connected. A deletion while it is not is carried out when it is back."`
}

// OrphanDeletion is the outcome of a deletion of orphans.
type OrphanDeletion struct {
	Deleted []string `json:"deleted" doc:"Names of the orphans, which leave their switch now."`
	// Changes are of a dry run only.
	Changes []SwitchChange `json:"changes,omitempty" doc:"Of a dry run: what it would change on switches."`
}
