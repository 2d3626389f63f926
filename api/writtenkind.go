package api

// WrittenKind describes a kind of resources that clients write, in the OpenAPI document.
type WrittenKind struct {
	// Collection is the part of a path behind /v1. At is the path of a resource; "": the collection,
	// and the name of the resource.
	Collection string `json:"collection"`
	At         string `json:"at,omitempty"`
	// Kind is in documents, Noun and Nouns are in messages.
	Kind  string `json:"kind"`
	Noun  string `json:"noun"`
	Nouns string `json:"nouns"`
	// Reads and Writes are scopes.
	Reads  string `json:"reads"`
	Writes string `json:"writes"`
	// Events are the families of the events about a resource.
	Events []string `json:"events"`
	// Overridden: the resources exist by themselves, and clients write over the configuration.
	Overridden bool `json:"overridden,omitempty"`
	// Removed is what a deletion does; "": clients cannot delete a spec. Then Untouched is the spec of
	// a resource that no client has written.
	Removed   string `json:"removed,omitempty"`
	Untouched any    `json:"untouched,omitempty"`
}
