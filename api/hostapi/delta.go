package hostapi

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// A Delta changes one state into another: the lists of Update in host.proto. A Delta to the empty
// state is a snapshot.
type Delta struct {
	SetProfiles    []*Profile
	RemoveProfiles []string
	Change         []ProfileChange

	SetCC    []*CCProfile
	RemoveCC []string

	DeniedPorts *PortMask // nil: as before

	SetPeers    []PeerPorts
	RemovePeers []netip.Addr

	Wire *Wire // nil: as before

	Hints *QPHints // nil: as before
}

// ProfileChange changes EVs of a profile that stays otherwise, in the order Replace, Allow, Deny.
type ProfileChange struct {
	Name    string
	Replace []Replacement // of explicit profiles
	Allow   []EV          // no longer denied; those that Replace took away are here too
	Deny    []EV
}

// Replacement is another EV in a place of an explicit profile.
type Replacement struct {
	Index int
	EV    EV
}

// Empty reports whether the delta changes nothing.
func (d *Delta) Empty() bool {
	return len(d.SetProfiles)+len(d.RemoveProfiles)+len(d.Change)+len(d.SetCC)+len(d.RemoveCC)+
		len(d.SetPeers)+len(d.RemovePeers) == 0 &&
		d.DeniedPorts == nil && d.Wire == nil && d.Hints == nil
}

// Diff returns the delta from `from` to `to`. Diff examines only parts that the states do not
// share: a shared profile costs a single pointer comparison. If replace is false, Diff sets a
// profile with changed EVs as a whole, for devices that cannot replace EVs of a profile in use.
func Diff(from, to *State, replace bool) Delta {
	if from == nil {
		from = &State{}
	}
	if to == nil {
		to = &State{}
	}
	var d Delta
	merge(from.Profiles, to.Profiles, func(a, b *Profile) int {
		return strings.Compare(a.Name, b.Name)
	},
		func(p *Profile) { d.RemoveProfiles = append(d.RemoveProfiles, p.Name) },
		func(p *Profile) { d.SetProfiles = append(d.SetProfiles, p) },
		func(p, q *Profile) {
			if p == q {
				return
			}
			if c, ok := change(p, q, replace); !ok {
				d.SetProfiles = append(d.SetProfiles, q)
			} else if len(c.Replace)+len(c.Allow)+len(c.Deny) > 0 {
				d.Change = append(d.Change, c)
			}
		})
	merge(from.CC, to.CC, func(a, b *CCProfile) int { return strings.Compare(a.Name, b.Name) },
		func(c *CCProfile) { d.RemoveCC = append(d.RemoveCC, c.Name) },
		func(c *CCProfile) { d.SetCC = append(d.SetCC, c) },
		func(a, b *CCProfile) {
			if a != b && *a != *b {
				d.SetCC = append(d.SetCC, b)
			}
		})
	merge(from.Peers, to.Peers, func(a, b PeerPorts) int { return a.Peer.Compare(b.Peer) },
		func(p PeerPorts) { d.RemovePeers = append(d.RemovePeers, p.Peer) },
		func(p PeerPorts) { d.SetPeers = append(d.SetPeers, p) },
		func(a, b PeerPorts) {
			if a != b {
				d.SetPeers = append(d.SetPeers, b)
			}
		})
	if from.DeniedPorts != to.DeniedPorts {
		d.DeniedPorts = &to.DeniedPorts
	}
	if from.Wire != to.Wire {
		d.Wire = &to.Wire
	}
	if from.Hints != to.Hints {
		d.Hints = &to.Hints
	}
	return d
}

// change returns the change from p to q, unless setting q as a whole is better.
func change(p, q *Profile, replace bool) (ProfileChange, bool) {
	c := ProfileChange{Name: p.Name}
	if !p.sameBut(q) {
		return c, false
	}
	if !sameSlice(p.EVs, q.EVs) {
		if !replace {
			return c, false
		}
		for i, v := range q.EVs {
			if p.EVs[i] != v {
				c.Replace = append(c.Replace, Replacement{Index: i, EV: v})
			}
		}
	}
	if !sameSlice(p.Denied, q.Denied) {
		merge(p.Denied, q.Denied, EV.Compare,
			func(v EV) { c.Allow = append(c.Allow, v) }, func(v EV) {
				c.Deny = append(c.Deny, v)
			}, func(EV, EV) {})
	}
	return c, true
}

