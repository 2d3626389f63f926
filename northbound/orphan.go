package northbound

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/resource"
)

const orphansPath = "/v1/orphans"

// OrphanParam is exported because huma passes over other embedded types.
type OrphanParam struct {
	Name string `path:"name" maxLength:"253" doc:"Name of the orphan."`
}

func (s *Server) registerOrphans() {
	tags := []string{"switches"}
	register(s, huma.Operation{
		OperationID: "list-orphans", Method: http.MethodGet, Security: asks(access.Read),
		Path: orphansPath, Tags: tags,
		Summary: "List the orphans", Description: "What switches hold and no resource explains. The " +
			"controller keeps it until it is deleted here, a resource explains it, or the configuration " +
			"has it removed.", Errors: []int{422},
	}, s.listOrphans)
	register(s, huma.Operation{
		OperationID: "get-orphan", Method: http.MethodGet, Security: asks(access.Read),
		Path: orphansPath + "/{name}", Tags: tags, Summary: "Get an orphan", Errors: []int{404},
	}, func(ctx context.Context, in *OrphanParam) (*api.Orphan, error) {
		o, err := s.orphanKind().Get(ctx, in.Name)
		if err != nil {
			return nil, problemOf(err)
		}
		return &o, nil
	})
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "delete-orphan", Method: http.MethodDelete, Security: asks(access.Configure),
		Path: orphansPath + "/{name}", Tags: tags, DefaultStatus: http.StatusNoContent,
		Summary: "Delete an orphan", Description: "Its entries are removed from its switch, at once or " +
			"when the switch is connected again.", Errors: []int{404},
	}), func(ctx context.Context, in *struct {
		OrphanParam
		DryRun
	}) (*deleted[api.OrphanDeletion], error) {
		return s.deleteOrphans(ctx, in.DryRun, func(pre resource.Precondition) ([]string, error) {
			return []string{in.Name}, s.orphanKind().Delete(ctx, in.Name, pre)
		})
	})
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "delete-orphans", Method: http.MethodDelete, Security: asks(access.Configure),
		Path: orphansPath, Tags: tags, DefaultStatus: http.StatusOK,
		Summary: "Delete all orphans of a switch", Description: "As if each of them were deleted.",
		Errors: []int{404, 422},
	}), func(ctx context.Context, in *struct {
		Switch string `query:"switch" maxLength:"63" doc:"Name of the switch."`
		DryRun
	}) (*deleted[api.OrphanDeletion], error) {
		if in.Switch == "" {
			return nil, newProblem(string(api.CodeInvalid), "it would delete the orphans of all switches",
				api.FieldError{
					Field: "query.switch", Code: api.CodeInvalid, Value: "missing", Want: "the name of a switch",
				})
		}
		var names []string
		d, err := s.deleteOrphans(ctx, in.DryRun, func(pre resource.Precondition) (_ []string,
			err error) {
			names, err = kind.Ask[[]string](ctx, s.orphanKind(), in.Switch, api.DeleteOrphans{}, pre)
			return names, err
		})
		if d == nil && err == nil {
			d = &deleted[api.OrphanDeletion]{Status: http.StatusOK,
				Body: api.OrphanDeletion{Deleted: append([]string{}, names...)}}
		}
		return d, err
	})
	answers := s.api.OpenAPI().Paths[orphansPath+"/{name}"].Delete.Responses
	answers["200"] = &huma.Response{Description: "Of a dry run: what would change.",
		Content: answers["204"].Content}
	answers["204"] = &huma.Response{Description: "Deleted"}
}

// orphanKind reaches the orphans.
func (s *Server) orphanKind() kind.Handle[struct{}, api.Orphan] {
	return kind.Of[struct{}, api.Orphan](s.controller.Kinds())
}

func (s *Server) listOrphans(ctx context.Context, in *struct {
	PageParams
	Switch string `query:"switch" maxLength:"63" doc:"Only those on this switch."`
}) (*api.List[api.Orphan], error) {
	q, err := in.query()
	if err != nil {
		return nil, err
	}
	if in.Switch != "" {
		q.Filter = api.OnSwitch{Switch: in.Switch}
	}
	p, err := s.orphanKind().List(ctx, q)
	if err != nil {
		return nil, problemOf(err)
	}
	return new(pageOf(p, func(o *api.Orphan) string { return o.Name })), nil
}

// deleteOrphans carries out a deletion, or tries it; the answer of a real one is nil.
func (s *Server) deleteOrphans(
	ctx context.Context, dry DryRun, del func(resource.Precondition) ([]string, error),
) (*deleted[api.OrphanDeletion], error) {
	pre := resource.Precondition{Trial: dry.trial()}
	names, err := del(pre)
	if err != nil || pre.Trial == nil {
		return nil, problemOf(err)
	}
	return &deleted[api.OrphanDeletion]{Status: http.StatusOK,
		Body: api.OrphanDeletion{Deleted: append([]string{}, names...), Changes: pre.Trial.Changes}}, nil
}
