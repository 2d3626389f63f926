package northbound

import (
	"context"
	"fmt"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
)

// projectHeader narrows a request to one project: its sender acts as a member of that project.
const projectHeader = "X-Weft-Project"

// join gives a request's principal its projects, and narrows the principal to the project in the
// header. A server that forwards requests knows no projects and forwards the header.
func (s *Server) join(p *access.Principal, narrow string) *api.Problem {
	if s.members == nil || !p.Known() {
		return nil
	}
	s.members().Join(p)
	if narrow != "" && !p.Narrow(narrow) {
		return newProblem(codeDenied, fmt.Sprintf("%s is no member of project %q", p.Name,
			clip(narrow, maxValueText)))
	}
	return nil
}

// budget returns a problem when the principal's project has used up its requests of this second. A
// request counts for the principal's only project: a principal with no project or with several has
// no such limit.
func (s *Server) budget(p *access.Principal) *api.Problem {
	if s.members == nil || len(p.Projects) != 1 {
		return nil
	}
	name := p.ProjectNames()[0]
	limit := s.members().Requests(name)
	if limit == 0 || s.limiter.project(name, limit, s.cfg.Now()) {
		return nil
	}
	bound := int64(limit)
	f := api.FieldError{Field: "header." + projectHeader, Code: api.CodeLimit, Value: name,
		Want:  fmt.Sprintf("at most %d requests a second of all members of project %s", limit, name),
		Limit: &bound}
	return newProblem(codeTooMany, f.Error(), f)
}

// sight returns which events a client may see: a project member sees the events about resources of
// its projects. over reports that the projects have changed since, so the client has to ask again.
func (s *Server) sight(ctx context.Context) (sees func(*api.Event) bool, over func() bool) {
	by := access.Of(ctx)
	if by.Sight() == nil {
		return func(*api.Event) bool { return true }, func() bool { return false }
	}
	at := s.members()
	over = func() bool { return s.members() != at }
	return func(e *api.Event) bool {
		switch e.Type {
		case api.EventGap:
			return true
		case api.EventGroupChanged, api.EventGroupDeleted, api.EventReceiverEvicted,
			api.EventReceiverRecovered, api.EventReceiverStalled, api.EventConnectionUp,
			api.EventConnectionDown, api.EventConnectionRefused,
			api.EventTenantChanged, api.EventTenantDeleted, api.EventPFCPolicyChanged,
			api.EventPFCPolicyDeleted, api.EventProjectChanged, api.EventJobChanged,
			api.EventJobDeleted, api.EventJobReady, api.EventJobBlocked, api.EventLeaseChanged,
			api.EventLeaseBroken, api.EventLeaseDeleted:
			return by.Owns(e.Object)
		}
		return false
	}, over
}
