package northbound

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/resource"
)

// drainable is a kind of thing that can be drained: P are the parameters of its
// path, V is what clients get.
type drainable[P, V any] struct {
	path, one, noun string
	get             func(ctx context.Context, m Multipath, p *P) (V, error)
	target          func(p *P) mrc.Target
	// intent is the version and the spec in what clients get.
	intent func(v *V) (version uint64, spec *api.AdminSpec)
	// plain is get without an MRC fabric; nil: there is none of the kind then.
	plain func(ctx context.Context, p *P) (V, error)
}

const drainNote = "drained: hosts stop using it, and nothing is lost on the way; refused (409) when it is the last path between two ends. up: it is used again once it is up and a probe has come through."

func (d *drainable[P, V]) operations() (get, put, patch huma.Operation) {
	tags := []string{fabricTag}
	get = huma.Operation{
		OperationID: "get-" + d.one, Method: http.MethodGet, Security: asks(access.Read), Path: d.path, Tags: tags, Summary: "Get " + article(d.noun), Errors: []int{404, 422},
	}
	if d.plain == nil {
		get.Errors = append(get.Errors, http.StatusNotImplemented)
	}
	put = huma.Operation{
		OperationID: "put-" + d.one, Method: http.MethodPut, Security: asks(access.Operate), Path: d.path, Tags: tags, Summary: "Drain " + article(d.noun) + ", or use it again",
		Description: drainNote, Errors: []int{400, 404, 409, 412, 413, 415, 422, 501, 503},
	}
	patch = huma.Operation{
		OperationID: "patch-" + d.one, Method: http.MethodPatch, Security: asks(access.Operate), Path: d.path, Tags: tags, Summary: "Drain " + article(d.noun) + ", or use it again, by a merge patch",
		Description: drainNote, Errors: []int{400, 404, 409, 412, 413, 415, 422, 501, 503},
	}
	return get, put, patch
}

func (d *drainable[P, V]) read(ctx context.Context, s *Server, p *P) (*itemOf[V], error) {
	if s.cfg.Multipath == nil && d.plain != nil {
		v, err := d.plain(ctx, p)
		if err != nil {
			return nil, err
		}
		return &itemOf[V]{Status: http.StatusOK, Body: v}, nil
	}
	m, err := s.multipath()
	if err != nil {
		return nil, err
	}
	v, err := d.get(ctx, m, p)
	if err != nil {
		return nil, problemOf(err)
	}
	version, _ := d.intent(&v)
	return &itemOf[V]{Status: http.StatusOK, ETag: etag(version), Body: v}, nil
}

func (d *drainable[P, V]) set(ctx context.Context, s *Server, p *P, spec api.AdminSpec, pre resource.Precondition) (*itemOf[V], error) {
	m, err := s.multipath()
	if err != nil {
		return nil, err
	}
	if err := api.ValidateAdmin(&spec); err != nil {
		return nil, err
	}
	if err := m.SetAdmin(ctx, d.target(p), spec, pre); err != nil {
		return nil, err
	}
	out, err := d.read(ctx, s, p)
	if err == nil && pre.Trial != nil {
		_, wanted := d.intent(&out.Body)
		*wanted = spec
	}
	return out, err
}

func (d *drainable[P, V]) put(ctx context.Context, s *Server, p *P, c Conditions, body api.AdminRequest) (*itemOf[V], error) {
	pre, err := c.precondition(body.Version)
	if err != nil {
		return nil, err
	}
	out, err := d.set(ctx, s, p, body.Spec, pre)
	if err != nil {
		return nil, missed(err, resource.Precondition{Absent: pre.Absent})
	}
	return out, nil
}

func (d *drainable[P, V]) patch(ctx context.Context, s *Server, p *P, in Patch) (*itemOf[V], error) {
	if err := s.hasMultipath(); err != nil {
		return nil, err
	}
	now := func() (api.AdminRequest, error) {
		v, err := d.get(ctx, s.cfg.Multipath, p)
		version, spec := d.intent(&v)
		return api.AdminRequest{Version: version, Spec: *spec}, err
	}
	return patch(ctx, s, in, drafted(d.noun, now), func(want api.AdminRequest, pre resource.Precondition) (*itemOf[V], error) {
		return d.set(ctx, s, p, want.Spec, pre)
	})
}
