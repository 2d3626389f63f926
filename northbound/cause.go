package northbound

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/northbound/causes"
)

// Causes knows what is wrong, and why; [causes.Watcher] does. Callers must not change the results.
type Causes interface {
	// Causes returns the causes of now.
	Causes(ctx context.Context) ([]api.Cause, error)
	// Last returns the causes that were found last, and when; the zero time: none were looked for yet.
	Last() ([]api.Cause, time.Time)
	// Past returns how the things that sees accepts were at a time, and their changes between from
	// and then.
	Past(from, at time.Time, sees func(kind, id string) bool) api.Past
}

// noCauses looks for no causes.
type noCauses struct{}

func (noCauses) Causes(context.Context) ([]api.Cause, error) { return []api.Cause{}, nil }
func (noCauses) Last() (all []api.Cause, at time.Time)       { return nil, at }
func (noCauses) Past(_, at time.Time, _ func(kind, id string) bool) api.Past {
	return api.Past{At: at, Since: at, Things: []api.PastThing{}, Changes: []api.PastChange{}}
}

// registerCauses registers what is wrong, and why.
func (s *Server) registerCauses() {
	register(s, huma.Operation{
		OperationID: "list-causes", Method: http.MethodGet, Security: asks(access.TenantRead),
		Path: "/v1/causes", Tags: []string{"controller"}, Summary: "List what is wrong, and why",
		Description: "One cause for each root, with what follows from it: faults first, and one that " +
			"lasts keeps its place. What an operator has drained is one too, of severity work. Members of " +
			"projects get those of what is theirs.",
		Errors: []int{422, 503},
	}, func(ctx context.Context, in *PageParams) (*api.List[api.Cause], error) {
		all, err := s.causesFor(ctx)
		if err != nil {
			return nil, problemOf(err)
		}
		return causePage(in, all)
	})
	register(s, huma.Operation{
		OperationID: "list-repairs", Method: http.MethodGet, Security: asks(access.Read),
		Path: "/v1/repairs", Tags: []string{"controller"}, Summary: "List what has to be repaired",
		Description: "The causes with a `repair`: the cable, optic or switch that somebody has to " +
			"repair or replace, what says so, and the hosts and jobs concerned.",
		Errors: []int{422, 503},
	}, func(ctx context.Context, in *PageParams) (*api.List[api.Cause], error) {
		all, err := s.cfg.Causes.Causes(ctx)
		if err != nil {
			return nil, problemOf(err)
		}
		return causePage(in, causes.Repairs(all))
	})
}

// causePage returns a page of causes in their order. A page cannot begin behind a cause that has
// ended.
func causePage(in *PageParams, all []api.Cause) (*api.List[api.Cause], error) {
	q, err := in.query()
	if err != nil {
		return nil, err
	}
	if q.After != "" {
		at := slices.IndexFunc(all, func(c api.Cause) bool { return c.ID == q.After })
		if at < 0 {
			return nil, newProblem(string(api.CodeInvalid), "the page before ended with a cause that is "+
				"over: begin with the first page", api.FieldError{Field: "query.continue",
				Code: api.CodeInvalid, Value: valueText(q.After), Want: "a cause that lasts"})
		}
		all = all[at+1:]
	}
	p := kind.Page[api.Cause]{Items: all[:min(q.Limit, len(all))], More: len(all) > q.Limit}
	return new(pageOf(p, func(c *api.Cause) string { return c.ID })), nil
}

// causesFor returns the causes that who asks may know.
func (s *Server) causesFor(ctx context.Context) ([]api.Cause, error) {
	by := access.Of(ctx)
	if by.May(access.Read) {
		return s.cfg.Causes.Causes(ctx)
	}
	var k causes.Known
	all, q := s.kinds(), kind.Query{Keep: by.Owns}
	err := errors.Join(
		fill(ctx, &k.Groups, all, q), fill(ctx, &k.Tenants, all, q), fill(ctx, &k.PFCPolicies, all, q))
	return causes.Find(&k), err
}

var (
	causesDesc = prometheus.NewDesc("weft_causes",
		"What is wrong now, by severity: causes that nothing else explains.", []string{"severity"}, nil)
	causeDesc = prometheus.NewDesc("weft_cause",
		"1 for each cause of what is wrong: the same as GET /v1/causes, at most 100.",
		[]string{"id", "kind", "severity", "silent", "what", "means", "todo"}, nil)
	causeMetrics = []*prometheus.Desc{causesDesc, causeDesc}
)

// mostCauses bounds the series of weft_cause.
const mostCauses = 100

// causeCollector has the causes that were found last.
type causeCollector struct {
	last func() ([]api.Cause, time.Time)
}

func (c *causeCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range causeMetrics {
		ch <- d
	}
}

func (c *causeCollector) Collect(ch chan<- prometheus.Metric) {
	all, at := c.last()
	if at.IsZero() {
		return
	}
	counts := map[api.Severity]int{
		api.SeverityFault: 0, api.SeverityWarning: 0, api.SeverityWork: 0,
	}
	for i := range all {
		x := &all[i]
		if counts[x.Severity]++; i < mostCauses {
			ch <- prometheus.MustNewConstMetric(causeDesc, prometheus.GaugeValue, 1, x.ID, x.Kind,
				string(x.Severity), strconv.FormatBool(x.Silence != nil), x.What, x.Means, x.Todo)
		}
	}
	for severity, n := range counts {
		ch <- prometheus.MustNewConstMetric(causesDesc, prometheus.GaugeValue, float64(n),
			string(severity))
	}
}
