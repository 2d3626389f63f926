package gnmi

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A pattern is the set that a path with wildcards selects (gNMI path conventions,
// "Wildcards in paths").
type pattern struct {
	all []selection
	// depth is the number of elements of the path; -1 when the path says "...".
	depth int
}

// A selection is a set of leaves in rows of one table.
type selection struct {
	table  int
	keys   []string // of the rows; "": any
	leaves []int    // indices, ascending; at least one
}

// maxElems bounds the elements of a path with its prefix.
const maxElems = 16

// anyDepth stands for any number of elements, "*" for one.
const anyDepth = "..."

// compile finds what a path below a prefix selects: a leaf, or all below a node. The error is of
// [find], or says that the switch has nothing there.
func compile(prefix, path *gpb.Path) (pattern, error) {
	p, err := find(prefix, path)
	if err == nil && len(p.all) == 0 {
		err = status.Errorf(codes.InvalidArgument,
			"path %s: no such leaf; see docs/reference/gnmi.md", text(prefix, path))
	}
	return p, err
}

// find finds what a path below a prefix selects, which may be nothing. The error says what of the
// path is no path.
func find(prefix, path *gpb.Path) (pattern, error) {
	var p pattern
	refuse := func(format string, args ...any) (pattern, error) {
		return p, status.Errorf(codes.InvalidArgument, "path %s: %s", text(prefix, path),
			fmt.Sprintf(format, args...))
	}
	query, bad := elemsOf(prefix, path)
	if bad != "" {
		return refuse("%s", bad)
	}
	m := matcher{query: query}
	p.depth = len(query)
	for _, e := range query {
		if e.GetName() == anyDepth {
			p.depth = -1
		}
	}
	for i := range leaves {
		t := &tables[leaves[i].table]
		m.found = m.found[:0]
		m.match(query, leaves[i].path, make([]string, 0, t.keys))
		for _, keys := range m.found {
			p.add(i, keys)
		}
	}
	if len(p.all) == 0 && m.bad != "" {
		return refuse("%s", m.bad)
	}
	return p, nil
}

// add selects a leaf of rows.
func (p *pattern) add(leaf int, keys []string) {
	for i := range p.all {
		s := &p.all[i]
		if s.table == leaves[leaf].table && slices.Equal(s.keys, keys) {
			s.leaves = append(s.leaves, leaf)
			return
		}
	}
	p.all = append(p.all, selection{leaves[leaf].table, keys, []int{leaf}})
}

// parts are what must be read of the switch for a pattern.
func (p *pattern) parts() (all Parts) {
	for _, s := range p.all {
		all |= tables[s.table].parts
	}
	return all
}

// selects reports whether a pattern has leaves of a table.
func (p *pattern) selects(table int) bool {
	return slices.ContainsFunc(p.all, func(s selection) bool { return s.table == table })
}

// elemsOf are the elements of a path below a prefix; bad says what is wrong with them.
func elemsOf(prefix, path *gpb.Path) (out []*gpb.PathElem, bad string) {
	for _, part := range []*gpb.Path{prefix, path} {
		if o := part.GetOrigin(); o != "" && o != "openconfig" {
			return nil, fmt.Sprintf("origin %q; want openconfig", o)
		}
		//lint:ignore SA1019 to say what to use instead
		if len(part.GetElem()) == 0 && len(part.GetElement()) > 0 {
			return nil, "it is in the deprecated field element; want elem"
		}
	}
	all := slices.Concat(prefix.GetElem(), path.GetElem())
	if len(all) > maxElems {
		return nil, fmt.Sprintf("%d elements; want at most %d", len(all), maxElems)
	}
	for _, e := range all {
		again := e.GetName() == anyDepth && len(out) > 0 && out[len(out)-1].GetName() == anyDepth
		switch {
		case e.GetName() == "":
			return nil, "an element without a name"
		case e.GetName() == anyDepth && len(e.GetKey()) > 0:
			return nil, badKey(e, "")
		case !again: // two are the same as one
			out = append(out, e)
		}
	}
	return out, ""
}

// A matcher finds the ways in which a path leads to a leaf, or to a node above it.
type matcher struct {
	query []*gpb.PathElem
	found [][]string // keys of each way, without doubles
	bad   string     // a key that there is not
}

func (m *matcher) match(query []*gpb.PathElem, to []elem, keys []string) {
	if len(query) == 0 {
		for _, e := range to {
			if e.key != "" {
				keys = append(keys, "")
			}
		}
		if !slices.ContainsFunc(m.found, func(k []string) bool { return slices.Equal(k, keys) }) {
			m.found = append(m.found, slices.Clone(keys))
		}
		return
	}
	q := query[0]
	if q.GetName() == anyDepth {
		m.match(query[1:], to, keys)
		if len(to) > 0 {
			if to[0].key != "" {
				keys = append(keys, "")
			}
			m.match(query, to[1:], keys)
		}
		return
	}
	if len(to) == 0 || q.GetName() != "*" && local(q.GetName()) != to[0].name {
		return
	}
	key := ""
	for name, v := range q.GetKey() {
		if name != to[0].key {
			m.bad = badKey(q, to[0].key)
			return
		}
		key = v
	}
	if to[0].key != "" {
		if key == "*" {
			key = ""
		}
		keys = append(keys, key)
	}
	m.match(query[1:], to[1:], keys)
}

// badKey reports which keys of an element are wrong; the right one is want, "" for none.
func badKey(e *gpb.PathElem, want string) string {
	right := "want none"
	if want != "" {
		right = "want " + want
	}
	return fmt.Sprintf("key %s of %s; %s", strings.Join(slices.Sorted(maps.Keys(e.GetKey())), " and "),
		local(e.GetName()), right)
}

// local returns a name without its module, which clients may leave out.
func local(name string) string {
	if _, after, ok := strings.Cut(name, ":"); ok {
		return after
	}
	return name
}

// text is a path as people write it, cut where it is long.
func text(parts ...*gpb.Path) string {
	var b strings.Builder
	for _, p := range parts {
		for _, e := range p.GetElem() {
			b.WriteString("/" + e.GetName())
			for _, key := range slices.Sorted(maps.Keys(e.GetKey())) {
				b.WriteString("[" + key + "=" + e.GetKey()[key] + "]")
			}
		}
	}
	const most = 200
	switch out := b.String(); {
	case out == "":
		return "/"
	case len(out) > most:
		return out[:most] + "…"
	default:
		return out
	}
}

// pathOf returns the path of a row's first elements: to a leaf, or to a node above.
func pathOf(r *row, elems []elem) *gpb.Path {
	out := &gpb.Path{Elem: make([]*gpb.PathElem, 0, len(elems))}
	keys := r.keys
	for _, e := range elems {
		p := &gpb.PathElem{Name: e.name}
		if e.key != "" {
			p.Key = map[string]string{e.key: keys[0]}
			keys = keys[1:]
		}
		out.Elem = append(out.Elem, p)
	}
	return out
}
