package api

import "time"

// Past is how things were at a moment, and what changed before it.
type Past struct {
	At    time.Time `json:"at" doc:"The moment."`
	Since time.Time `json:"since" doc:"The earliest moment that is kept: at most 24 hours ago, and not before the start of the controller."`
	// Healthy things are left out.
	Things  []PastThing  `json:"things" doc:"What was not as it should be, ordered by kind and id."`
	Changes []PastChange `json:"changes" doc:"What changed between from and at, the oldest first; at most the latest 10000."`
}

// PastThing is a thing that was not healthy.
type PastThing struct {
	Kind  string `json:"kind" enum:"switch,node,link,host,ev-profile,multicast-group,job,path-lease,cause" doc:"What it is."`
	ID    string `json:"id" doc:"What the API calls it."`
	State string `json:"state" doc:"Of a switch: down or programming; of a node or link: drained, and of a link also denied, down, held or trying; of a host: away; of an EV profile and a group: degraded or programming; of a job: blocked; of a path lease: broken; of a cause: its severity."`
	What  string `json:"what,omitempty" doc:"What a cause says."`
}

// PastChange is a change of the state of a thing.
type PastChange struct {
	Time time.Time `json:"time"`
	Kind string    `json:"kind"`
	ID   string    `json:"id"`
	Was  string    `json:"was,omitempty" doc:"Absent: nothing was wrong."`
	Is   string    `json:"is,omitempty" doc:"Absent: nothing is wrong."`
	What string    `json:"what,omitempty" doc:"What a cause says, or said until it ended."`
	Said string    `json:"said,omitempty" doc:"What a cause said before; absent where that is the same."`
}
