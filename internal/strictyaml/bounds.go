package strictyaml

import (
	"errors"
	"fmt"
	"io"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/scanner"
	"github.com/goccy/go-yaml/token"
)

// Bounds of a text. The library takes memory for each token, for each level as much as all levels
// above it, and for each alias as much as what the alias stands for.
const (
	maxText   = 16 << 20 // octets
	maxTokens = 1 << 20
	maxDepth  = 100     // levels of lists and objects, those behind aliases included
	maxMarks  = 10_000  // anchors and tags: the parser searches all others for each
	maxCopies = 100_000 // values that aliases add
)

// beyond is an error of the library at a token, without the text around the token.
func beyond(t *token.Token, format string, args ...any) error {
	return &yaml.SyntaxError{Message: fmt.Sprintf(format, args...),
		Token: token.New(t.Value, t.Value, t.Position)}
}

func tooDeep(t *token.Token) error {
	return beyond(t, "nested too deeply: want at most %d levels", maxDepth)
}

// parse returns the documents of a text within the bounds of its tokens, levels and aliases.
func parse(text []byte) (*ast.File, error) {
	tokens, err := tokenize(string(text))
	if err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, err
	}
	m := measure{anchors: make(map[string]extent)}
	for _, doc := range file.Docs {
		m.of(doc.Body)
		if m.err != nil {
			return nil, m.err
		}
	}
	return file, nil
}

// tokenize returns the tokens of a text. It ends at the first that is beyond a bound: lists and
// objects in brackets are counted, and those by indentation by the columns where they begin.
func tokenize(text string) (token.Tokens, error) {
	var s scanner.Scanner
	s.Init(text)
	var all token.Tokens
	var columns []int // of the lists and objects by indentation that are open, outside brackets
	brackets, marks, line := 0, 0, 0
	for {
		some, err := s.Scan()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		for _, t := range some {
			if t.Position.Line != line && brackets == 0 { // what is not left of it has ended
				for line = t.Position.Line; len(columns) > 0 &&
					columns[len(columns)-1] >= t.Position.Column; {
					columns = columns[:len(columns)-1]
				}
			}
			switch t.Type {
			case token.SequenceStartType, token.MappingStartType:
				brackets++
			case token.SequenceEndType, token.MappingEndType:
				brackets = max(0, brackets-1)
			case token.SequenceEntryType, token.MappingKeyType:
				columns = append(columns, t.Position.Column)
			case token.MappingValueType:
				if key := len(all) - 1; key >= 0 && brackets == 0 {
					columns = append(columns, all[key].Position.Column)
				}
			case token.AnchorType, token.TagType:
				marks++
			}
			all.Add(t)
			switch {
			case brackets+len(columns) > maxDepth:
				return nil, tooDeep(t)
			case len(all) > maxTokens:
				return nil, beyond(t, "the text has more than %d tokens: want several files", maxTokens)
			case marks > maxMarks:
				return nil, beyond(t, "the text has more than %d anchors and tags", maxMarks)
			}
		}
	}
}

// extent is how large a node is with what its aliases stand for: its values, and their levels.
type extent struct{ values, levels int }

// measure has the extents of the anchors of a file.
type measure struct {
	anchors map[string]extent
	copies  int
	err     error
}

// of returns the extent of a node, and notes the first node that is beyond a bound.
func (m *measure) of(n ast.Node) (e extent) {
	add := func(part ast.Node) {
		of := m.of(part)
		e.values, e.levels = e.values+of.values, max(e.levels, of.levels)
	}
	switch n := n.(type) {
	case nil:
		return e
	case *ast.MappingNode:
		for _, v := range n.Values {
			add(v.Key)
			add(v.Value)
		}
		e.levels++
	case *ast.MappingValueNode:
		add(n.Key)
		add(n.Value)
		e.levels++
	case *ast.SequenceNode:
		for _, v := range n.Values {
			add(v)
		}
		e.levels++
	case *ast.MappingKeyNode:
		return m.of(n.Value)
	case *ast.TagNode:
		return m.of(n.Value)
	case *ast.AnchorNode:
		e = m.of(n.Value)
		m.anchors[n.Name.GetToken().Value] = e
		return e
	case *ast.AliasNode:
		e = m.anchors[n.Value.GetToken().Value] // one within its anchor has none yet
		if m.copies += e.values; m.copies > maxCopies && m.err == nil {
			m.err = beyond(n.GetToken(), "aliases stand for more than %d values", maxCopies)
		}
	}
	if e.values++; e.levels > maxDepth && m.err == nil {
		m.err = tooDeep(n.GetToken())
	}
	return e
}
