package api

// SwitchChange is what a dry run would change on a switch.
type SwitchChange struct {
	Switch string `json:"switch" doc:"Name of the switch."`
	// Updates are in an order in which they can be made.
	Updates []EntityUpdate `json:"updates" doc:"In an order in which they can be made."`
}

// EntityUpdate is one change of what a switch holds.
type EntityUpdate struct {
	// Type is insert, modify or delete.
	Type string `json:"type" enum:"insert,modify,delete"`
	// Entity is the entry, group of copies, or clone session, in the names of the P4 program.
	Entity string `json:"entity" doc:"The entry, group of copies or clone session, in the names of the P4 program."`
}
