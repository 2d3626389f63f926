package northbound

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/controller/kind"
)

// Where parameters of kinds are, as huma names the places.
const (
	inPath  = "path"
	inQuery = "query"
)

// Parameters holds the path parameters of a resource and the query parameters of a list. A kind
// declares these parameters as data, unknown to huma. The type is exported because huma skips
// unexported embedded types.
type Parameters struct {
	name   string // of the resource
	page   PageParams
	filter any // of the type kind.About.Filter; nil: it selects all
}

// parametersKey is the metadata key for the collection of an operation.
const parametersKey = "weft-collection"

// asking makes an operation take a kind's parameters from the path of a resource.
func (c *collection) asking(op huma.Operation) huma.Operation {
	op.Metadata = map[string]any{parametersKey: c}
	if strings.Contains(op.Path, "{") {
		op.Parameters = c.parameters(inPath, c.address())
	}
	return op
}

// selecting makes an operation take the list parameters of a kind.
func (c *collection) selecting(op huma.Operation) huma.Operation {
	op.Metadata, op.SkipValidateParams = map[string]any{parametersKey: c}, true // Resolve does that
	if !c.Whole {
		op.Parameters = c.parameters(inQuery, reflect.TypeFor[PageParams]())
	}
	if c.Filter != nil {
		op.Parameters = append(op.Parameters, c.parameters(inQuery, reflect.TypeOf(c.Filter))...)
	}
	return op
}

// address returns the type whose fields define the path parameters of a resource.
func (c *collection) address() reflect.Type {
	if c.Address == nil {
		return reflect.TypeFor[NameParam]()
	}
	return reflect.TypeOf(c.Address)
}

// parameters describes the fields of a type as parameters in a place.
func (c *collection) parameters(in string, of reflect.Type) (out []*huma.Param) {
	for i := range of.NumField() {
		f := of.Field(i)
		s := huma.SchemaFromField(c.server.api.OpenAPI().Components.Schemas, f, "")
		if in == inPath && c.Creates && c.Address == nil {
			named(s)
		}
		p := &huma.Param{Name: f.Tag.Get(in), In: in, Description: s.Description, Schema: s}
		if p.Required = in == inPath; in == inQuery {
			p.Explode = new(bool)
		}
		out = append(out, p)
	}
	return out
}

// Resolve implements [huma.Resolver].
func (p *Parameters) Resolve(ctx huma.Context) (errs []error) {
	c := ctx.Operation().Metadata[parametersKey].(*collection)
	if strings.Contains(ctx.Operation().Path, "{") {
		v := reflect.New(c.address()).Elem()
		errs = c.resolve(ctx, inPath, v)
		var parts []string
		for i := range v.NumField() {
			parts = append(parts, fmt.Sprint(v.Field(i)))
		}
		p.name = strings.Join(parts, "/")
		return errs
	}
	if !ctx.Operation().SkipValidateParams {
		return nil
	}
	if errs = unexpected(ctx); errs != nil {
		return errs
	}
	if !c.Whole {
		errs = c.resolve(ctx, inQuery, reflect.ValueOf(&p.page).Elem())
	}
	if c.Filter != nil {
		v := reflect.New(reflect.TypeOf(c.Filter)).Elem()
		errs = append(errs, c.resolve(ctx, inQuery, v)...)
		if !v.IsZero() {
			p.filter = v.Interface()
		}
	}
	return errs
}

// unexpected returns an error for each query parameter unknown to the operation.
func unexpected(ctx huma.Context) (errs []error) {
	u := ctx.URL()
	for name := range u.Query() {
		if !slices.ContainsFunc(ctx.Operation().Parameters, func(p *huma.Param) bool {
			return p.In == inQuery && p.Name == name
		}) {
			errs = append(errs, &huma.ErrorDetail{Location: inQuery + "." + name, Value: "",
				Message: "unknown query parameter"})
		}
	}
	return errs
}

// resolve reads parameters in a place into the fields of a struct, and returns what is wrong with
// them.
func (c *collection) resolve(ctx huma.Context, in string, into reflect.Value) []error {
	var found huma.ValidateResult
	for i := range into.NumField() {
		f := into.Type().Field(i)
		name := f.Tag.Get(in)
		text := ctx.Query(name)
		if in == inPath {
			text = ctx.Param(name)
		}
		if text = cmp.Or(text, f.Tag.Get("default")); text == "" {
			continue
		}
		at := huma.NewPathBuffer(nil, 0)
		at.Push(in)
		at.Push(name)
		v, err := parse(into.Field(i), text)
		if err != nil {
			found.Add(at, text, err.Error())
			continue
		}
		i := slices.IndexFunc(ctx.Operation().Parameters, func(p *huma.Param) bool {
			return p.In == in && p.Name == name
		})
		huma.Validate(c.server.api.OpenAPI().Components.Schemas, ctx.Operation().Parameters[i].Schema,
			at, huma.ModeWriteToServer, v, &found)
	}
	return found.Errors
}

// parse sets a field from text and returns the value in the form that huma validates. Error texts
// match huma's.
func parse(f reflect.Value, text string) (v any, err error) {
	switch {
	case f.CanInt():
		var n int64
		if n, err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, errors.New("invalid integer")
		}
		f.SetInt(n)
		return n, nil
	case f.CanUint():
		var n uint64
		if n, err = strconv.ParseUint(text, 10, 64); err != nil {
			return nil, errors.New("invalid integer")
		}
		f.SetUint(n)
		return n, nil
	case f.Kind() == reflect.Bool:
		var b bool
		if b, err = strconv.ParseBool(text); err != nil {
			return nil, errors.New("invalid boolean")
		}
		f.SetBool(b)
		return b, nil
	}
	f.SetString(text)
	return text, nil
}

// kindOf reaches the resources of the kind that has the types.
func kindOf[S, V any](s *Server) kind.Handle[S, V] { return kind.Of[S, V](s.all) }
