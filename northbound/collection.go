package northbound

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/natural"
)

// A collection is the resources of one kind that clients write by name: S is what
// they want, R what they get.
type collection[S, R any] struct {
	path string // "/v1/multicast-groups"
	// reads and writes are the scopes of its operations. With TenantRead and TenantWrite, a tenant
	// uses those that it owns by their names.
	reads, writes access.Scope
	one           string // "multicast-group", in the ids of operations
	many          string // where that is not one with an s
	noun          string // "multicast group"
	tag           string
	// example is a patch of a spec.
	example any
	// created and deleted are what is worth saying about the operations.
	created, deleted string

	// on returns a problem when the kind is not configured; nil: it always is.
	on  func() error
	all func(ctx context.Context) ([]R, error)
	get func(ctx context.Context, name string) (R, error)
	// draft is a resource as a client would write it.
	draft func(r *R) api.Request[S]
	// changed puts what a dry run would change on switches into a resource; nil: it changes
	// nothing there.
	changed func(r *R, changes []api.SwitchChange)
	// hide takes out of a resource what it tells of others, for who may not know of them; nil: it tells
	// nothing of others.
	hide func(r *R)
	put  func(ctx context.Context, name string, spec S, pre resource.Precondition) (r R, created bool, err error)
	del  func(ctx context.Context, name string, pre resource.Precondition) error
	// last, in a server of stale answers, takes the place of the others; nil elsewhere.
	last func() Reading[R]
}

// NameParam is exported because huma passes over other embedded types.
type NameParam struct {
	Name string `path:"name" maxLength:"253" doc:"Name of the resource."`
}

type listOf[R any] struct{ Body api.List[R] }

// labelled is a list that says how old it is, where it is a stale one.
type labelled[R any] struct {
	StaleLabel
	Body api.List[R]
}

// readOf is an answer to a GET of a resource that may be a stale one.
type readOf[R any] struct {
	StaleLabel
	ETag string `header:"ETag" doc:"The resource's version, for If-Match; absent when no client has written it."`
	Body R
}

// itemOf is an answer with one resource.
type itemOf[R any] struct {
	Status   int
	ETag     string `header:"ETag" doc:"The resource's version, for If-Match; absent when no client has written it."`
	Location string `header:"Location"`
	Body     R
}

// over has a collection reach its resources by a handle.
func (c *collection[S, R]) over(h resource.Handle[S, R]) *collection[S, R] {
	c.all, c.get, c.put, c.del = h.List, h.Get, h.Put, h.Delete
	return c
}

// registerAll registers everything that a collection can whose resources clients create.
func (c *collection[S, R]) registerAll(s *Server) {
	c.registerKept(s)
	c.registerCreate(s)
	c.registerWrite(s)
}

// registerKept registers the readings of what the store has all of.
func (c *collection[S, R]) registerKept(s *Server) {
	tags := []string{c.tag}
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "list-" + cmp.Or(c.many, c.one+"s"), Method: http.MethodGet, Security: asks(c.reads), Path: c.path, Tags: tags,
		Summary: "List the " + plural(c.noun), Description: staleNote, Errors: c.errors(422, 503),
	}), func(ctx context.Context, in *struct {
		PageParams
		Consistency
	}) (*labelled[R], error) {
		all, label, err := c.kept(ctx, s, in.Consistency)
		if err != nil {
			return nil, err
		}
		list, err := c.listed(ctx, &in.PageParams, all)
		if err != nil {
			return nil, err
		}
		return &labelled[R]{label, list.Body}, nil
	})
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "get-" + c.one, Method: http.MethodGet, Security: asks(c.reads), Path: c.path + "/{name}", Tags: tags,
		Summary: "Get " + article(c.noun), Description: staleNote, Errors: c.errors(404, 503),
	}), func(ctx context.Context, in *struct {
		NameParam
		Consistency
	}) (*readOf[R], error) {
		r, label, err := c.keptOne(ctx, s, in.Name, in.Consistency)
		if err != nil {
			return nil, err
		}
		return &readOf[R]{label, etag(c.draft(&r).Version), c.shown(ctx, r)}, nil
	})
}

// kept returns all resources, with the label of a stale answer where it is one.
func (c *collection[S, R]) kept(ctx context.Context, s *Server, how Consistency) (all []R, label StaleLabel, err error) {
	if c.last != nil {
		r := c.last()
		label, err := s.label(r.Revision, r.At)
		return r.Items, label, err
	}
	if err := how.unlabelled(); err != nil {
		return nil, label, err
	}
	if err := c.configured(); err != nil {
		return nil, label, err
	}
	all, err = c.all(ctx)
	return all, label, problemOf(err)
}

