package northbound

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/access/audit"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/resource"
)

// A collection holds the operations for a kind of resources that clients write by name. A
// collection learns the kind only at run time: bodies are JSON texts or values of any type, and
// [Server.typed] adds the schemas of the kind's types to the operations.
type collection struct {
	*kind.Kind
	server *Server
	// last, in a server of stale answers, takes the place of the handle; nil elsewhere.
	last func() Reading
}

// NameParam is exported because huma passes over other embedded types.
type NameParam struct {
	Name string `path:"name" maxLength:"253" doc:"Name of the resource."`
}

// labelled is an answer with a list; the header of a stale answer states its age.
type labelled struct {
	StaleLabel
	Body any // an api.List
}

// readOf is an answer to a GET of a resource; the answer may be stale.
type readOf struct {
	StaleLabel
	ETag string `header:"ETag" doc:"The resource's version, for If-Match; absent when no client has written it."`
	Body any
}

// itemOf is an answer with one resource.
type itemOf[R any] struct {
	Status   int
	ETag     string `header:"ETag" doc:"The resource's version, for If-Match; absent when no client has written it."`
	Location string `header:"Location"`
	Body     R
}

// registerKinds registers the operations of all kinds.
func (s *Server) registerKinds() {
	for _, k := range s.all {
		(&collection{Kind: k, server: s}).registerAll()
		if k.Writes == access.TenantWrite {
			s.markNamesOf(k.Spec)
		}
	}
	s.describeKinds()
}

// typed adds types known only at run time to an operation's description: the type of the request
// body, nil for none, and the type of the answer's body.
func (s *Server) typed(op huma.Operation, request, answer reflect.Type) huma.Operation {
	content := func(t reflect.Type) map[string]*huma.MediaType {
		return map[string]*huma.MediaType{
			"application/json": {Schema: s.api.OpenAPI().Components.Schemas.Schema(t, true, "")},
		}
	}
	if request != nil {
		op.RequestBody = &huma.RequestBody{Content: content(request), Required: true}
	}
	status := fmt.Sprint(max(op.DefaultStatus, http.StatusOK))
	responses := maps.Clone(op.Responses)
	if responses == nil {
		responses = make(map[string]*huma.Response)
	}
	responses[status] = &huma.Response{Content: content(answer)}
	op.Responses = responses
	return s.operation(op)
}

// register registers an operation whose answer is a body alone. For huma all these answers have one
// type, because Go compiles [huma.Register] once more for each pair of types.
func register[I, T any](
	s *Server, op huma.Operation, serve func(context.Context, *I) (*T, error),
) {
	op = s.typed(op, nil, reflect.TypeFor[T]())
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*bare, error) {
		t, err := serve(ctx, in)
		return &bare{t}, err
	})
}

// registerAll registers the operations that the kind has.
func (c *collection) registerAll() {
	switch {
	case c.Creates:
		c.registerKept()
		c.registerCreate()
	default:
		if c.Has(kind.List) {
			c.registerList()
		}
		if c.Has(kind.Get) {
			c.registerGet()
		}
	}
	if c.Has(kind.Put) {
		c.registerPut()
	}
	if c.Has(kind.Delete) {
		c.registerDelete()
	}
}

// registerKept registers the reads of a kind that the store holds whole.
func (c *collection) registerKept() {
	s := c.server
	huma.Register(s.api, s.typed(huma.Operation{
		OperationID: "list-" + c.Many, Method: http.MethodGet, Security: asks(c.Reads), Path: c.Path(),
		Tags:    []string{c.Heading},
		Summary: "List the " + c.Nouns, Description: staleNote, Errors: c.errors(422, 503),
	}, nil, c.List), func(ctx context.Context, in *struct {
		PageParams
		Consistency
	}) (*labelled, error) {
		return c.list(ctx, in.PageParams, nil, in.Consistency)
	})
	get := c.get()
	get.Description, get.Errors = staleNote, c.errors(404, 503)
	huma.Register(s.api, s.typed(get, nil, c.View), func(ctx context.Context, in *struct {
		Parameters
		Consistency
	}) (*readOf, error) {
		r, label, err := c.keptOne(ctx, in.name, in.Consistency)
		if err != nil {
			return nil, err
		}
		return &readOf{label, etag(c.DraftOf(r).Version), c.shown(ctx, r)}, nil
	})
}

