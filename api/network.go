package api

import (
	"time"

	"github.com/weft-sdn/weft/topology/static"
)

// Network is the resource of a network that a client describes: nodes and links in
// addition to those that the controller learns.
type Network struct {
	Name    string        `json:"name" doc:"Name of the network."`
	Version uint64        `json:"version" doc:"Changes with every change of the spec; also the ETag."`
	Created time.Time     `json:"created,omitzero" doc:"When it was created."`
	Spec    NetworkSpec   `json:"spec" doc:"What a client describes."`
	Status  NetworkStatus `json:"status" doc:"Status, which the controller writes."`
	Takes   []Taken       `json:"takes,omitempty" doc:"In the answer to a dry run: what other resources would lose, at most 100."`
}

// Intent implements [Intended].
func (r Network) Intent() (version uint64, spec any) { return r.Version, r.Spec }

// NetworkSpec is what a client describes: the same as a file of nodes and links.
type NetworkSpec = static.Topology

// NetworkStatus lists the parts of a network in force.
type NetworkStatus struct {
	Conditions Conditions `json:"conditions,omitempty" doc:"Accepted, and Degraded while another source decides on links of its nodes."`
	Links      int        `json:"links" doc:"Links of the spec, one direction each."`
	InForce    int        `json:"inForce" doc:"Number of these that the topology has from this network."`
}

// ValidateNetwork returns everything that is wrong with a spec, or nil.
func ValidateNetwork(s *NetworkSpec) error {
	var found []FieldError
	for _, f := range s.Validate() {
		found = append(found, FieldError{Field: "spec." + f.Field, Code: CodeInvalid, Value: f.Value,
			Want: f.Want})
	}
	return Refuse(found)
}
