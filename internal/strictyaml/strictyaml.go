// Package strictyaml reads YAML that people write: a field that no one knows is an error, errors
// have a place, and no text makes the reader panic.
package strictyaml

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// ErrUnreadable is a text that the YAML library gives up on without saying where: it panics on a
// few ill-formed ones.
var ErrUnreadable = errors.New("not YAML that can be read")

// recovered turns a panic of the library into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", ErrUnreadable, p)
	}
}

// Parse returns the documents of a text. Errors of the library have their place; errors for texts
// that are too long, too deep, or expand too many aliases have the same form.
func Parse(text []byte) (file *ast.File, err error) {
	defer recovered(&err)
	if len(text) > maxText {
		return nil, beyond(&token.Token{Position: &token.Position{Line: 1, Column: 1}},
			"the text has %d octets: want at most %d", len(text), maxText)
	}
	return parse(text)
}

// Decode reads the first document of a text into v, over the present values. A text without a
// document changes nothing. Decode returns all [Faults] together, or an error of the library.
func Decode[T any](text []byte, v *T) error {
	file, err := Parse(text)
	if err != nil {
		return err
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil || file.Docs[0].Body.Type() == ast.CommentType {
		return nil
	}
	faults, err := Check(file.Docs[0].Body, reflect.TypeFor[T]())
	if err != nil {
		return err
	}
	if len(faults) > 0 {
		return faults
	}
	return DecodeNode(file.Docs[0].Body, v, yaml.Strict())
}

// DecodeNode reads a part of a parsed text over what v has. Options are the library's.
func DecodeNode(node ast.Node, v any, options ...yaml.DecodeOption) (err error) {
	defer recovered(&err)
	return yaml.NodeToValue(node, v, options...)
}

// FromJSON writes a JSON document as YAML. Values with nonprinting characters are quoted and
// escaped: the library writes such characters unescaped, and reads some back as different
// characters.
func FromJSON(document []byte) (text []byte, err error) {
	defer recovered(&err)
	file, err := parse(document)
	if err != nil {
		return nil, err
	}
	var v any
	if len(file.Docs) > 0 {
		if err := yaml.NodeToValue(file.Docs[0].Body, &v, yaml.UseOrderedMap()); err != nil {
			return nil, err
		}
	}
	text, err = yaml.Marshal(v)
	if err != nil || !strings.ContainsFunc(string(text), unprintable) {
		return text, err
	}
	return yaml.MarshalWithOptions(v, yaml.CustomMarshaler[string](func(s string) ([]byte, error) {
		if strings.ContainsFunc(s, unprintable) {
			return []byte(strconv.Quote(s)), nil // its escapes are among those of YAML
		}
		return yaml.Marshal(s)
	}))
}

// unprintable reports whether a scalar must not have a character as it is.
func unprintable(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }

// Place returns the line and column of a field, such as hosts[2].address, or of the nearest
// enclosing value in the text; zero if there is no such value. Both count from 1.
func Place(text []byte, field string) (line, column int) {
	file, err := Parse(text)
	if err != nil {
		return 0, 0
	}
	for ; field != ""; field = field[:max(0, strings.LastIndexAny(field, ".["))] {
		if node, err := find(file, field); err == nil && node != nil && node.GetToken() != nil {
			at := node.GetToken().Position
			return at.Line, at.Column
		}
	}
	return 0, 0
}

// Has reports whether a text has a field, such as hosts[2].address.
func Has(text []byte, field string) bool {
	file, err := Parse(text)
	if err != nil {
		return false
	}
	node, err := find(file, field)
	return err == nil && node != nil
}

// Line returns the line of an error of Decode or DecodeNode; 0: unknown. The library gives no line
// for values that UnmarshalText reads: their errors quote the value, or show it in parentheses, so
// Line searches the text for the value.
func Line(text []byte, err error) (line int) {
	var faults Faults
	if errors.As(err, &faults) && len(faults) > 0 {
		return faults[0].Line
	}
	var positioned yaml.Error
	if errors.As(err, &positioned) && positioned.GetToken() != nil {
		return positioned.GetToken().Position.Line
	}
	defer func() { _ = recover() }() // of the library: see recovered
	message := err.Error()
	for _, t := range lexer.Tokenize(string(text)) {
		isKey := t.Next != nil && t.Next.Type == token.MappingValueType
		if t.Value != "" && !isKey && (strings.Contains(message, strconv.Quote(t.Value)) ||
			strings.Contains(message, "("+t.Value+")")) {
			return t.Position.Line
		}
	}
	return 0
}

func find(file *ast.File, field string) (node ast.Node, err error) {
	defer recovered(&err)
	path, err := yaml.PathString("$." + field)
	if err != nil {
		return nil, err
	}
	return path.FilterFile(file)
}
