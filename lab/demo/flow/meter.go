package flow

import (
	"time"

	"github.com/weft-sdn/weft/lab"
)

// A Meter samples the octets that flows have delivered, and so knows their rate at any time.
type Meter struct {
	world   *lab.World
	flows   []*lab.Flow
	every   time.Duration
	samples []sample
	stopped bool
}

type sample struct {
	at     time.Duration
	octets uint64 // placed in the receivers' memory so far, each once
}

// NewMeter begins to sample some flows again and again, after a time of the world.
func NewMeter(w *lab.World, flows []*lab.Flow, every time.Duration) *Meter {
	m := &Meter{world: w, flows: flows, every: every}
	m.tick()
	return m
}

func (m *Meter) tick() {
	if m.stopped {
		return
	}
	s := sample{at: m.world.Now()}
	for _, f := range m.flows {
		s.octets += f.SinkQP.Counters().PayloadReceived
	}
	m.samples = append(m.samples, s)
	m.world.After(m.every, m.tick)
}

// Stop takes the last sample.
func (m *Meter) Stop() {
	if !m.stopped {
		m.tick()
		m.stopped = true
	}
}

// Rate returns the octets a second between two times, as far as samples reach; 0 with fewer than
// two samples.
func (m *Meter) Rate(from, to time.Duration) float64 {
	var first, last *sample
	for i := range m.samples {
		s := &m.samples[i]
		if s.at <= from || first == nil {
			first = s
		}
		if s.at <= to {
			last = s
		}
	}
	if first == nil || last == nil || last.at <= first.at {
		return 0
	}
	return float64(last.octets-first.octets) / (last.at - first.at).Seconds()
}
