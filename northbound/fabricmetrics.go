package northbound

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
)

// fabricCollector reads the controller of an MRC fabric for one scrape.
type fabricCollector struct {
	ctx       context.Context
	multipath Multipath
}

var (
	inSyncDesc = prometheus.NewDesc("weft_mrc_in_sync",
		"1 when the topology is whole, and a fabric whose paths hosts can be given.", nil, nil)
	fabricLinksDesc = prometheus.NewDesc("weft_mrc_links",
		"Links that paths of the MRC fabric cross, each direction by itself.", nil, nil)
	deniedLinksDesc = prometheus.NewDesc("weft_mrc_links_denied",
		"Links over which no entropy value is to be used.", nil, nil)
	hostsDesc = prometheus.NewDesc("weft_mrc_hosts",
		"Hosts that are attached to the fabric.", nil, nil)
	connectedHostsDesc = prometheus.NewDesc("weft_mrc_hosts_connected", "Hosts with a stream.", nil,
		nil)
	currentHostsDesc = prometheus.NewDesc("weft_mrc_hosts_current",
		"Hosts with their whole state.", nil, nil)
	hostPortsDesc       = prometheus.NewDesc("weft_mrc_host_ports", "Ports of hosts.", nil, nil)
	usableHostPortsDesc = prometheus.NewDesc("weft_mrc_host_ports_usable",
		"Ports of hosts that peers may send to.", nil, nil)
	hostPortErrorsDesc = prometheus.NewDesc("weft_mrc_host_port_errors",
		"What the counters of errors and losses of NICs add up to, as agents of hosts report.", nil, nil)
	queuePairsDesc = prometheus.NewDesc("weft_mrc_queue_pairs",
		"Queue pairs that applications have made on hosts, by whose EV profile they use.",
		[]string{"profile"}, nil)
	failedQueuePairsDesc = prometheus.NewDesc("weft_mrc_queue_pairs_failed",
		"Those in the error state.", nil, nil)
	hintedQueuePairsDesc = prometheus.NewDesc("weft_mrc_queue_pairs_hinted",
		"Queue pairs whose programs gave hints.", nil, nil)
	probesDesc = prometheus.NewDesc("weft_mrc_probes_total",
		"EV probes reported by hosts, by result.", []string{"result"}, nil)
	profilesDesc         = prometheus.NewDesc("weft_mrc_ev_profiles", "EV profiles.", nil, nil)
	degradedProfilesDesc = prometheus.NewDesc("weft_mrc_ev_profiles_degraded",
		"Degraded EV profiles.", nil, nil)
	suspectsDesc = prometheus.NewDesc("weft_mrc_suspects",
		"Links that lose packets without being down.", nil, nil)
	ignoredDesc = prometheus.NewDesc("weft_mrc_ignored_total",
		"What hosts said and the controller could make nothing of, by reason.", []string{"reason"}, nil)
	streamDesc = prometheus.NewDesc("weft_mrc_streams_total",
		"Outcomes and messages of the streams to hosts.", []string{"event"}, nil)
	fabricMetrics = []*prometheus.Desc{
		inSyncDesc, fabricLinksDesc, deniedLinksDesc, hostsDesc, connectedHostsDesc, currentHostsDesc,
		hostPortsDesc, usableHostPortsDesc, hostPortErrorsDesc,
		probesDesc, profilesDesc, degradedProfilesDesc, suspectsDesc,
		ignoredDesc, streamDesc, queuePairsDesc, failedQueuePairsDesc, hintedQueuePairsDesc,
	}
)

func (c *fabricCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range fabricMetrics {
		ch <- d
	}
}

func (c *fabricCollector) Collect(ch chan<- prometheus.Metric) {
	s, err := c.multipath.Fabric(c.ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(inSyncDesc, err)
		return
	}
	h, err := c.multipath.StreamCounts(c.ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(inSyncDesc, err)
		return
	}
	gauge := func(d *prometheus.Desc, v float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
	gauge(inSyncDesc, number(s.InSync && s.Failure == ""))
	gauge(fabricLinksDesc, float64(s.Links.All))
	gauge(deniedLinksDesc, float64(s.Links.Bad))
	gauge(hostsDesc, float64(s.Hosts.All))
	gauge(connectedHostsDesc, float64(s.Hosts.Connected))
	gauge(currentHostsDesc, float64(s.Hosts.Current))
	gauge(hostPortsDesc, float64(s.Ports.All))
	gauge(usableHostPortsDesc, float64(s.Ports.Usable))
	gauge(hostPortErrorsDesc, float64(s.Ports.Errors))
	for profile, n := range map[string]int{"controller": s.QPs.Controller, "local": s.QPs.Local,
		"none": s.QPs.All - s.QPs.Controller - s.QPs.Local} {
		ch <- prometheus.MustNewConstMetric(queuePairsDesc, prometheus.GaugeValue, float64(n), profile)
	}
	gauge(failedQueuePairsDesc, float64(s.QPs.Failed))
	gauge(hintedQueuePairsDesc, float64(s.QPs.Hinted))
	gauge(profilesDesc, float64(s.Profiles.All))
	gauge(degradedProfilesDesc, float64(s.Profiles.Bad))
	if suspects, err := kind.Views[api.Suspect](c.ctx, c.multipath.Kinds()); err != nil {
		ch <- prometheus.NewInvalidMetric(suspectsDesc, err)
	} else {
		gauge(suspectsDesc, float64(len(suspects)))
	}
	count := func(d *prometheus.Desc, label string, n uint64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), label)
	}
	count(probesDesc, "answered", s.Probes.Answered)
	count(probesDesc, "lost", s.Probes.Sent-s.Probes.Answered)
	i := &s.Counters
	count(ignoredDesc, "unknown_host", i.UnknownHosts)
	count(ignoredDesc, "unknown_ev", i.UnknownEVs+h.UnknownEVs)
	count(ignoredDesc, "bad_count", i.BadCounts)
	count(ignoredDesc, "bad_event", i.BadEvents)
	count(ignoredDesc, "lost_event", i.LostEvents)
	count(ignoredDesc, "unknown_path", i.UnknownPaths)
	count(ignoredDesc, "unknown_probe", i.UnknownProbes)
	count(ignoredDesc, "lost_probe", i.LostProbes)
	count(ignoredDesc, "bad_port", i.BadPorts)
	count(streamDesc, "opened", h.Streams)
	count(streamDesc, "replaced", h.Replaced)
	count(streamDesc, "denied", h.Denied)
	count(streamDesc, "malformed", h.Malformed)
	count(streamDesc, "silent", h.Silent)
	count(streamDesc, "snapshot", h.Snapshots)
	count(streamDesc, "delta", h.Deltas)
	count(streamDesc, "applied", h.Applied)
	count(streamDesc, "refused", h.Refused)
	count(streamDesc, "message", h.Messages)
	count(streamDesc, "paced", h.Paced)
	count(streamDesc, "ev_event", h.Events)
	count(streamDesc, "ev_count", h.Counts)
	count(streamDesc, "probe", h.Probes)
	count(streamDesc, "probe_lost", h.ProbesLost)
	count(streamDesc, "probe_result", h.Results)
}