// keptOne is kept for one resource.
func (c *collection[S, R]) keptOne(ctx context.Context, s *Server, name string, how Consistency) (r R, label StaleLabel, err error) {
	if c.last == nil {
		if err := how.unlabelled(); err != nil {
			return r, label, err
		}
		if err := c.configured(); err != nil {
			return r, label, err
		}
		r, err = c.get(ctx, name)
		return r, label, problemOf(err)
	}
	all, label, err := c.kept(ctx, s, how)
	if err != nil {
		return r, label, err
	}
	for i := range all {
		if c.draft(&all[i]).Name == name {
			return all[i], label, nil
		}
	}
	return r, label, newProblem(string(api.CodeNotFound), fmt.Sprintf("there was no %s %q when the store was read", c.noun, name))
}

func (c *collection[S, R]) registerGet(s *Server) {
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "get-" + c.one, Method: http.MethodGet, Security: asks(c.reads), Path: c.path + "/{name}", Tags: []string{c.tag},
		Summary: "Get " + article(c.noun), Errors: c.errors(404),
	}), c.getOne)
}

func (c *collection[S, R]) registerCreate(s *Server) {
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "create-" + c.one, Method: http.MethodPost, Security: asks(c.writes), Path: c.path, Tags: []string{c.tag}, DefaultStatus: http.StatusCreated,
		Summary: "Create " + article(c.noun), Description: c.created, Errors: c.errors(400, 409, 413, 415, 422),
	}), c.createOne)
}

// registerWrite registers PUT, PATCH and DELETE.
func (c *collection[S, R]) registerWrite(s *Server) {
	tags, path := []string{c.tag}, c.path+"/{name}"
	put := huma.Operation{
		OperationID: "put-" + c.one, Method: http.MethodPut, Security: asks(c.writes), Path: path, Tags: tags,
		Summary: "Create or replace " + article(c.noun), Description: "Idempotent: the same spec again changes nothing.",
		Errors: c.errors(400, 409, 412, 413, 415, 422), Responses: map[string]*huma.Response{"201": {Description: "Created"}},
	}
	if c.all == nil { // resources that are there whether or not anybody writes them
		put.Summary, put.Responses, put.Errors = "Replace the spec of "+article(c.noun), nil, append(put.Errors, 404)
	}
	huma.Register(s.api, s.operation(put), c.putOne)
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "patch-" + c.one, Method: http.MethodPatch, Security: asks(c.writes), Path: path, Tags: tags,
		Summary: "Change parts of " + article(c.noun), Description: "A JSON merge patch (RFC 7396) of the resource. null sets a field back to its default; arrays are replaced whole.",
		Errors: c.errors(400, 404, 409, 412, 413, 415, 422),
	}), func(ctx context.Context, in *struct {
		NameParam
		Patch
	}) (*itemOf[R], error) {
		return c.patchOne(ctx, s, in.Name, in.Patch)
	})
	s.describePatch(path, article(c.noun), c.example)
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "delete-" + c.one, Method: http.MethodDelete, Security: asks(c.writes), Path: path, Tags: tags, DefaultStatus: http.StatusNoContent,
		Summary: "Delete " + article(c.noun), Description: c.deleted, Errors: c.errors(404, 409, 412),
	}), c.deleteOne)
	s.describeDelete(path)
}

// errors are the statuses of refusals, with that of a kind that is not configured.
func (c *collection[S, R]) errors(statuses ...int) []int {
	if c.on != nil {
		statuses = append(statuses, http.StatusNotImplemented)
	}
	return statuses
}

