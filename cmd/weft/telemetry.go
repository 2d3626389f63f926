package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
)

// measured are the kinds of objects with a history, by their plurals.
var measured = []struct{ plural, kind string }{
	{"ports", "port"}, {"queues", "queue"}, {"groups", "group"}, {"ev-profiles", "ev-profile"},
	{"tunnels", "tunnel"}, {"fabrics", "fabric"}, {"sids", "sid"},
}

func measuredNames(plural bool) (names []string) {
	for _, k := range measured {
		if plural {
			names = append(names, k.plural)
		} else {
			names = append(names, k.kind)
		}
	}
	return names
}

// fixed completes one of some words.
func fixed(words []string) completion {
	return func(context.Context, []string) []string { return words }
}

func newTop(env environment) *cobra.Command {
	v := &viewer{env: env}
	var metric, over string
	limit := 10
	c := &cobra.Command{
		Use:   "top [" + strings.Join(measuredNames(true), "|") + "]",
		Short: "Show the busiest ports, queues, groups, EV profiles, tunnels, planes and SIDs",
		Long: `Shows the objects with the greatest values of a metric: by default the ports with
the greatest utilization in the last 10 seconds.

  weft top
  weft top queues --metric droppedPackets --over 5m
  weft top ev-profiles --metric lostPackets`,
		Args: arguments(0, 1), ValidArgsFunction: inTurn(fixed(measuredNames(true))),
		RunE: func(cmd *cobra.Command, args []string) error {
			kind := measured[0].kind
			if len(args) > 0 {
				i := slices.Index(measuredNames(true), args[0])
				if i < 0 {
					return usagef("top: unknown kind %q: want one of %s", args[0],
						strings.Join(measuredNames(true), ", "))
				}
				kind = measured[i].kind
			}
			query := url.Values{"kind": {kind}, "over": {over}, "limit": {strconv.Itoa(limit)}}
			if metric != "" {
				query.Set("metric", metric)
			}
			return v.show(cmd.Context(), client.Path("v1", "telemetry", "top"), query, nil, detail(topTable))
		},
	}
	v.conn.register(c)
	v.output.register(c)
	f := c.Flags()
	f.StringVar(&metric, "metric", "",
		"what they are ordered by, such as inBits, outDiscards, droppedPackets (default utilization of "+
			"ports)")
	f.StringVar(&over, "over", "10s", "the time up to now that values are of, at most 15m")
	f.IntVarP(&limit, "limit", "n", limit, "how many, at most 1000")
	return c
}

// addHistory adds "weft get history".
func addHistory(v *viewer, add addFunc) {
	var metrics []string
	var since, until, step string
	c := add("history KIND NAME",
		"Show the last 24 hours of a port, queue, group, EV profile, tunnel or the fabric", 2,
		[]completion{fixed(measuredNames(false))}, func(ctx context.Context, args []string) error {
			query := url.Values{"kind": {args[0]}, "name": {args[1]}}
			for name, value := range map[string]string{"since": since, "until": until, "step": step} {
				if value != "" {
					query.Set(name, value)
				}
			}
			if len(metrics) > 0 {
				query.Set("metric", strings.Join(metrics, ","))
			}
			return v.show(ctx, client.Path("v1", "telemetry", "history"), query, nil, detail(historyTable))
		})
	f := c.Flags()
	f.StringSliceVar(&metrics, "metric", nil, "only these metrics, such as inBits,outBits")
	f.StringVar(&since, "since", "", "a time (RFC 3339), or how long ago (default 15m)")
	f.StringVar(&until, "until", "", "a time (RFC 3339), or how long ago (default now)")
	f.StringVar(&step, "step", "",
		"time from one point to the next (default 1s in the last 15 minutes, 1m before)")
}

func topTable(w *bytes.Buffer, t *api.Top) {
	if t.Metric == "utilization" {
		g := newGrid("NAME", "UTILIZATION", "IN", "OUT", "SPEED")
		for _, x := range t.Items {
			speed := float64(x.Speed)
			g.row(x.Name, percent(x.Value), quantity(x.In*speed, "bit/s"), quantity(x.Out*speed, "bit/s"),
				quantity(speed, "bit/s"))
		}
		g.writeTo(w)
		return
	}
	g := newGrid("NAME", strings.ToUpper(t.Metric))
	for _, x := range t.Items {
		g.row(x.Name, quantity(x.Value, t.Unit))
	}
	g.writeTo(w)
}

// historyTable shows a row for each point, without the metrics that are 0 throughout.
func historyTable(w *bytes.Buffer, h *api.History) {
	var shown []api.Series
	var still []string
	for _, s := range h.Series {
		if slices.ContainsFunc(s.Values, func(v *float64) bool { return v != nil && *v != 0 }) {
			shown = append(shown, s)
		} else {
			still = append(still, s.Metric)
		}
	}
	head := []string{"TIME"}
	for _, s := range shown {
		head = append(head, strings.ToUpper(s.Metric))
	}
	g := newGrid(head...)
	for i, at := range h.Times {
		row := []any{time.Unix(at, 0).UTC().Format(time.RFC3339)}
		for _, s := range shown {
			if v := s.Values[i]; v != nil {
				row = append(row, quantity(*v, s.Unit))
			} else {
				row = append(row, blank)
			}
		}
		g.row(row...)
	}
	g.writeTo(w)
	if len(still) > 0 {
		fmt.Fprintf(w, "\n0 throughout: %s\n", inLine(strings.Join(still, ", ")))
	}
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + "%" }

// quantity writes a value with 3 significant digits, a prefix of SI and its unit.
func quantity(v float64, unit string) string {
	if unit == "s" {
		return time.Duration(v * float64(time.Second)).Round(10 * time.Nanosecond).String()
	}
	if unit == "1" {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	prefix := ""
	for _, p := range []string{"k", "M", "G", "T"} {
		if math.Abs(v) < 999.5 {
			break
		}
		v, prefix = v/1000, p
	}
	digits := 3
	if a := math.Abs(v); a > 0 {
		digits = max(0, 2-int(math.Floor(math.Log10(a))))
	}
	if unit != "bit/s" && prefix == "" {
		digits = min(digits, 2)
	}
	text := strconv.FormatFloat(v, 'f', min(digits, 3), 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text + " " + prefix + unit
}
