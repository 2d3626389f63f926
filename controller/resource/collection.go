package resource

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/store"
)

// Kind is a kind of resource.
type Kind struct {
	// Name is the kind in messages: "SRv6 policy". Empty: the names of the resources include the kind.
	Name string
	// Prefix is the beginning of the keys of its records; it ends in "/".
	Prefix string
}

// what returns the name of a resource for messages.
func (k Kind) what(name string) string {
	if k.Name == "" {
		return name
	}
	return fmt.Sprintf("%s %q", k.Name, name)
}

// Item is one resource, as its record keeps it.
type Item[S, D any] struct {
	Name    string
	Version uint64
	// Created is when the first version was made, Changed when the present version was made.
	Created time.Time
	Changed time.Time
	// Spec is the wish of a client, complete with defaults.
	Spec S
	// Decided is the decision of the controller about the resource. Fields that JSON leaves out do not
	// outlive the controller.
	Decided D

	later later
}

func (i *Item[S, D]) version() uint64 {
	if i == nil {
		return 0
	}
	return i.Version
}

// later is a spec with a field that this release does not know; the zero value is none.
type later struct {
	spec  json.RawMessage // as the record has it
	field string
}

// read decodes a spec. A field that this release does not know is no error.
func (l *later) read(raw json.RawMessage, spec any) error {
	if raw == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	strict := d.Decode(spec)
	if strict == nil {
		return nil
	}
	if err := json.Unmarshal(raw, spec); err != nil {
		return err
	}
	l.spec, l.field = raw, strings.TrimPrefix(strict.Error(), "json: unknown field ")
	return nil
}

// Stored is a resource as recorded, without the decisions of the controller.
type Stored[S any] struct {
	Name    string
	Version uint64
	Created time.Time
	Spec    S
}

// Read returns the resource of a kind in a record.
func Read[S any](k Kind, r store.Record) (s Stored[S], err error) {
	var x record[S, json.RawMessage]
	if err := json.Unmarshal(r.Value, &x); err != nil {
		return s, fmt.Errorf("record %s: %w", r.Key, err)
	}
	return Stored[S]{strings.TrimPrefix(r.Key, k.Prefix), x.Version, x.Created, x.Spec}, nil
}

// record is the form of an Item in the store.
type record[S, D any] struct {
	Version uint64    `json:"version"`
	Created time.Time `json:"created"`
	Changed time.Time `json:"changed"`
	Spec    S         `json:"spec"`
	Decided D         `json:"decided"`
}

// Collection holds the resources of a kind by name. S is the specification, D the decision of the
// controller about a resource. A Collection is not safe for use by several goroutines.
//
// Collection is an interface for the sake of build times: Go compiles all methods of a generic
// struct again in every package that can reach a value of the struct, and all packages above the
// controller can reach the collections of all kinds.
type Collection[S, D any] interface {
	// Load takes a record; ok is false when its key is of another kind.
	Load(r store.Record) (ok bool, err error)
	// Len returns the number of resources.
	Len() int
	// Get returns a resource, nil when there is none.
	Get(name string) *Item[S, D]
	// All returns the resources by name.
	All() []*Item[S, D]
	// Put creates a resource, or makes its next version, at a time. The caller has checked the change.
	Put(name string, spec S, now time.Time) *Item[S, D]
	// keep is Put for what Try returned.
	keep(next *Item[S, D]) *Item[S, D]
	// Try returns the resource that Put would make, and changes nothing.
	Try(name string, spec S, now time.Time) *Item[S, D]
	// Save marks the record of a resource for another write, after a change of Decided.
	Save(name string)
	// Delete removes a resource.
	Delete(name string)
	// Changes returns the writes for the store since the last call.
	Changes() []store.Op
	// Records returns the records of all resources.
	Records() []store.Record
	of() Kind
}

// table implements [Collection].
type table[S, D any] struct {
	kind     Kind
	versions *Versions
	items    map[string]*Item[S, D]
	unsaved  map[string]bool
}

// NewCollection returns a collection without resources.
func NewCollection[S, D any](kind Kind, versions *Versions) Collection[S, D] {
	store.Form[record[S, D]](kind.Prefix)
	return &table[S, D]{kind: kind, versions: versions, items: make(map[string]*Item[S, D]),
		unsaved: make(map[string]bool)}
}

func (c *table[S, D]) Load(r store.Record) (ok bool, err error) {
	name, ok := strings.CutPrefix(r.Key, c.kind.Prefix)
	if !ok || name == "" {
		return false, nil
	}
	var x record[json.RawMessage, D]
	if err := json.Unmarshal(r.Value, &x); err != nil {
		return true, err
	}
	i := &Item[S, D]{Name: name, Version: x.Version, Created: x.Created, Changed: x.Changed,
		Decided: x.Decided}
	if err := i.later.read(x.Spec, &i.Spec); err != nil {
		return true, err
	}
	c.versions.seen(x.Version)
	c.items[name] = i
	return true, nil
}