// article puts "a" or "an" before a noun.
func article(noun string) string {
	if strings.ContainsRune("AEIOaeio", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

func plural(noun string) string {
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return stem + "ies"
	}
	return noun + "s"
}

func (c *collection[S, R]) configured() error {
	if c.on == nil {
		return nil
	}
	return c.on()
}

// listed returns a page of those resources that the client may see.
func (c *collection[S, R]) listed(ctx context.Context, in *PageParams, all []R) (*listOf[R], error) {
	name := func(r *R) string { return c.draft(r).Name }
	all = slices.Clone(all)
	if c.reads == access.TenantRead {
		by := access.Of(ctx)
		all = slices.DeleteFunc(all, func(r R) bool { return !by.Owns(name(&r)) })
	}
	for i := range all {
		all[i] = c.shown(ctx, all[i])
	}
	all = slices.SortedFunc(slices.Values(all), func(a, b R) int { return natural.Compare(name(&a), name(&b)) })
	items, next, err := page(*in, all, name)
	if err != nil {
		return nil, err
	}
	return &listOf[R]{api.List[R]{Items: items, Continue: next}}, nil
}

// shown returns a resource as the client may see it.
func (c *collection[S, R]) shown(ctx context.Context, r R) R {
	if c.hide != nil && access.Of(ctx).Sight() != nil {
		c.hide(&r)
	}
	return r
}

// shownChanges returns the updates of a dry run as the client may see them. A member of projects sees how
// many updates of which tables its change would make: the entries themselves tell of the network, and
// of others who share it.
func shownChanges(ctx context.Context, changes []api.SwitchChange) []api.SwitchChange {
	if access.Of(ctx).Sight() == nil {
		return changes
	}
	out := make([]api.SwitchChange, 0, len(changes))
	for _, c := range changes {
		updates := make([]api.EntityUpdate, 0, len(c.Updates))
		for _, u := range c.Updates {
			kind, _, _ := strings.Cut(u.Entity, "/")
			updates = append(updates, api.EntityUpdate{Type: u.Type, Entity: kind})
		}
		out = append(out, api.SwitchChange{Switch: c.Switch, Updates: updates})
	}
	return out
}

func (c *collection[S, R]) item(r R, created bool) *itemOf[R] {
	d := c.draft(&r)
	out := &itemOf[R]{Status: http.StatusOK, ETag: etag(d.Version), Body: r}
	if created {
		out.Status, out.Location = http.StatusCreated, c.path+"/"+url.PathEscape(d.Name)
	}
	return out
}

func (c *collection[S, R]) getOne(ctx context.Context, in *NameParam) (*itemOf[R], error) {
	if err := c.configured(); err != nil {
		return nil, err
	}
	r, err := c.get(ctx, in.Name)
	if err != nil {
		return nil, problemOf(err)
	}
	return c.item(c.shown(ctx, r), false), nil
}

// write is put, with the outcome of a dry run in the resource.
func (c *collection[S, R]) write(ctx context.Context, name string, spec S, pre resource.Precondition) (R, bool, error) {
	if err := c.owned(ctx, name); err != nil {
		var none R
		return none, false, err
	}
	pre.Sees = access.Of(ctx).Sight()
	r, created, err := c.put(ctx, name, spec, pre)
	if err == nil && pre.Trial != nil && c.changed != nil {
		c.changed(&r, shownChanges(ctx, pre.Trial.Changes))
	}
	return c.shown(ctx, r), created, err
}

// owned refuses a write of a resource that is of no project that the principal may change. What its
// spec names is checked where the write is decided.
func (c *collection[S, R]) owned(ctx context.Context, name string) error {
	if by := access.Of(ctx); c.writes == access.TenantWrite && !by.Uses(name, c.writes) {
		return foreign(by, name)
	}
	return nil
}

func (c *collection[S, R]) createOne(ctx context.Context, in *struct {
	DryRun
	Body api.Request[S]
}) (*itemOf[R], error) {
	if err := c.configured(); err != nil {
		return nil, err
	}
	if in.Body.Name == "" {
		return nil, newProblem(string(api.CodeInvalid), "the "+c.noun+" has no name", api.FieldError{
			Field: "name", Code: api.CodeInvalid, Value: "missing", Want: "a name",
		})
	}
	r, _, err := c.write(ctx, in.Body.Name, in.Body.Spec, resource.Precondition{Absent: true, Trial: in.trial()})
	if err != nil {
		return nil, problemOf(err)
	}
	return c.item(r, true), nil
}

func (c *collection[S, R]) putOne(ctx context.Context, in *struct {
	NameParam
	Conditions
	Body api.Request[S]
}) (*itemOf[R], error) {
	if err := c.configured(); err != nil {
		return nil, err
	}
	if err := sameName(in.Name, in.Body.Name); err != nil {
		return nil, err
	}
	pre, err := in.precondition(in.Body.Version)
	if err != nil {
		return nil, err
	}
	r, isNew, err := c.write(ctx, in.Name, in.Body.Spec, pre)
	if err != nil {
		return nil, missed(err, pre)
	}
	return c.item(r, isNew), nil
}

func (c *collection[S, R]) patchOne(ctx context.Context, s *Server, name string, in Patch) (*itemOf[R], error) {
	if err := c.configured(); err != nil {
		return nil, err
	}
	now := func() (api.Request[S], error) {
		r, err := c.get(ctx, name)
		return c.draft(&r), err
	}
	return patch(ctx, s, in, c.noun+" "+name, now, func(d api.Request[S], pre resource.Precondition) (*itemOf[R], error) {
		if err := sameName(name, d.Name); err != nil {
			return nil, err
		}
		r, _, err := c.write(ctx, name, d.Spec, pre)
		if err != nil {
			return nil, err
		}
		return c.item(r, false), nil
	})
}

// deleted answers the dry run of a DELETE with the resource, which stays. A real one has no answer.
type deleted[R any] struct {
	Status int
	Body   R
}

func (c *collection[S, R]) deleteOne(ctx context.Context, in *struct {
	NameParam
	Match
	DryRun
}) (*deleted[R], error) {
	if err := c.configured(); err != nil {
		return nil, err
	}
	pre, err := in.precondition()
	if err != nil {
		return nil, err
	}
	pre.Sees = access.Of(ctx).Sight()
	if !in.DryRun.DryRun {
		return nil, problemOf(c.del(ctx, in.Name, pre))
	}
	pre.Trial = in.trial()
	r, err := c.get(ctx, in.Name)
	if err != nil {
		return nil, problemOf(err)
	}
	if err := c.del(ctx, in.Name, pre); err != nil {
		return nil, problemOf(err)
	}
	if c.changed != nil {
		c.changed(&r, shownChanges(ctx, pre.Trial.Changes))
	}
	return &deleted[R]{Status: http.StatusOK, Body: c.shown(ctx, r)}, nil
}
