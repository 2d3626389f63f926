package inventory

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
)

// Load reads an inventory from YAML over the defaults and validates it. Errors
// name the line; several are joined.
func Load(text []byte) (*Inventory, error) {
	inv := Default()
	dec := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict())
	switch err := dec.Decode(&inv); {
	case errors.Is(err, io.EOF): // nothing but white space
		inv = Default()
	case err != nil:
		return nil, decodeError(text, err)
	}
	err := inv.Validate()
	if err == nil {
		return &inv, nil
	}
	file, parseErr := parser.ParseBytes(text, 0)
	if parseErr != nil {
		return nil, err
	}
	var faults Faults
	if errors.As(err, &faults) {
		for i := range faults {
			faults[i].Line = lineOf(file, faults[i].Field)
		}
		return nil, faults
	}
	return nil, err
}

// decodeError adds the line. The decoder gives none for values that are read by
// UnmarshalText; their errors quote the value, which is looked for.
func decodeError(text []byte, err error) error {
	var positioned yaml.Error
	if errors.As(err, &positioned) {
		return fmt.Errorf("inventory: %s", yaml.FormatError(err, false, true))
	}
	for _, t := range lexer.Tokenize(string(text)) {
		if t.Value != "" && strings.Contains(err.Error(), strconv.Quote(t.Value)) {
			return fmt.Errorf("inventory: line %d: %w", t.Position.Line, err)
		}
	}
	return fmt.Errorf("inventory: %w", err)
}

// lineOf returns the line of a field, or that of the nearest thing around it
// when the field is not in the text; 0 is unknown.
func lineOf(file *ast.File, field string) int {
	for field != "" {
		path, err := yaml.PathString("$." + field)
		if err == nil {
			if node, err := path.FilterFile(file); err == nil && node != nil && node.GetToken() != nil {
				return node.GetToken().Position.Line
			}
		}
		field = parentOf(field)
	}
	return 0
}

func parentOf(field string) string {
	for i := len(field) - 1; i > 0; i-- {
		if field[i] == '.' || field[i] == '[' {
			return field[:i]
		}
	}
	return ""
}
