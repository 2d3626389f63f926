package northbound

import (
	"context"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
)

// losslessCollector reads the controller's PFC policies for one scrape.
type losslessCollector struct {
	ctx        context.Context
	controller Controller
}

var (
	queueLabels      = []string{"switch", "port", "priority"}
	pfcPoliciesDesc  = prometheus.NewDesc("weft_pfc_policies", "PFC policies.", nil, nil)
	pfcConditionDesc = prometheus.NewDesc("weft_pfc_policies_condition",
		"PFC policies of which the condition is true.", []string{"condition"}, nil)
	pfcTunnelsDesc = prometheus.NewDesc("weft_pfc_tunnels",
		"Tunnels for PFC frames, by what probes say of them.", []string{"state"}, nil)
	queuePausedDesc = prometheus.NewDesc("weft_pfc_queue_paused",
		"1 when a pause of the queue was in force when its switch was asked last.", queueLabels, nil)
	queueHeldDesc = prometheus.NewDesc("weft_pfc_queue_held_octets",
		"Octets that waited in the queue then.", queueLabels, nil)
	pausesDesc = prometheus.NewDesc("weft_pfc_pauses_received_total",
		"Commands to pause that the queue has had.", queueLabels, nil)
	xoffSentDesc = prometheus.NewDesc("weft_pfc_xoff_sent_total",
		"XOFFs that were sent upstream because of the queue.", queueLabels, nil)
	xonSentDesc = prometheus.NewDesc("weft_pfc_xon_sent_total",
		"XONs that were sent upstream because of the queue.", queueLabels, nil)
	queueOverflowDesc = prometheus.NewDesc("weft_pfc_dropped_total",
		"Packets that found the queue full.", queueLabels, nil)
	stormsDesc = prometheus.NewDesc("weft_pfc_storms_total",
		"Pauses that the watchdog of the queue took for a storm.", queueLabels, nil)
	losslessMetrics = []*prometheus.Desc{pfcPoliciesDesc, pfcConditionDesc, pfcTunnelsDesc,
		queuePausedDesc, queueHeldDesc, pausesDesc, xoffSentDesc, xonSentDesc, queueOverflowDesc,
		stormsDesc}
	tunnelStates = []api.TunnelState{api.TunnelUp, api.TunnelDown, api.TunnelUnknown}
)

func (c *losslessCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range losslessMetrics {
		ch <- d
	}
}

func (c *losslessCollector) Collect(ch chan<- prometheus.Metric) {
	policies, err := kind.Views[api.PFCPolicy](c.ctx, c.controller.Kinds())
	if err != nil {
		ch <- prometheus.NewInvalidMetric(pfcPoliciesDesc, err)
		return
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	type queue struct {
		sw       string
		port     uint32
		priority uint8
	}
	seen := make(map[queue]bool) // policies share queues
	conditions, tunnels := make(map[api.ConditionType]int), make(map[api.TunnelState]int)
	for i := range policies {
		s := &policies[i].Status
		for _, condition := range groupConditions {
			if s.Conditions.Is(condition) {
				conditions[condition]++
			}
		}
		for j := range s.Tunnels {
			tunnels[s.Tunnels[j].State]++
		}
		for j := range s.Nodes {
			n := &s.Nodes[j]
			k := queue{n.Switch, n.Port, n.Priority}
			if n.Queue == nil || seen[k] {
				continue
			}
			seen[k] = true
			labels := []string{n.Switch, strconv.FormatUint(uint64(n.Port), 10),
				strconv.Itoa(int(n.Priority))}
			gauge(queuePausedDesc, number(n.Queue.Paused), labels...)
			gauge(queueHeldDesc, float64(n.Queue.Held), labels...)
			for _, x := range [...]struct {
				desc *prometheus.Desc
				n    uint64
			}{
				{pausesDesc, n.Queue.PausesReceived}, {xoffSentDesc, n.Queue.XOFFSent},
				{xonSentDesc, n.Queue.XONSent},
				{queueOverflowDesc, n.Queue.Dropped}, {stormsDesc, n.Queue.Storms},
			} {
				ch <- prometheus.MustNewConstMetric(x.desc, prometheus.CounterValue, float64(x.n), labels...)
			}
		}
	}
	gauge(pfcPoliciesDesc, float64(len(policies)))
	for _, condition := range groupConditions {
		gauge(pfcConditionDesc, float64(conditions[condition]), string(condition))
	}
	for _, state := range tunnelStates {
		gauge(pfcTunnelsDesc, float64(tunnels[state]), string(state))
	}
}
