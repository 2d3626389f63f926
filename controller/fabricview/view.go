// Package fabricview has what the core of an MRC fabric publishes for the core of the switches.
package fabricview

import "github.com/weft-sdn/weft/controller/job/lease"

// View is what the core of an MRC fabric knows at one time. A View does not change.
type View struct {
	// Revision grows with every view of a core, from 1.
	Revision uint64
	// Leases are the links and the paths for leases; nil: they are not known, and Why has the reason.
	Leases *lease.Network
	Why    string
	// Wiring compares equal in the views of the same hosts, switches and links, whether up or down;
	// nil: they are not known.
	Wiring any
}
