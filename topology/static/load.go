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

// placed is a fault with its place in a text, or in a file. It wraps ErrInvalid.
type placed struct {
	path    string // "": a text
	line    int
	field   string
	message string
}

func (p *placed) Error() string {
	at := fmt.Sprintf("%s:%d", p.path, p.line)
	if p.path == "" {
		at = fmt.Sprintf("line %d", p.line)
	}
	return fmt.Sprintf("%s: %s: %s", at, p.field, p.message)
}

func (p *placed) Unwrap() error { return ErrInvalid }

// Load reads a file. Errors name the file and, where the text is at fault, line, field and value.
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
	for _, err := range joined.Unwrap() {
		err.(*placed).path = path
	}
	return nil, err
}

// Parse reads a text. It returns all that is wrong, joined, each part with line and field.
func Parse(text []byte) (*Topology, error) {
	t := &Topology{}
	err := strictyaml.Decode(text, t)
	var all []error
	var wrong strictyaml.Faults
	if errors.As(err, &wrong) {
		for _, f := range wrong {
			all = append(all, &placed{line: f.Line, field: f.Field, message: f.Message()})
		}
		return nil, errors.Join(all...)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrInvalid, yaml.FormatError(err, false, true))
	}
	for _, f := range t.Validate() {
		line, _ := strictyaml.Place(text, f.Field)
		all = append(all, &placed{line: line, field: f.Field, message: f.Message()})
	}
	if len(all) > 0 {
		return nil, errors.Join(all...)
	}
	return t, nil
}
