package gnmi

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// vars are the keys in a path: interface, queue and the like.
type vars struct {
	iface, queue, priority, sid string
}

func (v *vars) at(name string) *string {
	switch name {
	case "interface":
		return &v.iface
	case "queue":
		return &v.queue
	case "priority":
		return &v.priority
	case "sid":
		return &v.sid
	}
	return nil
}

// A pattern is a path with variables.
type pattern []patternElem

type patternElem struct {
	name string
	// parts are the name cut at its variables: texts at even places, variables at odd ones. A name
	// without a variable has one part.
	parts []string
	keys  map[string]string // a text, or a variable in braces
}

// parsePattern reads "/a/b[key=value]/c", where names and values may have {variables}. A value has
// no slash and no bracket.
func parsePattern(text string) (pattern, error) {
	if !strings.HasPrefix(text, "/") {
		return nil, fmt.Errorf("path %q does not begin with /", text)
	}
	var out pattern
	for part := range strings.SplitSeq(text[1:], "/") {
		name, rest, _ := strings.Cut(part, "[")
		e := patternElem{name: name}
		var err error
		if e.parts, err = cutVariables(name); err != nil || name == "" {
			return nil, fmt.Errorf("path %q: element %q: %w", text, part, errors.Join(err, errElement))
		}
		for rest != "" {
			var key string
			var ok bool
			if key, rest, ok = strings.Cut(rest, "]"); !ok {
				return nil, fmt.Errorf("path %q: element %q: %w", text, part, errElement)
			}
			k, v, ok := strings.Cut(key, "=")
			if !ok {
				return nil, fmt.Errorf("path %q: key %q: %w", text, key, errElement)
			}
			if e.keys == nil {
				e.keys = make(map[string]string)
			}
			e.keys[k] = v
			rest = strings.TrimPrefix(rest, "[")
		}
		out = append(out, e)
	}
	return out, nil
}

var errElement = errors.New("want a name, with keys as in name[key=value]")

func cutVariables(name string) (parts []string, err error) {
	for {
		before, rest, ok := strings.Cut(name, "{")
		if parts = append(parts, before); !ok {
			return parts, nil
		}
		variable, after, ok := strings.Cut(rest, "}")
		if !ok || new(vars).at(variable) == nil {
			return nil, fmt.Errorf("no variable {%s", rest)
		}
		parts, name = append(parts, variable), after
	}
}

// path returns the path that a pattern is for values of its variables.
func (p pattern) path(v vars) *gpb.Path {
	fill := func(text string) string {
		parts, err := cutVariables(text)
		if err != nil {
			return text
		}
		var b strings.Builder
		for i, s := range parts {
			if i%2 == 1 {
				s = *v.at(s)
			}
			b.WriteString(s)
		}
		return b.String()
	}
	out := &gpb.Path{}
	for _, e := range p {
		x := &gpb.PathElem{Name: fill(e.name)}
		for k, value := range e.keys {
			if x.Key == nil {
				x.Key = make(map[string]string)
			}
			x.Key[k] = fill(value)
		}
		out.Elem = append(out.Elem, x)
	}
	return out
}

// match takes the variables of a name. It fails where a variable has another value already.
func (e *patternElem) match(name string, v *vars) bool {
	rest, ok := strings.CutPrefix(name, e.parts[0])
	for i := 1; ok && i < len(e.parts); i += 2 {
		after := e.parts[i+1]
		var value string
		switch {
		case after != "":
			value, rest, ok = strings.Cut(rest, after)
		default:
			value, rest = rest, ""
		}
		to := v.at(e.parts[i])
		if ok = ok && value != "" && (*to == "" || *to == value); ok {
			*to = value
		}
	}
	return ok && rest == ""
}

// A node is a place in the tree of all patterns of a dialect.
type node struct {
	children map[string]*node // by local name, of elements without variables in their name
	named    []namedChild     // of the others
	// keys maps the keys of the element to variables.
	keys map[string]string
	leaf leaf
}

type namedChild struct {
	patternElem
	*node
}

// add puts a leaf at the end of a pattern.
func (n *node) add(p pattern, l leaf) error {
	for _, e := range p {
		next := n.child(e)
		for k, value := range e.keys {
			variable, ok := strings.CutPrefix(value, "{")
			variable, closed := strings.CutSuffix(variable, "}")
			if !ok || !closed || new(vars).at(variable) == nil {
				return fmt.Errorf("key %s of %s: want one variable", k, e.name)
			}
			if next.keys == nil {
				next.keys = make(map[string]string)
			}
			next.keys[k] = variable
		}
		n = next
	}
	if n.leaf != "" && n.leaf != l {
		return fmt.Errorf("it is that of %s and of %s", n.leaf, l)
	}
	n.leaf = l
	return nil
}

func (n *node) child(e patternElem) *node {
	if len(e.parts) == 1 {
		name := local(e.name)
		if n.children == nil {
			n.children = make(map[string]*node)
		}
		if n.children[name] == nil {
			n.children[name] = &node{}
		}
		return n.children[name]
	}
	for _, c := range n.named {
		if c.name == e.name {
			return c.node
		}
	}
	c := namedChild{patternElem: e, node: &node{}}
	n.named = append(n.named, c)
	// A name that begins with text is matched first, and then one with more variables: "{interface}"
	// also matches "Ethernet0:3", and "{interface}:{queue}" also "SID:5f00::/48".
	slices.SortStableFunc(n.named, func(a, b namedChild) int {
		return cmp.Or(strings.Compare(b.parts[0], a.parts[0]), cmp.Compare(len(b.parts), len(a.parts)))
	})
	return c.node
}

// step returns the child of a name, and takes the variables of the name; nil: there is none.
func (n *node) step(name string, v *vars) *node {
	if c := n.children[local(name)]; c != nil {
		return c
	}
	for i := range n.named {
		with := *v
		if n.named[i].match(name, &with) {
			*v = with
			return n.named[i].node
		}
	}
	return nil
}

// key reads the keys of an element; ok is false if a key of the pattern is missing.
func (n *node) key(get func(key string) string, v *vars) (ok bool) {
	for k, variable := range n.keys {
		value := get(k)
		if value == "" {
			return false
		}
		*v.at(variable) = value
	}
	return true
}
