package northbound

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
)

func (s *Server) registerPast() {
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "get-past", Method: http.MethodGet, Security: asks(access.TenantRead),
		Path: "/v1/past", Tags: []string{"network"},
		Summary: "Get how things were at a moment",
		Description: "Switches, links, nodes, hosts, EV profiles, groups, jobs and causes that were " +
			"not as they should be, in the last 24 hours, and what changed before. It keeps at most " +
			"32 MiB of changes: beyond it the oldest go first. Members of projects get groups and jobs of " +
			"their projects.",
		Errors: []int{422},
	}), s.getPast)
}

func (s *Server) getPast(ctx context.Context, in *struct {
	At   string `query:"at" maxLength:"35" doc:"The moment, as in RFC 3339. Default: now."`
	From string `query:"from" maxLength:"35" doc:"Changes from this moment on. Default: no changes."`
}) (*struct{ Body api.Past }, error) {
	at, err := momentOf("at", in.At, s.cfg.Now())
	if err != nil {
		return nil, err
	}
	from, err := momentOf("from", in.From, at.Add(1))
	if err != nil {
		return nil, err
	}
	by := access.Of(ctx)
	sees := func(kind, id string) bool {
		return by.Sight() == nil || (kind == "multicast-group" || kind == "job") && by.Owns(id)
	}
	return &struct{ Body api.Past }{s.cfg.Causes.Past(from, at, sees)}, nil
}

func momentOf(name, text string, or time.Time) (time.Time, error) {
	if text == "" {
		return or.UTC(), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, badQuery(name, text, "a time as in RFC 3339, such as 2026-03-01T12:00:00Z")
	}
	return t.UTC(), nil
}