// list returns a page of the resources visible to the client, with a label if the answer is stale.
func (c *collection) list(
	ctx context.Context, in PageParams, filter any, how Consistency,
) (*labelled, error) {
	q, err := in.query()
	if err != nil {
		return nil, err
	}
	q.Filter = filter
	if c.Reads == access.TenantRead {
		q.Keep = access.Of(ctx).Owns
	}
	p, label, err := c.kept(ctx, q, how)
	if err != nil {
		return nil, err
	}
	for i := range p.Items {
		p.Items[i] = c.shown(ctx, p.Items[i])
	}
	return &labelled{label, pageOf(p, func(r *any) string { return c.NameOf(*r) })}, nil
}

// kept returns the resources selected by a query, with a label if the answer is stale.
func (c *collection) kept(
	ctx context.Context, q kind.Query, how Consistency,
) (p kind.Page[any], label StaleLabel, err error) {
	if c.last != nil {
		r := c.last()
		label, err := c.server.label(r.Revision, r.At)
		return kind.Select(r.Items, q, func(r *any) string { return c.NameOf(*r) }, nil), label, err
	}
	if err := how.unlabelled(); err != nil {
		return p, label, err
	}
	if err := c.configured(); err != nil {
		return p, label, err
	}
	p, err = c.Handle.List(ctx, q)
	return p, label, problemOf(err)
}

// keptOne is kept for one resource.
func (c *collection) keptOne(
	ctx context.Context, name string, how Consistency,
) (r any, label StaleLabel, err error) {
	if c.last == nil {
		if err := how.unlabelled(); err != nil {
			return r, label, err
		}
		if err := c.configured(); err != nil {
			return r, label, err
		}
		r, err = c.Handle.Get(ctx, name)
		return r, label, problemOf(err)
	}
	p, label, err := c.kept(ctx, kind.Query{Keep: func(n string) bool { return n == name }}, how)
	if err != nil {
		return r, label, err
	}
	if len(p.Items) == 0 {
		return r, label, newProblem(string(api.CodeNotFound),
			fmt.Sprintf("there was no %s %q when the store was read", c.Noun, name))
	}
	return p.Items[0], label, nil
}

// get describes the reading of a resource.
func (c *collection) get() huma.Operation {
	return c.asking(huma.Operation{
		OperationID: "get-" + c.One, Method: http.MethodGet, Security: asks(c.Reads), Path: c.Place(),
		Tags: []string{c.Heading}, Summary: cmp.Or(c.Gets, "Get "+kind.Article(c.Noun)),
		Errors: c.reading(404),
	})
}

// bare is an answer that depends on no version.
type bare struct{ Body any }

func (c *collection) registerList() {
	s := c.server
	op := s.typed(c.selecting(huma.Operation{
		OperationID: "list-" + c.Many, Method: http.MethodGet, Security: asks(c.Reads), Path: c.Path(),
		Tags: []string{c.Heading}, Summary: cmp.Or(c.Lists, "List the "+c.Nouns),
		Description: c.Listed, Errors: c.reading(422),
	}), nil, c.List)
	huma.Register(s.api, op, func(ctx context.Context, in *Parameters) (*bare, error) {
		l, err := c.list(ctx, in.page, in.filter, Consistency{})
		if err != nil {
			return nil, err
		}
		return &bare{l.Body}, nil
	})
}

func (c *collection) registerGet() {
	op := c.server.typed(c.get(), nil, c.View)
	if c.Spec == nil {
		huma.Register(c.server.api, op, func(ctx context.Context, in *Parameters) (*bare, error) {
			r, err := c.one(ctx, in.name)
			return &bare{r}, err
		})
		return
	}
	huma.Register(c.server.api, op, func(ctx context.Context, in *Parameters) (*itemOf[any], error) {
		r, err := c.one(ctx, in.name)
		if err != nil {
			return nil, err
		}
		return c.item(r, false), nil
	})
}

