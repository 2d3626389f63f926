package mrc

import (
	"fmt"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
)

// For the tests that give queue pairs the real congestion control and sprayer, which import this
// package.

// RunWrites runs one seed of TestWrites with the given congestion control and sprayers.
func RunWrites(t *testing.T, seed uint64, congestion func(window, pmtu int) Congestion,
	sprayer func(seed uint64, planes int) Sprayer) (QPCounters, error) {
	var total QPCounters
	err := writes(t, seed, ends{congestion, sprayer, true}, &total)
	return total, err
}

// Incast is the outcome of an incast.
type Incast struct {
	Goodput           float64 // share of the bottleneck's rate
	Took              time.Duration
	Counters          QPCounters // of all senders
	Trimmed, Dropped  int
	Marked, Mismatch  int
	Slowest, Quickest time.Duration
}

// RunIncast has senders write so many octets each to one host over switches with queues of a
// bandwidth-delay product.
func RunIncast(t testing.TB, seed uint64, senders, planes, octets int, rate float64,
	delay time.Duration, congestion func() Congestion, sprayer func(seed uint64, planes int) Sprayer) (
	Incast, error) {
	l := newBed(t, seed, senders+1, planes)
	for i := range l.planes {
		l.planes[i].delay = delay
	}
	rtt := 4*delay + 2*time.Duration(4200*8e9/rate)
	l.switched(rate, int(rate/8*rtt.Seconds()))
	for _, h := range l.hosts {
		for i := range h.ports {
			h.ports[i].rate = rate
		}
	}
	l.region(0, octets)
	var qps []*QP
	data := make([]byte, octets)
	for i := range senders {
		q := l.pair(i+1, 0, func(side int, c *QPConfig) {
			c.Congestion, c.Sprayer = congestion(), sprayer(seed*1000+uint64(i*2+side), planes)
			c.AckTimeout = 10
		})[0]
		qps = append(qps, q)
		l.post(q, verbs.WorkRequest{Op: verbs.OpWrite, Data: data})
	}
	l.run(10*time.Second, func() bool {
		for _, q := range qps {
			if q.SendQueueLen() > 0 {
				return false
			}
		}
		return true
	})
	r := Incast{Took: l.Now()}
	for _, q := range qps {
		c, ok := q.Poll()
		if !ok || c.Status != verbs.StatusOK {
			return r, fmt.Errorf("completion %+v: %+v", c, q.Counters())
		}
		if r.Quickest == 0 || c.At < r.Quickest {
			r.Quickest = c.At
		}
		r.Slowest = max(r.Slowest, c.At)
		n := q.Counters()
		r.Counters.RequestsSent += n.RequestsSent
		r.Counters.RequestsResent += n.RequestsResent
		r.Counters.Timeouts += n.Timeouts
		r.Counters.SACKLosses += n.SACKLosses
		r.Counters.ProbeLosses += n.ProbeLosses
		r.Counters.NACKsReceived += n.NACKsReceived
		r.Counters.SACKsReceived += n.SACKsReceived
		r.Counters.ProbesSent += n.ProbesSent
		r.Mismatch += int(n.EVMismatch)
	}
	for i := range l.planes {
		for _, g := range l.planes[i].egress {
			r.Trimmed += g.trimmed
			r.Dropped += g.dropped
			r.Marked += g.ce
		}
	}
	r.Goodput = float64(senders*octets) * 8 / r.Took.Seconds() / (rate * float64(planes))
	return r, nil
}
