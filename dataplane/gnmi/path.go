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
// "Wildcards in paths"): leaves of one interface, or of all.
type pattern struct {
	name   string // of the interface; "": all
	leaves []int  // indices, ascending; at least one
}

// maxElems bounds the elements of a path with its prefix.
const maxElems = 16

// compile finds what a path below a prefix selects: a leaf, or all below a node.
func compile(prefix, path *gpb.Path) (pattern, error) {
	var p pattern
	refuse := func(format string, args ...any) (pattern, error) {
		return p, status.Errorf(codes.InvalidArgument, "path %s: %s", text(prefix, path), fmt.Sprintf(format, args...))
	}
	for _, part := range []*gpb.Path{prefix, path} {
		if o := part.GetOrigin(); o != "" && o != "openconfig" {
			return refuse("origin %q; want openconfig", o)
		}
		//lint:ignore SA1019 to say what to use instead
		if len(part.GetElem()) == 0 && len(part.GetElement()) > 0 {
			return refuse("it is in the deprecated field element; want elem")
		}
	}
	elems := slices.Concat(prefix.GetElem(), path.GetElem())
	if len(elems) > maxElems {
		return refuse("%d elements; want at most %d", len(elems), maxElems)
	}
	var names []string
	keyed := false
	for _, e := range elems {
		name := local(e.GetName())
		if name == anyDepth && len(names) > 0 && names[len(names)-1] == anyDepth {
			continue // the same
		}
		names = append(names, name)
		for key, value := range e.GetKey() {
			if name != "interface" && name != "*" || key != "name" || keyed {
				return refuse("key %s of %s; want no key but name, of interface", key, name)
			}
			keyed = true
			if value != "*" {
				p.name = value
			}
		}
	}
	for i := range leaves {
		if selects(names, append([]string{"interfaces", "interface"}, leaves[i].path...)) {
			p.leaves = append(p.leaves, i)
		}
	}
	if len(p.leaves) == 0 {
		return refuse("no such leaf; want one below /interfaces/interface[name=…]/state")
	}
	return p, nil
}

// anyDepth stands for any number of elements, "*" for one.
const anyDepth = "..."

// selects reports whether names with wildcards lead to a leaf, or to a node above.
func selects(names, to []string) bool {
	switch {
	case len(names) == 0:
		return true
	case names[0] == anyDepth:
		return selects(names[1:], to) || len(to) > 0 && selects(names, to[1:])
	}
	return len(to) > 0 && (names[0] == "*" || names[0] == to[0]) && selects(names[1:], to[1:])
}

// local is a name without that of its module, which clients may leave out.
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

// pathOf is the path of a leaf.
func pathOf(p *Port, l *leaf) *gpb.Path {
	out := &gpb.Path{Elem: []*gpb.PathElem{
		{Name: "interfaces"}, {Name: "interface", Key: map[string]string{"name": p.Name}},
	}}
	for _, name := range l.path {
		out.Elem = append(out.Elem, &gpb.PathElem{Name: name})
	}
	return out
}