func (c *collection) registerCreate() {
	s := c.server
	schemas := s.api.OpenAPI().Components.Schemas
	named(schemas.SchemaFromRef(schemas.Schema(c.Request, true, "").Ref).Properties["name"])
	huma.Register(s.api, s.typed(huma.Operation{
		OperationID: "create-" + c.One, Method: http.MethodPost, Security: asks(c.Writes), Path: c.Path(),
		Tags: []string{c.Heading}, DefaultStatus: http.StatusCreated,
		Summary: "Create " + kind.Article(c.Noun), Description: c.Created,
		Errors: c.errors(400, 409, 413, 415, 422),
	}, c.Request, c.View), c.createOne)
}

// named bounds the name of a resource that clients create, as [api.ValidateName] does.
func named(name *huma.Schema) {
	most := api.MaxName
	name.MaxLength = &most
	name.PrecomputeMessages()
}

// matched is the input of an operation that may depend on a resource's version.
type matched struct {
	NameParam
	Match
}

// action returns the handler for a POST that acts on a resource by a question. The question's
// answer is the resource after the action.
func action[S any, V api.Intended](
	s *Server, question any,
) func(context.Context, *matched) (*itemOf[V], error) {
	return func(ctx context.Context, in *matched) (*itemOf[V], error) {
		pre, err := in.precondition()
		if err != nil {
			return nil, err
		}
		pre.Sees = access.Of(ctx).Sight()
		kinds := s.controller.Kinds()
		v, err := kind.Ask[V](ctx, kind.Of[S, V](kinds), in.Name, question, pre)
		if err != nil {
			return nil, problemOf(err)
		}
		if pre.Sees != nil {
			v = hidden(kinds, v)
		}
		version, _ := v.Intent()
		return &itemOf[V]{Status: http.StatusOK, ETag: etag(version), Body: v}, nil
	}
}

// hidden returns a resource without its facts about other projects.
func hidden[V any](kinds []*kind.Kind, v V) V {
	for _, k := range kinds {
		if k.View == reflect.TypeFor[V]() {
			return k.Hidden(v).(V)
		}
	}
	return v
}

// mergeNote is the document's text about PATCH.
const mergeNote = "A JSON merge patch (RFC 7396) of the resource. " +
	"null sets a field back to its default; arrays are replaced whole."

// registerPut registers PUT and PATCH.
func (c *collection) registerPut() {
	s, tags, path := c.server, []string{c.Heading}, c.Place()
	put := huma.Operation{
		OperationID: "put-" + c.One, Method: http.MethodPut, Security: asks(c.Writes), Path: path,
		Tags: tags, Summary: cmp.Or(c.Puts, "Create or replace "+kind.Article(c.Noun)),
		Description: cmp.Or(c.Written, "Idempotent: the same spec again changes nothing."),
		Errors:      append(c.errors(400, 409, 412, 413, 415, 422), c.Refusals...),
		Responses:   map[string]*huma.Response{"201": {Description: "Created"}},
	}
	if !c.Creates { // resources that are there whether or not anybody writes them
		put.Summary = cmp.Or(c.Puts, "Replace the spec of "+kind.Article(c.Noun))
		put.Responses, put.Errors = nil, append(put.Errors, 404)
	}
	huma.Register(s.api, s.typed(c.asking(put), c.Request, c.View), c.putOne)
	huma.Register(s.api, s.typed(c.asking(huma.Operation{
		OperationID: "patch-" + c.One, Method: http.MethodPatch, Security: asks(c.Writes), Path: path,
		Tags: tags, Summary: cmp.Or(c.Patches, "Change parts of "+kind.Article(c.Noun)),
		Description: cmp.Or(c.Patched, mergeNote),
		Errors:      append(c.errors(400, 404, 409, 412, 413, 415, 422), c.Refusals...),
	}), nil, c.View), func(ctx context.Context, in *struct {
		Parameters
		Patch
	}) (*itemOf[any], error) {
		return c.patchOne(ctx, in.name, in.Patch)
	})
	s.describePatch(path, kind.Article(c.Noun), c.Example)
}

