package api

import "time"

// Controller is one of the controllers that share a store, or the only one.
type Controller struct {
	Name string         `json:"name" doc:"Its name among the controllers."`
	Role ControllerRole `json:"role" enum:"decider,member,unreachable" doc:"decider: it plans, and keeps what is decided; member: it does what the decider asks, and answers requests through it; unreachable: it holds its lease in the store, and does not answer the controller that was asked."`
	// Since is when it took the role.
	Since time.Time `json:"since,omitzero" doc:"When it took the role; absent when it is not known."`
	Self  bool      `json:"self,omitempty" doc:"It is the controller that answers."`

	API   string `json:"api,omitempty" doc:"Where its API listens, host:port."`
	Peers string `json:"peers,omitempty" doc:"Where other controllers reach it, host:port."`
	Hosts string `json:"hosts,omitempty" doc:"Where hosts of an MRC fabric reach it, host:port."`

	Release string    `json:"release" doc:"Version of the program."`
	Started time.Time `json:"started" doc:"When it started."`
	Term    int64     `json:"term,omitempty" doc:"Of the decider: revision of the store at which it became that. Later deciders have higher ones."`
	// Owns are the switches whose sessions it holds, or is about to.
	Owns     []string `json:"owns,omitempty" doc:"Of several controllers: the switches that it owns, in order: it alone holds their sessions, and carries out what the decider asks."`
	Switches int      `json:"switches" doc:"Switches whose sessions it holds, ready to write."`
	Streams  int      `json:"streams" doc:"Streams of hosts that it serves."`
	// Lag is the age of the store's last answer.
	Lag Duration `json:"lag" doc:"Time since the store last confirmed its lease; 0 for a controller alone."`
}

// ControllerRole is what a controller does among several.
type ControllerRole string

// The roles.
const (
	// RoleDecider is the role of the controller that plans and keeps what is decided.
	RoleDecider ControllerRole = "decider"
	// RoleMember is the role of every other controller.
	RoleMember ControllerRole = "member"
	// RoleUnreachable is the role of a controller that does not answer.
	RoleUnreachable ControllerRole = "unreachable"
)
