package kind

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/store"
)

// Headings of operations in the document of the API.
const (
	HeadingGroups   = "multicast groups"
	HeadingSwitches = "switches"
	HeadingLossless = "lossless tenants"
	HeadingFabric   = "multipath fabric"
	HeadingNetwork  = "network"
	HeadingJobs     = "jobs"
	HeadingAccess   = "access"
)

// Names has the names of a kind.
type Names struct {
	// One and Many are in paths, ids of operations and documents: "srv6-policy", "srv6-policies".
	// Default of Many: the plural of One.
	One, Many string
	// Noun and Nouns are in messages: "SRv6 policy". Default of Nouns: the plural of Noun.
	Noun, Nouns string
	// Short and Shorts are at the command line. Default: One and Many.
	Short, Shorts string
}

// About describes a kind without its types.
type About struct {
	Names
	// Prefix is the prefix of the records' keys; it ends in "/". "": no records.
	Prefix string
	// Heading is the heading of the operations in the document of the API.
	Heading string
	// Reads and Writes are the scopes of the operations. With TenantRead and TenantWrite, a member of
	// a project may read and write the resources of the project.
	Reads, Writes access.Scope
	// Creates: clients create and delete the resources. Otherwise the resources exist by themselves.
	Creates bool
	// Example is a merge patch of a spec.
	Example any
	// Verbs are the operations; a kind that creates has all of them.
	Verbs Verbs
	// At is the path of a resource in the API; "": the collection, and the name.
	At string
	// Address is a struct whose fields are the parameters of At: joined by slashes they are the name.
	// nil: the name is the one parameter.
	Address any
	// Filter is the type, of package api, by which lists are filtered: its fields are parameters of
	// the query. nil: there is none.
	Filter any
	// Form defines how At's parameters make a resource's name: "SWITCH/PORT"; "": a name is the one
	// parameter.
	Form string
	// Help describes the resources in the help of the command line: "jobs: where their ranks are".
	// Default: Nouns, and Form.
	Help string
	// Events are the families of the events about a resource.
	Events []string
	// Untouched is the spec of a resource that no client has written, where clients cannot delete a
	// spec; nil: they can.
	Untouched any
	// Whole: a list has no pages.
	Whole bool
	// Refusals lists the HTTP statuses of write refusals that only some kinds return.
	Refusals []int
	// Needs is the refusal when the controller has no handle of the kind; "": it always has one. With
	// Plain a controller without what it needs has a handle to read by.
	Needs string
	Plain bool

	// Lists, Gets, Puts, Patches and Deletes are the headlines of operations in the API document; "":
	// the names make the headline. Listed, Created, Written, Patched and Deleted are further text
	// about the operations in the API document; "": no text, or the text for all kinds. Deleted is
	// a sentence for all clients that says what a deletion does, and names the kind.
	Lists, Gets, Puts, Patches, Deletes        string
	Listed, Created, Written, Patched, Deleted string
}

// Verbs are operations of a kind in the API.
type Verbs uint8

// The operations. Put goes with a merge patch.
const (
	List Verbs = 1 << iota
	Get
	Put
	Delete
)

// Has reports whether the API has an operation of the kind.
func (a *About) Has(v Verbs) bool { return a.Creates || a.Verbs&v != 0 }

// Kind is a kind of resources.
type Kind struct {
	About
	// Record is the kind of the records.
	Record resource.Kind
	// Request, Spec, View and List are the types of a body, of a spec, of a resource and of a list.
	Request, Spec, View, List reflect.Type
	// Handle reaches the resources; nil: the controller has none of the kind.
	Handle Handle[any, any]
	// Fixed: the controller has the resources to read, and cannot write them for want of what the
	// kind needs.
	Fixed bool

	zero   any // of View
	called func(view any) string
	decode func(body []byte) (Draft, error)
	bare   func(d Draft) any
	make   func(d Draft, created time.Time) any
	stored func(r store.Record) (any, error)
	hide   func(view any) any

	// fields of View; changes and takes are nil where it has none
	name, changes, takes []int
}

