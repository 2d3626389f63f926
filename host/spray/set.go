package spray

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/packet"
)

// Set holds the entropy values of a queue pair, with the state of each value.
type Set struct {
	cfg Config
	rng rand.PCG

	minActive int
	epoch     uint16 // number of profile replacements
	evs       []slot
	active    active
	data      rotation
	control   rotation // for control packets
	ports     packet.PortMask
	alive     [packet.MaxPort + 1]int // values GOOD or SKIP, by port
	usable    int                     // of these, on ports that are up
	bad       int                     // values ASSUMED_BAD
	balance   *Balance
	flying    int                         // packets sent without feedback yet
	turn      [packet.MaxPort + 1]float64 // by port: at 1 or more a packet may take the port
}

var _ mrc.Sprayer = (*Set)(nil)

// slot is an entropy value with its state.
type slot struct {
	EV
	path      mrc.Path
	state     State
	active    bool          // data uses this value, while its state and port allow
	losses    int           // packets lost since one arrived
	probeAt   time.Duration // next probe, when ASSUMED_BAD
	probeWait time.Duration // from the last probe to probeAt
	counts    Counts
}

// A path ID holds the index of a value and, in the bits above, the epoch of its profile. So late
// feedback on a value cannot affect the next value at the same index.
const (
	indexBits = 10
	indexMask = 1<<indexBits - 1
)

func index(id mrc.PathID) int { return int(id & indexMask) }

// AllPorts is the mask of all ports.
const AllPorts = ^packet.PortMask(1)

// New makes the set of a queue pair with all its ports up. Every value is GOOD unless the profile
// denies it. The error wraps ErrConfig or ErrProfile.
func New(cfg Config, p Profile) (*Set, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Set{cfg: cfg, ports: AllPorts, balance: NewBalance()}
	s.rng.Seed(cfg.Seed, 0x6d7263) // other users of the seed draw other streams
	if err := s.Replace(p); err != nil {
		return nil, err
	}
	return s, nil
}

// Replace replaces the profile while packets are in flight. A value found in both profiles keeps
// its counts and its state, unless the new profile denies or allows the value; new values start
// afresh. The set ignores feedback on packets sent with a value whose index changed. After an
// error, which wraps ErrProfile, the old profile stays.
func (s *Set) Replace(p Profile) error { return s.replace(p, s.evs) }

// Restart replaces the profile by an unrelated profile: every value starts afresh.
func (s *Set) Restart(p Profile) error { return s.replace(p, nil) }

func (s *Set) replace(p Profile, old []slot) error {
	if err := p.Validate(); err != nil {
		return err
	}
	s.epoch++
	evs := make([]slot, len(p.EVs))
	moved := places{old: old, new: p.EVs}
	for i, ev := range p.EVs {
		id := mrc.PathID(s.epoch<<indexBits | uint16(i))
		n := slot{path: mrc.Path{ID: id}}
		if i < len(old) && old[i].same(ev) {
			n = old[i]
		} else if from, ok := moved.take(ev); ok {
			n = old[from]
			n.path.ID = id
		}
		n.EV = ev
		n.path.EV, n.path.Route, n.path.Port = ev.Value, ev.Route, ev.Port
		if ev.Route != nil {
			n.path.EV = packet.NewEV(uint16(i), 0)
		}
		switch {
		case ev.Denied:
			n.state = Denied
		case n.state == Denied:
			n.state, n.losses = Good, 0
		}
		evs[i] = n
	}
	s.evs = evs
	s.minActive = p.MinActive
	if s.active.window > 0 {
		s.SetWindow(s.active.window)
	}
	if len(s.evs) != len(s.data.ring) {
		s.data, s.control = newRotation(len(s.evs)), newRotation(len(s.evs))
		s.data.shuffle(&s.rng)
		copy(s.control.ring, s.data.ring)
	}
	s.recount()
	return nil
}

// Len is the size of the EV universe.
func (s *Set) Len() int { return len(s.evs) }

// Usable returns the number of usable values: GOOD or SKIP, on ports that are up.
func (s *Set) Usable() int { return s.usable }

// At returns the value at an index. Its error, like the errors of State, Counts, Deny and Allow,
// wraps ErrIndex.
func (s *Set) At(index int) (EV, error) {
	if err := s.check(index); err != nil {
		return EV{}, err
	}
	return s.evs[index].EV, nil
}

// State returns the state of the value at an index.
func (s *Set) State(index int) (State, error) {
	if err := s.check(index); err != nil {
		return 0, err
	}
	return s.evs[index].state, nil
}

// Counts returns the outcomes of packets with the value of an index.
func (s *Set) Counts(index int) (Counts, error) {
	if err := s.check(index); err != nil {
		return Counts{}, err
	}
	return s.evs[index].counts, nil
}

// Deny takes the value at an index out of use, whatever MinActive says (§9.3.2.1).
func (s *Set) Deny(index int) error {
	if err := s.check(index); err != nil {
		return err
	}
	s.evs[index].Denied = true
	s.set(index, Denied)
	return nil
}

// Allow makes the value at an index GOOD, even an ASSUMED_BAD value: the controller knows better.
func (s *Set) Allow(index int) error {
	if err := s.check(index); err != nil {
		return err
	}
	s.evs[index].Denied = false
	s.evs[index].losses = 0
	s.set(index, Good)
	return nil
}

// SetPorts sets which ports (planes) are up at both ends. Values on other ports stay unused and
// keep their state.
func (s *Set) SetPorts(up packet.PortMask) {
	s.ports = up
	s.recount()
}

// Ports returns the mask given to SetPorts.
func (s *Set) Ports() packet.PortMask { return s.ports }

func (s *Set) check(index int) error {
	if index < 0 || index >= len(s.evs) {
		return fmt.Errorf("EV %d: want 0 to %d: %w", index, len(s.evs)-1, ErrIndex)
	}
	return nil
}

// slot returns the entry of a path; nil if Replace removed the path.
func (s *Set) slot(id mrc.PathID) *slot {
	if i := index(id); i < len(s.evs) && s.evs[i].path.ID == id {
		return &s.evs[i]
	}
	return nil
}

// up reports whether the port of a value is up.
func (s *Set) up(e *slot) bool { return s.ports.Has(e.Port) }

// set changes the state of a value, and the counts of states.
func (s *Set) set(index int, to State) {
	e := &s.evs[index]
	more := alive(to) - alive(e.state)
	if more != 0 {
		s.active.valid = false
	}
	s.alive[e.Port] += more
	if s.up(e) {
		s.usable += more
	}
	if e.state == AssumedBad {
		s.bad--
	}
	if to == AssumedBad {
		s.bad++
	}
	e.state = to
}

func (s *Set) recount() {
	s.active.valid = false
	s.alive, s.usable, s.bad = [len(s.alive)]int{}, 0, 0
	for i := range s.evs {
		e := &s.evs[i]
		s.alive[e.Port] += alive(e.state)
		if s.up(e) {
			s.usable += alive(e.state)
		}
		if e.state == AssumedBad {
			s.bad++
		}
	}
}
