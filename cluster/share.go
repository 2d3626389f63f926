package cluster

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Switch is a switch whose session one of the controllers holds.
type Switch struct {
	Name string
	// Plane is that of the fabric which the switch is in; 0 for none. UnknownPlane is one that is not
	// known yet: the switch stays with an owner that lives.
	Plane int
}

// UnknownPlane is the plane of a switch that is not known yet.
const UnknownPlane = -1

// Owner is the controller that holds the session of a switch, as the record of the switch says.
type Owner struct {
	Name     string `json:"name"`
	Instance int64  `json:"instance"`
	// Generation grows with each owner of the switch: a switch that remembers election ids refuses
	// the owners before.
	Generation uint32 `json:"generation"`
	// From is the instance of the owner before, while that one may still hold the session; 0 once
	// it has closed it.
	From int64 `json:"from,omitempty"`
	// Term is that of the decider that decided it, and Since is when.
	Term  int64     `json:"term"`
	Since time.Time `json:"since"`

	// Revision is that of the record.
	Revision int64 `json:"-"`
}

// encode returns the owner as its record has it.
func (o Owner) encode() ([]byte, error) { return json.Marshal(o) }

// is reports whether a controller is the owner.
func (o Owner) is(m Member) bool { return o.Instance == m.Instance && o.Name == m.Name }

// alive returns the instances of members.
func alive(members []Member) map[int64]bool {
	out := make(map[int64]bool, len(members))
	for _, m := range members {
		out[m.Instance] = true
	}
	return out
}

// weight is how much a controller wants a key, the same at every controller (rendezvous hashing):
// when a controller joins or goes, only keys that come to it or leave it change hands.
func weight(key, controller string) uint64 {
	sum := sha256.Sum256([]byte(key + "\x00" + controller))
	return binary.BigEndian.Uint64(sum[:])
}

// heaviest returns the member that wants a key most.
func heaviest(key string, members []Member) Member {
	return slices.MaxFunc(members, func(a, b Member) int {
		return cmp.Or(cmp.Compare(weight(key, a.Name), weight(key, b.Name)), cmp.Compare(a.Name, b.Name))
	})
}

// sides returns the members that may own switches of each plane. Where there are as many members as
// planes, no member has switches of two planes: one that fails then harms one plane.
func sides(members []Member, planes []int) map[int][]Member {
	out := make(map[int][]Member, len(planes)+1)
	if len(planes) < 2 || len(members) < len(planes) {
		for _, p := range planes {
			out[p] = members
		}
		return out
	}
	free := slices.Clone(members)
	for len(free) > 0 {
		turn := slices.Clone(planes)
		if len(free) < len(turn) { // who is left over goes where it is wanted most
			m := free[0]
			turn = []int{slices.MaxFunc(turn, func(a, b int) int {
				return cmp.Or(cmp.Compare(len(out[b]), len(out[a])), cmp.Compare(weight(planeKey(a), m.Name), weight(planeKey(b), m.Name)))
			})}
			out[turn[0]] = append(out[turn[0]], m)
			free = free[1:]
			continue
		}
		for _, p := range turn {
			m := heaviest(planeKey(p), free)
			out[p] = append(out[p], m)
			free = slices.DeleteFunc(free, func(o Member) bool { return o.Name == m.Name })
		}
	}
	return out
}

func planeKey(p int) string { return fmt.Sprintf("plane %d", p) }

// share returns the switches that get another owner, without Generation, Term and Since. Those without an
// owner that lives get one at once. Of the others no more than moves change hands at a time: their
// sessions end and begin again.
func share(members []Member, switches []Switch, owners map[string]Owner, moves int) map[string]Owner {
	stay := slices.DeleteFunc(slices.Clone(members), func(m Member) bool { return m.Leaving || m.Instance == 0 })
	if len(stay) == 0 {
		return nil
	}
	present, staying := alive(members), alive(stay)
	planes := make(map[int]bool)
	for _, sw := range switches {
		if sw.Plane > 0 {
			planes[sw.Plane] = true
		}
	}
	of := sides(stay, slices.Sorted(maps.Keys(planes)))
	of[0] = stay
	for _, o := range owners {
		if o.From != 0 && present[o.From] && staying[o.Instance] {
			moves-- // it is under way
		}
	}
	out := make(map[string]Owner)
	for _, sw := range switches {
		is := owners[sw.Name]
		best := heaviest(sw.Name, of[max(sw.Plane, 0)])
		switch {
		case is.is(best):
			continue
		case staying[is.Instance]:
			if moves <= 0 || sw.Plane == UnknownPlane || is.From != 0 && present[is.From] {
				continue
			}
			moves--
		}
		next := Owner{Name: best.Name, Instance: best.Instance, From: is.Instance}
		if is.From != 0 && present[is.From] {
			// The owner before that one has not let go, so that one has not begun.
			next.From = is.From
		}
		if !present[next.From] || next.From == next.Instance {
			next.From = 0
		}
		out[sw.Name] = next
	}
	return out
}
