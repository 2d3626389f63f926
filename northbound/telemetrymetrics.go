package northbound

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weft-sdn/weft/telemetry"
)

// telemetryCollector reports statistics of the telemetry store.
type telemetryCollector struct{ store *telemetry.Store }

// telemetryMetrics are in the order of the values that Collect reads.
var telemetryMetrics = []struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}{
	{prometheus.NewDesc("weft_telemetry_objects", "Objects with a history, such as ports and queues.",
		nil, nil), prometheus.GaugeValue},
	{prometheus.NewDesc("weft_telemetry_octets", "Octets that the history takes at most.", nil, nil),
		prometheus.GaugeValue},
	{prometheus.NewDesc("weft_telemetry_samples_total", "Samples of ports.", nil, nil),
		prometheus.CounterValue},
	{prometheus.NewDesc("weft_telemetry_late_total", "Samples that came after newer ones.", nil, nil),
		prometheus.CounterValue},
	{prometheus.NewDesc("weft_telemetry_gaps_total", "Samples of objects that came too long after "+
		"the one before for a rate.", nil, nil), prometheus.CounterValue},
	{prometheus.NewDesc("weft_telemetry_restarts_total", "Samples of ports whose counters had "+
		"restarted or gone back.", nil, nil), prometheus.CounterValue},
	{prometheus.NewDesc("weft_telemetry_evicted_segments_total", "Segments of values that were "+
		"dropped before their time, for want of memory.", nil, nil), prometheus.CounterValue},
	{prometheus.NewDesc("weft_telemetry_refused_objects_total",
		"Objects without a history, for want of memory.", nil, nil), prometheus.CounterValue},
}

func (c telemetryCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range telemetryMetrics {
		ch <- m.desc
	}
}

func (c telemetryCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.store.Stats()
	for i, v := range []float64{
		float64(s.Objects), float64(s.Octets), float64(s.Samples), float64(s.Late), float64(s.Gaps),
		float64(s.Restarts), float64(s.Evicted), float64(s.Refused),
	} {
		m := &telemetryMetrics[i]
		ch <- prometheus.MustNewConstMetric(m.desc, m.kind, v)
	}
}
