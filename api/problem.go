package api

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
)

// Code defines what kind of fault an [Error] is. Codes are stable; clients may
// switch on them.
type Code string

// The codes.
const (
	// CodeMalformed: not JSON, an unknown field or query parameter, a wrong type, or an invalid patch.
	CodeMalformed Code = "malformed"
	// CodeInvalid: a field breaks the rules.
	CodeInvalid Code = "invalid"
	// CodeLimit: a limit is exceeded.
	CodeLimit Code = "limit_exceeded"
	// CodeUnreachable: the network has no path to a receiver.
	CodeUnreachable Code = "unreachable"
	// CodeNotPlannable: the network lacks what the resource needs.
	CodeNotPlannable Code = "not_plannable"
	// CodeConflict: another resource is in the way. Also: the kind or field is new, and not all
	// controllers have been upgraded.
	CodeConflict Code = "conflict"
	// CodeExists: a resource of this name exists.
	CodeExists Code = "already_exists"
	// CodeNotFound: no resource of this name exists.
	CodeNotFound Code = "not_found"
	// CodeVersion: the resource has another version than a conditional update names.
	CodeVersion Code = "version_mismatch"
	// CodeUnavailable: a switch cannot be reached.
	CodeUnavailable Code = "unavailable"
	// CodeForbidden: the principal lacks the right, or the resource names something outside its
	// project.
	CodeForbidden Code = "forbidden"
	// CodeLastPath: the drain would remove the last path between two ends, which the detail names.
	CodeLastPath Code = "last_path"
	// CodeSettling: the topology lacks what the request names, and is not known whole yet.
	CodeSettling Code = "settling"
	// CodeUnknown: the store or the controller that decides did not say in time whether the change was
	// kept.
	CodeUnknown Code = "outcome_unknown"
)

// Error reports why an intent was refused. Nothing was changed, unless the code is CodeUnknown.
type Error struct {
	Code    Code
	Message string
	// Version, with CodeUnknown, is the version that the change gave the resource; 0: it deleted it.
	Version uint64
	// Fields are the offending fields, in the order of the spec.
	Fields []FieldError
}

// FieldError describes the fault of one field.
type FieldError struct {
	// Field is a path such as "spec.receivers[2].qpn".
	Field string `json:"field"`
	// Code is the code of the [Error] this field alone would make.
	Code Code `json:"code"`
	// Value is the given value.
	Value string `json:"value"`
	// Want describes the right value.
	Want string `json:"want"`
	// Limit is the exceeded limit, or nil.
	Limit *int64 `json:"limit,omitempty"`
}

func (f FieldError) Error() string {
	s := fmt.Sprintf("%s is %s: want %s", f.Field, f.Value, f.Want)
	if f.Value == "" {
		s = f.Field + ": want " + f.Want
	}
	if f.Limit != nil {
		s += fmt.Sprintf(" (limit %d)", *f.Limit)
	}
	return s
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Message)
	for i, f := range e.Fields {
		if i > 0 || e.Message != "" {
			b.WriteString("; ")
		}
		b.WriteString(f.Error())
	}
	return b.String()
}

// Is makes errors.Is match the sentinels below by code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Message == "" && len(t.Fields) == 0 && t.Code == e.Code
}

// Sentinels for errors.Is.
var (
	ErrNotFound = &Error{Code: CodeNotFound}
	ErrExists   = &Error{Code: CodeExists}
	ErrVersion  = &Error{Code: CodeVersion}
	ErrConflict = &Error{Code: CodeConflict}
	ErrLastPath = &Error{Code: CodeLastPath}
)

// Refuse returns the error of some field errors, nil for none. Its code is the common code of the
// fields, else CodeInvalid.
func Refuse(fields []FieldError) error {
	if len(fields) == 0 {
		return nil
	}
	e := &Error{Code: fields[0].Code, Fields: fields}
	for _, f := range fields {
		if f.Code != e.Code {
			e.Code = CodeInvalid
		}
	}
	return e
}

// Limit returns a pointer for FieldError.Limit.
func Limit(n int) *int64 {
	v := int64(n)
	return &v
}

// Problem is a refusal as it travels, application/problem+json (RFC 9457).
type Problem struct {
	Type     string `json:"type" format:"uri" doc:"urn:weft:problem: and the code."`
	Title    string `json:"title" doc:"The kind of problem in words; the same for every occurrence."`
	Status   int    `json:"status" doc:"HTTP status code."`
	Code     string `json:"code" doc:"Stable code of the kind of problem."`
	Detail   string `json:"detail,omitempty" doc:"This occurrence in words."`
	Instance string `json:"instance,omitempty" doc:"urn:weft:request: and the request's id, which the controller's log has too."`
	Field    string `json:"field,omitempty" doc:"The offending field, as a path from the top of the body, or a parameter. The first of errors."`
	Value    string `json:"value,omitempty" doc:"The field's value."`
	Limit    *int64 `json:"limit,omitempty" doc:"The limit that was exceeded."`
	Version  uint64 `json:"version,omitempty" doc:"With outcome_unknown: the version that the resource has if the change was kept, until somebody changes it again. No other content ever has it. Absent: the change was a deletion, or gives no version."`
	// Errors has every fault; Field, Value and Limit repeat the first error's.
	Errors []FieldError `json:"errors,omitempty" doc:"Every offending field."`
}

// Error returns one line: the status, the code, and every field with its limit.
func (p *Problem) Error() string {
	text := fmt.Sprintf("%d %s", p.Status, cmp.Or(p.Code, p.Title, http.StatusText(p.Status)))
	var fields []string
	for _, f := range p.Errors {
		fields = append(fields, f.Error())
	}
	switch {
	case len(fields) > 0:
		text += ": " + strings.Join(fields, "; ")
	case p.Detail != "":
		text += ": " + p.Detail
	}
	return strings.Join(strings.Fields(text), " ")
}

// GetStatus returns the HTTP status; the server's framework asks for it.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType returns the media type; the server's framework asks for it.
func (p *Problem) ContentType(string) string { return ProblemType }

// ProblemType is the media type of a [Problem].
const ProblemType = "application/problem+json"
