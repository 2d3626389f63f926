package lab

import (
	"errors"
	"fmt"
	"os"

	"github.com/goccy/go-yaml"

	"github.com/weft-sdn/weft/internal/strictyaml"
)

// Load reads the YAML description of a network (see docs/config.md, Lab) and completes it. Errors
// name the file and, where the text is at fault, line, field, value and what would be right.
func Load(path string) (Network, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Network{}, fmt.Errorf("lab: %w", err)
	}
	n, err := Parse(text)
	if err != nil {
		return Network{}, each(err, func(err error) error {
			if at := (*placed)(nil); errors.As(err, &at) {
				at.path = path
				return at
			}
			return fmt.Errorf("%s: %w", path, err)
		})
	}
	return n, nil
}

// placed is a fault with its place in a text, or in a file.
type placed struct {
	path  string // "": a text
	line  int
	fault *FieldError
}

func (p *placed) Error() string {
	if p.path == "" {
		return fmt.Sprintf("line %d: %v", p.line, p.fault)
	}
	return fmt.Sprintf("%s:%d: %s: %s", p.path, p.line, p.fault.Field, p.fault.Problem)
}

func (p *placed) Unwrap() error { return p.fault }

// Parse is Load for a text.
func Parse(text []byte) (Network, error) {
	var n Network
	err := strictyaml.Decode(text, &n)
	var faults strictyaml.Faults
	if errors.As(err, &faults) {
		lines := make([]error, len(faults))
		for i, f := range faults {
			lines[i] = &placed{line: f.Line, fault: &FieldError{f.Field, f.Message()}}
		}
		return Network{}, errors.Join(lines...)
	}
	if err != nil {
		return Network{}, fmt.Errorf("%w: %s", ErrNetwork, yaml.FormatError(err, false, true))
	}
	mrc, pfc := n.MRC != nil, n.PFC != nil
	n.MRC, n.PFC = nil, nil // the defaults below them depend on the rest
	if err = n.Complete(); err == nil {
		err = n.readSettings(text, mrc, pfc)
	}
	if err != nil {
		return Network{}, locate(text, err)
	}
	return n, nil
}

// locate adds to each FieldError the place of the named field in the text, or the place of the
// nearest enclosing element in the text.
func locate(text []byte, err error) error {
	return each(err, func(err error) error {
		var bad *FieldError
		if !errors.As(err, &bad) {
			return err
		}
		if line, _ := strictyaml.Place(text, bad.Field); line > 0 {
			return &placed{line: line, fault: bad}
		}
		return err
	})
}

// each applies f to every joined error, or to a single error, and returns the results.
func each(err error, f func(error) error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return f(err)
	}
	var out []error
	for _, err := range joined.Unwrap() {
		out = append(out, f(err))
	}
	return errors.Join(out...)
}
