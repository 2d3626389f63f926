package northbound

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/resource"
)

// registerNotificationTest registers the test of a notification. It reaches out into the network,
// so the audit log has it before.
func (s *Server) registerNotificationTest() {
	register(s, huma.Operation{
		OperationID: "test-notification", Method: http.MethodPost, Security: asks(access.Administer),
		Path: "/v1/notifications/{name}:test", Tags: []string{accessTag},
		Summary: "Send a test message to the receiver of a notification",
		Description: "Sends a message of the type notification.test at once, and answers the status " +
			"that the receiver has answered within 10 s. Refused (409) without a secret.",
		Errors: []int{404, 409, 503},
	}, func(ctx context.Context, in *NameParam) (*api.NotificationTest, error) {
		all := kind.Of[api.NotificationSpec, api.Notification](s.controller.Kinds())
		if _, err := all.Get(ctx, in.Name); err != nil {
			return nil, problemOf(err)
		}
		if err := s.auditFirst(ctx); err != nil {
			return nil, err
		}
		answer, err := kind.Ask[api.NotificationTest](ctx, all, in.Name, api.TestNotification{},
			resource.Precondition{})
		if err != nil {
			return nil, problemOf(err)
		}
		return &answer, nil
	})
}

var (
	notificationLabels  = []string{"notification"}
	notificationPending = prometheus.NewDesc("weft_notification_pending",
		"Messages that wait for the receiver of a notification.", notificationLabels, nil)
	notificationFailures = prometheus.NewDesc("weft_notification_failures",
		"Attempts that have failed since the last that did not, by notification.",
		notificationLabels, nil)
	notificationLost = prometheus.NewDesc("weft_notification_lost_total",
		"Messages that were given up, by notification.", notificationLabels, nil)
	notificationDelivered = prometheus.NewDesc("weft_notification_delivered_timestamp_seconds",
		"When the receiver of a notification took a message last.", notificationLabels, nil)
	notificationMetrics = []*prometheus.Desc{notificationPending, notificationFailures,
		notificationLost, notificationDelivered}
)

// notificationCollector has the state of the notifications.
type notificationCollector struct {
	ctx        context.Context
	controller Controller
}

func (c *notificationCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range notificationMetrics {
		ch <- d
	}
}

func (c *notificationCollector) Collect(ch chan<- prometheus.Metric) {
	all, err := kind.ViewsOf[api.Notification](c.ctx, c.controller.Kinds(), kind.Query{})
	if err != nil {
		return // the controller ends
	}
	for i := range all {
		s := &all[i].Status
		gauge := func(d *prometheus.Desc, t prometheus.ValueType, v float64) {
			ch <- prometheus.MustNewConstMetric(d, t, v, all[i].Name)
		}
		gauge(notificationPending, prometheus.GaugeValue, float64(s.Pending))
		gauge(notificationFailures, prometheus.GaugeValue, float64(s.Failures))
		gauge(notificationLost, prometheus.CounterValue, float64(s.Lost))
		if !s.Delivered.IsZero() {
			gauge(notificationDelivered, prometheus.GaugeValue, float64(s.Delivered.Unix()))
		}
	}
}
