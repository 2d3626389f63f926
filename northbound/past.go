package northbound

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
)

func (s *Server) registerPast() {
	register(s, huma.Operation{
		OperationID: "get-past", Method: http.MethodGet, Security: asks(access.TenantRead),
		Path: "/v1/past", Tags: []string{"network"},
		Summary: "Get how things were at a moment",
		Description: "Parts of the network, hosts, intents, jobs and causes that were not as they " +
			"should be, in the last 24 hours, and what changed before. It keeps at most 32 " +
			"MiB of changes: beyond it the oldest go first. Members of projects get groups " +
			"and jobs of their projects.",
		Errors: []int{422},
	}, s.getPast)
}

func (s *Server) getPast(ctx context.Context, in *struct {
	At   string `query:"at" maxLength:"40" doc:"The moment: a time (RFC 3339), or how long ago, such as 15m. Default: now."`
	From string `query:"from" maxLength:"40" doc:"Changes from this moment on, such as 1h. Default: no changes."`
}) (*api.Past, error) {
	now := s.cfg.Now()
	at, err := moment("at", in.At, now, now)
	if err != nil {
		return nil, err
	}
	from, err := moment("from", in.From, at.Add(1), now)
	if err != nil {
		return nil, err
	}
	by := access.Of(ctx)
	sees := func(kind, id string) bool {
		return by.Sight() == nil || (kind == "multicast-group" || kind == "job") && by.Owns(id)
	}
	return new(s.cfg.Causes.Past(from.UTC(), at.UTC(), sees)), nil
}
