package northbound

import (
	"context"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/neighbor"
	"github.com/weft-sdn/weft/internal/certs"
)

// Requests counts the requests to the API and the load by clients. Servers of one process with
// equal limits may share Requests.
type Requests struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	watchers prometheus.Gauge
	rejected *prometheus.CounterVec
	// unaudited counts records missing from the audit log, or written outside of their transaction.
	unaudited prometheus.Counter

	limiting sync.Once
	limiter  *limiter
}

// NewRequests returns counters at zero.
func NewRequests() *Requests {
	m := &Requests{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weft_http_requests_total", Help: "Requests to the API.",
		}, []string{"method", "route", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "weft_http_request_duration_seconds", Help: "Time taken by requests to the API.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16),
		}, []string{"method", "route"}),
		watchers: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "weft_event_watchers", Help: "Clients of the event stream.",
		}),
		rejected: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weft_http_rejected_total",
			Help: "Connections closed and requests refused because of a limit, by the limit.",
		}, []string{"limit"}),
		unaudited: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weft_audit_failures_total",
			Help: "Refusals and failed sign-ins that could not be recorded in the audit log.",
		}),
	}
	m.registry.MustRegister(m.requests, m.duration, m.watchers, m.rejected, m.unaudited,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// limiterOf returns what holds clients to the limits: one for all servers that share the counters.
func (m *Requests) limiterOf(limits Limits) *limiter {
	m.limiting.Do(func() { m.limiter = newLimiter(limits, m.rejected) })
	return m.limiter
}

// metrics are the API's own and what a scrape reads from the controller.
type metrics struct {
	*Requests
	controller Controller // nil: this controller does not decide
	multipath  Multipath  // nil: there is none
	bgp        BGP        // nil: there is none
	cluster    Cluster    // nil: there is none
	name       string     // of the controller
	certs      func() []certs.Certificate
	now        func() time.Time
	events     *Events
	causes     Causes // nil: this controller does not decide
	more       []prometheus.Collector
}

func newMetrics(cfg *Config) *metrics {
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "weft_build_info", Help: "Always 1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": cfg.Version, "goversion": runtime.Version()},
	})
	build.Set(1)
	more := append([]prometheus.Collector{build, telemetryCollector{cfg.Telemetry}}, cfg.Collectors...)
	return &metrics{more: more, Requests: cfg.Requests, multipath: cfg.Multipath, bgp: cfg.BGP,
		cluster: cfg.Cluster, name: cfg.Name, certs: cfg.Certificates, now: cfg.Now}
}

// ServeHTTP answers a scrape.
func (m *metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	promhttp.HandlerFor(m.gatherer(r.Context()),
		promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}).ServeHTTP(w, r)
}

// gatherer returns a Gatherer for one scrape. Prometheus hands collectors no context, so gatherer
// makes the collectors for the context of the controller's answers.
func (m *metrics) gatherer(ctx context.Context) prometheus.Gatherer {
	scrape := prometheus.NewRegistry()
	scrape.MustRegister(m.more...)
	var kept []api.ReadinessCheck
	if m.cluster != nil {
		kept = m.cluster.Readiness()
		if disk := m.cluster.Disk(); disk != nil {
			scrape.MustRegister(diskCollector{m.name, disk})
		}
	}
	if m.controller != nil {
		scrape.MustRegister(&controllerCollector{ctx: ctx, controller: m.controller,
			multipath: m.multipath, bgp: m.bgp, kept: kept, events: m.events})
		scrape.MustRegister(&losslessCollector{ctx: ctx, controller: m.controller})
		scrape.MustRegister(&notificationCollector{ctx: ctx, controller: m.controller})
	}
	if m.cluster != nil {
		if state, several := m.cluster.State(); several {
			scrape.MustRegister(clusterCollector{state})
		}
	}
	if m.bgp != nil {
		scrape.MustRegister(&bgpCollector{m.bgp})
	}
	if m.certs != nil {
		scrape.MustRegister(&certificateCollector{m.certs, m.now})
	}
	if m.multipath != nil {
		scrape.MustRegister(&fabricCollector{ctx: ctx, multipath: m.multipath})
	}
	if m.causes != nil {
		scrape.MustRegister(&causeCollector{m.causes.Last})
	}
	return prometheus.Gatherers{m.registry, scrape}
}

