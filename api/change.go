package api

// SwitchChange is what a dry run would change on a switch.
type SwitchChange struct {
	Switch string `json:"switch" doc:"Name of the switch."`
	// Updates are in an order in which they can be made.
	Updates []EntityUpdate `json:"updates" doc:"In an order in which they can be made."`
}

// EntityUpdate is one update of a switch's entities.
type EntityUpdate struct {
	// Type is insert, modify or delete.
	Type string `json:"type" enum:"insert,modify,delete"`
	// Entity is the entry, group of copies, or clone session, in the names of the P4 program.
	Entity string `json:"entity" doc:"The entry, group of copies or clone session, in the names of the P4 program."`
}

// MostTaken bounds the losses that a dry run lists.
const MostTaken = 100

// Taken describes what a write would take away from another resource.
type Taken struct {
	Kind    string `json:"kind" doc:"What it would be taken from, as multicast group."`
	Name    string `json:"name,omitempty" doc:"Its name; absent for one that the client may not see."`
	Object  string `json:"object,omitempty" doc:"Its path below /v1/."`
	Reason  string `json:"reason" doc:"That of its condition; Taken: it has no condition of that."`
	Message string `json:"message" doc:"What it would lose, for people."`
}
