package mrc

import "errors"

var (
	// ErrConfig says that a Config cannot be used.
	ErrConfig = errors.New("multipath")
	// ErrMalformed says that an input is not what it may be.
	ErrMalformed = errors.New("malformed")
	// ErrUnknownHost says that no host has the name.
	ErrUnknownHost = errors.New("no such host")
	// ErrUnknownEV says that a host speaks of a profile or an EV that it was not given.
	ErrUnknownEV = errors.New("no such EV")
	// ErrUnknownTarget says that there is no such link, node, plane or port.
	ErrUnknownTarget = errors.New("no such target")
	// ErrUnknownProbe says that a result answers no probe that is under way.
	ErrUnknownProbe = errors.New("no such probe")
	// ErrLastPath says that what is to be drained is the last way between two ends.
	ErrLastPath = errors.New("last path")
)

// Counters count inputs that changed nothing.
type Counters struct {
	UnknownHosts  uint64 `json:"unknownHosts" doc:"Messages of hosts that nobody knows."`
	UnknownEVs    uint64 `json:"unknownEvs" doc:"Events and counts of EVs that the host does not hold."`
	BadCounts     uint64 `json:"badCounts" doc:"Counts that cannot be."`
	BadEvents     uint64 `json:"badEvents" doc:"States that no host reports."`
	LostEvents    uint64 `json:"lostEvents" doc:"Events that hosts say they lost."`
	UnknownPaths  uint64 `json:"unknownPaths" doc:"Events and counts of EVs whose path nobody knows."`
	UnknownProbes uint64 `json:"unknownProbes" doc:"Results of probes that are not under way."`
	LostProbes    uint64 `json:"lostProbes" doc:"Probes whose result did not come."`
	BadPorts      uint64 `json:"badPorts" doc:"Ports that a host does not have."`
}
