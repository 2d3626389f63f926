package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/weft-sdn/weft/internal/strictyaml"
)

// resource is a resource as a file has it: kind, name and spec, and what "weft get
// group -o yaml" adds to them. With a version, the resource must have it.
type resource[S any] struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Version uint64 `json:"version"`
	Spec    *S     `json:"spec"`
	Created any    `json:"created"`
	Changed any    `json:"changed"`
	Status  any    `json:"status"`
	// Items make the document a list, as "weft get groups -o yaml" writes it.
	Items []resource[S] `json:"items"`
}

// shape is what a document has, whatever the kind.
type shape struct {
	kind, name string
	spec       bool
	items      []shape // nil: it is no list
}

func (d *resource[S]) shape() shape {
	s := shape{kind: d.Kind, name: d.Name, spec: d.Spec != nil}
	if d.Items != nil {
		s.items = make([]shape, len(d.Items))
		for i := range d.Items {
			s.items[i] = d.Items[i].shape()
		}
	}
	return s
}

// rawDocument is the same, with the spec as it was written: what is left out
// there is for the controller to fill in.
type rawDocument struct {
	Kind    string          `json:"kind"`
	Name    string          `json:"name"`
	Version uint64          `json:"version"`
	Spec    json.RawMessage `json:"spec"`
	Items   []rawDocument   `json:"items"`
}

// applied is a resource to apply.
type applied struct {
	kind    *kind
	where   string          // file and line
	Name    string          `json:"name,omitempty"`
	Version uint64          `json:"version,omitempty"`
	Spec    json.RawMessage `json:"spec"`
}

// readDocuments reads the resources of a file, "-" being standard input.
func readDocuments(file string, stdin io.Reader) ([]applied, error) {
	var text []byte
	var err error
	if file == "-" {
		file = "standard input"
		text, err = io.ReadAll(stdin)
	} else {
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, &usageError{err}
	}
	out, err := parseDocuments(file, text)
	if err != nil {
		return nil, &usageError{err}
	}
	if len(out) == 0 {
		return nil, usagef("%s: there is no resource in it", file)
	}
	return out, nil
}

// parseDocuments reads resources from YAML documents, or from JSON values one after
// the other. Errors begin with file and line.
func parseDocuments(file string, text []byte) ([]applied, error) {
	if start := bytes.TrimLeft(text, " \t\r\n"); len(start) > 0 && start[0] == '{' {
		return parseJSON(file, text)
	}
	return parseYAML(file, text)
}

func parseYAML(file string, text []byte) ([]applied, error) {
	parsed, err := strictyaml.Parse(text)
	if err != nil {
		return nil, yamlError(file, text, err)
	}
	var out []applied
	for _, doc := range parsed.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.NullType || doc.Body.Type() == ast.CommentType {
			continue
		}
		where := file
		if t := doc.Body.GetToken(); t != nil {
			where = fmt.Sprintf("%s:%d", file, firstLine(doc.Body))
		}
		var plain any
		if err := strictyaml.DecodeNode(doc.Body, &plain); err != nil {
			return nil, yamlError(file, text, err)
		}
		whole, err := json.Marshal(plain)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		k, err := kindOf(whole)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		typed, err := k.yaml(doc.Body)
		if err != nil {
			return nil, yamlError(file, text, err)
		}
		if out, err = addDocument(out, where, k, &typed, whole); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// firstLine is the line of the first key of a mapping; the token of the mapping
// itself is its first colon.
func firstLine(n ast.Node) int {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 {
		n = m.Values[0]
	}
	if v, ok := n.(*ast.MappingValueNode); ok {
		n = v.Key
	}
	return n.GetToken().Position.Line
}

func parseJSON(file string, text []byte) ([]applied, error) {
	var out []applied
	dec := json.NewDecoder(bytes.NewReader(text))
	for {
		rest := text[dec.InputOffset():]
		begin := int(dec.InputOffset()) + len(rest) - len(bytes.TrimLeft(rest, " \t\r\n"))
		var whole json.RawMessage
		if err := dec.Decode(&whole); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			at := int64(len(text))
			var syntax *json.SyntaxError
			if errors.As(err, &syntax) {
				at = syntax.Offset
			}
			return nil, fmt.Errorf("%s:%d: %w", file, lineAt(text, int(at)), err)
		}
		k, err := kindOf(whole)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, lineAt(text, begin), err)
		}
		typed, offset, err := k.json(whole)
		if err != nil {
			at, message := begin+int(offset), strings.TrimPrefix(err.Error(), "json: ")
			var mistyped *json.UnmarshalTypeError
			if errors.As(err, &mistyped) {
				at = begin + int(mistyped.Offset)
				message = fmt.Sprintf("%s is a JSON %s: want %s", mistyped.Field, mistyped.Value, wanted(mistyped.Type.String()))
			}
			return nil, fmt.Errorf("%s:%d: %s", file, lineAt(text, at), message)
		}
		if out, err = addDocument(out, fmt.Sprintf("%s:%d", file, lineAt(text, begin)), k, &typed, whole); err != nil {
			return nil, err
		}
	}
}

