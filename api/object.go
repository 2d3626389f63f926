package api

import "encoding/json"

// Object is a resource of any kind, for programs that treat all kinds alike. Members that a kind
// lacks are empty.
type Object struct {
	Name    string          `json:"name,omitempty"`
	Version uint64          `json:"version,omitempty"`
	Spec    json.RawMessage `json:"spec,omitempty"`
	Status  json.RawMessage `json:"status,omitempty"`
	// Changes are the changes of a dry run.
	Changes []SwitchChange `json:"changes,omitempty"`
	// Takes are what a dry run would take from others.
	Takes []Taken `json:"takes,omitempty"`
}

// Intended is a resource with a client's intent and the version of the intent.
type Intended interface {
	Intent() (version uint64, spec any)
}

// Progress is what the statuses of all kinds with conditions have in common.
type Progress struct {
	Conditions Conditions `json:"conditions"`
	// ObservedVersion is the version of the spec that the conditions are about; nil: the present
	// one.
	ObservedVersion *uint64 `json:"observedVersion"`
}

// Of reports whether the conditions concern a given version of the spec, or a later version.
func (p *Progress) Of(version uint64) bool {
	return p.ObservedVersion == nil || *p.ObservedVersion >= version
}
