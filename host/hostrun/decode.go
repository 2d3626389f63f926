package hostrun

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"

	"github.com/weft-sdn/weft/internal/strictyaml"
)

// Decode reads a host's configuration from YAML over what c has, and completes it. Each fault of
// the file is a line of the error, which begins with the file and, where the text is at fault, the
// line.
func Decode[C any](file string, text []byte, c *C, complete func(*C) error) error {
	parsed, err := strictyaml.Parse(text)
	if err == nil && len(parsed.Docs) > 1 {
		return fmt.Errorf("%s: %d documents: want one: %w", file, len(parsed.Docs), ErrConfig)
	}
	if err == nil {
		err = strictyaml.Decode(text, c)
	}
	var faults strictyaml.Faults
	if errors.As(err, &faults) {
		lines := make([]error, len(faults))
		for i, f := range faults {
			lines[i] = fmt.Errorf("%s:%d: %w: %w", file, f.Line, ErrConfig, f)
		}
		return errors.Join(lines...)
	}
	if err != nil {
		message := err.Error()
		var at yaml.Error
		if errors.As(err, &at) {
			message = at.GetMessage()
		}
		if line := strictyaml.Line(text, err); line > 0 {
			return fmt.Errorf("%s:%d: %w: %s", file, line, ErrConfig, message)
		}
		return fmt.Errorf("%s: %w: %s", file, ErrConfig, message)
	}
	var placed []error
	for _, err := range each(complete(c)) {
		var f *FieldError
		switch {
		case !errors.As(err, &f):
		case place(text, f) > 0:
			err = fmt.Errorf("%s:%d: %w", file, place(text, f), err)
		default:
			err = fmt.Errorf("%s: %w", file, err)
		}
		placed = append(placed, err)
	}
	return errors.Join(placed...)
}

// place returns the line of a field, 0 when the text does not have it.
func place(text []byte, f *FieldError) int {
	line, _ := strictyaml.Place(text, f.Field)
	return line
}

// each returns the errors that errors.Join has joined, however deep.
func each(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		if err == nil {
			return nil
		}
		return []error{err}
	}
	var out []error
	for _, e := range joined.Unwrap() {
		out = append(out, each(e)...)
	}
	return out
}

// TransportOf returns the transport that a configuration names; "" without one, or if the text is
// unreadable.
func TransportOf(text []byte) string {
	var head struct {
		Transport string `yaml:"transport"`
	}
	parsed, err := strictyaml.Parse(text)
	if err != nil || len(parsed.Docs) == 0 || parsed.Docs[0].Body == nil {
		return ""
	}
	if err := strictyaml.DecodeNode(parsed.Docs[0].Body, &head); err != nil {
		return ""
	}
	return head.Transport
}
