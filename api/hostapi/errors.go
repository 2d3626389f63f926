package hostapi

import (
	"errors"
	"fmt"
)

// Code is why a state or an update is refused (Refused.Code of host.proto).
type Code uint8

// Codes. CodeInvalid means a value that no host could take, CodeUnsupported one beyond this host's
// capabilities, CodeUnknownBase an update of a state that the host does not hold, CodeBusy a
// refusal of the device for now, CodeDevice one without a reason.
const (
	CodeInvalid Code = iota + 1
	CodeUnsupported
	CodeUnknownBase
	CodeBusy
	CodeDevice
)

// String is the code in words.
func (c Code) String() string {
	switch c {
	case CodeInvalid:
		return "invalid"
	case CodeUnsupported:
		return "unsupported"
	case CodeUnknownBase:
		return "unknown base"
	case CodeBusy:
		return "busy"
	case CodeDevice:
		return "device"
	}
	return fmt.Sprintf("code %d", uint8(c))
}

// A FieldError names the wrong field by its path in the message: "set_profiles[a-b].evs[3].value".
type FieldError struct {
	Code   Code
	Field  string
	Reason string // what is wrong, and what would be right
}

// Error is field and reason.
func (e *FieldError) Error() string {
	if e.Field == "" {
		return e.Reason
	}
	return e.Field + ": " + e.Reason
}

// within is the error of a field of a field.
func (e *FieldError) within(format string, args ...any) *FieldError {
	field := fmt.Sprintf(format, args...)
	switch {
	case e.Field == "":
	case field == "" || e.Field[0] == '[':
		field += e.Field
	default:
		field += "." + e.Field
	}
	return &FieldError{Code: e.Code, Field: field, Reason: e.Reason}
}

func invalid(field, format string, args ...any) *FieldError {
	return &FieldError{Code: CodeInvalid, Field: field, Reason: fmt.Sprintf(format, args...)}
}

func unsupported(field, format string, args ...any) *FieldError {
	return &FieldError{Code: CodeUnsupported, Field: field, Reason: fmt.Sprintf(format, args...)}
}

// AsRefusal returns the refusal of an update for err: the code and field of a FieldError in it,
// CodeDevice otherwise.
func AsRefusal(v Version, err error) *Refused {
	r := &Refused{Version: v, Code: CodeDevice, Reason: err.Error()}
	if e := (*FieldError)(nil); errors.As(err, &e) {
		r.Code, r.Field, r.Reason = e.Code, e.Field, e.Reason
	}
	r.Reason = r.Reason[:min(len(r.Reason), MaxReason)]
	return r
}
