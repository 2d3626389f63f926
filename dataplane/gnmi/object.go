package gnmi

import (
	"fmt"
	"strings"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// A forest gathers leaves as objects: one for each node at a depth that leaves are below of.
type forest struct {
	depth    int // elements of the path of a node
	encoding gpb.Encoding
	paths    []*gpb.Path
	nodes    []any // a *node, or the value of a leaf
	at       map[string]int
}

// A node is a container or the entry of a list.
type node struct {
	members map[string]any // *node, *nodes or a value
}

// nodes is a list.
type nodes struct {
	all []*node
	at  map[string]*node // by key
}

// MarshalJSON implements json.Marshaler.
func (n *node) MarshalJSON() ([]byte, error) { return toJSON(n.members), nil }

// MarshalJSON implements json.Marshaler.
func (n *nodes) MarshalJSON() ([]byte, error) { return toJSON(n.all), nil }

func newNode() *node { return &node{members: make(map[string]any)} }

func (f *forest) add(r *row, l int, v any) {
	path := leaves[l].path
	if f.depth > len(path) {
		return
	}
	var id strings.Builder
	keys := r.keys
	for _, e := range path[:f.depth] {
		fmt.Fprintf(&id, "/%s", e.name)
		if e.key != "" {
			fmt.Fprintf(&id, "%q", keys[0])
			keys = keys[1:]
		}
	}
	if f.at == nil {
		f.at = make(map[string]int)
	}
	i, known := f.at[id.String()]
	if !known {
		i = len(f.nodes)
		f.at[id.String()] = i
		f.paths = append(f.paths, pathOf(r, path[:f.depth]))
		if f.depth == len(path) {
			f.nodes = append(f.nodes, plain(v, f.encoding))
		} else {
			f.nodes = append(f.nodes, newNode())
		}
	}
	if n, ok := f.nodes[i].(*node); ok {
		n.add(path[f.depth:], keys, "", plain(v, f.encoding), f.encoding)
	}
}

// add puts a value below a node. The name of a member includes the module if it differs from the
// module of the node (RFC 7951, section 4).
func (n *node) add(path []elem, keys []string, module string, v any, e gpb.Encoding) {
	name := path[0].name
	if e == gpb.Encoding_JSON_IETF && path[0].module != module {
		name = path[0].module + ":" + name
	}
	if len(path) == 1 {
		n.members[name] = v
		return
	}
	var child *node
	if path[0].key == "" {
		if n.members[name] == nil {
			n.members[name] = newNode()
		}
		child = n.members[name].(*node)
	} else {
		if n.members[name] == nil {
			n.members[name] = &nodes{at: make(map[string]*node)}
		}
		list := n.members[name].(*nodes)
		if child = list.at[keys[0]]; child == nil {
			child = newNode()
			list.at[keys[0]] = child
			list.all = append(list.all, child)
		}
		keys = keys[1:]
	}
	child.add(path[1:], keys, path[0].module, v, e)
}

// notification returns the objects as updates, or nil without objects.
func (f *forest) notification(at time.Time, prefix *gpb.Path) *gpb.Notification {
	if len(f.nodes) == 0 {
		return nil
	}
	out := &gpb.Notification{Timestamp: at.UnixNano(), Prefix: prefix}
	for i, n := range f.nodes {
		v := &gpb.TypedValue{Value: &gpb.TypedValue_JsonVal{JsonVal: toJSON(n)}}
		if f.encoding == gpb.Encoding_JSON_IETF {
			v = &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: toJSON(n)}}
		}
		out.Update = append(out.Update, &gpb.Update{Path: f.paths[i], Val: v})
	}
	return out
}
