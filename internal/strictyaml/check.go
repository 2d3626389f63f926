package strictyaml

import (
	"encoding"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Fault describes a value in a text that its field does not accept.
type Fault struct {
	// Field is the path of the field in the text, such as hosts[2].address; empty: the document
	// itself.
	Field string
	// Line and Column count from 1; 0: unknown.
	Line, Column int
	// Value is the value in the text; empty for an unknown field.
	Value string
	// Want describes the right value.
	Want string
}

// Message is what is wrong, without the field and the place.
func (f Fault) Message() string {
	if f.Value == "" {
		return "unknown field: want " + f.Want
	}
	return "is " + f.Value + ": want " + f.Want
}

func (f Fault) Error() string {
	switch {
	case f.Field == "":
		return "the document " + f.Message()
	case f.Value == "":
		return f.Field + ": " + f.Message()
	}
	return f.Field + " " + f.Message()
}

// Faults is everything in a text that its fields do not take, in the order of the text.
type Faults []Fault

func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i := range f {
		lines[i] = f[i].Error()
		if f[i].Line > 0 {
			lines[i] = fmt.Sprintf("line %d: %s", f[i].Line, lines[i])
		}
	}
	return strings.Join(lines, "\n")
}

// Check returns every value below a node that a Go value of type t does not accept, and every
// unknown field. Where t wants a text, a number or boolean becomes the text as written, so "name:
// 1" names something "1". The tag "want" of a struct's field says what the field accepts, where its
// type accepts more.
func Check(node ast.Node, t reflect.Type) (faults Faults, err error) {
	defer recovered(&err)
	c := checker{anchors: make(map[string]ast.Node)}
	c.check(node, t, "")
	return c.faults, nil
}

type checker struct {
	anchors map[string]ast.Node
	faults  Faults
	depth   int
}

var (
	textType     = reflect.TypeFor[encoding.TextUnmarshaler]()
	durationType = reflect.TypeFor[time.Duration]()
	timeType     = reflect.TypeFor[time.Time]()
)

// check returns the node that takes the place of n.
func (c *checker) check(n ast.Node, t reflect.Type, field string) ast.Node {
	if c.depth++; c.depth > maxDepth {
		c.bad(n, field, "nested too deeply", fmt.Sprintf("at most %d levels", maxDepth))
		c.depth--
		return n
	}
	defer func() { c.depth-- }()
	switch x := n.(type) {
	case nil, *ast.NullNode:
		return n
	case *ast.AnchorNode:
		x.Value = c.check(x.Value, t, field)
		c.anchors[x.Name.GetToken().Value] = x.Value
		return n
	case *ast.AliasNode:
		if of := c.anchors[x.Value.GetToken().Value]; of != nil {
			c.check(of, t, field)
		}
		return n
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	text := reflect.PointerTo(t).Implements(textType)
	switch {
	case t.Kind() == reflect.Interface:
	case t.Kind() == reflect.Struct && !text && t != timeType:
		c.object(n, t, field)
	case t.Kind() == reflect.Slice && !text:
		c.list(n, t, field)
	case t.Kind() == reflect.Map && !text:
		c.table(n, t, field)
	case t.Kind() == reflect.String && !text:
		switch n.(type) {
		case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
			return ast.String(n.GetToken())
		}
		c.leaf(n, t, field)
	default:
		c.leaf(n, t, field)
	}
	return n
}

// object checks the fields of a mapping against those of a struct.
func (c *checker) object(n ast.Node, t reflect.Type, field string) {
	values, ok := entries(n)
	if !ok {
		c.mismatch(n, field, "an object")
		return
	}
	known := make(map[string]reflect.StructField)
	fieldsOf(t, known)
	for _, v := range values {
		if v.Key.Type() == ast.MergeKeyType {
			c.merged(v.Value, t, field)
			continue
		}
		name := v.Key.GetToken().Value
		of, ok := known[name]
		if !ok {
			c.faults = append(c.faults, c.at(v.Key, Fault{Field: join(field, name), Want: oneOf(known)}))
			continue
		}
		before, at := len(c.faults), join(field, name)
		v.Value = c.check(v.Value, of.Type, at)
		if want := of.Tag.Get("want"); want != "" { // that of the type promises too much
			for i := range c.faults[before:] {
				if f := &c.faults[before+i]; f.Field == at {
					f.Want = want
				}
			}
		}
	}
}

// merged checks what a merge key adds to a mapping: an alias, or a list of them.
func (c *checker) merged(n ast.Node, t reflect.Type, field string) {
	if list, ok := n.(*ast.SequenceNode); ok {
		for _, v := range list.Values {
			c.check(v, t, field)
		}
		return
	}
	c.check(n, t, field)
}

func (c *checker) list(n ast.Node, t reflect.Type, field string) {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		c.mismatch(n, field, "a list")
		return
	}
	for i := range s.Values {
		s.Values[i] = c.check(s.Values[i], t.Elem(), fmt.Sprintf("%s[%d]", field, i))
	}
}

