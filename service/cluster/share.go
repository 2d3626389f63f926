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

// Switch describes a switch whose session belongs to one of the controllers.
type Switch struct {
	Name string
	// Plane is the switch's plane of the fabric; 0: no plane. With UnknownPlane, the switch stays with
	// its owner while the owner lives.
	Plane int
}

// UnknownPlane marks a switch whose plane is not known yet.
const UnknownPlane = -1

// Owner identifies the controller that holds the session of a switch, as the record of the switch
// says.
type Owner struct {
	Name     string `json:"name"`
	Instance int64  `json:"instance"`
	// Generation grows with each owner of the switch: a switch that remembers election ids refuses
	// the owners before.
	Generation uint32 `json:"generation"`
	// From is the instance of the previous owner, while that owner may still hold the session; 0 once
	// it has closed the session.
	From int64 `json:"from,omitempty"`
	// Held reports that the installation holds the switch: an owner from this installation was
	// primary, no client from another installation took the switch afterwards, and a controller ran
	// all the time.
	Held bool `json:"held,omitempty"`
	// Term is the term of the decider that chose the owner, and Since the time of the choice.
	Term  int64     `json:"term"`
	Since time.Time `json:"since"`

	// Revision is the revision of the record.
	Revision int64 `json:"-"`
}

// encode returns the content of the owner's record.
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

// weight returns the preference of a controller for a key, the same at every controller (rendezvous
// hashing): when a controller joins or goes, only keys that come to it or leave it change hands.
func weight(key, controller string) uint64 {
	sum := sha256.Sum256([]byte(key + "\x00" + controller))
	return binary.BigEndian.Uint64(sum[:])
}

// heaviest returns the member with the greatest preference for a key.
func heaviest(key string, members []Member) Member {
	return slices.MaxFunc(members, func(a, b Member) int {
		return cmp.Or(cmp.Compare(weight(key, a.Name), weight(key, b.Name)), cmp.Compare(a.Name, b.Name))
	})
}

// sides returns the members that may own switches of each plane. With enough members for all
// planes, no member gets switches in two planes, so a failed member harms one plane only.
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
				return cmp.Or(cmp.Compare(len(out[b]), len(out[a])), cmp.Compare(weight(planeKey(a), m.Name),
					weight(planeKey(b), m.Name)))
			})}
			out[turn[0]] = append(out[turn[0]], m)
			free = free[1:]
			continue
		}
		for _, p := range turn {
			m := heaviest(planeKey(p), free)
			out[p] = append(out[p], m)
			free = slices.DeleteFunc(free, func(o Member) bool { return o.Instance == m.Instance })
		}
	}
	return out
}

func planeKey(p int) string { return fmt.Sprintf("plane %d", p) }

// share returns the switches that get another owner, without Generation, Term and Since. A switch
// without a living owner gets a new owner at once. At most moves of the other switches change hands
// at a time, because their sessions end and begin again. In the end, no controller owns two
// switches more than another controller that may own any of those switches.
func share(members []Member, switches []Switch, owners map[string]Owner,
	moves int) map[string]Owner {
	a := newAllotment(members, switches, owners)
	if len(a.stay) == 0 {
		return nil
	}
	for _, o := range owners {
		if o.From != 0 && a.present[o.From] && a.staying[o.Instance] {
			moves-- // it is under way
		}
	}
	out := make(map[string]Owner)
	for _, sw := range a.adrift {
		a.give(sw, a.lightest(sw), out)
	}
	for _, sw := range a.misplaced {
		if moves <= 0 {
			return out
		}
		if a.settled(sw) {
			a.give(sw, a.lightest(sw), out)
			moves--
		}
	}
	for ; moves > 0; moves-- {
		sw, to, ok := a.heaviest()
		if !ok {
			break
		}
		a.give(sw, to, out)
	}
	return out
}

// unevenness describes an uneven distribution of switches; "" when it is even.
func unevenness(members []Member, switches []Switch, owners map[string]Owner) string {
	a := newAllotment(members, switches, owners)
	if len(a.stay) == 0 {
		return ""
	}
	for _, sw := range a.adrift {
		return fmt.Sprintf("switch %s has no owner that lives", sw.Name)
	}
	for _, sw := range switches {
		if o := owners[sw.Name]; !a.settled(sw) {
			return fmt.Sprintf("controller %s waits for switch %s, which its last owner has not let go",
				o.Name, sw.Name)
		}
	}
	for _, sw := range a.misplaced {
		return fmt.Sprintf("controller %s owns switch %s, and others are to own the switches of plane %d",
			owners[sw.Name].Name, sw.Name, sw.Plane)
	}
	if sw, to, ok := a.heaviest(); ok {
		from := owners[sw.Name].Name
		return fmt.Sprintf("controller %s owns %d switches, and controller %s owns %d", from,
			len(a.of[from]), to.Name, len(a.of[to.Name]))
	}
	return ""
}