func (c *table[S, D]) Len() int { return len(c.items) }

func (c *table[S, D]) Get(name string) *Item[S, D] { return c.items[name] }

func (c *table[S, D]) All() []*Item[S, D] {
	out := make([]*Item[S, D], 0, len(c.items))
	for _, name := range slices.SortedFunc(maps.Keys(c.items), natural.Compare) {
		out = append(out, c.items[name])
	}
	return out
}

// Find returns the resource with a name, or an error of CodeNotFound.
func Find[S, D any](c Collection[S, D], name string) (*Item[S, D], error) {
	if i := c.Get(name); i != nil {
		return i, nil
	}
	return nil, NotFound(c.of().what(name))
}

// Check returns the resource that a Put with a precondition replaces, nil when it creates one. Put
// does not replace a resource with a field that this release does not know: the field would be
// lost.
func Check[S, D any](c Collection[S, D], name string, pre Precondition) (*Item[S, D], error) {
	i, what := c.Get(name), c.of().what(name)
	if err := pre.Check(what, i.version()); err != nil {
		return i, err
	}
	if i != nil && i.later.spec != nil {
		return i, &api.Error{Code: api.CodeConflict, Message: fmt.Sprintf("%s has the field %s of a "+
			"later release, which this release would drop: want the change made by that release",
			what, i.later.field)}
	}
	return i, nil
}

// CheckPut is Check for a kind whose resources clients name: a new one needs a valid name.
func CheckPut[S, D any](c Collection[S, D], name string, pre Precondition) (*Item[S, D], error) {
	i, err := Check(c, name, pre)
	if err == nil && i == nil {
		err = api.ValidateName(name)
	}
	return i, err
}

// CheckDelete returns the resource that a Delete with a precondition removes.
func CheckDelete[S, D any](
	c Collection[S, D], name string, pre Precondition,
) (*Item[S, D], error) {
	i := c.Get(name)
	return i, pre.CheckExisting(c.of().what(name), i.version())
}

// Views returns all resources by name, as view makes them.
func Views[S, D, V any](c Collection[S, D], view func(*Item[S, D]) V) []V {
	out := make([]V, 0, c.Len())
	for _, i := range c.All() {
		out = append(out, view(i))
	}
	return out
}

// View returns the resource with a name, converted by view, or an error of CodeNotFound.
func View[S, D, V any](
	c Collection[S, D], name string, view func(*Item[S, D]) V,
) (v V, err error) {
	i, err := Find(c, name)
	if err == nil {
		v = view(i)
	}
	return v, err
}

func (c *table[S, D]) Put(name string, spec S, now time.Time) *Item[S, D] {
	return c.keep(c.Try(name, spec, now))
}

func (c *table[S, D]) keep(next *Item[S, D]) *Item[S, D] {
	next.Version = c.versions.Next()
	i := c.items[next.Name]
	if i == nil {
		i = &Item[S, D]{}
		c.items[next.Name] = i
	}
	*i = *next
	c.unsaved[next.Name] = true
	return i
}

func (c *table[S, D]) Try(name string, spec S, now time.Time) *Item[S, D] {
	i := Item[S, D]{Name: name, Created: now}
	if old := c.items[name]; old != nil {
		i = *old
	}
	i.Version, i.Changed, i.Spec, i.later = c.versions.last+1, now, spec, later{}
	return &i
}

func (c *table[S, D]) Save(name string) { c.unsaved[name] = true }

func (c *table[S, D]) Delete(name string) {
	delete(c.items, name)
	c.unsaved[name] = true
}

func (c *table[S, D]) Changes() []store.Op {
	var out []store.Op
	for _, name := range slices.Sorted(maps.Keys(c.unsaved)) {
		op := store.Op{Key: c.kind.Prefix + name}
		if i := c.items[name]; i != nil {
			op.Value = encode(i)
		}
		out = append(out, op)
	}
	clear(c.unsaved)
	return out
}

func (c *table[S, D]) Records() []store.Record {
	var out []store.Record
	for _, i := range c.All() {
		out = append(out, store.Record{Key: c.kind.Prefix + i.Name, Value: encode(i)})
	}
	return out
}

func encode[S, D any](i *Item[S, D]) []byte {
	if i.later.spec != nil {
		return Encode(record[json.RawMessage, D]{i.Version, i.Created, i.Changed, i.later.spec,
			i.Decided})
	}
	return Encode(record[S, D]{i.Version, i.Created, i.Changed, i.Spec, i.Decided})
}

func (c *table[S, D]) of() Kind { return c.kind }

// Encode returns a record of plain structs as JSON.
func Encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("resource: record cannot be written: %v", err)) // plain structs of our own
	}
	return b
}
