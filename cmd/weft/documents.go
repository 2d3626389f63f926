package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/strictyaml"
)

// resource holds the parts of a document: kind, name and spec, and what "weft get group -o yaml"
// adds to them. With a version, the resource must have it.
type resource[S any] struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Version uint64 `json:"version"`
	Spec    *S     `json:"spec"`
	Created any    `json:"created"`
	Changed any    `json:"changed"`
	Status  any    `json:"status"`
	// ID, Plane and Port are how "weft get" names what can be drained.
	ID    any `json:"id"`
	Plane any `json:"plane"`
	Port  any `json:"port"`
	// Items make the document a list, as "weft get groups -o yaml" writes it.
	Items []resource[S] `json:"items"`
}

// rawDocument has the spec as it was written: the controller fills in what is left out there.
type rawDocument = resource[json.RawMessage]

// applied is a resource to apply.
type applied struct {
	kind  *kind
	where string // file and line
	// faults lists the malformed fields of a document.
	faults []string
	api.Request[json.RawMessage]
}

// failed is an error about the resource, with its place.
func (r *applied) failed(err error) error {
	return fmt.Errorf("%s: %s %s: %w", r.where, r.kind.noun, r.Name, err)
}

// readFiles reads the resources in files, and returns all errors, also for a resource that appears
// twice. With an error, readFiles returns the readable resources, with their malformed fields.
func readFiles(files []string, stdin io.Reader) ([]applied, error) {
	var all []applied
	var failed []error
	for _, file := range files {
		more, err := readDocuments(file, stdin)
		all, failed = append(all, more...), append(failed, err)
	}
	first := make(map[string]string)
	for i := range all {
		r := &all[i]
		what := r.kind.noun + " " + r.Name
		if where, twice := first[what]; twice {
			failed = append(failed, usagef("%s: %s is at %s too: want each resource once", r.where, what,
				where))
			continue
		}
		first[what] = r.where
	}
	return all, errors.Join(failed...)
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
		return out, &usageError{err}
	}
	if len(out) == 0 {
		return nil, usagef("%s: there is no resource in it", file)
	}
	return out, nil
}

// parseDocuments reads resources from YAML documents, or from consecutive JSON values. It returns
// all readable resources and all errors; errors begin with file and line.
func parseDocuments(file string, text []byte) ([]applied, error) {
	docs, err := documentNodes(text)
	if err != nil {
		return nil, fileError(file, text, err)
	}
	var out []applied
	var failed []error
	for _, doc := range docs {
		more, err := parseDocument(file, text, doc)
		out, failed = append(out, more...), append(failed, err)
	}
	return out, errors.Join(failed...)
}

// documentNodes returns the nonempty documents of a text.
func documentNodes(text []byte) (docs []ast.Node, err error) {
	if start := bytes.TrimLeft(text, " \t\r\n"); len(start) > 0 && start[0] == '{' {
		return strictyaml.ParseJSON(text)
	}
	parsed, err := strictyaml.Parse(text)
	if err != nil {
		return nil, err
	}
	for _, doc := range parsed.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.NullType && doc.Body.Type() != ast.CommentType {
			docs = append(docs, doc.Body)
		}
	}
	return docs, nil
}

// parseDocument returns the resources of a document.
func parseDocument(file string, text []byte, doc ast.Node) ([]applied, error) {
	where := file
	if t := strictyaml.First(doc).GetToken(); t != nil {
		where = fmt.Sprintf("%s:%d", file, t.Position.Line)
	}
	k, err := kindOf(doc)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	// Check finds every fault in the document's shape before anything is read from it.
	faults, err := strictyaml.Check(doc, k.document)
	if err != nil {
		return nil, fileError(file, text, err)
	}
	out, err := readDocument(file, where, text, doc, k)
	if len(faults) == 0 {
		return out, err
	}
	fields := make([]string, len(faults))
	for i, f := range faults {
		fields[i] = f.Field
	}
	for i := range out {
		out[i].faults = fields
	}
	return out, fileError(file, text, faults) // what follows from them is not told as well
}

// readDocument returns the resources in a document of a kind, as written.
func readDocument(file, where string, text []byte, doc ast.Node, k *kind) ([]applied, error) {
	var plain any
	if err := strictyaml.DecodeNode(doc, &plain); err != nil {
		return nil, fileError(file, text, err)
	}
	whole, err := json.Marshal(plain)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	var raw rawDocument
	if err := json.Unmarshal(whole, &raw); err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	return resources(where, k, &raw)
}

// resources returns the resource, or those of the list, that a document is.
func resources(where string, k *kind, d *rawDocument) ([]applied, error) {
	if d.Items != nil {
		if d.Name != "" || d.Spec != nil {
			return nil, fmt.Errorf("%s: has items beside name and spec: want a %s or a list of %ss", where,
				k.noun, k.noun)
		}
		var out []applied
		var failed []error
		for i := range d.Items {
			item, at := &d.Items[i], fmt.Sprintf("%s: items[%d]", where, i)
			if item.Kind != "" && item.Kind != k.name {
				failed = append(failed, fmt.Errorf("%s: kind is %q: want that of the list, %q", at, item.Kind,
					k.name))
				continue
			}
			more, err := resources(at, k, item)
			out, failed = append(out, more...), append(failed, err)
		}
		return out, errors.Join(failed...)
	}
	if d.Name == "" {
		return nil, fmt.Errorf("%s: name is missing: want the name of the %s", where, k.noun)
	}
	if d.Spec == nil || len(*d.Spec) == 0 || string(*d.Spec) == "null" {
		return nil, fmt.Errorf("%s: %s %s: spec is missing: want an object", where, k.noun, d.Name)
	}
	if _, _, err := k.at(d.Name); err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	return []applied{{kind: k, where: where, Request: api.Request[json.RawMessage]{Name: d.Name,
		Version: d.Version, Spec: *d.Spec}}}, nil
}

// fileError puts file and line before each thing that is wrong with a text.
func fileError(file string, text []byte, err error) error {
	var faults strictyaml.Faults
	if errors.As(err, &faults) {
		lines := make([]error, len(faults))
		for i, f := range faults {
			lines[i] = fmt.Errorf("%s:%d: %w", file, f.Line, f)
		}
		return errors.Join(lines...)
	}
	var syntax *strictyaml.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("%s:%d: %w", file, syntax.Line, syntax.Err)
	}
	message := err.Error()
	var positioned yaml.Error
	if errors.As(err, &positioned) && positioned.GetToken() != nil {
		message = positioned.GetMessage()
	}
	if line := strictyaml.Line(text, err); line > 0 {
		return fmt.Errorf("%s:%d: %s", file, line, message)
	}
	return fmt.Errorf("%s: %s", file, message)
}

// kindOf returns the kind that a document names, and the first kind for a document without a kind.
func kindOf(doc ast.Node) (*kind, error) {
	var d struct {
		Kind any `json:"kind"`
	}
	if err := strictyaml.DecodeNode(doc, &d); err != nil || d.Kind == nil || d.Kind == "" {
		return kinds[0], nil // what is wrong is found when it is checked as that
	}
	var known []string
	for _, k := range kinds {
		if k.document == nil {
			continue
		}
		if k.name == d.Kind {
			return k, nil
		}
		known = append(known, k.name)
	}
	return nil, fmt.Errorf("kind is %v: want one of %s", d.Kind, strings.Join(known, ", "))
}
