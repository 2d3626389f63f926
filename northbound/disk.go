package northbound

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weft-sdn/weft/api"
)

// diskStates are the states of a disk.
var diskStates = []string{"ok", "low", "out", "failed"}

var (
	diskFreeDesc = prometheus.NewDesc("weft_disk_free_bytes",
		"Octets that are free on the disk of the controller's data directory.", []string{"controller"},
		nil)
	diskSizeDesc = prometheus.NewDesc("weft_disk_size_bytes",
		"Octets of the disk of the controller's data directory.", []string{"controller"}, nil)
	diskMarkDesc = prometheus.NewDesc("weft_disk_mark_bytes",
		"Free octets below which changes are refused (refuse), and below which, with the reserve used "+
			"up, the controller's part of the store is stopped (stop).", []string{"controller", "mark"}, nil)
	diskSyncDesc = prometheus.NewDesc("weft_disk_sync_seconds",
		"Time that the last write took until it was on the disk.", []string{"controller"}, nil)
	diskSlowDesc = prometheus.NewDesc("weft_disk_slow",
		"1 while writes take longer than the members of a store wait for each other.",
		[]string{"controller"}, nil)
	diskStateDesc = prometheus.NewDesc("weft_disk_state",
		"1 for the state that the disk is in: ok, low, out or failed.", []string{"controller", "state"},
		nil)
)

// diskCollector has the disk of a controller for one scrape.
type diskCollector struct {
	controller string
	disk       *api.ControllerDisk
}

// Describe implements [prometheus.Collector].
func (diskCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{diskFreeDesc, diskSizeDesc, diskMarkDesc, diskSyncDesc,
		diskSlowDesc, diskStateDesc} {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (c diskCollector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v,
			append([]string{c.controller}, labels...)...)
	}
	gauge(diskFreeDesc, float64(c.disk.Free))
	gauge(diskSizeDesc, float64(c.disk.Total))
	gauge(diskMarkDesc, float64(c.disk.Refuse), "refuse")
	gauge(diskMarkDesc, float64(c.disk.Stop), "stop")
	gauge(diskSyncDesc, time.Duration(c.disk.Sync).Seconds())
	gauge(diskSlowDesc, number(c.disk.Slow))
	for _, s := range diskStates {
		gauge(diskStateDesc, number(s == c.disk.State), s)
	}
}
