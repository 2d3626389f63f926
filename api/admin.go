package api

import (
	"strconv"
	"time"
)

// Admin is what a client wants of a link, a node, a plane or a port of a host:
// whether it is to be used.
type Admin struct {
	// Version changes with every change of the spec; 0: no client has written the spec.
	Version uint64    `json:"version"`
	Changed time.Time `json:"changed,omitzero"`
	Spec    AdminSpec `json:"spec"`
}

// AdminSpec is the spec of all drainable objects.
type AdminSpec struct {
	Admin AdminState `json:"admin" enum:"up,drained" doc:"drained: it is not to be used, and nothing is lost on the way there. up, the default: it is."`
}

// AdminState reports whether something is to be used.
type AdminState string

// The states.
const (
	// AdminUp: it is to be used, once it is up and probes come through.
	AdminUp AdminState = "up"
	// AdminDrained takes a part out of use without losing traffic.
	AdminDrained AdminState = "drained"
)

// ValidateAdmin returns what is wrong with a spec, or nil.
func ValidateAdmin(s *AdminSpec) error {
	if s.Admin == AdminUp || s.Admin == AdminDrained {
		return nil
	}
	return Refuse([]FieldError{{Field: "spec.admin", Code: CodeInvalid,
		Value: strconv.Quote(string(s.Admin)), Want: `"up" or "drained"`}})
}

// Drain is the progress of a drain.
type Drain struct {
	Target  string   `json:"target" doc:"What is drained: a link, node, plane or port of a host."`
	Drained bool     `json:"drained" doc:"No host uses it any more, and what was on its way has gone."`
	Awaits  []string `json:"awaits,omitempty" doc:"Hosts and switches that may still use it."`
}
