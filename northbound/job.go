package northbound

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/resource"
)

const jobPath = "/v1/jobs/{name}"

// viewOfJob answers a question about a job. hidden returns an answer without what members of
// projects may not know.
func viewOfJob[A any](
	s *Server, question any, hidden func(A) A,
) func(context.Context, *NameParam) (*A, error) {
	return func(ctx context.Context, in *NameParam) (*A, error) {
		jobs := kind.Of[api.JobSpec, api.Job](s.controller.Kinds())
		answer, err := kind.Ask[A](ctx, jobs, in.Name, question, resource.Precondition{})
		if err != nil {
			return nil, problemOf(err)
		}
		if access.Of(ctx).Sight() != nil {
			answer = hidden(answer)
		}
		return &answer, nil
	}
}

// registerJobViews registers the operations of jobs other than reading and writing them.
func (s *Server) registerJobViews() {
	tags := []string{kind.HeadingJobs}
	register(s, huma.Operation{
		OperationID: "get-job-readiness", Method: http.MethodGet, Security: asks(access.TenantRead),
		Path: jobPath + "/readiness", Tags: tags, Summary: "Get whether the fabric is ready for a job",
		Description: "Found when you ask. It is ready only if everything that the job depends on is " +
			"known to be as it should: what is not known is in the way.",
		Errors: []int{404, 503},
	}, viewOfJob(s, api.ReadReadiness{}, hiddenReadiness))
	register(s, huma.Operation{
		OperationID: "get-job-racks", Method: http.MethodGet, Security: asks(access.TenantRead),
		Path: jobPath + "/racks", Tags: tags, Summary: "Get the ranks of a job by rack",
		Description: "Found when you ask: the state of each NIC, and the paths that each rack has left.",
		Errors:      []int{404, 503},
	}, viewOfJob(s, api.ReadRacks{}, hiddenRacks))
	register(s, huma.Operation{
		OperationID: "list-job-dependents", Method: http.MethodGet, Security: asks(access.Read),
		Path: "/v1/job-dependents", Tags: tags,
		Summary:     "List the jobs that depend on a part of the network",
		Description: "Those of a higher priority are first.",
		Errors:      []int{422, 503},
	}, s.listDependents)
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "renew-job", Method: http.MethodPost, Security: asks(access.TenantWrite),
		Path: jobPath + ":renew", Tags: tags, Summary: "Renew the lease of a job",
		Description: "Refused (409) when the job has no lease, or has ended.",
		Errors:      []int{404, 409, 412},
	}), action[api.JobSpec, api.Job](s, api.RenewJob{}))
}

// registerLeaseActions registers the operations of leases other than reading and writing them.
func (s *Server) registerLeaseActions() {
	act := func(id, verb, summary, description string, question any) {
		huma.Register(s.api, s.operation(huma.Operation{
			OperationID: id, Method: http.MethodPost, Security: asks(access.TenantWrite),
			Path: "/v1/leases/{name}:" + verb, Tags: []string{kind.HeadingJobs}, Summary: summary,
			Description: description, Errors: []int{404, 409, 412},
		}), action[api.PathLeaseSpec, api.PathLease](s, question))
	}
	act("renew-lease", "renew", "Renew a lease",
		"Its heartbeat begins anew. Refused (409) when it has ended.", api.RenewLease{})
	act("move-lease", "moved", "Say that a lease has moved",
		"The client uses status.paths: status.former is free. Refused (409) when it does not move.",
		api.MoveLease{})
}

// hiddenReadiness returns a readiness without what members of projects may not know: switches and
// links of the network by their names.
func hiddenReadiness(r api.JobReadiness) api.JobReadiness {
	out := make([]api.JobBlocker, len(r.Blockers))
	for i, b := range r.Blockers {
		if b.Also = nil; b.Kind != "host" && b.Kind != "nic" && b.Kind != "controller" {
			b.Object, b.Why = "", "part of the network: the administrators see which"
		}
		out[i] = b
	}
	r.Blockers = out
	return r
}

// hiddenRacks returns racks without what members of projects may not know: the switches of the
// network by their names.
func hiddenRacks(r api.JobRacks) api.JobRacks {
	out := make([]api.JobRack, len(r.Racks))
	for i, rack := range r.Racks {
		rack.Name, rack.Switches = fmt.Sprintf("rack %d", i+1), nil
		out[i] = rack
	}
	r.Racks = out
	return r
}

func (s *Server) listDependents(
	ctx context.Context, in *struct{ api.Part },
) (*api.List[api.JobDependent], error) {
	of, err := s.controller.Dependents(ctx)
	if err != nil {
		return nil, problemOf(err)
	}
	return &api.List[api.JobDependent]{Items: of(in.Part)}, nil
}
