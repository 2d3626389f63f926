package northbound

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/telemetry"
)

const (
	telemetryTag  = "telemetry"
	telemetryPath = "/v1/telemetry"
)

// Times that requests without their own look at.
const (
	defaultSince = 15 * time.Minute
	defaultOver  = 10 * time.Second
)

func (s *Server) registerTelemetry() {
	register(s, huma.Operation{
		OperationID: "get-history", Method: http.MethodGet, Security: asks(access.Read),
		Path: telemetryPath + "/history", Tags: []string{telemetryTag},
		Summary: "Get what an object did",
		Description: "Rates and other values of a port, a queue, a multicast group, an EV profile, a " +
			"tunnel for PFC frames or the fabric, as arrays of one length: each second of the last 15 " +
			"minutes, each minute of the last 24 hours. " +
			"Nothing is made up: where counters were not read, restarted or went back, there is null.",
		Errors: []int{404, 422},
	}, s.getHistory)
	register(s, huma.Operation{
		OperationID: "get-top", Method: http.MethodGet, Security: asks(access.Read),
		Path: telemetryPath + "/top", Tags: []string{telemetryTag},
		Summary: "Get the objects with the greatest values", Errors: []int{422},
	}, s.getTop)
}

func (s *Server) getHistory(_ context.Context, in *struct {
	Kind   string   `query:"kind" enum:"port,queue,group,ev-profile,tunnel,fabric,sid" default:"port" doc:"What the object is."`
	Name   string   `query:"name" required:"true" minLength:"1" maxLength:"512" doc:"Its name: SWITCH/PORT for a port, SWITCH/PORT/QUEUE for a queue, SWITCH/PREFIX for a local SID, the name of the resource for a multicast group or EV profile, and SWITCH/ID, where it starts and its id, for a tunnel for PFC frames; all for the fabric, plane/N for a plane of it, and job/NAME for the NICs of a job that has not ended."`
	Metric []string `query:"metric" doc:"Only these metrics. Default: all that there are."`
	Since  string   `query:"since" maxLength:"40" doc:"A time (RFC 3339), or how long ago, such as 15m. Default 15m."`
	Until  string   `query:"until" maxLength:"40" doc:"A time (RFC 3339), or how long ago, such as 5m. Default: now."`
	Step   string   `query:"step" maxLength:"10" doc:"Time from one point to the next, such as 10s. Default, and least: 1s in the last 15 minutes, 1m before; more where there would be more than 1500 points."`
}) (*api.History, error) {
	now := s.cfg.Now()
	kind, err := telemetry.ParseKind(in.Kind)
	if err != nil {
		return nil, badQuery("kind", in.Kind, "a kind of objects")
	}
	q := telemetry.Query{Kind: kind, Name: in.Name, Metrics: in.Metric}
	if q.Since, err = moment("since", in.Since, now.Add(-defaultSince), now); err != nil {
		return nil, err
	}
	if q.Until, err = moment("until", in.Until, now, now); err != nil {
		return nil, err
	}
	if !q.Since.Before(q.Until) {
		return nil, badQuery("since", in.Since, "a time before "+q.Until.UTC().Format(time.RFC3339))
	}
	if in.Step != "" {
		if q.Step, err = time.ParseDuration(in.Step); err != nil || q.Step < time.Second ||
			q.Step%time.Second != 0 {
			return nil, badQuery("step", in.Step, "whole seconds, such as 10s")
		}
	}
	h, err := s.cfg.Telemetry.History(q, now)
	switch {
	case errors.Is(err, telemetry.ErrUnknown):
		return nil, badQuery("metric", strings.Join(in.Metric, ", "), metricsText(kind))
	case err != nil:
		return nil, newProblem(string(api.CodeNotFound), fmt.Sprintf("there are no values of a %s %q",
			in.Kind, in.Name))
	}
	out := api.History{Kind: in.Kind, Name: in.Name, Speed: h.Speed, Step: int(h.Step / time.Second),
		Times: h.Times, Series: make([]api.Series, 0, len(h.Series))}
	for i := range h.Series {
		x := &h.Series[i]
		values := make([]*float64, len(x.Values))
		for j, v := range x.Values {
			if !math.IsNaN(v) {
				x.Values[j] = telemetry.Significant(v)
				values[j] = &x.Values[j]
			}
		}
		out.Series = append(out.Series, api.Series{Metric: x.Metric.Name, Unit: x.Metric.Unit,
			Values: values})
	}
	return &out, nil
}

