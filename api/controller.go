package api

import "time"

// Controller describes a controller: one of several that share a store, or the only controller.
type Controller struct {
	Name string         `json:"name" doc:"Its name among the controllers."`
	Role ControllerRole `json:"role" enum:"decider,member,unreachable,missing" doc:"decider: it plans, and keeps what is decided; member: it does what the decider asks, and answers requests through it; unreachable: it holds its lease in the store, and does not answer the controller that was asked; missing: it is expected, and holds no lease."`
	// Since is when it took the role.
	Since time.Time `json:"since,omitzero" doc:"When it took the role; absent when it is not known."`
	Self  bool      `json:"self,omitempty" doc:"It is the controller that answers."`

	API   string `json:"api,omitempty" doc:"Where its API listens, host:port."`
	Peers string `json:"peers,omitempty" doc:"Where other controllers reach it, host:port."`
	Hosts string `json:"hosts,omitempty" doc:"Where hosts of an MRC fabric reach it, host:port."`

	Release string    `json:"release" doc:"Version of the program."`
	Started time.Time `json:"started" doc:"When it started."`
	Term    int64     `json:"term,omitempty" doc:"Of the decider: revision of the store when its term began. Later deciders have higher ones."`
	// Owns are the switches whose sessions it holds, or is about to.
	Owns     []string `json:"owns,omitempty" doc:"Of several controllers: the switches that it owns, in order: it alone holds their sessions, and carries out what the decider asks."`
	Switches int      `json:"switches" doc:"Switches whose sessions it holds, ready to write."`
	Streams  int      `json:"streams" doc:"Streams of hosts that it serves."`
	// Lag is the age of the store's last answer.
	Lag Duration `json:"lag" doc:"Time since the store last confirmed its lease; 0 for a controller alone."`
	// Alarm is a fault of the controller that all controllers should know.
	Alarm string `json:"alarm,omitempty" doc:"What is wrong with it, as its disk, or who does not reach it: another controller decides, if there is one without an alarm that as many reach."`
	// Reason and Message say why it is missing.
	Reason  string `json:"reason,omitempty" enum:"unreachable,certificate,cluster,replaced,disk,clock" doc:"Of one that is missing. unreachable: it does not answer, or answers and does not take part; certificate: one of the two refuses the other's certificate; cluster: it has the data of another etcd; replaced: it was replaced, and has not started since; disk: its disk is full or fails; clock: the clocks of the two machines differ."`
	Message string `json:"message,omitempty" doc:"Why it is missing or unreachable, in a sentence."`
	// LastContact is when the controller that answers last knew it to be there.
	LastContact time.Time `json:"lastContact,omitzero" doc:"Of one that is missing: when it last held a lease, as far as the controller that answers has seen; absent when it never has."`
	// Clock is its clock less the clock of the answering controller.
	Clock Duration `json:"clock,omitempty" doc:"Its clock less that of the controller that answers, where they differ by more than 2 s."`
	// Disk is the disk of its data directory.
	Disk *ControllerDisk `json:"disk,omitempty" doc:"The disk of its data directory; absent where it has none, or does not answer."`
}

// ControllerDisk is the disk of a controller's data directory.
type ControllerDisk struct {
	State string `json:"state" enum:"ok,low,out,failed" doc:"ok; low: little is free, only deletions are taken, from a reserve; out: the reserve is used up, and the controller's part of the store is stopped; failed: the disk takes no writes, and that part is stopped. It goes on by itself when the disk does."`
	// Slow reports whether writes take longer than members of a store wait for each other.
	Slow   bool   `json:"slow,omitempty" doc:"Writes take longer than the members of a store wait for each other."`
	Reason string `json:"reason,omitempty" doc:"What is wrong with it; absent when nothing is."`
	Dir    string `json:"dir" doc:"The data directory."`
	// Free and Total are octets of the file system.
	Free  uint64 `json:"free" doc:"Free octets of the file system."`
	Total uint64 `json:"total" doc:"Octets of its file system."`
	// Refuse and Stop are the marks of free octets.
	Refuse uint64 `json:"refuse" doc:"With fewer octets free than this, changes but deletions are refused."`
	Stop   uint64 `json:"stop" doc:"With fewer octets free than this, and the reserve used up, the controller's part of the store is stopped."`
	// Sync is how long the last write took until it was on the disk.
	Sync Duration `json:"sync" doc:"How long the last write took until it was on the disk."`
}

// ControllerRole is what a controller does among several.
type ControllerRole string

// The roles.
const (
	// RoleDecider is the role of the controller that plans and keeps the decisions.
	RoleDecider ControllerRole = "decider"
	// RoleMember is the role of every other controller.
	RoleMember ControllerRole = "member"
	// RoleUnreachable is the role of a controller that does not answer.
	RoleUnreachable ControllerRole = "unreachable"
	// RoleMissing is the role of an expected controller that is absent.
	RoleMissing ControllerRole = "missing"
)
