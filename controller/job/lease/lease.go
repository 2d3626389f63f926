package lease

import (
	"fmt"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

// Link is one direction of a link.
type Link struct {
	Capacity uint64 // bits per second; 0 is not known, and then nothing can be reserved
	Up       bool
}

// Path is a way from one endpoint to another.
type Path struct {
	Links []topology.LinkID
	Nodes []topology.NodeID // between the endpoints
	Plane int
	// Ends are the links of the endpoints themselves. They must be up, and any lease may use them.
	Ends []topology.LinkID
	// EV is the EV in packets on the path. A comparison of paths ignores the EV.
	EV api.LeaseEV
}

// Network holds the links and paths available to leases at one time. It does not change.
type Network struct {
	// Links returns the links that paths may cross, each up unless listed in Down: one map for all
	// calls, and for all Networks with the same links. Any goroutine may call it. Ends of paths appear
	// only in Down, and have no capacity.
	Links func() map[topology.LinkID]Link
	Down  map[topology.LinkID]bool
	// Paths returns the candidate paths between two endpoints, the best one first. Any goroutine may
	// call it.
	Paths func(from, to string) []Path
}

func (p *Path) equal(q *Path) bool {
	return p.Plane == q.Plane && slices.Equal(p.Links, q.Links) && slices.Equal(p.Nodes, q.Nodes)
}

// Disjointness defines what the paths of one pair of endpoints must not share.
type Disjointness string

// The kinds of disjointness; "" is DisjointNone.
const (
	DisjointNone  Disjointness = "none" // two different paths
	DisjointLink  Disjointness = "link"
	DisjointNode  Disjointness = "node" // a node between the endpoints, or a link
	DisjointPlane Disjointness = "plane"
)

// apart reports whether two paths may serve the same pair.
func (d Disjointness) apart(p, q *Path) bool {
	switch d {
	case DisjointPlane:
		return p.Plane != q.Plane
	case DisjointNode:
		if shareOne(p.Nodes, q.Nodes) {
			return false
		}
		fallthrough
	case DisjointLink:
		return !shareOne(p.Links, q.Links)
	}
	return true
}

func shareOne[T comparable](a, b []T) bool {
	return slices.ContainsFunc(a, func(x T) bool { return slices.Contains(b, x) })
}

// Sharing defines whether further leases may hold the links of a lease.
type Sharing string

// The kinds of sharing; "" is Shared.
const (
	Shared    Sharing = "shared"
	Exclusive Sharing = "exclusive"
)

// Endpoints is a pair that wants paths.
type Endpoints struct{ From, To string }

// Request is what a client wants.
type Request struct {
	Name         string
	Pairs        []Endpoints
	Paths        int // of each pair; 0 is 1
	Disjointness Disjointness
	Sharing      Sharing
	Bandwidth    uint64        // of each path, in bits per second; 0 reserves none
	Duration     time.Duration // 0 is until the client completes it
	Heartbeat    time.Duration // the longest silence of the client; 0 is any
	// Records leave out the fields below, because the spec of a lease has them.
	Priority  int    `json:"-"` // it may take links from leases of lower ones
	Job       string `json:"-"` // the running job that it is for; "": none
	MostLinks int    `json:"-"` // that it may hold when it is granted; 0 is any
}

const mostPaths = 64

// validate checks a request.
func (r *Request) validate() error {
	wrong := func(field string, value any, want string) error {
		return api.FieldError{Field: "spec." + field, Code: api.CodeInvalid, Value: fmt.Sprint(value),
			Want: want}
	}
	switch {
	case r.Name == "":
		return api.FieldError{Field: "name", Code: api.CodeInvalid, Value: `""`, Want: "a name"}
	case len(r.Pairs) == 0:
		return wrong("pairs", "empty", "one pair of endpoints or more")
	case r.Paths < 0 || r.Paths > mostPaths:
		return wrong("paths", r.Paths, fmt.Sprintf("1 to %d", mostPaths))
	case !slices.Contains([]Disjointness{"", DisjointNone, DisjointLink, DisjointNode, DisjointPlane},
		r.Disjointness):
		return wrong("disjointness", r.Disjointness, "none, link, node or plane")
	case !slices.Contains([]Sharing{"", Shared, Exclusive}, r.Sharing):
		return wrong("sharing", r.Sharing, "shared or exclusive")
	case r.Duration < 0:
		return wrong("duration", r.Duration, "0 or more")
	case r.Heartbeat < 0:
		return wrong("heartbeat", r.Heartbeat, "0 or more")
	}
	for i, p := range r.Pairs {
		if p.From == "" || p.To == "" || p.From == p.To {
			return wrong(fmt.Sprintf("pairs[%d]", i), fmt.Sprintf("%q to %q", p.From, p.To),
				"two different endpoints")
		}
	}
	return nil
}

func (r *Request) equal(o *Request) bool {
	a, b := *r, *o
	same := slices.Equal(a.Pairs, b.Pairs)
	a.Pairs, b.Pairs = nil, nil
	return same && a.Name == b.Name && a.paths() == b.paths() && a.Disjointness == b.Disjointness &&
		a.Sharing == b.Sharing && a.Bandwidth == b.Bandwidth && a.Priority == b.Priority &&
		a.Duration == b.Duration && a.Heartbeat == b.Heartbeat
}

func (r *Request) paths() int { return max(r.Paths, 1) }

// Phase is how a lease stands.
type Phase string

// The phases of a lease.
const (
	// Active: the client uses Paths.
	Active Phase = "active"
	// Moving: Paths are reserved for the client, which still uses Former.
	Moving Phase = "moving"
	// Broken: it holds nothing. Reason says why.
	Broken Phase = "broken"
)

// Lease is a granted request.
type Lease struct {
	Request
	Number  uint64 // of the grant: earlier leases are served first
	Granted time.Time
	Until   time.Time // zero is until the client completes it
	Beat    time.Time // the last sign of life
	Phase   Phase
	Paths   [][]Path // of each pair; those it had, while it is broken
	Former  [][]Path // while it is moving: those that still work
	Reason  string   // while it is broken
	// Taken is the lease that took links from this lease. It remains set until the client has followed
	// or the lease has paths again; nil: no lease took links.
	Taken *Taker `json:",omitempty"`
	// From lists the leases that lost links to this lease when it took some last.
	From []string `json:",omitempty"`

	held map[topology.LinkID]uint64 // what the ledger has booked for it
}

// Taker is a lease that has taken links from another lease.
type Taker struct {
	Name     string
	Priority int
}

// Links returns how many links a lease has on its paths.
func (l *Lease) Links() int { return len(demand(l.Paths, l.Bandwidth)) }

// clone returns a copy with lists of its own, without bookings.
func (l *Lease) clone() Lease {
	out := *l
	out.held = nil
	out.Pairs, out.Paths, out.Former = slices.Clone(l.Pairs), slices.Clone(l.Paths),
		slices.Clone(l.Former)
	return out
}

// ends returns when a lease ends if its client remains silent; zero is never.
func (l *Lease) ends() time.Time {
	end := l.Until
	if l.Heartbeat > 0 {
		if silent := l.Beat.Add(l.Heartbeat); end.IsZero() || silent.Before(end) {
			end = silent
		}
	}
	return end
}

// over reports whether a lease has ended, and why.
func (l *Lease) over(now time.Time) (string, bool) {
	switch {
	case !l.Until.IsZero() && !now.Before(l.Until):
		return "its duration is over", true
	case l.Heartbeat > 0 && !now.Before(l.Beat.Add(l.Heartbeat)):
		return fmt.Sprintf("no heartbeat for %v", l.Heartbeat), true
	}
	return "", false
}
