// Package metrics shows a running switch to Prometheus: ports, drops, queues,
// tables and the P4Runtime server. A scrape takes one snapshot of the switch;
// nothing is counted for Prometheus while packets pass.
//
//	http.Handle("GET /metrics", metrics.New(metrics.Config{Switch: runner, Server: server}))
package metrics
