package spray

// State is the state of an entropy value (OCP MRC 1.0, table 9-3).
type State uint8

// States of an entropy value. Only GOOD ones are in the active set.
const (
	Good       State = iota // available for selection
	Skip                    // congested a moment ago: skipped once, then GOOD
	AssumedBad              // found not to reach the destination: not used until a probe comes back
	Denied                  // by the controller: not used until it says otherwise
)

// String is the name in table 9-3.
func (s State) String() string {
	switch s {
	case Good:
		return "GOOD"
	case Skip:
		return "SKIP"
	case AssumedBad:
		return "ASSUMED_BAD"
	case Denied:
		return "DENIED"
	}
	return "unknown EV state"
}

// alive is 1 for the states in which a value is used, now or soon, and 0 for the others.
func alive(s State) int {
	if s == Good || s == Skip {
		return 1
	}
	return 0
}
