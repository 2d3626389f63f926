package hostrun

import (
	"errors"
	"fmt"
)

var (
	// ErrConfig reports that a configuration cannot be used; the text names the field.
	ErrConfig = errors.New("invalid host configuration")
	// ErrInterrupted reports that a host was told to end before it had done its work.
	ErrInterrupted = errors.New("interrupted")
	// ErrWrite reports that a write failed.
	ErrWrite = errors.New("write failed")
	// ErrReceive reports that a host will not receive what it expects.
	ErrReceive = errors.New("receiving failed")
)

// A FieldError is what is wrong with a field of a host's configuration. It wraps ErrConfig.
type FieldError struct{ Field, Problem string }

// Error is field and problem.
func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

// Unwrap is ErrConfig.
func (e *FieldError) Unwrap() error { return ErrConfig }

// Fault makes a FieldError.
func Fault(field, format string, args ...any) error {
	return &FieldError{field, fmt.Sprintf(format, args...)}
}