// merge walks through two lists in order.
func merge[T any](from, to []T, compare func(T, T) int, gone, added func(T), both func(T, T)) {
	for len(from) > 0 && len(to) > 0 {
		switch c := compare(from[0], to[0]); {
		case c < 0:
			gone(from[0])
			from = from[1:]
		case c > 0:
			added(to[0])
			to = to[1:]
		default:
			both(from[0], to[0])
			from, to = from[1:], to[1:]
		}
	}
	for _, x := range from {
		gone(x)
	}
	for _, x := range to {
		added(x)
	}
}

// Apply is the state with a delta applied to it; s stays as it is. It checks what the delta
// touches; the error is a *FieldError that names the first wrong field of the update.
func (s *State) Apply(d *Delta) (*State, error) {
	if s == nil {
		s = &State{}
	}
	next := *s
	for _, apply := range []func(*State, *Delta) *FieldError{
		applyCC, applyPeers, applyProfiles, applyChanges} {
		if err := apply(&next, d); err != nil {
			return nil, err
		}
	}
	if d.DeniedPorts != nil {
		if err := d.DeniedPorts.check("denied_ports"); err != nil {
			return nil, err
		}
		next.DeniedPorts = *d.DeniedPorts
	}
	if d.Wire != nil {
		if err := d.Wire.validate(); err != nil {
			return nil, err
		}
		next.Wire = *d.Wire
	}
	if d.Hints != nil {
		if err := d.Hints.validate(); err != nil {
			return nil, err
		}
		next.Hints = *d.Hints
	}
	if len(d.SetProfiles)+len(d.SetCC)+len(d.RemoveCC)+len(d.SetPeers) > 0 {
		if err := next.consistent(); err != nil {
			return nil, err
		}
	}
	return &next, nil
}

func applyCC(s *State, d *Delta) *FieldError {
	if len(d.SetCC)+len(d.RemoveCC) == 0 {
		return nil
	}
	for _, c := range d.SetCC {
		if err := c.validate(); err != nil {
			return err.within("set_cc_profiles[%s]", c.Name)
		}
	}
	name := func(c *CCProfile) string { return c.Name }
	list, err := replaced(s.CC, d.SetCC, d.RemoveCC, name, strings.Compare, "cc_profiles")
	if err != nil {
		return err
	}
	s.CC = list
	return nil
}

func applyPeers(s *State, d *Delta) *FieldError {
	if len(d.SetPeers)+len(d.RemovePeers) == 0 {
		return nil
	}
	for _, p := range d.SetPeers {
		if err := p.validate(); err != nil {
			return err.within("set_peers[%v]", p.Peer)
		}
	}
	peer := func(p PeerPorts) netip.Addr { return p.Peer }
	list, err := replaced(s.Peers, d.SetPeers, d.RemovePeers, peer, netip.Addr.Compare, "peers")
	if err != nil {
		return err
	}
	s.Peers = list
	return nil
}

func applyProfiles(s *State, d *Delta) *FieldError {
	if len(d.SetProfiles)+len(d.RemoveProfiles) == 0 {
		return nil
	}
	for _, p := range d.SetProfiles {
		if err := p.validate(); err != nil {
			return err.within("set_profiles[%s]", p.Name)
		}
	}
	name := func(p *Profile) string { return p.Name }
	list, err := replaced(s.Profiles, d.SetProfiles, d.RemoveProfiles, name, strings.Compare,
		"profiles")
	if err != nil {
		return err
	}
	s.Profiles = list
	return nil
}

