package kind

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/natural"
)

// Handle reaches the resources of one kind: clients write S and read V. A [Kind] has a handle that
// takes specs of the kind as any, and [Of] gives it the types. Its methods are called from
// many goroutines. A write returns when the store has what follows from it. Errors for clients are
// *[api.Error]; a change that is refused changes nothing.
type Handle[S, V any] interface {
	// List returns the resources that a query selects, in the order of the kind.
	List(ctx context.Context, q Query) (Page[V], error)
	// Get returns the resource of a name.
	Get(ctx context.Context, name string) (V, error)
	// Put creates a resource or replaces its spec. The spec that a resource has already changes
	// nothing, the version included.
	Put(
		ctx context.Context, name string, spec S, pre resource.Precondition,
	) (v V, created bool, err error)
	// Delete removes a resource that no other resource refers to.
	Delete(ctx context.Context, name string, pre resource.Precondition) error
	// Ask answers a question about a resource, or carries out an action on the resource. A question is
	// a type of package api, which also defines the type of the answer. A kind without the question
	// returns an error with [ErrNoQuestion].
	Ask(ctx context.Context, name string, question any, pre resource.Precondition) (any, error)
}

// Query selects resources of a list. The zero value selects all.
type Query struct {
	// After is the name behind which the page begins.
	After string
	// Limit bounds the page; 0: no bound.
	Limit int
	// Keep reports whether the client may see the resource of a name; nil: it may see all.
	Keep func(name string) bool
	// Filter is what the kind selects by, a type of package api; nil: nothing.
	Filter any
}

// Page is a part of a list.
type Page[V any] struct {
	Items []V
	// More reports whether resources follow the last one.
	More bool
}

// Errors of programs, not of clients.
var (
	// ErrNoQuestion is the error of a question that a kind does not have.
	ErrNoQuestion = errors.New("the kind does not have the question")
	// ErrReadOnly is the error for a write to a kind that clients only read.
	ErrReadOnly = errors.New("clients do not write the kind")
)

// Select returns the page of a list that a query selects, in the order of the names. match applies
// the filter of a query. Select calls match only if the query has a filter.
func Select[V any](
	all []V, q Query, name func(*V) string, match func(v *V, filter any) bool,
) Page[V] {
	type named struct {
		name string
		v    *V
	}
	found := make([]named, 0, len(all))
	for i := range all {
		v := &all[i]
		at := name(v)
		switch {
		case q.After != "" && natural.Compare(at, q.After) <= 0, q.Keep != nil && !q.Keep(at),
			q.Filter != nil && !match(v, q.Filter):
			continue
		}
		found = append(found, named{at, v})
	}
	slices.SortStableFunc(found, func(a, b named) int { return natural.Compare(a.name, b.name) })
	var p Page[V]
	if q.Limit > 0 && len(found) > q.Limit {
		found, p.More = found[:q.Limit], true
	}
	p.Items = make([]V, len(found))
	for i, f := range found {
		p.Items[i] = *f.v
	}
	return p
}

// Ask is [Handle.Ask] with the type of the answer.
func Ask[A, S, V any](
	ctx context.Context, h Handle[S, V], name string, question any, pre resource.Precondition,
) (a A, err error) {
	answer, err := h.Ask(ctx, name, question, pre)
	if err != nil {
		return a, err
	}
	a, ok := answer.(A)
	if !ok {
		return a, fmt.Errorf("the answer to %T is a %T: %w", question, answer, ErrNoQuestion)
	}
	return a, nil
}

// Any returns a page without the type of its views.
func Any[V any](p Page[V]) Page[any] {
	out := Page[any]{Items: make([]any, len(p.Items)), More: p.More}
	for i := range p.Items {
		out.Items[i] = p.Items[i]
	}
	return out
}

// Base is a handle without resources that refuses all operations. A handle that embeds Base defines
// only the methods for the operations of the kind.
type Base struct{}

// List implements [Handle].
func (Base) List(context.Context, Query) (Page[any], error) { return Page[any]{}, nil }

// Get implements [Handle].
func (Base) Get(_ context.Context, name string) (any, error) {
	return nil, resource.NotFound(fmt.Sprintf("%q", name))
}

// Put implements [Handle].
func (Base) Put(
	context.Context, string, any, resource.Precondition,
) (v any, created bool, err error) {
	return nil, false, ErrReadOnly
}

// Delete implements [Handle].
func (Base) Delete(context.Context, string, resource.Precondition) error { return ErrReadOnly }

// Ask implements [Handle].
func (Base) Ask(
	_ context.Context, _ string, question any, _ resource.Precondition,
) (any, error) {
	return nil, fmt.Errorf("%T: %w", question, ErrNoQuestion)
}

// typed gives a handle the types that are known at run time only.
type typed[S, V any] struct{ Handle[any, any] }

func (t *typed[S, V]) List(ctx context.Context, q Query) (Page[V], error) {
	return list[V](ctx, t.Handle, q)
}

func list[V any](ctx context.Context, h Handle[any, any], q Query) (p Page[V], err error) {
	all, err := h.List(ctx, q)
	p.More = all.More
	p.Items = make([]V, 0, len(all.Items))
	for i := range all.Items {
		p.Items = append(p.Items, all.Items[i].(V))
	}
	return p, err
}

func (t *typed[S, V]) Get(ctx context.Context, name string) (v V, err error) {
	got, err := t.Handle.Get(ctx, name)
	v, _ = got.(V)
	return v, err
}

func (t *typed[S, V]) Put(
	ctx context.Context, name string, spec S, pre resource.Precondition,
) (v V, created bool, err error) {
	got, created, err := t.Handle.Put(ctx, name, spec, pre)
	v, _ = got.(V)
	return v, created, err
}

// Of returns the handle of the kind with the types S and V in a list, or nil.
func Of[S, V any](all []*Kind) Handle[S, V] {
	for _, k := range all {
		spec := k.Spec
		if spec == nil { // clients only read
			spec = reflect.TypeFor[struct{}]()
		}
		if k.Handle != nil && k.View == reflect.TypeFor[V]() && spec == reflect.TypeFor[S]() {
			return &typed[S, V]{k.Handle}
		}
	}
	return nil
}

// Views returns all resources of the kind with the view V in a list of kinds. For a list without
// such a kind, Views returns nothing.
func Views[V any](ctx context.Context, all []*Kind) ([]V, error) {
	return ViewsOf[V](ctx, all, Query{})
}

// ViewsOf is Views for the resources that a query selects.
func ViewsOf[V any](ctx context.Context, all []*Kind, q Query) ([]V, error) {
	for _, k := range all {
		if k.Handle != nil && k.View == reflect.TypeFor[V]() {
			p, err := list[V](ctx, k.Handle, q)
			return p.Items, err
		}
	}
	return nil, nil
}