func (m *Requests) observe(method, route string, status int, took time.Duration) {
	if !knownMethods[method] {
		method = "other" // clients may send any word, and each would be a series
	}
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	if !endless(route) {
		m.duration.WithLabelValues(method, route).Observe(took.Seconds())
	}
}

var knownMethods = map[string]bool{
	http.MethodGet: true, http.MethodHead: true, http.MethodPost: true, http.MethodPut: true,
	http.MethodPatch: true, http.MethodDelete: true, http.MethodOptions: true,
}

// controllerCollector reads the controller for one scrape.
type controllerCollector struct {
	ctx        context.Context
	controller Controller
	multipath  Multipath
	bgp        BGP
	kept       []api.ReadinessCheck // see Server.kept
	events     *Events
}

var (
	readyDesc = prometheus.NewDesc("weft_ready",
		"1 when changes are kept, every BGP-LS peer has sent all that it has once, and every switch is "+
			"in sync.", nil, nil)
	connectedDesc = prometheus.NewDesc("weft_switch_connected",
		"1 when the switch is connected and was read back.", []string{"switch"}, nil)
	syncedDesc = prometheus.NewDesc("weft_switch_synced",
		"1 when the switch holds all it should.", []string{"switch"}, nil)
	entriesDesc = prometheus.NewDesc("weft_switch_entries", "Entities on the switch.",
		[]string{"switch"}, nil)
	pendingDesc = prometheus.NewDesc("weft_switch_updates_pending",
		"Outstanding updates of the switch.", []string{"switch"}, nil)
	refusedDesc = prometheus.NewDesc("weft_switch_updates_refused",
		"Updates that the switch refused and that are tried again; at most ten are counted.",
		[]string{"switch"}, nil)
	portsDesc = prometheus.NewDesc("weft_switch_ports",
		"Ports that are up or down, as the switch said last by gNMI; absent for one that never did.",
		[]string{"switch", "state"}, nil)
	orphansDesc = prometheus.NewDesc("weft_switch_orphans",
		"What the switch holds and no resource explains, in things such as groups and tenants.",
		[]string{"switch", "kind"}, nil)
	orphanEntriesDesc = prometheus.NewDesc("weft_switch_orphan_entries",
		"Entities on the switch that no resource explains.", []string{"switch", "kind"}, nil)
	groupsDesc    = prometheus.NewDesc("weft_multicast_groups", "Multicast groups.", nil, nil)
	conditionDesc = prometheus.NewDesc("weft_multicast_groups_condition",
		"Multicast groups of which the condition is true.", []string{"condition"}, nil)
	nodesDesc = prometheus.NewDesc("weft_topology_nodes", "Nodes of the topology.", nil, nil)
	linksDesc = prometheus.NewDesc("weft_topology_links",
		"Links of the topology, each direction by itself.", nil, nil)
	staleDesc = prometheus.NewDesc("weft_topology_stale",
		"1 when the topology may no longer be true.", nil, nil)
	topologyDesc = prometheus.NewDesc("weft_topology_version", "Version of the topology.", nil,
		nil)
	lldpDesc = prometheus.NewDesc("weft_lldp_frames_total",
		"LLDP frames sent and accepted, and those refused.", []string{"result"}, nil)
	neighborsDesc = prometheus.NewDesc("weft_neighbor_messages_total",
		"Messages of neighbor discovery sent to hosts, and those of hosts.", []string{"result"}, nil)
	neighborRefusedDesc = prometheus.NewDesc("weft_neighbor_refused_total",
		"Claims of hosts to addresses that bind nothing.", []string{"reason"}, nil)
	bindingsDesc = prometheus.NewDesc("weft_neighbor_bindings",
		"Addresses that are bound to ports because a host uses them.", nil, nil)
	eventsDesc        = prometheus.NewDesc("weft_events_total", "Events published.", nil, nil)
	groupConditions   = []api.ConditionType{api.Accepted, api.Programmed, api.Degraded}
	controllerMetrics = []*prometheus.Desc{
		readyDesc, connectedDesc, syncedDesc, entriesDesc, pendingDesc, refusedDesc, portsDesc,
		orphansDesc, orphanEntriesDesc, groupsDesc, conditionDesc, nodesDesc, linksDesc, staleDesc,
		topologyDesc, lldpDesc, neighborsDesc, neighborRefusedDesc, bindingsDesc, eventsDesc,
	}
)

func (c *controllerCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range controllerMetrics {
		ch <- d
	}
}

