package entry

import (
	"fmt"
	"slices"
	"time"
)

// Reports turns the reports of a digest on.
type Reports struct {
	Digest string
	// Wait bounds how long a report waits for more reports, List how many go together, and Again how
	// long the switch holds back an unacknowledged report before it repeats the report.
	Wait  time.Duration
	List  int32
	Again time.Duration
}

// Kind is [KindReports].
func (Reports) Kind() Kind { return KindReports }

// Key is made of the digest's name.
func (r Reports) Key() Key { return Key("digest/" + r.Digest) }

func (r Reports) String() string {
	return fmt.Sprintf("%s -> wait=%v list=%d again=%v", r.Key(), r.Wait, r.List, r.Again)
}

func (r Reports) equal(o Entity) bool {
	u, ok := o.(Reports)
	return ok && r == u
}

// Digest is a list of what a switch reports: the fields of each in the order of
// the program.
type Digest struct {
	Name    string
	Reports [][]Value
}

// PolicySeen is a report of the first packet with a new SRv6 segment list that
// names an End.X.PFC SID.
type PolicySeen struct {
	Source, Destination Value
	Slice               uint32
	Port                uint32
	SegmentsLeft        uint8
	// Segments are in the order of the SRH: the last to be visited first.
	Segments []Value
}

// fields of a report before its segments.
const policySeenFields = 6

// ParsePolicySeen reads a report of the program's pfc_policy_t; ok is false for a
// report of another form.
func ParsePolicySeen(r []Value) (p PolicySeen, ok bool) {
	if len(r) <= policySeenFields {
		return p, false
	}
	var n [policySeenFields]uint64
	for i := 2; i < policySeenFields; i++ {
		if n[i], ok = r[i].Uint64(); !ok {
			return p, false
		}
	}
	segments := r[policySeenFields:]
	return PolicySeen{
		Source: r[0], Destination: r[1], Slice: uint32(n[2]), Port: uint32(n[3]),
		SegmentsLeft: uint8(n[5]),
		Segments:     slices.Clone(segments[:min(n[4]+1, uint64(len(segments)))]),
	}, true
}
