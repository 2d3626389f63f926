package gnmi

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// A walk finds the leaves that an update has: one, or those of a JSON document.
type walk struct {
	take func(l leaf, v vars, text string)
}

// maxDepth bounds the nesting of a JSON value.
const maxDepth = 16

// update calls take for each leaf of an update that the tree has.
func (w *walk) update(tree *node, prefix *gpb.Path, u *gpb.Update) {
	document, isDocument := documentOf(u.GetVal())
	var v vars
	at := tree
	for _, part := range [...]*gpb.Path{prefix, u.GetPath()} {
		for _, e := range part.GetElem() {
			if isDocument && strings.Contains(e.GetName(), "*") {
				continue // the document has the names that the wildcard stands for
			}
			if at = at.step(e.GetName(), &v); at == nil || !at.key(func(k string) string {
				return known(e.GetKey()[k])
			}, &v) {
				return
			}
		}
	}
	if isDocument {
		w.document(at, v, document, 0)
		return
	}
	if at.leaf != "" {
		w.take(at.leaf, v, scalar(u.GetVal()))
	}
}

// known is a key of a path, "" for a wildcard.
func known(key string) string {
	if key == "*" {
		return ""
	}
	return key
}

// document calls take for each leaf of a JSON value at a node.
func (w *walk) document(at *node, v vars, value any, depth int) {
	if depth > maxDepth {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		if at.leaf != "" && len(value) == 1 { // SONiC wraps a leaf: {"openconfig-interfaces:mtu": 9100}
			for _, member := range value {
				w.take(at.leaf, v, textOf(member))
			}
			return
		}
		for name, member := range value {
			with := v
			next := at.step(name, &with)
			if next == nil {
				continue
			}
			list, ok := member.([]any)
			if !ok || len(next.keys) == 0 {
				w.document(next, with, member, depth+1)
				continue
			}
			for _, entry := range list { // of a list, whose keys are members
				members, ok := entry.(map[string]any)
				of := with
				if ok && next.key(func(k string) string { return textOf(members[k]) }, &of) {
					w.document(next, of, members, depth+1)
				}
			}
		}
	case []any:
	default:
		if at.leaf != "" {
			w.take(at.leaf, v, textOf(value))
		}
	}
}

// documentOf returns the JSON document of a value; ok is false for a scalar.
func documentOf(v *gpb.TypedValue) (document any, ok bool) {
	var text []byte
	switch v := v.GetValue().(type) {
	case *gpb.TypedValue_JsonVal:
		text = v.JsonVal
	case *gpb.TypedValue_JsonIetfVal:
		text = v.JsonIetfVal
	}
	if text = bytes.TrimSpace(text); len(text) == 0 || text[0] != '{' {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&document); err != nil {
		return nil, false
	}
	return document, true
}

// textOf returns a scalar of JSON as text, "" for anything else.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// scalar returns a scalar value as text, and "" for other values.
func scalar(v *gpb.TypedValue) string {
	quoted := func(b []byte) string {
		var s string
		if json.Unmarshal(b, &s) == nil {
			return s
		}
		return string(b) // a number
	}
	switch v := v.GetValue().(type) {
	case *gpb.TypedValue_StringVal:
		return v.StringVal
	case *gpb.TypedValue_AsciiVal:
		return v.AsciiVal
	case *gpb.TypedValue_UintVal:
		return strconv.FormatUint(v.UintVal, 10)
	case *gpb.TypedValue_IntVal:
		return strconv.FormatInt(v.IntVal, 10)
	case *gpb.TypedValue_BoolVal:
		return strconv.FormatBool(v.BoolVal)
	case *gpb.TypedValue_JsonVal:
		return quoted(v.JsonVal)
	case *gpb.TypedValue_JsonIetfVal:
		return quoted(v.JsonIetfVal)
	}
	return ""
}

// find returns the node that a path leads to; ok is false for a path that leads elsewhere. A key
// that is missing or a wildcard stands for all interfaces.
func find(tree *node, prefix, path *gpb.Path) (at *node, v vars, ok bool) {
	at = tree
	for _, part := range [...]*gpb.Path{prefix, path} {
		for _, e := range part.GetElem() {
			if at = at.step(e.GetName(), &v); at == nil {
				return nil, v, false
			}
			at.key(func(k string) string { return known(e.GetKey()[k]) }, &v)
		}
	}
	return at, v, true
}

// below returns the leaves at a node and below.
func (n *node) below(out []leaf) []leaf {
	if n.leaf != "" {
		out = append(out, n.leaf)
	}
	for _, c := range n.children {
		out = c.below(out)
	}
	for i := range n.named {
		out = n.named[i].below(out)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