func (c *controllerCollector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	if view, err := readiness(c.ctx, c.controller, c.multipath, c.bgp, c.kept); err != nil {
		ch <- prometheus.NewInvalidMetric(readyDesc, err)
	} else {
		gauge(readyDesc, number(view.Ready))
	}
	switches, err := kind.Views[api.SwitchStatus](c.ctx, c.controller.Kinds())
	if err != nil {
		ch <- prometheus.NewInvalidMetric(connectedDesc, err)
	}
	for i := range switches {
		if w := &switches[i]; w.Managed {
			gauge(connectedDesc, number(w.Connected), w.Name)
			gauge(syncedDesc, number(w.Synced), w.Name)
			gauge(entriesDesc, float64(w.Entries), w.Name)
			gauge(pendingDesc, float64(w.Pending), w.Name)
			gauge(refusedDesc, float64(len(w.Errors)), w.Name)
			if p := w.Ports; p != nil && p.Up+len(p.Down) > 0 {
				gauge(portsDesc, float64(p.Up), w.Name, "up")
				gauge(portsDesc, float64(len(p.Down)), w.Name, "down")
			}
		}
	}
	c.orphans(ch, gauge)
	t := c.controller.Topology()
	gauge(nodesDesc, float64(len(t.Nodes)))
	gauge(linksDesc, float64(len(t.Links)))
	gauge(staleDesc, number(t.Stale != nil))
	gauge(topologyDesc, float64(t.Version))
	ch <- prometheus.MustNewConstMetric(eventsDesc, prometheus.CounterValue,
		float64(c.events.Published()))
	c.lldp(ch)
	c.neighbors(ch)
	groups, err := kind.Views[api.MulticastGroup](c.ctx, c.controller.Kinds())
	if err != nil {
		ch <- prometheus.NewInvalidMetric(groupsDesc, err)
		return
	}
	gauge(groupsDesc, float64(len(groups)))
	for _, condition := range groupConditions {
		n := 0
		for i := range groups {
			if groups[i].Status.Is(condition) {
				n++
			}
		}
		gauge(conditionDesc, float64(n), string(condition))
	}
}

// lldp reports frames of discovery.
func (c *controllerCollector) lldp(ch chan<- prometheus.Metric) {
	all, err := c.controller.FrameCounts(c.ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(lldpDesc, err)
		return
	}
	n := all.Links
	if n == nil {
		return
	}
	for result, count := range map[string]uint64{"sent": n.Sent, "accepted": n.Accepted,
		"foreign": n.Foreign, "forged": n.Forged, "repeated": n.Repeated} {
		ch <- prometheus.MustNewConstMetric(lldpDesc, prometheus.CounterValue, float64(count), result)
	}
}

// neighbors reports messages of neighbor discovery, and their bindings.
func (c *controllerCollector) neighbors(ch chan<- prometheus.Metric) {
	all, err := c.controller.FrameCounts(c.ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(neighborsDesc, err)
		return
	}
	n := all.Hosts
	if n == nil {
		return
	}
	for result, count := range map[string]uint64{"advertised": n.Advertised, "asked": n.Asked,
		"defended": n.Defended, "heard": n.Heard, "invalid": n.Invalid, "forged": n.Forged} {
		ch <- prometheus.MustNewConstMetric(neighborsDesc, prometheus.CounterValue, float64(count),
			result)
	}
	for _, why := range neighbor.Refusals {
		ch <- prometheus.MustNewConstMetric(neighborRefusedDesc, prometheus.CounterValue,
			float64(n.Refused[why]), string(why))
	}
	ch <- prometheus.MustNewConstMetric(bindingsDesc, prometheus.GaugeValue, float64(n.Bindings))
}

// orphans reports orphans by switch and kind.
func (c *controllerCollector) orphans(
	ch chan<- prometheus.Metric, gauge func(*prometheus.Desc, float64, ...string),
) {
	all, err := kind.Views[api.Orphan](c.ctx, c.controller.Kinds())
	if err != nil {
		ch <- prometheus.NewInvalidMetric(orphansDesc, err)
		return
	}
	type of struct {
		sw   string
		kind api.OrphanKind
	}
	things, entries := make(map[of]int), make(map[of]int)
	for _, o := range all {
		things[of{o.Switch, o.Kind}]++
		entries[of{o.Switch, o.Kind}] += o.Entries
	}
	for k, n := range things {
		gauge(orphansDesc, float64(n), k.sw, string(k.kind))
		gauge(orphanEntriesDesc, float64(entries[k]), k.sw, string(k.kind))
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
