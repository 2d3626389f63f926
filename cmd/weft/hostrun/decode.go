package hostrun

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"

	"github.com/weft-sdn/weft/internal/strictyaml"
)

// Decode reads a host's configuration from YAML over what c has, and completes it. Errors begin with the file
// and, where the text is at fault, the line.
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
	err = complete(c)
	var f *FieldError
	if !errors.As(err, &f) {
		return err
	}
	if line, _ := strictyaml.Place(text, f.Field); line > 0 {
		return fmt.Errorf("%s:%d: %w", file, line, err)
	}
	return fmt.Errorf("%s: %w", file, err)
}

// TransportOf is what a configuration says its transport is; empty when it does not, or cannot be read.
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
