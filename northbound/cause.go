package northbound

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/northbound/causes"
	"github.com/weft-sdn/weft/topology"
)

// registerCauses registers what is wrong, and why.
func (s *Server) registerCauses() {
	s.causes = causes.NewWatcher(s.known, s.cfg.Now)
	s.metrics.causes = s.causes
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "list-causes", Method: http.MethodGet, Security: asks(access.TenantRead),
		Path: "/v1/causes", Tags: []string{"controller"}, Summary: "List what is wrong, and why",
		Description: "One cause for each root, with what follows from it: faults first, and one that " +
			"lasts keeps its place. What an operator has drained is one too, of severity work. Members of " +
			"projects get those of what is theirs.",
		Errors: []int{422, 503},
	}), func(ctx context.Context, in *PageParams) (*listOf[api.Cause], error) {
		all, err := s.causesFor(ctx)
		if err != nil {
			return nil, problemOf(err)
		}
		return causePage(in, all)
	})
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "list-repairs", Method: http.MethodGet, Security: asks(access.Read),
		Path: "/v1/repairs", Tags: []string{"controller"}, Summary: "List what has to be repaired",
		Description: "The causes with a `repair`: the cable, optic or switch that somebody has to " +
			"repair or replace, what says so, and the hosts and jobs concerned.",
		Errors: []int{422, 503},
	}), func(ctx context.Context, in *PageParams) (*listOf[api.Cause], error) {
		all, err := s.causes.Causes(ctx)
		if err != nil {
			return nil, problemOf(err)
		}
		return causePage(in, causes.Repairs(all))
	})
}

// causePage returns a page of causes in their order. A page cannot begin behind a cause that has
// ended.
func causePage(in *PageParams, all []api.Cause) (*listOf[api.Cause], error) {
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
	return &listOf[api.Cause]{pageOf(p, func(c *api.Cause) string { return c.ID })}, nil
}

// causesFor returns the causes that who asks may know.
func (s *Server) causesFor(ctx context.Context) ([]api.Cause, error) {
	by := access.Of(ctx)
	if by.May(access.Read) {
		return s.causes.Causes(ctx)
	}
	var k causes.Known
	all, q := s.kinds(), kind.Query{Keep: by.Owns}
	err := errors.Join(
		fill(ctx, &k.Groups, all, q), fill(ctx, &k.Tenants, all, q), fill(ctx, &k.PFCPolicies, all, q))
	return causes.Find(&k), err
}

// fill reads the resources of the kind that has a view.
func fill[V any](ctx context.Context, into *[]V, all []*kind.Kind, q kind.Query) (err error) {
	*into, err = kind.ViewsOf[V](ctx, all, q)
	return err
}

// known reads all that causes are found in.
func (s *Server) known(ctx context.Context) (*causes.Known, error) {
	all, any := s.kinds(), kind.Query{}
	k := &causes.Known{
		Loopbacks: make(map[topology.NodeID]string), Attached: make(map[string]api.SwitchPort),
	}
	if err := errors.Join(
		fill(ctx, &k.Switches, all, any), fill(ctx, &k.Nodes, all, any), fill(ctx, &k.Planes, all, any),
		fill(ctx, &k.Links, all, kind.Query{Filter: api.LinkFilter{Wrong: true}}),
		fill(ctx, &k.Hosts, all, any), fill(ctx, &k.Suspects, all, any),
		fill(ctx, &k.Profiles, all, kind.Query{Filter: api.EVProfileFilter{Degraded: true}}),
		fill(ctx, &k.Groups, all, any), fill(ctx, &k.SRv6Policies, all, any),
		fill(ctx, &k.Tenants, all, any), fill(ctx, &k.PFCPolicies, all, any),
		fill(ctx, &k.Silences, all, any), fill(ctx, &k.Networks, all, any),
		fill(ctx, &k.Jobs, all, any), fill(ctx, &k.Leases, all, any),
		fill(ctx, &k.Maintenances, all, any), fill(ctx, &k.Notifications, all, any),
		fill(ctx, &k.Ports, all, kind.Query{Filter: api.WantedPorts{}}),
	); err != nil {
		return nil, err
	}
	ready, err := readiness(ctx, s.controller, s.cfg.Multipath, s.cfg.BGP, s.kept())
	if err != nil {
		return nil, err
	}
	k.Checks, k.Who = ready.Checks, s.lastWriter(ctx)
	if k.Dependents, err = s.controller.Dependents(ctx); err != nil {
		return nil, err
	}
	k.Project = s.controller.Members().Of
	k.Peers = s.bgpPeers()
	if s.cfg.Multipath != nil {
		f, err := s.cfg.Multipath.Fabric(ctx)
		if err != nil {
			return nil, err
		}
		k.Fabric = &f
	}
	if s.cfg.Planes != nil {
		if k.Balance, err = s.cfg.Planes.Balance(ctx, 0); err != nil {
			return nil, err
		}
	}
	for _, n := range s.controller.Topology().Nodes {
		if n.Loopback.IsValid() {
			k.Loopbacks[n.ID] = n.Loopback.String()
		}
	}
	inv := s.controller.Inventory()
	for i := range inv.Hosts {
		h := &inv.Hosts[i]
		k.Attached[h.Address.String()] = api.SwitchPort{Switch: h.Switch, Port: h.Port}
	}
	return k, nil
}

// lastWriter returns a function that looks in the audit log for who has written a resource last.
// The function reads the log at its first call.
func (s *Server) lastWriter(ctx context.Context) func(object string) (string, time.Time) {
	if s.cfg.Access == nil || s.cfg.Access.Log == nil {
		return nil
	}
	type writer struct {
		by string
		at time.Time
	}
	last := sync.OnceValue(func() map[string]writer { // by path
		all, err := s.cfg.Access.Log.Records(ctx)
		if err != nil {
			s.cfg.Log.Warn("causes name nobody", "reason", err)
		}
		found := make(map[string]writer)
		for _, r := range all {
			path, _, _ := strings.Cut(r.ServiceRequest.Path, "?")
			if plain, err := url.PathUnescape(path); err == nil && r.Outcome == api.AuditSuccess {
				found[plain] = writer{r.SessionInfo.User.Identity, r.Timestamp}
			}
		}
		return found
	})
	return func(object string) (string, time.Time) {
		w := last()["/v1/"+object]
		return w.by, w.at
	}
}

// WatchCauses looks for causes until ctx ends, and publishes events when one begins or ends.
// publish numbers events, as those of the controller; found takes the causes after each look.
func (s *Server) WatchCauses(
	ctx context.Context, publish func(api.Event), found func(context.Context, []api.Cause),
) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for at := s.events.from(""); ; {
			var all []numbered
			var woken <-chan struct{}
			all, at, woken = s.events.after(at, s.cfg.Now())
			for i := range all {
				if !strings.HasPrefix(string(all[i].Type), "cause.") {
					s.causes.Changed()
				}
			}
			select {
			case <-woken:
			case <-ctx.Done():
				return
			}
		}
	}()
	s.causes.Run(ctx, publish, found)
	<-done
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
