// Package otlp sends what a Prometheus gatherer has to an OpenTelemetry collector, by OTLP over
// gRPC or HTTP (OTLP Specification 1.x, metrics).
package otlp

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"google.golang.org/grpc"

	"github.com/weft-sdn/weft/internal/certs"
)

// Protocols of a Config.
const (
	GRPC = "grpc"
	HTTP = "http"
)

// Config defines where metrics go.
type Config struct {
	// Endpoint is the host:port of the collector.
	Endpoint string
	// Path is the path of requests by HTTP. Default /v1/metrics.
	Path string
	// Protocol is GRPC or HTTP.
	Protocol string
	// Interval is the time between two exports, and bounds each of them.
	Interval time.Duration
	bound    time.Duration // of each export in tests, whose intervals are short; 0: Interval
	// TLS options; the zero value is plain text.
	TLS certs.Client
	// HeadersFile has headers of requests, read for each: lines NAME: VALUE; '#' starts a comment.
	// Optional.
	HeadersFile string
	// Name and Version of what sends: service.instance.id and service.version. The service.name is
	// weft.
	Name, Version string
	// Log takes a line when exports begin to fail, and when they succeed again. Default: none.
	Log *slog.Logger
}

// Exporter sends metrics. It is a [prometheus.Collector] of its own counters.
type Exporter struct {
	cfg      Config
	exporter metric.Exporter
	resource *resource.Resource
	exports  *prometheus.CounterVec
	failing  bool
}

// New returns an exporter, which connects at its first export. It returns errors of unusable files.
func New(cfg Config) (*Exporter, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if _, err := readHeaders(cfg.HeadersFile); err != nil {
		return nil, fmt.Errorf("headersFile: %w", err)
	}
	cfg.bound = cmp.Or(cfg.bound, cfg.Interval)
	e := &Exporter{cfg: cfg, exports: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "weft_otlp_exports_total",
		Help: "Exports of metrics by OTLP that the collector took (sent), and others (failed).",
	}, []string{"result"})}
	for _, result := range []string{sent, failed} {
		e.exports.WithLabelValues(result)
	}
	e.resource = resource.NewSchemaless(
		attribute.String("service.name", "weft"), attribute.String("service.instance.id", cfg.Name),
		attribute.String("service.version", cfg.Version))
	var err error
	if cfg.Protocol == HTTP {
		e.exporter, err = newHTTP(&cfg)
	} else {
		e.exporter, err = newGRPC(&cfg)
	}
	return e, err
}

const (
	sent   = "sent"
	failed = "failed"
)

// newGRPC returns an exporter without retries: the next export has all that a failed one had.
func newGRPC(cfg *Config) (metric.Exporter, error) {
	options := []otlpmetricgrpc.Option{
		otlpmetricgrpc.WithEndpoint(cfg.Endpoint), otlpmetricgrpc.WithTimeout(cfg.bound),
		otlpmetricgrpc.WithRetry(otlpmetricgrpc.RetryConfig{}),
		otlpmetricgrpc.WithDialOption(grpc.WithPerRPCCredentials(headers{cfg})),
	}
	if !cfg.TLS.Enabled {
		options = append(options, otlpmetricgrpc.WithInsecure())
	} else {
		credentials, err := cfg.TLS.Credentials(tls.VersionTLS12)
		if err != nil {
			return nil, err
		}
		options = append(options, otlpmetricgrpc.WithTLSCredentials(credentials))
	}
	return otlpmetricgrpc.New(context.Background(), options...)
}

func newHTTP(cfg *Config) (metric.Exporter, error) {
	options := []otlpmetrichttp.Option{
		otlpmetrichttp.WithEndpoint(cfg.Endpoint), otlpmetrichttp.WithTimeout(cfg.bound),
		otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{}),
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, IdleConnTimeout: 90 * time.Second}
	if cfg.Path != "" {
		options = append(options, otlpmetrichttp.WithURLPath(cfg.Path))
	}
	if !cfg.TLS.Enabled {
		options = append(options, otlpmetrichttp.WithInsecure())
	} else {
		dial, err := cfg.TLS.Dial(tls.VersionTLS12, &net.Dialer{})
		if err != nil {
			return nil, err
		}
		transport.DialTLSContext = dial
	}
	options = append(options, otlpmetrichttp.WithHTTPClient(&http.Client{Transport: &headed{cfg,
		transport}}))
	return otlpmetrichttp.New(context.Background(), options...)
}

// Run exports what a gatherer has at each interval, until ctx ends.
func (e *Exporter) Run(ctx context.Context, g prometheus.Gatherer) {
	producer := bridge.NewMetricProducer(bridge.WithGatherer(&lenient{g, e.cfg.Log}))
	tick := time.NewTicker(e.cfg.Interval)
	defer tick.Stop()
	for {
		e.export(ctx, producer)
		select {
		case <-ctx.Done():
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			_ = e.exporter.Shutdown(end)
			return
		case <-tick.C:
		}
	}
}

func (e *Exporter) export(ctx context.Context, producer metric.Producer) {
	all, err := producer.Produce(ctx)
	if err == nil {
		err = e.exporter.Export(ctx, &metricdata.ResourceMetrics{Resource: e.resource, ScopeMetrics: all})
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		e.exports.WithLabelValues(failed).Inc()
		if !e.failing {
			e.cfg.Log.Warn("metrics cannot be exported by OTLP", "endpoint", e.cfg.Endpoint, "reason", err)
		}
		e.failing = true
	default:
		e.exports.WithLabelValues(sent).Inc()
		if e.failing {
			e.cfg.Log.Info("metrics are exported by OTLP again", "endpoint", e.cfg.Endpoint)
		}
		e.failing = false
	}
}

// Describe implements [prometheus.Collector].
func (e *Exporter) Describe(ch chan<- *prometheus.Desc) { e.exports.Describe(ch) }

// Collect implements [prometheus.Collector].
func (e *Exporter) Collect(ch chan<- prometheus.Metric) { e.exports.Collect(ch) }

// lenient gathers what can be gathered: one metric that fails does not keep back the others.
type lenient struct {
	prometheus.Gatherer
	log *slog.Logger
}

func (l *lenient) Gather() ([]*dto.MetricFamily, error) {
	families, err := l.Gatherer.Gather()
	if err != nil {
		l.log.Warn("some metrics are missing in an export by OTLP", "reason", err)
	}
	return families, nil
}

// ErrHeaders: a file is not one of headers; the text says what is wrong.
var ErrHeaders = errors.New("not a file of headers")
