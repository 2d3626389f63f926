package gnmi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A branch is a node of the tree of all tables. It has members, or is a leaf.
type branch struct {
	elem
	members map[string]*branch
	leaf    int // -1: it is none
}

// root is the branch above all others.
var root = sync.OnceValue(func() *branch {
	top := &branch{leaf: -1}
	for l := range leaves {
		b := top
		for _, e := range leaves[l].path {
			next := b.members[e.name]
			if next == nil {
				next = &branch{elem: e, leaf: -1}
				if b.members == nil {
					b.members = make(map[string]*branch)
				}
				b.members[e.name] = next
			}
			b = next
		}
		b.leaf = l
	}
	return top
})

// assign gives leaves the values of an update; a replacement takes all others below its path away.
func (e *editing) assign(u *gpb.Update, replace bool) error {
	refuse := func(where, format string, args ...any) error {
		at := text(e.prefix, u.GetPath())
		if where != "" {
			at = strings.TrimSuffix(at, "/") + where
		}
		return status.Errorf(codes.InvalidArgument, "path %s: %s", at, fmt.Sprintf(format, args...))
	}
	query, bad := elemsOf(e.prefix, u.GetPath())
	if bad != "" {
		return refuse("", "%s", bad)
	}
	at, keys, bad := root().find(query)
	if bad != "" {
		return refuse("", "%s", bad)
	}
	v, isJSON, err := decode(u.GetVal())
	if err != nil {
		return refuse("", "%v", err)
	}
	if at.leaf < 0 && !isJSON {
		return refuse("",
			"a container has no value of type %T; want json_val or json_ietf_val with an object",
			u.GetVal().GetValue())
	}
	if replace {
		p, err := compile(e.prefix, u.GetPath())
		if err != nil {
			return err
		}
		if p = p.of(func(l int) bool {
			return leaves[l].set != nil &&
				!leaves[l].set.fixed
		}); len(p.all) > 0 {
			e.clear(&p)
		}
	}
	if where, bad := e.put(at, keys, v); bad != "" {
		return refuse(where, "%s", bad)
	}
	return nil
}

// find walks down from a branch by a path without wildcards, and returns the keys on the way.
func (b *branch) find(query []*gpb.PathElem) (at *branch, keys []string, bad string) {
	for _, q := range query {
		name := q.GetName()
		next := b.members[local(name)]
		switch {
		case name == "*" || name == anyDepth:
			return nil, nil, fmt.Sprintf("wildcard %s; want a path without one", name)
		case next == nil || strings.Contains(name, ":") && name != next.module+":"+next.name:
			return nil, nil, fmt.Sprintf("no such element as %s; see docs/reference/gnmi.md", name)
		case next.key == "" && len(q.GetKey()) > 0:
			return nil, nil, badKey(q, "")
		}
		b = next
		if b.key == "" {
			continue
		}
		key, ok := q.GetKey()[b.key]
		switch {
		case len(q.GetKey()) > 1 || len(q.GetKey()) == 1 && !ok:
			return nil, nil, badKey(q, b.key)
		case !ok:
			return nil, nil, fmt.Sprintf("%s has no key %s; want %s[%s=…]", name, b.key, name, b.key)
		case key == "*":
			return nil, nil, fmt.Sprintf("wildcard in key %s of %s; want one entry", b.key, name)
		}
		keys = append(keys, key)
	}
	return b, keys, ""
}

// put gives a branch a value; an object gives its members theirs. Where it cannot, bad says why,
// and where is the place below the branch.
func (e *editing) put(b *branch, keys []string, v any) (where, bad string) {
	if b.leaf >= 0 {
		return "", e.putLeaf(b.leaf, keys, v)
	}
	object, ok := v.(map[string]any)
	if !ok {
		return "", fmt.Sprintf("value %s; want an object", shown(v))
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		m := b.members[local(name)]
		if m == nil || strings.Contains(name, ":") && name != m.module+":"+m.name {
			return "/" + name, "no such element; see docs/reference/gnmi.md"
		}
		if m.key == "" {
			if where, bad := e.put(m, keys, object[name]); bad != "" {
				return "/" + m.name + where, bad
			}
			continue
		}
		list, ok := object[name].([]any)
		if !ok {
			return "/" + m.name, fmt.Sprintf("value %s; want a list of objects", shown(object[name]))
		}
		for _, entry := range list {
			key, bad := keyOf(entry, m)
			if bad != "" {
				return "/" + m.name, bad
			}
			if where, bad := e.put(m, append(slices.Clone(keys), key), entry); bad != "" {
				return fmt.Sprintf("/%s[%s=%s]%s", m.name, m.key, key, where), bad
			}
		}
	}
	return "", ""
}

// keyOf is the key of an entry of a list.
func keyOf(entry any, list *branch) (key, bad string) {
	object, _ := entry.(map[string]any)
	v, ok := object[list.key]
	if !ok {
		v, ok = object[list.module+":"+list.key]
	}
	switch v := v.(type) {
	case string:
		return v, ""
	case json.Number:
		return v.String(), ""
	}
	if !ok {
		return "", fmt.Sprintf("entry %s has no %s; want an object with it", shown(entry), list.key)
	}
	return "", fmt.Sprintf("%s is %s; want a string or number", list.key, shown(v))
}

// putLeaf gives a leaf of a row a value.
func (e *editing) putLeaf(l int, keys []string, v any) (bad string) {
	leaf := &leaves[l]
	var at *row
	of := selection{keys: keys}
	tables[leaf.table].each(e.view, func(r *row) {
		if of.has(r) {
			at = r
		}
	})
	got, ok := scalar(v)
	switch {
	case at == nil:
		return fmt.Sprintf("there is no entry with key %s", strings.Join(keys, ", "))
	case !ok:
		return fmt.Sprintf("value %s; want a string, boolean or whole number", shown(v))
	case leaf.set == nil && leaf.isKey() || leaf.set != nil && leaf.set.fixed:
		want := leaf.value(at)
		if want == nil {
			return "there is no such leaf here"
		}
		if !same(got, want) {
			return fmt.Sprintf("value %s; want %s, which the switch has fixed", shown(v),
				shown(plain(want, gpb.Encoding_JSON_IETF)))
		}
	case leaf.set == nil:
		return "it is state, which clients cannot set; want a path with config"
	default:
		settings := e.view.settings[at.port.Number]
		if want := leaf.set.take(&settings, got); want != "" {
			return fmt.Sprintf("value %s; %s", shown(v), want)
		}
		e.view.settings[at.port.Number] = settings
	}
	return ""
}

// isKey reports whether a leaf is the key of its list.
func (l *leaf) isKey() bool {
	t := &tables[l.table]
	return len(l.below) == 1 && l.below[0].name == t.path[len(t.path)-1].key
}

// same reports whether a value from a client equals the value of a leaf, in any encoding.
func same(got, want any) bool {
	text := fmt.Sprint(got)
	if id, ok := want.(identity); ok {
		return text == id.name || text == id.module+":"+id.name
	}
	return text == fmt.Sprint(want)
}
