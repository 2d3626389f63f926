package lab

import (
	"errors"
	"fmt"
	"os"

	"github.com/goccy/go-yaml"

	"github.com/weft-sdn/weft/internal/strictyaml"
)

// Load reads the YAML description of a network (see docs/config.md, Lab) and completes it. Errors name
// the file and, where the text is at fault, line and column.
func Load(path string) (Network, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Network{}, fmt.Errorf("lab: %w", err)
	}
	n, err := Parse(text)
	if err != nil {
		return Network{}, fmt.Errorf("%s: %w", path, err)
	}
	return n, nil
}

// Parse is Load for a text.
func Parse(text []byte) (Network, error) {
	var n Network
	if err := strictyaml.Decode(text, &n); err != nil {
		return Network{}, fmt.Errorf("%w: %s", ErrNetwork, yaml.FormatError(err, false, true))
	}
	if err := n.Complete(); err != nil {
		return Network{}, locate(text, err)
	}
	return n, nil
}

// locate adds the place in the text of the field that a FieldError names, or of the nearest
// thing around it that the text has.
func locate(text []byte, err error) error {
	var bad *FieldError
	if !errors.As(err, &bad) {
		return err
	}
	if line, column := strictyaml.Place(text, bad.Field); line > 0 {
		return fmt.Errorf("line %d, column %d: %w", line, column, err)
	}
	return err
}