func (c *collection) registerDelete() {
	s := c.server
	huma.Register(s.api, s.typed(c.asking(huma.Operation{
		OperationID: "delete-" + c.One, Method: http.MethodDelete, Security: asks(c.Writes),
		Path: c.Place(), Tags: []string{c.Heading}, DefaultStatus: http.StatusNoContent,
		Summary:     cmp.Or(c.Deletes, "Delete "+kind.Article(c.Noun)),
		Description: c.Deleted, Errors: c.errors(404, 409, 412),
	}), nil, c.View), c.deleteOne)
	s.describeDelete(c.Place())
}

// reading returns the statuses of refusals of a reading.
func (c *collection) reading(statuses ...int) []int {
	if c.Plain {
		return statuses
	}
	return c.errors(statuses...)
}

// errors returns the statuses of refusals, including the status for an unconfigured kind.
func (c *collection) errors(statuses ...int) []int {
	if c.Needs != "" {
		statuses = append(statuses, http.StatusNotImplemented)
	}
	return statuses
}

// configured refuses what asks for resources that the controller does not have.
func (c *collection) configured() error {
	if c.Handle == nil {
		return newProblem(codeNoSection, c.Needs)
	}
	return nil
}

// writable refuses what writes resources that the controller has only to read.
func (c *collection) writable() error {
	if c.Fixed {
		return newProblem(codeNoSection, c.Needs)
	}
	return c.configured()
}

// shown returns a resource as the client may see it.
func (c *collection) shown(ctx context.Context, r any) any {
	if access.Of(ctx).Sight() != nil {
		return c.Hidden(r)
	}
	return r
}

// shownChanges returns the updates of a dry run that the client may see. A project member sees the
// number of updates by table, because the entries themselves reveal the network and other tenants.
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

// shownTakes returns what a dry run would take as the client may see it: without the names of other
// projects' resources.
func shownTakes(ctx context.Context, takes []api.Taken) []api.Taken {
	sees := access.Of(ctx).Sight()
	if sees == nil {
		return takes
	}
	out := make([]api.Taken, len(takes))
	for i, t := range takes {
		if out[i] = t; !sees(t.Name) {
			out[i] = api.Taken{Kind: t.Kind, Reason: t.Reason, Message: "it is of others"}
		}
	}
	return out
}

// tried returns a resource with the results of a dry run that the client may see.
func (c *collection) tried(ctx context.Context, r any, t *resource.Trial) any {
	return c.WithChanges(r, shownChanges(ctx, t.Changes), shownTakes(ctx, t.Takes))
}

func (c *collection) item(r any, created bool) *itemOf[any] {
	d := c.DraftOf(r)
	out := &itemOf[any]{Status: http.StatusOK, ETag: etag(d.Version), Body: r}
	if created {
		out.Status, out.Location = http.StatusCreated, c.Path()+"/"+url.PathEscape(d.Name)
	}
	return out
}

// one returns a resource as the client may see it.
func (c *collection) one(ctx context.Context, name string) (any, error) {
	if err := c.configured(); err != nil {
		return nil, err
	}
	r, err := c.Handle.Get(ctx, name)
	if err != nil {
		return nil, problemOf(err)
	}
	return c.shown(ctx, r), nil
}

// write puts a draft, and the outcome of a dry run into the resource.
func (c *collection) write(
	ctx context.Context, name string, spec any, pre resource.Precondition,
) (any, bool, error) {
	if err := c.owned(ctx, name); err != nil {
		return nil, false, err
	}
	if err := c.readable(spec); err != nil {
		return nil, false, err
	}
	pre.Sees, pre.By = access.Of(ctx).Sight(), access.Of(ctx).Name
	r, created, err := c.Handle.Put(ctx, name, spec, pre)
	if err == nil && pre.Trial != nil {
		if err = c.server.takesFromJobs(ctx, r, pre.Trial); err == nil {
			r = c.tried(ctx, r, pre.Trial)
		}
	}
	return c.shown(ctx, r), created, err
}

