package ev

import "fmt"

// A State is the state of an EV in a host. Its numbers are those of
// mrc_ctl_ev_state.
type State uint32

// States. A host marks EVs ASSUMED_BAD itself, the controller denies them.
// SKIP (table 9-3) is a host's own affair and never shows here.
const (
	Good       State = 1 << 0
	AssumedBad State = 1 << 1
	Denied     State = 1 << 2
	Unknown    State = 1 << 31
)

// String is the state's name in the specification.
func (s State) String() string {
	switch s {
	case Good:
		return "GOOD"
	case AssumedBad:
		return "ASSUMED_BAD"
	case Denied:
		return "DENIED"
	case Unknown:
		return "UNKNOWN"
	}
	return fmt.Sprintf("state %#x", uint32(s))
}

// MarshalText writes the state's name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a state's name.
func (s *State) UnmarshalText(text []byte) error {
	for _, known := range [...]State{Good, AssumedBad, Denied, Unknown} {
		if known.String() == string(text) {
			*s = known
			return nil
		}
	}
	return fmt.Errorf("EV state %.20q, want GOOD, ASSUMED_BAD, DENIED or UNKNOWN: %w", text, ErrMalformed)
}
