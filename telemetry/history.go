package telemetry

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxPoints is the greatest number of points of a History.
const MaxPoints = 1500

// History has the rates of an object over time.
type History struct {
	// Speed is the speed of a port in bit/s; 0: unknown, or the object is no port.
	Speed uint64
	// Step is the time between two points, in whole seconds.
	Step time.Duration
	// Times are the Unix times in seconds at which points begin.
	Times []int64
	// Series follow the order of the kind's metrics; metrics without a value are left out.
	Series []Series
}

// Series are the values of a metric.
type Series struct {
	Metric Metric
	// Values are in the unit of the metric, by point: means of rates, and the greatest of gauges. NaN
	// is a gap.
	Values []float64
}

// Query selects the object, the metrics and the time of a history.
type Query struct {
	Kind Kind
	// Name is SWITCH/PORT for a port, SWITCH/PORT/QUEUE for a queue, SWITCH/PREFIX for a local SID,
	// and that of the readings for others.
	Name string
	// Metrics are names of metrics; none: all.
	Metrics []string
	// Since and Until bound it; the time since Since must be positive.
	Since, Until time.Time
	// Step is raised to the step of the available values, and to a step that makes at most MaxPoints.
	Step time.Duration
}

// parse returns where an object is.
func parse(k Kind, name string) (shard string, _ key, ok bool) {
	if !k.onSwitch() {
		return shardOf(k), key{k, 0, name}, true
	}
	if k == SID {
		bits := strings.LastIndexByte(name, '/')
		i := strings.LastIndexByte(name[:max(bits, 0)], '/')
		p, err := netip.ParsePrefix(name[i+1:])
		if i < 0 || err != nil {
			return "", key{}, false
		}
		return name[:i], key{kind: SID, name: p.String()}, true
	}
	queue := ""
	if k == Queue {
		i := strings.LastIndexByte(name, '/')
		if i < 0 {
			return "", key{}, false
		}
		name, queue = name[:i], name[i+1:]
	}
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return "", key{}, false
	}
	port, err := strconv.ParseUint(name[i+1:], 10, 32)
	if err != nil {
		return "", key{}, false
	}
	return name[:i], key{k, uint32(port), queue}, true
}

// fullName is the opposite of parse.
func (s *shard) fullName(k *key) string {
	if !k.kind.onSwitch() {
		return k.name
	}
	if k.kind == SID {
		return s.name + "/" + k.name
	}
	port := s.name + "/" + strconv.FormatUint(uint64(k.port), 10)
	if k.kind == Queue {
		return port + "/" + k.name
	}
	return port
}

// wanted returns the set of metrics of some names; all without any.
func wanted(k Kind, names []string) (m mask, err error) {
	for _, name := range names {
		i := slices.IndexFunc(metrics[k], func(x Metric) bool { return x.Name == name })
		if i < 0 {
			return 0, fmt.Errorf("%w: %q: want one of %v", ErrUnknown, name, metricNames(k))
		}
		m |= 1 << i
	}
	if len(names) == 0 {
		m = 1<<len(metrics[k]) - 1
	}
	return m, nil
}