// readable refuses a spec that some controller could not read.
func (c *collection) readable(spec any) error {
	knows := c.server.cfg.Knows
	if knows == nil || c.Prefix == "" {
		return nil
	}
	value, err := json.Marshal(map[string]any{"spec": spec})
	if err == nil {
		err = knows(c.Prefix, value)
	}
	if err != nil {
		return problemOf(&api.Error{Code: api.CodeConflict, Message: err.Error()})
	}
	return nil
}

// owned refuses to write a resource outside of the projects that the principal may change. The
// controller checks the names in the spec when it decides about the write.
func (c *collection) owned(ctx context.Context, name string) error {
	if by := access.Of(ctx); c.Writes == access.TenantWrite && !by.Uses(name, c.Writes) {
		return foreign(by, name)
	}
	return nil
}

// read reads the body of a request.
func (c *collection) read(body []byte) (kind.Draft, error) {
	d, err := c.Decode(body)
	if err != nil {
		fault := &huma.ErrorDetail{Location: "body", Message: err.Error(), Value: string(body)}
		return d, shapeProblem(http.StatusUnprocessableEntity, "validation failed", 0, []error{fault})
	}
	return d, nil
}

func (c *collection) createOne(ctx context.Context, in *struct {
	DryRun
	Body json.RawMessage
}) (*itemOf[any], error) {
	d, err := c.read(in.Body)
	if err != nil {
		return nil, err
	}
	if err := c.writable(); err != nil {
		return nil, err
	}
	if d.Name == "" {
		return nil, newProblem(string(api.CodeInvalid), "the "+c.Noun+" has no name", api.FieldError{
			Field: "name", Code: api.CodeInvalid, Value: "missing", Want: "a name",
		})
	}
	audit.Of(ctx).At(c.Path() + "/" + url.PathEscape(d.Name))
	r, _, err := c.write(ctx, d.Name, d.Spec, resource.Precondition{Absent: true, Trial: in.trial()})
	if err != nil {
		return nil, problemOf(err)
	}
	return c.item(r, true), nil
}

func (c *collection) putOne(ctx context.Context, in *struct {
	Parameters
	Conditions
	Body json.RawMessage
}) (*itemOf[any], error) {
	d, err := c.read(in.Body)
	if err != nil {
		return nil, err
	}
	if err := c.writable(); err != nil {
		return nil, err
	}
	if err := sameName(in.name, d.Name); err != nil {
		return nil, err
	}
	pre, err := in.precondition(d.Version)
	if err != nil {
		return nil, err
	}
	r, isNew, err := c.write(ctx, in.name, d.Spec, pre)
	if err != nil {
		return nil, missed(err, pre)
	}
	return c.item(r, isNew), nil
}

func (c *collection) patchOne(ctx context.Context, name string, in Patch) (*itemOf[any], error) {
	if err := c.writable(); err != nil {
		return nil, err
	}
	of := patchable[kind.Draft]{
		noun: c.Noun + " " + name, request: c.Request, bare: c.Bare, decode: c.Decode,
		version: func(d kind.Draft) uint64 { return d.Version },
		now: func() (kind.Draft, error) {
			r, err := c.Handle.Get(ctx, name)
			if err != nil {
				return kind.Draft{}, err
			}
			return c.DraftOf(r), nil
		},
	}
	return patch(ctx, c.server, in, &of, func(d kind.Draft, pre resource.Precondition) (*itemOf[any],
		error) {
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

func (c *collection) deleteOne(ctx context.Context, in *struct {
	Parameters
	Match
	DryRun
}) (*deleted[any], error) {
	if err := c.writable(); err != nil {
		return nil, err
	}
	pre, err := in.precondition()
	if err != nil {
		return nil, err
	}
	pre.Sees = access.Of(ctx).Sight()
	if !in.DryRun.DryRun {
		return nil, problemOf(c.Handle.Delete(ctx, in.name, pre))
	}
	pre.Trial = in.trial()
	r, err := c.Handle.Get(ctx, in.name)
	if err != nil {
		return nil, problemOf(err)
	}
	if err := c.Handle.Delete(ctx, in.name, pre); err != nil {
		return nil, problemOf(err)
	}
	return &deleted[any]{Status: http.StatusOK,
		Body: c.shown(ctx, c.tried(ctx, r, pre.Trial))}, nil
}
