package telemetry

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/natural"
)

// Utilization is a metric of ports for [Store.Top]: the rate of the busier direction as a share of
// the speed, from 0 to 1. A port of unknown speed has no utilization.
const Utilization = "utilization"

// MaxOver is the longest time that Top and Means look at.
const MaxOver = fineKept * time.Second

// Top returns the objects of a kind with the greatest values of a metric in the last time over, and
// the unit; objects without a value are left out. Values are means of rates, and maxima of gauges.
// The error is ErrUnknown, with the known metrics.
func (st *Store) Top(k Kind, metric string, over time.Duration, limit int,
	now time.Time) (top []api.TopItem, unit string, err error) {
	var m mask
	ranked := k == Port && metric == Utilization
	if ranked {
		m, unit = 1<<InBits|1<<OutBits, Number
	} else {
		i := slices.IndexFunc(metrics[k], func(x Metric) bool { return x.Name == metric })
		if i < 0 {
			names := metricNames(k)
			if k == Port {
				names = append([]string{Utilization}, names...)
			}
			return nil, "", fmt.Errorf("%w: %q: want one of %v", ErrUnknown, metric, names)
		}
		m, unit = 1<<i, metrics[k][i].Unit
	}
	worse := func(a, b api.TopItem) int {
		return cmp.Or(-cmp.Compare(a.Value, b.Value), natural.Compare(a.Name, b.Name))
	}
	for _, s := range st.all() {
		s.mu.Lock()
		s.means(k, m, over, now, func(o *object, x *mean) {
			r := api.TopItem{}
			if k == Port {
				r.Speed = s.speeds[o.port]
			}
			switch {
			case ranked && r.Speed == 0:
				return
			case ranked:
				r.In, r.Out = x.value(k, InBits)/float64(r.Speed), x.value(k, OutBits)/float64(r.Speed)
				r.Value = max(r.In, r.Out)
			default:
				m.each(func(i int) { r.Value = x.value(k, i) })
			}
			if r.Value == 0 || len(top) == limit && r.Value < top[limit-1].Value {
				return
			}
			r.Name = s.fullName(&o.key)
			at, _ := slices.BinarySearchFunc(top, r, worse)
			top = slices.Insert(top, at, r)
			top = top[:min(len(top), limit)]
		})
		s.mu.Unlock()
	}
	return top, unit, nil
}

// Switches returns the names of the switches that have reported something, in natural order.
func (st *Store) Switches() []string {
	var names []string
	for _, s := range st.all() {
		names = append(names, s.name)
	}
	slices.SortFunc(names, natural.Compare)
	return names
}

// Ports calls visit with the rates of the ports of a switch that have one, in bit/s, as means of
// the last time over, NaN in a direction without, and with their speeds in bit/s; 0: not known.
// visit must not call the store.
func (st *Store) Ports(name string, over time.Duration, now time.Time,
	visit func(port uint32, in, out float64, speed uint64)) {
	s := st.find(name)
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rate := func(x *mean, m int) float64 {
		if !x.known.has(m) {
			return math.NaN()
		}
		return x.value(Port, m)
	}
	s.means(Port, 1<<InBits|1<<OutBits, over, now, func(o *object, x *mean) {
		visit(o.port, rate(x, InBits), rate(x, OutBits), s.speeds[o.port])
	})
}

// mean is the mean rate of an object in a time.
type mean struct {
	known  mask // metrics with values; what is below counts for no others
	sum    [maxMetrics]float64
	most   [maxMetrics]float64
	weight [maxMetrics]float64
}

// value returns a value in the unit of its metric; 0 when there is none.
func (x *mean) value(k Kind, m int) float64 {
	switch d := &metrics[k][m]; {
	case !x.known.has(m):
		return 0
	case d.gauge:
		return x.most[m] * d.scale
	default:
		return x.sum[m] / x.weight[m] * d.scale
	}
}

// add adds the values of columns at places from first up to end.
func (x *mean) add(c *columns, first, end int) {
	c.known.each(func(m int) {
		if !x.known.has(m) {
			x.known |= 1 << m
			x.sum[m], x.most[m], x.weight[m] = 0, 0, 0
		}
		for i := first; i < end; i++ {
			if v, ok := c.at(m, i); ok {
				x.sum[m] += v
				x.most[m] = max(x.most[m], v)
				x.weight[m]++
			}
		}
		if x.weight[m] == 0 {
			x.known &^= 1 << m
		}
	})
}

// run is a run of consecutive places of the fine head, from first up to end.
type run struct{ first, end int }

// addHead adds the values of an object at places of the fine head. Those of all runs are wanted.
func (x *mean) addHead(h *head, o *object, m mask, runs []run, wanted [2]uint64) {
	all := wanted[0]&^o.present[0]|wanted[1]&^o.present[1] == 0
	(m & o.known).each(func(i int) {
		sum, most, weight := 0.0, 0.0, 0
		gauge := metrics[o.kind][i].gauge
		column := int(h.columns[int(o.base)+i]) // 0: one of zeros
		for _, r := range runs {
			for j, c := range h.slab[column+r.first : column+r.end] {
				if c == codeGap || !all && !o.has(r.first+j) {
					continue
				}
				v := c.value()
				sum += v
				weight++
				if gauge { // few are: the greatest takes as long as the sum
					most = max(most, v)
				}
			}
		}
		if weight == 0 {
			return
		}
		if !x.known.has(i) {
			x.known |= 1 << i
			x.sum[i], x.most[i], x.weight[i] = 0, 0, 0
		}
		x.sum[i], x.most[i], x.weight[i] = x.sum[i]+sum, max(x.most[i], most), x.weight[i]+float64(weight)
	})
}

// means calls visit with the objects of a kind that have values in the last time over.
func (s *shard) means(k Kind, m mask, over time.Duration, now time.Time,
	visit func(*object, *mean)) {
	to := now.Unix() + 1
	from := to - int64(min(over, MaxOver)/time.Second)
	type cursor struct {
		*segment
		data       []byte
		first, end int // places
	}
	var segments []cursor
	for i := range s.minutes {
		if g := &s.minutes[i]; g.start+fineSpan > from && g.start < to {
			segments = append(segments, cursor{g, g.data, int(max(0, from-g.start)),
				int(min(fineSpan, to-g.start))})
		}
	}
	var runs []run
	var wanted [2]uint64
	for at := max(s.fine.start, from); at < min(s.fine.end(), to); at++ {
		place := s.fine.place(at)
		wanted[place/64] |= 1 << (place % 64)
		if n := len(runs); n > 0 && runs[n-1].end == place {
			runs[n-1].end++
		} else {
			runs = append(runs, run{place, place + 1})
		}
	}
	var c columns
	var x mean
	for i := range s.objects {
		o := &s.objects[i]
		x.known = 0
		for j := range segments {
			g := &segments[j]
			if i >= len(g.sizes) {
				continue
			}
			n := g.sizes[i]
			if o.kind == k {
				c.decode(g.data[:n], fineSpan, g.first, g.end, m)
				x.add(&c, g.first, g.end)
			}
			g.data = g.data[n:]
		}
		if o.kind != k {
			continue
		}
		x.addHead(&s.fine, o, m, runs, wanted)
		if x.known != 0 {
			visit(o, &x)
		}
	}
}
