package lease

import "time"

// Terms has the bounds that a project sets for one of its leases.
type Terms struct {
	Project   string // "": there is none, and the rest does not count
	Exclusive bool
	Priority  int
	Longest   time.Duration
	// Links is the number of links that the lease may hold, beside the project's other leases; nil:
	// any number.
	Links *int
	// Bandwidth is the quota in bit/s for all leases of the project; nil: no quota. Others is the
	// bandwidth in bit/s under the project's further leases.
	Bandwidth *uint64
	Others    uint64
}
