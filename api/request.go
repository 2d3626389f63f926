package api

import "time"

// AdminRequest is a client's request for a drainable object: the whole document, or the spec alone.
type AdminRequest struct {
	Version uint64    `json:"version,omitempty" doc:"Required version, as If-Match. 0 is any."`
	Spec    AdminSpec `json:"spec"`
	Changed time.Time `json:"changed,omitzero" readOnly:"true" doc:"Ignored."`
	Status  any       `json:"status,omitempty" readOnly:"true" doc:"Ignored: the controller writes it."`
	ID      any       `json:"id,omitempty" readOnly:"true" doc:"Ignored: the path says which."`
	Plane   any       `json:"plane,omitempty" readOnly:"true" doc:"Ignored: the path says which."`
	Port    any       `json:"port,omitempty" readOnly:"true" doc:"Ignored: the path says which."`
}

// Request is the body of a write: a whole resource, as the client got it, or just name and spec.
type Request[S any] struct {
	Name    string    `json:"name,omitempty" maxLength:"253" doc:"Name of the resource. In the body of a PUT it may be left out."`
	Version uint64    `json:"version,omitempty" doc:"In a PUT: the version the resource has to have, as If-Match. 0 is any."`
	Spec    S         `json:"spec"`
	Created time.Time `json:"created,omitzero" readOnly:"true" doc:"Ignored."`
	Status  any       `json:"status,omitempty" readOnly:"true" doc:"Ignored: the controller writes it."`
}
