package client

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/weft-sdn/weft/api"
)

var (
	// ErrConfig: the configuration of a client cannot be used.
	ErrConfig = errors.New("cannot be used")
	// ErrUnreachable: no answer came from the server.
	ErrUnreachable = errors.New("cannot reach the controller")
	// ErrAnswer: the answer is not one of this API.
	ErrAnswer = errors.New("not an answer of the API")
)

// Problem is a refusal, application/problem+json (RFC 9457).
type Problem struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	// Code says what kind of refusal it is; stable.
	Code string `json:"code"`
	// Errors are the fields that are wrong.
	Errors []api.FieldError `json:"errors"`
}

// Error is one line: the status, the code, and every field with its limit.
func (p *Problem) Error() string {
	what := p.Code
	if what == "" {
		what = p.Title
	}
	if what == "" {
		what = http.StatusText(p.Status)
	}
	text := fmt.Sprintf("%d %s", p.Status, what)
	var fields []string
	for _, f := range p.Errors {
		fields = append(fields, fieldText(f))
	}
	switch {
	case len(fields) > 0:
		text += ": " + strings.Join(fields, "; ")
	case p.Detail != "":
		text += ": " + p.Detail
	}
	return strings.Join(strings.Fields(text), " ")
}

func fieldText(f api.FieldError) string {
	if f.Value != "" {
		return f.Error()
	}
	text := f.Field + ": want " + f.Want
	if f.Limit != nil {
		text += fmt.Sprintf(" (limit %d)", *f.Limit)
	}
	return text
}
