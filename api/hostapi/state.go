package hostapi

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// A State is the complete state that a host should hold. A State and everything behind its pointers
// never change once made, so states share their common parts. Make a State with NewState. The nil
// State is empty, for a host without any state from the controller.
type State struct {
	Profiles    []*Profile   // in the order of their names
	CC          []*CCProfile // in the order of their names
	DeniedPorts PortMask     // ports of the host itself, forbidden for sending
	Peers       []PeerPorts  // peers that lack a port, in the order of their addresses
	Wire        Wire         // UDP port and DSCPs of MRC packets; zero: the host's own choice
	Hints       QPHints      // demands of jobs on the NIC; zero: unknown
}

// NewState makes a state of these parts, given in any order. The error is a *FieldError that names
// the first wrong field.
func NewState(s State) (*State, error) {
	made := &State{
		Profiles: slices.Clone(s.Profiles), CC: slices.Clone(s.CC), DeniedPorts: s.DeniedPorts,
		Peers: slices.Clone(s.Peers), Wire: s.Wire, Hints: s.Hints,
	}
	slices.SortStableFunc(made.Profiles, func(a, b *Profile) int {
		return strings.Compare(a.Name, b.Name)
	})
	slices.SortStableFunc(made.CC, func(a, b *CCProfile) int {
		return strings.Compare(a.Name, b.Name)
	})
	slices.SortStableFunc(made.Peers, func(a, b PeerPorts) int { return a.Peer.Compare(b.Peer) })
	for _, p := range made.Profiles {
		if err := p.validate(); err != nil {
			return nil, err.within("set_profiles[%s]", p.Name)
		}
	}
	for _, c := range made.CC {
		if err := c.validate(); err != nil {
			return nil, err.within("set_cc_profiles[%s]", c.Name)
		}
	}
	for _, p := range made.Peers {
		if err := p.validate(); err != nil {
			return nil, err.within("set_peers[%v]", p.Peer)
		}
	}
	if err := made.DeniedPorts.check("denied_ports"); err != nil {
		return nil, err
	}
	if err := made.Wire.validate(); err != nil {
		return nil, err
	}
	if err := made.Hints.validate(); err != nil {
		return nil, err
	}
	if err := made.consistent(); err != nil {
		return nil, err
	}
	return made, nil
}

// consistent checks what the parts have to do with each other.
func (s *State) consistent() *FieldError {
	switch {
	case len(s.Profiles) > MaxProfiles:
		return invalid("set_profiles", "%d profiles together, want at most %d", len(s.Profiles),
			MaxProfiles)
	case len(s.CC) > MaxCCProfiles:
		return invalid("set_cc_profiles", "%d profiles together, want at most %d", len(s.CC),
			MaxCCProfiles)
	case len(s.Peers) > MaxPeers:
		return invalid("set_peers", "%d peers together, want at most %d", len(s.Peers), MaxPeers)
	}
	for i := 1; i < len(s.CC); i++ {
		if s.CC[i-1].Name == s.CC[i].Name {
			return invalid(fmt.Sprintf("set_cc_profiles[%s].name", s.CC[i].Name),
				"two profiles have the name")
		}
	}
	for i := 1; i < len(s.Peers); i++ {
		if s.Peers[i-1].Peer == s.Peers[i].Peer {
			return invalid(fmt.Sprintf("set_peers[%v].address", s.Peers[i].Peer),
				"two peers have the address")
		}
	}
	served := make(map[netip.Prefix]string)
	for i, p := range s.Profiles {
		if i > 0 && s.Profiles[i-1].Name == p.Name {
			return invalid(fmt.Sprintf("set_profiles[%s].name", p.Name), "two profiles have the name")
		}
		if p.CC != "" && s.CCProfile(p.CC) == nil {
			return invalid(fmt.Sprintf("set_profiles[%s].cc_profile", p.Name),
				"%q is no CC profile of the state", p.CC)
		}
		for j, d := range p.Destinations {
			if other, ok := served[d]; ok {
				return invalid(fmt.Sprintf("set_profiles[%s].destinations[%d]", p.Name, j),
					"%v is served by profile %s already", d, other)
			}
			served[d] = p.Name
		}
	}
	return nil
}

// Profile returns the profile with a name; nil if the state has none.
func (s *State) Profile(name string) *Profile {
	if s == nil {
		return nil
	}
	if i, ok := s.find(name); ok {
		return s.Profiles[i]
	}
	return nil
}

func (s *State) find(name string) (int, bool) {
	return slices.BinarySearchFunc(s.Profiles, name, func(p *Profile, name string) int {
		return strings.Compare(p.Name, name)
	})
}

// CCProfile returns the CC profile with a name; nil if the state has none.
func (s *State) CCProfile(name string) *CCProfile {
	if s == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(s.CC, name, func(c *CCProfile, name string) int {
		return strings.Compare(c.Name, name)
	})
	if !ok {
		return nil
	}
	return s.CC[i]
}

// ProfileTo returns the profile for a destination: the profile with the longest prefix that
// contains the destination; nil if no prefix does.
func (s *State) ProfileTo(destination netip.Addr) *Profile {
	var best *Profile
	length := -1
	if s == nil {
		return nil
	}
	for _, p := range s.Profiles {
		for _, d := range p.Destinations {
			if d.Bits() > length && d.Contains(destination) {
				best, length = p, d.Bits()
			}
		}
	}
	return best
}

// PeerPorts is the ports that a peer can be reached by: all of them unless the state says
// otherwise.
func (s *State) PeerPorts(peer netip.Addr) PortMask {
	if s != nil {
		if i, ok := slices.BinarySearchFunc(s.Peers, peer, func(p PeerPorts, a netip.Addr) int {
			return p.Peer.Compare(a)
		}); ok {
			return s.Peers[i].Ports
		}
	}
	return ^PortMask(1)
}

// EVCount is the number of EVs in all profiles.
func (s *State) EVCount() int {
	n := 0
	if s != nil {
		for _, p := range s.Profiles {
			n += p.Count
		}
	}
	return n
}

// Equal reports whether two states are the same; nil is the empty one.
func (s *State) Equal(t *State) bool {
	if s == t {
		return true
	}
	if s == nil {
		s = &State{}
	}
	if t == nil {
		t = &State{}
	}
	return s.DeniedPorts == t.DeniedPorts && s.Wire == t.Wire && s.Hints == t.Hints &&
		slices.Equal(s.Peers, t.Peers) &&
		slices.EqualFunc(s.CC, t.CC, func(a, b *CCProfile) bool { return a == b || *a == *b }) &&
		slices.EqualFunc(s.Profiles, t.Profiles, (*Profile).Equal)
}

// Version names a state of one host: Number counts from 1 within an Epoch, and every start of the
// controller begins a new Epoch. The zero Version means no state.
type Version struct {
	Epoch, Number uint64
}

// Compare orders versions of one epoch; the order of versions from different epochs means nothing.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Epoch, w.Epoch), cmp.Compare(v.Number, w.Number))
}

// String returns the epoch in hexadecimal and the number.
func (v Version) String() string {
	if v == (Version{}) {
		return "none"
	}
	return fmt.Sprintf("%x.%d", v.Epoch, v.Number)
}
