package strictyaml

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// A SyntaxError is where a text stops being JSON.
type SyntaxError struct {
	Line int // from 1
	Err  error
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }
func (e *SyntaxError) Unwrap() error { return e.Err }

// ParseJSON returns the consecutive JSON values in a text, in nodes for [Check] and [DecodeNode].
// The library's own parser is for YAML: it does not take tabs between tokens, nor several values.
// Errors are *SyntaxError.
func ParseJSON(text []byte) ([]ast.Node, error) {
	if len(text) > maxText {
		return nil, &SyntaxError{Line: 1, Err: fmt.Errorf("the text has %d octets: want at most %d",
			len(text), maxText)}
	}
	r := &jsonReader{text: text, dec: json.NewDecoder(bytes.NewReader(text))}
	r.dec.UseNumber()
	var out []ast.Node
	for {
		t, err := r.dec.Token()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		var n ast.Node
		if err == nil {
			n, err = r.value(t)
		}
		if err != nil {
			return nil, r.failed(err)
		}
		out = append(out, n)
	}
}

type jsonReader struct {
	text  []byte
	dec   *json.Decoder
	depth int
	// breaks are the line breaks of the first seen octets, and begin is where their last line begins.
	seen, breaks, begin int
}

var errDeep = fmt.Errorf("nested too deeply: want at most %d levels", maxDepth)

// failed adds the line to an error.
func (r *jsonReader) failed(err error) error {
	at := r.dec.InputOffset()
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = syntax.Offset
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	line, _ := r.line(at)
	return &SyntaxError{Line: line, Err: err}
}

// line returns the line of an offset, from 1, and where the line begins. Offsets mostly grow: no
// octet is looked at for each of them.
func (r *jsonReader) line(offset int64) (line, begin int) {
	at := int(min(max(offset, 0), int64(len(r.text))))
	if at < r.seen {
		r.seen, r.breaks, r.begin = 0, 0, 0
	}
	if some := r.text[r.seen:at]; bytes.IndexByte(some, '\n') >= 0 {
		r.breaks += bytes.Count(some, []byte("\n"))
		r.begin = r.seen + bytes.LastIndexByte(some, '\n') + 1
	}
	r.seen = at
	return 1 + r.breaks, r.begin
}

// here returns the position of the latest token, which spans size octets.
func (r *jsonReader) here(size int) *token.Position {
	start := max(0, int(r.dec.InputOffset())-size)
	line, begin := r.line(int64(start))
	return &token.Position{Line: line, Column: start - begin + 1, Offset: start + 1}
}

func (r *jsonReader) next() (ast.Node, error) {
	t, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	return r.value(t)
}

// value returns the node of a value that begins with a token.
func (r *jsonReader) value(t json.Token) (ast.Node, error) {
	if r.depth++; r.depth > maxDepth {
		return nil, errDeep
	}
	defer func() { r.depth-- }()
	switch t := t.(type) {
	case json.Delim:
		if t == '[' {
			return r.list()
		}
		return r.object()
	case string:
		return r.literal(t), nil
	case json.Number:
		return number(token.New(t.String(), t.String(), r.here(len(t))))
	case bool:
		word := fmt.Sprint(t)
		return ast.Bool(token.New(word, word, r.here(len(word)))), nil
	}
	return ast.Null(token.New("null", "null", r.here(len("null")))), nil
}

// number is the node of a number: the library's own reading of one differs from JSON's.
func number(tk *token.Token) (ast.Node, error) {
	if v, err := strconv.ParseInt(tk.Value, 10, 64); err == nil {
		n := ast.Integer(tk)
		n.Value = v
		return n, nil
	}
	if v, err := strconv.ParseUint(tk.Value, 10, 64); err == nil {
		n := ast.Integer(tk)
		n.Value = v
		return n, nil
	}
	v, err := strconv.ParseFloat(tk.Value, 64)
	if err != nil {
		return nil, fmt.Errorf("%s is too large", tk.Value)
	}
	n := ast.Float(tk)
	n.Value = v
	return n, nil
}

// literal is a node of a text. Its place is its end's line: a JSON text has no line breaks.
func (r *jsonReader) literal(s string) *ast.StringNode {
	return ast.String(token.DoubleQuote(s, s, r.here(len(s)+2)))
}

func (r *jsonReader) list() (ast.Node, error) {
	s := ast.Sequence(token.New("[", "[", r.here(1)), true)
	for r.dec.More() {
		v, err := r.next()
		if err != nil {
			return nil, err
		}
		s.Values = append(s.Values, v)
	}
	_, err := r.dec.Token()
	return s, err
}

func (r *jsonReader) object() (ast.Node, error) {
	m := ast.Mapping(token.New("{", "{", r.here(1)), true)
	seen := make(map[string]bool)
	for r.dec.More() {
		t, err := r.dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string) // the decoder takes no other name
		if seen[name] {
			return nil, fmt.Errorf("%q is there twice", name)
		}
		seen[name] = true
		key := r.literal(name)
		v, err := r.next()
		if err != nil {
			return nil, err
		}
		m.Values = append(m.Values, ast.MappingValue(token.New(":", ":", key.GetToken().Position), key,
			v))
	}
	_, err := r.dec.Token()
	return m, err
}