func (s *Server) getTop(_ context.Context, in *struct {
	Kind   string `query:"kind" enum:"port,queue,group,ev-profile,tunnel,fabric,sid" default:"port" doc:"What the objects are."`
	Metric string `query:"metric" maxLength:"40" doc:"What they are ordered by. Default: utilization of ports, outBits where the speed of no port is known, the first metric of other kinds."`
	Over   string `query:"over" maxLength:"10" doc:"The time up to until that values are of, 1s to 15m. Default 10s."`
	Until  string `query:"until" maxLength:"40" doc:"A time (RFC 3339), or how long ago, such as 5m, in the last 15 minutes. Default: now."`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"10" doc:"Objects at most."`
}) (*api.Top, error) {
	kind, err := telemetry.ParseKind(in.Kind)
	if err != nil {
		return nil, badQuery("kind", in.Kind, "a kind of objects")
	}
	over, err := window(in.Over)
	if err != nil {
		return nil, err
	}
	metric := in.Metric
	now, err := s.lately(in.Until)
	if err != nil {
		return nil, err
	}
	switch all := telemetry.Metrics(kind); {
	case metric != "":
	case kind == telemetry.Port && s.cfg.Telemetry.Speeds():
		metric = telemetry.Utilization
	case kind == telemetry.Port:
		metric = all[telemetry.OutBits].Name
	default:
		metric = all[0].Name
	}
	items, unit, err := s.cfg.Telemetry.Top(kind, metric, over, in.Limit, now)
	if err != nil {
		return nil, badQuery("metric", in.Metric, metricsText(kind))
	}
	for i := range items {
		x := &items[i]
		x.Value, x.In, x.Out = telemetry.Significant(x.Value), telemetry.Significant(x.In),
			telemetry.Significant(x.Out)
	}
	return &api.Top{
		Kind: in.Kind, Metric: metric, Unit: unit, Over: int(over / time.Second), Time: now.UTC(),
		Items: append([]api.TopItem{}, items...),
	}, nil
}

// metricsText lists what a metric of a kind may be.
func metricsText(k telemetry.Kind) string {
	var names []string
	if k == telemetry.Port {
		names = append(names, telemetry.Utilization)
	}
	for _, m := range telemetry.Metrics(k) {
		names = append(names, m.Name)
	}
	return "one of " + strings.Join(names, ", ")
}

// moment reads a time, or how long ago it was.
func moment(parameter, text string, otherwise, now time.Time) (time.Time, error) {
	if text == "" {
		return otherwise, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || t.After(now) {
		return t, badQuery(parameter, text,
			"a time such as 2026-01-31T12:00:00Z that is not to come, or how long ago, such as 15m")
	}
	return t, nil
}

// lately reads the end of a period within the time for which the store keeps second-by-second
// values.
func (s *Server) lately(text string) (time.Time, error) {
	now := s.cfg.Now()
	t, err := moment("until", text, now, now)
	if err == nil && now.Sub(t) > telemetry.MaxOver {
		err = badQuery("until", text, fmt.Sprintf("a time in the last %v", telemetry.MaxOver))
	}
	return t, err
}

// window reads the length of a time.
func window(text string) (time.Duration, error) {
	if text == "" {
		return defaultOver, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second || d > telemetry.MaxOver || d%time.Second != 0 {
		return 0, badQuery("over", text, fmt.Sprintf("whole seconds from 1s to %v", telemetry.MaxOver))
	}
	return d, nil
}
