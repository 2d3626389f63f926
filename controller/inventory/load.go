package inventory

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"

	"github.com/weft-sdn/weft/internal/strictyaml"
)

// Load reads an inventory from YAML over the defaults and validates it. Errors
// name the line; several are joined.
func Load(text []byte) (*Inventory, error) {
	inv := Default()
	if err := strictyaml.Decode(text, &inv); err != nil {
		return nil, decodeError(text, err)
	}
	inv.fitTrimSize(text)
	err := inv.Validate()
	if err == nil {
		inv.keepCertificates()
		return &inv, nil
	}
	var faults Faults
	if errors.As(err, &faults) {
		for i := range faults {
			faults[i].Line, _ = strictyaml.Place(text, faults[i].Field)
		}
		return nil, faults
	}
	return nil, err
}

// decodeError adds the line.
func decodeError(text []byte, err error) error {
	var shape strictyaml.Faults
	if errors.As(err, &shape) {
		faults := make(Faults, len(shape))
		for i, f := range shape {
			faults[i] = Fault{Field: f.Field, Line: f.Line, Message: f.Message()}
		}
		return faults
	}
	var positioned yaml.Error
	if errors.As(err, &positioned) {
		return fmt.Errorf("inventory: %s", yaml.FormatError(err, false, true))
	}
	if line := strictyaml.Line(text, err); line > 0 {
		return fmt.Errorf("inventory: line %d: %w", line, err)
	}
	return fmt.Errorf("inventory: %w", err)
}