// allotment holds the owners of switches while share changes them.
type allotment struct {
	members          []Member
	stay             []Member // those that may own switches
	present, staying map[int64]bool
	sides            map[int][]Member // who may own the switches of a plane
	owners           map[string]Owner
	of               map[string][]Switch // by the name of the owner
	// adrift lists the switches without a living owner, misplaced the switches whose owner belongs to
	// another plane. Both are in the order of the switches.
	adrift, misplaced []Switch
}

func newAllotment(members []Member, switches []Switch, owners map[string]Owner) *allotment {
	stay := slices.DeleteFunc(slices.Clone(members), func(m Member) bool {
		return m.Leaving || m.Instance == 0
	})
	a := &allotment{members: members, stay: stay, present: alive(members), staying: alive(stay),
		owners: owners, of: make(map[string][]Switch)}
	planes := make(map[int]bool)
	for _, sw := range switches {
		if sw.Plane > 0 {
			planes[sw.Plane] = true
		}
	}
	a.sides = sides(stay, slices.Sorted(maps.Keys(planes)))
	a.sides[0] = stay
	for _, sw := range switches {
		is := owners[sw.Name]
		switch {
		case !a.staying[is.Instance]:
			a.adrift = append(a.adrift, sw)
		case sw.Plane == UnknownPlane || slices.ContainsFunc(a.candidates(sw), is.is):
			a.of[is.Name] = append(a.of[is.Name], sw)
		default:
			a.misplaced = append(a.misplaced, sw)
		}
	}
	return a
}

// candidates returns the members that may own a switch.
func (a *allotment) candidates(sw Switch) []Member { return a.sides[max(sw.Plane, 0)] }

// settled reports whether the owner of a switch has begun, so that a new owner may follow.
func (a *allotment) settled(sw Switch) bool {
	from := a.owners[sw.Name].From
	return from == 0 || !a.present[from]
}

// lightest returns the member with the fewest switches among the members that may own a switch;
// among equals, the member with the greatest preference for the switch.
func (a *allotment) lightest(sw Switch) Member {
	return slices.MinFunc(a.candidates(sw), func(x, y Member) int {
		return cmp.Or(cmp.Compare(len(a.of[x.Name]), len(a.of[y.Name])),
			cmp.Compare(weight(sw.Name, y.Name), weight(sw.Name, x.Name)), cmp.Compare(x.Name, y.Name))
	})
}

// heaviest returns a switch of an owner with the most switches, and the member that gets it: a
// member that may own the switch, with at least two switches fewer, the fewest among all members,
// and the greatest preference for the switch.
func (a *allotment) heaviest() (sw Switch, to Member, ok bool) {
	ordered := slices.SortedFunc(slices.Values(a.stay), func(x, y Member) int {
		return cmp.Or(cmp.Compare(len(a.of[x.Name]), len(a.of[y.Name])), cmp.Compare(x.Name, y.Name))
	})
	for _, from := range slices.Backward(ordered) {
		for _, to := range ordered {
			if len(a.of[to.Name])+2 > len(a.of[from.Name]) {
				break
			}
			var most uint64
			for _, x := range a.of[from.Name] {
				if x.Plane == UnknownPlane || !a.settled(x) ||
					!slices.ContainsFunc(a.candidates(x), func(m Member) bool { return m.Name == to.Name }) {
					continue
				}
				if w := weight(x.Name, to.Name); !ok || w > most {
					sw, most, ok = x, w, true
				}
			}
			if ok {
				return sw, to, true
			}
		}
	}
	return Switch{}, Member{}, false
}

// lived reports whether some controller has run since an owner was decided on.
func (a *allotment) lived(o Owner) bool {
	return o.Revision == 0 || // a moment ago, by this decider
		slices.ContainsFunc(a.members, func(m Member) bool {
			return m.First != 0 && m.First < o.Revision
		})
}

// give makes a controller the owner of a switch.
func (a *allotment) give(sw Switch, to Member, out map[string]Owner) {
	is := a.owners[sw.Name]
	if was, moved := out[sw.Name]; moved {
		is.Name = was.Name // it was given away a moment ago
	}
	a.of[is.Name] = slices.DeleteFunc(a.of[is.Name], func(x Switch) bool { return x.Name == sw.Name })
	a.of[to.Name] = append(a.of[to.Name], sw)
	next := Owner{Name: to.Name, Instance: to.Instance, From: is.Instance, Held: is.Held &&
		a.lived(is)}
	if is.From != 0 && a.present[is.From] {
		// The current owner has not begun, because the owner before it has not let go.
		next.From = is.From
	}
	if !a.present[next.From] || next.From == next.Instance {
		next.From = 0
	}
	out[sw.Name] = next
}