// lineAt is the line of an offset, counted from 1.
func lineAt(text []byte, offset int) int {
	return 1 + bytes.Count(text[:min(max(offset, 0), len(text))], []byte("\n"))
}

// addDocument adds the resource, or the resources, of a document.
func addDocument(out []applied, where string, k *kind, typed *shape, whole []byte) ([]applied, error) {
	var raw rawDocument
	if err := json.Unmarshal(whole, &raw); err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	if typed.items != nil {
		if typed.name != "" || typed.spec {
			return nil, fmt.Errorf("%s: has items beside name and spec: want a %s or a list of %ss", where, k.noun, k.noun)
		}
		for i := range typed.items {
			item := &typed.items[i]
			if item.kind != "" && item.kind != k.name {
				return nil, fmt.Errorf("%s: items[%d]: kind is %q: want that of the list, %q", where, i, item.kind, k.name)
			}
			whole, err := json.Marshal(raw.Items[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", where, err)
			}
			if out, err = addDocument(out, fmt.Sprintf("%s: items[%d]", where, i), k, item, whole); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	if typed.name == "" {
		return nil, fmt.Errorf("%s: name is missing", where)
	}
	if !typed.spec {
		return nil, fmt.Errorf("%s: %s %s: spec is missing", where, k.noun, typed.name)
	}
	if _, err := k.path(raw.Name); err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	return append(out, applied{kind: k, where: where, Name: raw.Name, Version: raw.Version, Spec: raw.Spec}), nil
}

// mistyped is the decoder's message about a value of the wrong type.
var mistyped = regexp.MustCompile(`^cannot unmarshal .* of type (\S+)$`)

// wanted says in words what a Go type takes.
func wanted(goType string) string {
	switch {
	case strings.Contains(goType, "int"):
		return "a whole number of " + strings.Trim(goType, "*uint") + " bits, 0 or more"
	case strings.HasSuffix(goType, "string"):
		return "a string"
	case strings.HasSuffix(goType, "bool"):
		return "true or false"
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	}
	return "an object"
}

// yamlError puts file and line before what is wrong.
func yamlError(file string, text []byte, err error) error {
	message := err.Error()
	var positioned yaml.Error
	if errors.As(err, &positioned) && positioned.GetToken() != nil {
		message = positioned.GetMessage()
		if m := mistyped.FindStringSubmatch(message); m != nil {
			message = fmt.Sprintf("%q: want %s", positioned.GetToken().Value, wanted(m[1]))
		}
	}
	if line := strictyaml.Line(text, err); line > 0 {
		return fmt.Errorf("%s:%d: %s", file, line, message)
	}
	return fmt.Errorf("%s: %s", file, message)
}
