package api

import "encoding/json"

// Object is a resource of any kind, for programs that treat all kinds alike. Members that a kind
// lacks are empty.
type Object struct {
	Name    string          `json:"name,omitempty"`
	Version uint64          `json:"version,omitempty"`
	Spec    json.RawMessage `json:"spec,omitempty"`
	Status  json.RawMessage `json:"status,omitempty"`
	// Changes are those of a dry run.
	Changes []SwitchChange `json:"changes,omitempty"`
}

// Intended is a resource that has what a client wants, with the version of that.
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

// Of reports whether the conditions are about a version of the spec, or a later one.
func (p *Progress) Of(version uint64) bool {
	return p.ObservedVersion == nil || *p.ObservedVersion >= version
}
