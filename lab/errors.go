package lab

import "errors"

var (
	// ErrNetwork reports that a network description cannot be used; the message names the field.
	ErrNetwork = errors.New("invalid network")
	// ErrUnknown reports that a name is not one of the lab's.
	ErrUnknown = errors.New("not in the lab")
)

// A FieldError names an unusable field of a network description, and the accepted values. It wraps
// ErrNetwork.
type FieldError struct {
	Field   string // as "links[2].portA"
	Problem string
}

func (e *FieldError) Error() string {
	return ErrNetwork.Error() + ": " + e.Field + ": " + e.Problem
}

// Unwrap returns ErrNetwork.
func (e *FieldError) Unwrap() error { return ErrNetwork }
