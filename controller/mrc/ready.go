package mrc

import (
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/store"
)

// Ready is what a [Core] wants done. Whoever takes it does all of it.
type Ready struct {
	// Saves must be kept: they are what clients want. A Core alone has none.
	Saves []store.Op
	// Sets are what hosts are to hold, by host.
	Sets []Set
	// Probes are to be made by hosts; the answers go to Core.ProbeResult.
	Probes []Probe
	// Events are for people, and wait until Saves are kept with all before.
	Events []api.Event
}

// Empty reports whether there is nothing to do.
func (r *Ready) Empty() bool { return len(r.Saves)+len(r.Sets)+len(r.Probes)+len(r.Events) == 0 }

// Set is what a host is to hold from now on.
type Set struct {
	Host string
	// Seq grows by one with every Set of a host; Core.Applied quotes it.
	Seq uint64
	// State is not changed any more, and shared by hosts; nil: nothing at all, as
	// the host has been removed.
	State *hostapi.State
}

// Probe is a request to a host.
type Probe struct {
	Host    string
	Request *hostapi.Probe
}
