package api

import (
	"context"
	"net"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/grpc"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/service"
)

// exports hands on the names of metrics that a controller exports.
type exports struct {
	collector.UnimplementedMetricsServiceServer
	names chan map[string]bool
}

func (e *exports) Export(_ context.Context, r *collector.ExportMetricsServiceRequest) (
	*collector.ExportMetricsServiceResponse, error) {
	names := make(map[string]bool)
	for _, rm := range r.GetResourceMetrics() {
		for _, sm := range rm.GetScopeMetrics() {
			for _, m := range sm.GetMetrics() {
				names[m.GetName()] = true
			}
		}
	}
	select {
	case e.names <- names:
	default:
	}
	return &collector.ExportMetricsServiceResponse{}, nil
}

// TestExportedMetrics: with telemetry.otlp, a controller sends the contents of /metrics to a
// collector: its own metrics, topology metrics and export metrics.
func TestExportedMetrics(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e, server := &exports{names: make(chan map[string]bool, 1)}, grpc.NewServer()
	collector.RegisterMetricsServiceServer(server, e)
	go func() { _ = server.Serve(l) }()
	defer server.Stop()
	inv, err := inventory.Load(
		[]byte("api: {listen: '127.0.0.1:0'}\nbgp: {asn: 64999, routerId: 10.255.0.1}\ntelemetry: " +
			"{otlp: {endpoint: '" + l.Addr().String() + "', interval: 1s}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := service.Start(t.Context(), service.Options{Inventory: *inv})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	select {
	case names := <-e.names:
		for _, name := range []string{"weft_build_info", "weft_ready", "weft_topology_nodes",
			"weft_telemetry_objects", "weft_otlp_exports_total", "go_goroutines"} {
			if !names[name] {
				t.Errorf("the export has no %s: it has %v", name, names)
			}
		}
	case <-time.After(patience):
		t.Fatal("nothing is exported")
	}
}
