package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// A figure is one line of the output: what was measured, and in which circumstances.
type figure struct {
	bench string
	unit  string
	value float64
	more  []field // in the order of the output
}

// A field is a parameter or a further result of a figure. Several of one figure have names of their
// own.
type field struct {
	name  string
	value any
}

// MarshalJSON writes the fields in their order: bench, unit and value first.
func (f figure) MarshalJSON() ([]byte, error) {
	fields := append([]field{{"bench", f.bench}, {"unit", f.unit}, {"value", f.value}}, f.more...)
	var b bytes.Buffer
	for i, x := range fields {
		if v, ok := x.value.(float64); ok {
			x.value = rounded(v)
		}
		value, err := json.Marshal(x.value)
		if err != nil {
			return nil, fmt.Errorf("figure %s: %s: %w", f.bench, x.name, err)
		}
		b.WriteByte("{,"[min(i, 1)])
		fmt.Fprintf(&b, "%q:%s", x.name, value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// rounded keeps four significant digits: there are no more in a measurement. Whole numbers are
// counts and stay.
func rounded(v float64) float64 {
	if v == math.Trunc(v) || math.IsInf(v, 0) || math.IsNaN(v) {
		return v
	}
	scale := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

// A report prints figures on one writer and tells a person on another what goes on.
type report struct {
	figures  *json.Encoder
	progress io.Writer
	asked    []string // names of benches, or of their figures; none: all
}

// wants reports whether the user asked for figures of a bench or of workloads: "pcap",
// "pcap/traffic", "pcap/traffic/mixed".
func (r *report) wants(name string) bool {
	return len(r.asked) == 0 || slices.ContainsFunc(r.asked, func(a string) bool {
		return strings.HasPrefix(name+"/", a+"/") || strings.HasPrefix(a, name+"/")
	})
}

func (r *report) print(f figure) error { return r.figures.Encode(f) }

func (r *report) tell(format string, args ...any) { fmt.Fprintf(r.progress, format+"\n", args...) }

// runs are the results of repeated runs of one thing.
type runs []float64

func (s runs) median() float64 {
	sorted := slices.Sorted(slices.Values(s))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}

// p99 returns the 99th percentile.
func (s runs) p99() float64 {
	sorted := slices.Sorted(slices.Values(s))
	return sorted[int(math.Ceil(0.99*float64(len(sorted))))-1]
}

// spread are the fields that say how far runs lie apart.
func (s runs) spread() []field {
	return []field{{"min", slices.Min(s)}, {"max", slices.Max(s)}, {"runs", len(s)}}
}