// replaced is a list in order without the removed and with the set ones.
func replaced[T any, K comparable](list, set []T, remove []K, key func(T) K, compare func(K, K) int,
	what string) ([]T, *FieldError) {
	gone := make(map[K]bool, len(remove)) // true: not come across yet
	for i, k := range remove {
		if _, twice := gone[k]; twice {
			return nil, invalid(fmt.Sprintf("remove_%s[%d]", what, i), "%v twice, want it once", k)
		}
		gone[k] = true
	}
	add := slices.Clone(set)
	slices.SortStableFunc(add, func(a, b T) int { return compare(key(a), key(b)) })
	for i := 1; i < len(add); i++ {
		if key(add[i-1]) == key(add[i]) {
			return nil, invalid(fmt.Sprintf("set_%s[%v]", what, key(add[i])), "twice, want it once")
		}
	}
	out := make([]T, 0, len(list)+len(add))
	keep := func(x T) {
		if _, ok := gone[key(x)]; ok {
			gone[key(x)] = false
			return
		}
		out = append(out, x)
	}
	merge(list, add, func(a, b T) int { return compare(key(a), key(b)) }, keep,
		func(x T) { out = append(out, x) }, func(old, x T) {
			if _, ok := gone[key(old)]; ok {
				gone[key(old)] = false
			}
			out = append(out, x)
		})
	for i, k := range remove {
		if gone[k] {
			return nil, invalid(fmt.Sprintf("remove_%s[%d]", what, i), "%v is not there", k)
		}
	}
	return out, nil
}

func applyChanges(s *State, d *Delta) *FieldError {
	if len(d.Change) == 0 {
		return nil
	}
	s.Profiles = slices.Clone(s.Profiles)
	seen := make(map[string]struct{}, len(d.Change))
	for i := range d.Change {
		c := &d.Change[i]
		at, ok := s.find(c.Name)
		if !ok {
			return invalid(fmt.Sprintf("change_profiles[%s].name", c.Name), "no profile has the name")
		}
		if _, twice := seen[c.Name]; twice {
			return invalid(fmt.Sprintf("change_profiles[%s].name", c.Name), "twice, want it once")
		}
		seen[c.Name] = struct{}{}
		p, err := s.Profiles[at].changed(c)
		if err != nil {
			return err.within("change_profiles[%s]", c.Name)
		}
		s.Profiles[at] = p
	}
	return nil
}

// changed is the profile with a change.
func (p *Profile) changed(c *ProfileChange) (*Profile, *FieldError) {
	q := *p
	if len(c.Replace) > 0 {
		if p.Mode != ModeExplicit {
			return nil, invalid("replace", "EVs of a profile of mode %v, want mode EXP", p.Mode)
		}
		q.EVs = slices.Clone(p.EVs)
		width := p.Bits()
		for i, r := range c.Replace {
			if r.Index < 0 || r.Index >= len(q.EVs) {
				return nil, invalid(fmt.Sprintf("replace[%d]", i), "%d, want 0 to %d", r.Index, len(q.EVs)-1)
			}
			if err := checkEV(r.EV, width); err != nil {
				return nil, err.within("replacements[%d]", i)
			}
			if r.EV.Port == 0 {
				return nil, invalid(fmt.Sprintf("replacements[%d].port", i), "0, want 1 to %d in mode EXP",
					MaxPort)
			}
			q.EVs[r.Index] = r.EV
		}
	}
	if len(c.Allow)+len(c.Deny) == 0 {
		if len(c.Replace) > 0 {
			if err := q.validateDenied(); err != nil {
				return nil, err
			}
		}
		return &q, nil
	}
	denied := make([]EV, 0, len(p.Denied)+len(c.Deny))
	allow := make(map[EV]bool, len(c.Allow)) // true: not come across yet
	for i, v := range c.Allow {
		if _, twice := allow[v]; twice || !p.IsDenied(v) {
			return nil, invalid(fmt.Sprintf("allow[%d]", i), "%v is not denied, want an EV that is, once", v)
		}
		allow[v] = true
	}
	for _, v := range p.Denied {
		if !allow[v] {
			denied = append(denied, v)
		}
	}
	for i, v := range c.Deny {
		if p.IsDenied(v) && !allow[v] {
			return nil, invalid(fmt.Sprintf("deny[%d]", i), "%v is denied already", v)
		}
		if err := checkEV(v, q.Bits()); err != nil {
			return nil, err.within("deny[%d]", i)
		}
		if !q.Has(v) {
			return nil, unknownEV(fmt.Sprintf("deny[%d]", i), v, &q)
		}
		denied = append(denied, v)
	}
	slices.SortFunc(denied, EV.Compare)
	for i := 1; i < len(denied); i++ {
		if denied[i-1] == denied[i] {
			return nil, invalid("deny", "%v twice, want it once", denied[i])
		}
	}
	q.Denied = denied
	if len(c.Replace) > 0 {
		if err := q.validateDenied(); err != nil {
			return nil, err
		}
	}
	return &q, nil
}