func (c *checker) table(n ast.Node, t reflect.Type, field string) {
	values, ok := entries(n)
	if !ok {
		c.mismatch(n, field, "an object")
		return
	}
	for _, v := range values {
		if v.Key.Type() == ast.MergeKeyType {
			c.merged(v.Value, t, field)
			continue
		}
		at := join(field, v.Key.GetToken().Value)
		c.check(v.Key, t.Key(), at)
		v.Value = c.check(v.Value, t.Elem(), at)
	}
}

// leaf has the library read a value that has no parts of ours.
func (c *checker) leaf(n ast.Node, t reflect.Type, field string) {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode, *ast.SequenceNode:
		c.mismatch(n, field, wanted(t, nil))
		return
	}
	if err := DecodeNode(n, reflect.New(t).Interface(), yaml.Strict()); err != nil {
		c.mismatch(n, field, wanted(t, err))
	}
}

func (c *checker) bad(n ast.Node, field, value, want string) {
	c.faults = append(c.faults, c.at(n, Fault{Field: field, Value: value, Want: want}))
}

func (c *checker) mismatch(n ast.Node, field, want string) { c.bad(n, field, shown(n), want) }

// at adds the place of a node.
func (c *checker) at(n ast.Node, f Fault) Fault {
	if t := First(n).GetToken(); t != nil && t.Position != nil {
		f.Line, f.Column = t.Position.Line, t.Position.Column
	}
	return f
}

// First returns the node that a text shows first of a node: the token of a mapping itself is
// its first colon.
func First(n ast.Node) ast.Node {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 {
		n = m.Values[0]
	}
	if v, ok := n.(*ast.MappingValueNode); ok {
		return v.Key
	}
	return n
}

// entries returns the keys and values of a mapping.
func entries(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

// fieldsOf collects the fields of a struct by the names that the library reads them by.
func fieldsOf(t reflect.Type, into map[string]reflect.StructField) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("yaml")
		if tag == "" {
			tag = f.Tag.Get("json")
		}
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case slices.Contains(strings.Split(options, ","), "inline"):
			of := f.Type
			if of.Kind() == reflect.Pointer {
				of = of.Elem()
			}
			fieldsOf(of, into)
		case name == "-" || !f.IsExported():
		case name == "":
			into[strings.ToLower(f.Name)] = f
		default:
			into[name] = f
		}
	}
}

func join(field, name string) string {
	if field == "" {
		return name
	}
	return field + "." + name
}

func oneOf(known map[string]reflect.StructField) string {
	names := make([]string, 0, len(known))
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	return "one of " + strings.Join(names, ", ")
}

// maxShown bounds how many characters of a value messages repeat.
const maxShown = 64

// shown returns a value for messages: texts in quotes, numbers as written.
func shown(n ast.Node) string {
	switch x := n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "an object"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode:
		return fmt.Sprintf("%q", short(x.Value))
	case *ast.LiteralNode:
		return fmt.Sprintf("%q", short(x.Value.Value))
	}
	return short(n.GetToken().Value)
}

func short(s string) string {
	if r := []rune(s); len(r) > maxShown {
		return string(r[:maxShown]) + "…"
	}
	return s
}

// wants has what types take.
var wants = map[reflect.Type]string{
	reflect.TypeFor[netip.Addr]():     "an IP address such as 10.0.0.1 or 2001:db8::1",
	reflect.TypeFor[netip.Prefix]():   "a prefix such as 2001:db8::/32",
	reflect.TypeFor[netip.AddrPort](): "an address and a port such as [2001:db8::1]:179",
	durationType:                      "a duration such as 50us or 1.5ms",
	timeType:                          "a time such as 2026-01-02T15:04:05Z",
}

// A Wanter describes the input of its UnmarshalText, such as "a MAC address".
type Wanter interface{ Wanted() string }

// wanted describes in words the values that a type accepts. err is the error of the type's decoder,
// if the decoder ran.
func wanted(t reflect.Type, err error) string {
	if w, ok := reflect.New(t).Interface().(Wanter); ok {
		return w.Wanted()
	}
	if text, ok := wants[t]; ok {
		return text
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return fmt.Sprintf("a whole number of %d bits", t.Bits())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if !reflect.PointerTo(t).Implements(textType) {
			return fmt.Sprintf("a whole number of %d bits, 0 or more", t.Bits())
		}
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		if !reflect.PointerTo(t).Implements(textType) {
			return "a text"
		}
	}
	if err != nil {
		return "something else: " + err.Error()
	}
	return "a single value"
}