// Draft is a body whose spec has the type Kind.Spec.
type Draft = api.Request[any]

// NewView makes a kind whose clients only read views V, which have the field Name.
func NewView[V any](about About) *Kind {
	k := newKind[V](about)
	k.name = field[string](k.View, "Name")
	k.called = func(view any) string {
		return reflect.Indirect(reflect.ValueOf(view)).FieldByIndex(k.name).String()
	}
	return k
}

// NewNamed is NewView for views that have no field Name; name returns the name of one, nil: they
// have none.
func NewNamed[V any](about About, name func(*V) string) *Kind {
	k := newKind[V](about)
	k.called = func(view any) string {
		if name == nil {
			return ""
		}
		v, ok := view.(*V)
		if !ok {
			of := view.(V)
			v = &of
		}
		return name(v)
	}
	return k
}

func newKind[V any](about About) *Kind {
	var zero V
	k := &Kind{About: about, zero: zero}
	k.View, k.List = reflect.TypeFor[V](), reflect.TypeFor[api.List[V]]()
	k.Names = about.Names.complete()
	if k.Help == "" {
		k.Help = k.Nouns
		if k.Form != "" {
			k.Help += ", " + k.Form
		}
	}
	k.Record = resource.Kind{Name: k.Noun, Prefix: k.Prefix}
	if f, ok := k.View.FieldByName("Changes"); ok {
		k.changes = f.Index
	}
	if f, ok := k.View.FieldByName("Takes"); ok {
		k.takes = f.Index
	}
	return k
}

// NewDrainable makes a kind of what exists by itself and can be drained: clients write
// [api.AdminRequest].
func NewDrainable[V api.Intended](about About, name func(*V) string) *Kind {
	about.Puts = cmp.Or(about.Puts, "Drain "+Article(about.Noun)+", or use it again")
	about.Patches = cmp.Or(about.Patches, about.Puts+", by a merge patch")
	about.Example = map[string]any{"admin": api.AdminDrained}
	about.Untouched = api.AdminSpec{Admin: api.AdminUp}
	about.Events = append(about.Events, "drain")
	k := NewNamed(about, name)
	k.Request, k.Spec = reflect.TypeFor[api.AdminRequest](), reflect.TypeFor[api.AdminSpec]()
	k.decode = func(body []byte) (Draft, error) {
		var r api.AdminRequest
		err := json.Unmarshal(body, &r)
		return Draft{Version: r.Version, Spec: r.Spec}, err
	}
	k.bare = func(d Draft) any { return api.AdminRequest{Spec: d.Spec.(api.AdminSpec)} }
	return k
}

// New makes a kind whose clients write specs S and read views V. A view has the fields Name,
// Version and Spec. It may have Created, and Changes for what a dry run would change on switches.
func New[S any, V api.Intended](about About) *Kind {
	k := NewView[V](about)
	k.Request, k.Spec = reflect.TypeFor[api.Request[S]](), reflect.TypeFor[S]()
	version, spec := field[uint64](k.View, "Version"), field[S](k.View, "Spec")
	created, known := k.View.FieldByName("Created")
	k.decode = func(body []byte) (Draft, error) {
		var r api.Request[S]
		err := json.Unmarshal(body, &r)
		return Draft{Name: r.Name, Version: r.Version, Spec: r.Spec}, err
	}
	k.bare = func(d Draft) any { return api.Request[S]{Name: d.Name, Spec: d.Spec.(S)} }
	k.make = func(d Draft, at time.Time) any {
		v := reflect.New(k.View).Elem()
		v.FieldByIndex(k.name).SetString(d.Name)
		v.FieldByIndex(version).SetUint(d.Version)
		v.FieldByIndex(spec).Set(reflect.ValueOf(d.Spec))
		if known {
			v.FieldByIndex(created.Index).Set(reflect.ValueOf(at))
		}
		return v.Interface()
	}
	k.stored = func(r store.Record) (any, error) {
		s, err := resource.Read[S](k.Record, r)
		if err != nil {
			return nil, err
		}
		return k.make(Draft{Name: s.Name, Version: s.Version, Spec: s.Spec}, s.Created), nil
	}
	return k
}

