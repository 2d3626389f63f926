package api

import "time"

// MaxJobNICs bounds the NICs that [JobRacks] lists one by one.
const MaxJobNICs = 4096

// MaxJobPairs bounds the pairs of racks that [JobRacks] lists one by one: 256 racks, each with all.
const MaxJobPairs = 65_536

// JobRacks has the ranks of a job by rack, with what each has left.
type JobRacks struct {
	Name  string    `json:"name" doc:"Name of the job."`
	At    time.Time `json:"at" doc:"When that was found."`
	Racks []JobRack `json:"racks" doc:"The racks, the hosts at the same leaves, in the order of the first rank in each."`
	Pairs []JobPair `json:"pairs,omitempty" doc:"The pairs of racks that talk, by the first rack and then by the second; absent where there are more than 65,536."`
}

// JobPair describes two racks between which a job sends, from a NIC in the first to a NIC in the
// second.
type JobPair struct {
	From      int       `json:"from" doc:"Place of the first rack in racks."`
	To        int       `json:"to" doc:"Place of the second rack in racks."`
	Left      *float64  `json:"left,omitempty" doc:"Share of the paths between them that is left, of 1; absent while it is not known."`
	RoundTrip *Duration `json:"roundTrip,omitempty" doc:"The longest mean round trip of the last probes between them, over all planes; absent while none was answered."`
}

// JobRack is the ranks of a job in a rack.
type JobRack struct {
	Name     string   `json:"name" doc:"Name of the rack."`
	Switches []string `json:"switches,omitempty" doc:"Its leaves, in the order of the ports; absent for those who do not see the network."`
	Ranks    int      `json:"ranks" doc:"How many ranks are in it."`
	Good     int      `json:"good" doc:"Of these, those with a NIC all of whose ports are up, and whose host holds all that it was told."`
	Left     *float64 `json:"left,omitempty" doc:"The least share of the paths from it that is left, of 1; absent while it is not known, or where it sends to none."`
	NICs     []JobNIC `json:"nics,omitempty" doc:"The NICs in the order of the ranks; absent in jobs of more than 4,096 ranks."`
}

// JobNIC is the NIC of a rank.
type JobNIC struct {
	Rank  int    `json:"rank" doc:"Number of the rank."`
	Name  string `json:"name" doc:"Name of the NIC in the inventory."`
	State string `json:"state" enum:"good,bad,unknown" doc:"good: its ports are up, and its host holds all that it was told."`
	Ports int    `json:"ports" doc:"Ports that it has."`
	Up    int    `json:"up" doc:"Number of these that are up and in use."`
	Why   string `json:"why,omitempty" doc:"The fault, in words."`
}

// JobDependent is a job that depends on a part of the network.
type JobDependent struct {
	Name     string   `json:"name" doc:"Name of the job."`
	Phase    JobPhase `json:"phase" enum:"Pending,Ready,Running,Draining,Done" doc:"How far it is."`
	Go       bool     `json:"go" doc:"The fabric was ready for it when that was looked at last."`
	Priority int      `json:"priority,omitempty" doc:"How much it matters among jobs."`
	Affected int      `json:"affected" doc:"Ranks that depend on the part: those at it, or all where it is above the leaves."`
	Ranks    int      `json:"ranks" doc:"Ranks of the job."`
}