// History returns what an object did. The error is ErrNotFound or ErrUnknown, with the known
// metrics.
func (st *Store) History(q Query, now time.Time) (History, error) {
	m, err := wanted(q.Kind, q.Metrics)
	if err != nil {
		return History{}, err
	}
	name, k, ok := parse(q.Kind, q.Name)
	s := st.find(name)
	if !ok || s == nil {
		return History{}, ErrNotFound
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.index[k]
	if !ok {
		return History{}, ErrNotFound
	}
	since, until := max(q.Since.Unix(), now.Unix()-coarseKept), min(q.Until.Unix(), now.Unix())
	step := max(1, int64(q.Step/time.Second), (until-since+MaxPoints-1)/MaxPoints)
	if since < now.Unix()-fineKept || step >= coarseStep {
		step = (step + coarseStep - 1) / coarseStep * coarseStep
	}
	since -= since % step
	out := newSums(m, since, step, max(0, (until-since+step)/step))
	if step%coarseStep == 0 {
		s.coarseValues(int(i), m, since, until, out)
	}
	s.fineValues(int(i), m, since, until, out, step%coarseStep == 0)
	h := out.history(q.Kind)
	if q.Kind == Port {
		h.Speed = s.speeds[k.port]
	}
	return h, nil
}

// fineValues adds the seconds of an object; open: only those that are in no minute of the coarse
// head yet.
func (s *shard) fineValues(object int, m mask, since, until int64, out *sums, open bool) {
	var c columns
	for i := range s.minutes {
		if g := &s.minutes[i]; !open && g.start+fineSpan > since && g.start <= until {
			c.decode(g.block(object), fineSpan, 0, fineSpan, m)
			out.add(&c, g.start, 1, fineSpan)
		}
	}
	for from := s.fine.start; from < s.fine.end(); from += maxSpan {
		span := int(min(maxSpan, s.fine.end()-from))
		s.fill(&c, &s.objects[object], from, span, m)
		out.add(&c, from, 1, span)
	}
}

// coarseValues adds the minutes of an object.
func (s *shard) coarseValues(object int, m mask, since, until int64, out *sums) {
	var c columns
	for i := range s.hours {
		if g := &s.hours[i]; g.start+coarseTotal > since && g.start <= until {
			c.decode(g.block(object), coarseSpan, 0, coarseSpan, m)
			out.add(&c, g.start, coarseStep, coarseSpan)
		}
	}
	s.fillCoarse(&c, &s.objects[object], m)
	out.add(&c, s.coarse.start, coarseStep, coarseSpan)
}

// sums are values by metric and step.
type sums struct {
	known       mask
	start, step int64
	points      int
	sum, most   [maxMetrics][]float64
	weight      [maxMetrics][]float64
}

func newSums(m mask, start, step, points int64) *sums {
	s := &sums{start: start, step: step, points: int(points)}
	m.each(func(i int) {
		all := make([]float64, 3*points)
		s.sum[i], s.most[i], s.weight[i] = all[:points], all[points:2*points], all[2*points:]
	})
	return s
}

// add adds the values of columns whose places are every seconds apart.
func (s *sums) add(c *columns, start, every int64, span int) {
	if c.present == 0 {
		return
	}
	c.known.each(func(m int) {
		for i := range span {
			at := start + int64(i)*every - s.start
			if at < 0 || at >= int64(s.points)*s.step {
				continue
			}
			if v, ok := c.at(m, i); ok {
				p := at / s.step
				s.sum[m][p] += v * float64(every)
				s.weight[m][p] += float64(every)
				s.most[m][p] = max(s.most[m][p], v)
				s.known |= 1 << m
			}
		}
	})
}

// recent is how many seconds at the end of a history may lack values because they are still to
// come.
const recent = 5

func (s *sums) history(k Kind) History {
	n := s.points
	for n > 0 && int64(s.points-n)*s.step < recent && s.empty(n-1) {
		n--
	}
	h := History{Step: time.Duration(s.step) * time.Second, Times: make([]int64, n),
		Series: []Series{}}
	for i := range h.Times {
		h.Times[i] = s.start + int64(i)*s.step
	}
	s.known.each(func(m int) {
		out := Series{Metric: metrics[k][m], Values: make([]float64, n)}
		for i := range out.Values {
			switch {
			case s.weight[m][i] == 0:
				out.Values[i] = math.NaN()
			case out.Metric.gauge:
				out.Values[i] = s.most[m][i] * out.Metric.scale
			default:
				out.Values[i] = s.sum[m][i] / s.weight[m][i] * out.Metric.scale
			}
		}
		h.Series = append(h.Series, out)
	})
	return h
}

func (s *sums) empty(point int) bool {
	none := true
	s.known.each(func(m int) { none = none && s.weight[m][point] == 0 })
	return none
}