// Hiding makes a kind remove details of other projects from a view, for clients that may not see
// these projects.
func Hiding[V any](k *Kind, hide func(*V)) *Kind {
	k.hide = func(view any) any {
		v := view.(V)
		hide(&v)
		return v
	}
	return k
}

// With returns a kind with its handle.
func (k *Kind) With(h Handle[any, any]) *Kind {
	bound := *k
	bound.Handle = h
	return &bound
}

// Reading returns a kind for a controller that can read the resources of the kind, but lacks the
// means to write them.
func Reading(k *Kind) *Kind {
	fixed := *k
	fixed.Fixed = true
	return &fixed
}

// field returns the place of a field of a view. It panics on a view without it: a fault of this
// program.
func field[T any](view reflect.Type, name string) []int {
	f, ok := view.FieldByName(name)
	if !ok || f.Type != reflect.TypeFor[T]() {
		panic(fmt.Sprintf("kind: %v has no field %s of type %v", view, name, reflect.TypeFor[T]()))
	}
	return f.Index
}

func (n Names) complete() Names {
	n.Many, n.Nouns = cmp.Or(n.Many, Plural(n.One)), cmp.Or(n.Nouns, Plural(n.Noun))
	if n.Short == "" {
		n.Short, n.Shorts = n.One, n.Many
	}
	n.Shorts = cmp.Or(n.Shorts, Plural(n.Short))
	return n
}

// Plural returns the plural of a noun.
func Plural(noun string) string {
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return stem + "ies"
	}
	return noun + "s"
}

// Article puts "a" or "an" before a noun.
func Article(noun string) string {
	if strings.ContainsRune("AEIOaeio", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// Path returns the path of the collection in the API.
func (k *Kind) Path() string { return "/v1/" + k.Many }

// Place returns the path of a resource in the API, with its parameters.
func (k *Kind) Place() string { return cmp.Or(k.At, k.Path()+"/{name}") }

// Zero returns an empty view.
func (k *Kind) Zero() any { return k.zero }

// NameOf returns the name of a resource of the kind; view is the resource, or points to it.
func (k *Kind) NameOf(view any) string { return k.called(view) }

// DraftOf returns a resource as a client would write it.
func (k *Kind) DraftOf(view any) Draft {
	version, spec := view.(api.Intended).Intent()
	return Draft{Name: k.NameOf(view), Version: version, Spec: spec}
}

// Decode reads a body, JSON of the type Request.
func (k *Kind) Decode(body []byte) (Draft, error) { return k.decode(body) }

// Bare returns a draft as a body with only the name and the spec.
func (k *Kind) Bare(d Draft) any { return k.bare(d) }

// Make returns a resource that was created at a time, without a status.
func (k *Kind) Make(d Draft, created time.Time) any { return k.make(d, created) }

// Stored returns a resource in the form of the record, without the controller's decisions about the
// resource.
func (k *Kind) Stored(r store.Record) (any, error) { return k.stored(r) }

// WithChanges returns a resource with what a dry run has found: changes of switches, and what
// others would lose.
func (k *Kind) WithChanges(view any, changes []api.SwitchChange, takes []api.Taken) any {
	if k.changes == nil && k.takes == nil {
		return view
	}
	v := reflect.New(k.View).Elem()
	v.Set(reflect.ValueOf(view))
	if k.changes != nil {
		v.FieldByIndex(k.changes).Set(reflect.ValueOf(changes))
	}
	if k.takes != nil {
		v.FieldByIndex(k.takes).Set(reflect.ValueOf(takes))
	}
	return v.Interface()
}

// Hidden returns a resource without its facts about other projects.
func (k *Kind) Hidden(view any) any {
	if k.hide == nil {
		return view
	}
	return k.hide(view)
}
