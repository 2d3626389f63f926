package mrc

import (
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/hostapi"
)

// The types below are what the API is given: what clients want, which the runner
// keeps, beside what the core knows.

// EVProfile is an EV profile with the override that a client has written.
type EVProfile struct {
	EVProfileOverride
	Status ProfileStatus
}

// EVProfileOverride replaces parts of the configuration for one EV profile. The profile exists
// without it.
type EVProfileOverride struct {
	Name    string
	Version uint64 // changes with every change of the spec; 0: nobody has written it
	Created time.Time
	Spec    api.EVProfileSpec
}

// HostResource is a host, and the stream to it.
type HostResource struct {
	HostStatus
	Session Session
	// Ports has by port, from 1, what a client wants of it; ports[0] is nobody's.
	// Missing: nothing.
	Ports []api.Admin
}

// Session is the stream to a host, or the last there was.
type Session struct {
	Since time.Time // of the stream, or of its end
	Err   string    // why the last ended, when there is none now
	// Held is the version that the host acknowledged last; Current says that it is
	// all that it is to hold.
	Held    hostapi.Version
	Current bool
	// Refusals are what the host does not hold, and why.
	Refusals []hostapi.Refused
}

// LinkResource is one direction of a link.
type LinkResource struct {
	api.Admin // of both directions
	Status    LinkStatus
}

// NodeResource is a switch of the fabric.
type NodeResource struct {
	api.Admin
	Status NodeStatus
}

// PlaneResource is a plane of the fabric.
type PlaneResource struct {
	api.Admin
	Status PlaneStatus
}
