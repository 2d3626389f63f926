package static

import (
	"errors"
	"fmt"
	"os"

	"github.com/goccy/go-yaml"

	"github.com/weft-sdn/weft/internal/strictyaml"
)

// ErrInvalid is wrapped by what is wrong with a text.
var ErrInvalid = errors.New("invalid topology")

// Load reads a file. Errors name the file and, where the text is at fault, line, column
// and field.
func Load(path string) (*Topology, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t, err := Parse(text)
	if err == nil {
		return t, nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var all []error
	for _, err := range joined.Unwrap() {
		all = append(all, fmt.Errorf("%s: %w", path, err))
	}
	return nil, errors.Join(all...)
}

// Parse reads a text. It returns all that is wrong, joined, each part with line, column and field.
func Parse(text []byte) (*Topology, error) {
	t := &Topology{}
	err := strictyaml.Decode(text, t)
	var wrong strictyaml.Faults
	if errors.As(err, &wrong) {
		all := make([]error, len(wrong))
		for i, f := range wrong {
			all[i] = fmt.Errorf("line %d, column %d: %s %s: %w", f.Line, f.Column, f.Field, f.Message(),
				ErrInvalid)
		}
		return nil, errors.Join(all...)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrInvalid, yaml.FormatError(err, false, true))
	}
	var all []error
	for _, f := range t.Validate() {
		line, column := strictyaml.Place(text, f.Field)
		all = append(all, fmt.Errorf("line %d, column %d: %w: %w", line, column, f, ErrInvalid))
	}
	if len(all) > 0 {
		return nil, errors.Join(all...)
	}
	return t, nil
}
