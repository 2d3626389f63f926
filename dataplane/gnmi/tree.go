package gnmi

import (
	"slices"
	"strings"
)

// The tree is a few tables. A table is a list, or a container that exists once: a row is an entry
// of the list, and a leaf is a value in each row.

// An elem is one element of a path in the tree.
type elem struct {
	module, name string
	key          string // of a list; "": a container or a leaf
}

// kind defines where the value of a leaf comes from.
type kind uint8

const (
	// state is what the switch reports.
	state kind = iota
	// config holds the settings of clients.
	config
	// applied is state that repeats a leaf of config.
	applied
	// counter is state that changes without notice: it is sampled.
	counter
)

// A leaf of the rows of a table.
type leaf struct {
	table int
	below []elem // the row
	path  []elem // from the root
	kind  kind
	// value is a string, bool, identity, uint32 or uint64 (counter64); nil: the row has no such leaf.
	value func(*row) any
	// set describes how clients change the leaf; nil: they cannot.
	set *setting
}

// A table has rows with the same leaves.
type table struct {
	path   []elem
	keys   int // elements of path with a key
	parts  Parts
	leaves []int // indices of leaves
	// each calls f with every row. Rows with the same group come one after the other.
	each func(*view, func(*row))
}

// A row is an entry of a list.
type row struct {
	id    uint64   // within its table
	group uint64   // rows of one port have the same
	keys  []string // of the elements of the table's path that have one
	view  *view

	port     *Port
	settings Settings // of port
	link     link     // of port
	queue    *Queue
	priority *Priority
	part     *component
}

// A cell is the leaf of a row.
type cell struct {
	leaf int
	row  uint64
}

var (
	tables []table
	leaves []leaf
)

// define adds a table. Its leaves are in the order of sending.
func define(path string, parts Parts, each func(*view, func(*row)), all ...leaf) {
	t := table{path: elems("", path), parts: parts, each: each}
	for _, e := range t.path {
		if e.key != "" {
			t.keys++
		}
	}
	for _, l := range all {
		l.table = len(tables)
		l.path = slices.Concat(t.path, l.below)
		// An element below a row takes the module of the element above, unless it names a module.
		for i := range l.path {
			if l.path[i].module == "" {
				l.path[i].module = l.path[i-1].module
			}
		}
		l.below = l.path[len(t.path):]
		t.leaves = append(t.leaves, len(leaves))
		leaves = append(leaves, l)
	}
	tables = append(tables, t)
}

// elems reads "module:name/name[key]/…". An element without a module takes the module of the
// element before.
func elems(module, path string) (out []elem) {
	for part := range strings.SplitSeq(path, "/") {
		name, key, _ := strings.Cut(part, "[")
		e := elem{module: module, name: name, key: strings.TrimSuffix(key, "]")}
		if m, n, ok := strings.Cut(name, ":"); ok {
			e.module, e.name, module = m, n, m
		}
		out = append(out, e)
	}
	return out
}

func value(k kind, path string, v func(*row) any) leaf {
	return leaf{below: elems("", path), kind: k, value: v}
}

func init() {
	interfaceTables()
	queueTables()
	platformTables()
	systemTables()
}
