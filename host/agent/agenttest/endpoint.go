// Package agenttest is an endpoint without a network: a thin host.
package agenttest

import (
	"sync"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/api/hostapi/hostapitest"
	"github.com/weft-sdn/weft/host/agent"
)

// An Endpoint keeps the states that an agent hands over. Tests set its fields before they use it.
// Its methods are safe for concurrent use.
type Endpoint struct {
	// Device has its capabilities; hostapitest.Capabilities when zero.
	Device hostapi.Capabilities
	// Refuse, when not nil, reports why a change is not applied.
	Refuse func(agent.Change) error
	// Applied, when not nil, is notified of every state that the endpoint holds.
	Applied func(*hostapi.State)
	// Forget: Changes and State are not kept.
	Forget bool
	// Answer, when not nil, makes the result of a probe; without it a probe is answered as sent.
	Answer func(*hostapi.Probe, func(hostapi.ProbeResult))

	mu      sync.Mutex
	state   *hostapi.State
	changes []agent.Change
	counts  []hostapi.EVCount
}

// Capabilities are Device.
func (e *Endpoint) Capabilities() hostapi.Capabilities {
	if e.Device.EVMaxProfiles == 0 {
		return hostapitest.Capabilities()
	}
	return e.Device
}

// Apply keeps the change.
func (e *Endpoint) Apply(c agent.Change) error {
	if e.Refuse != nil {
		if err := e.Refuse(c); err != nil {
			return err
		}
	}
	if !e.Forget {
		e.mu.Lock()
		e.state = c.To
		e.changes = append(e.changes, c)
		e.mu.Unlock()
	}
	if e.Applied != nil {
		e.Applied(c.To)
	}
	return nil
}

// Probe answers, by Answer or at once.
func (e *Endpoint) Probe(p *hostapi.Probe, done func(hostapi.ProbeResult)) {
	if e.Answer != nil {
		e.Answer(p, done)
		return
	}
	done(hostapi.ProbeResult{Sent: p.Count, Received: p.Count, RTTMin: 1000, RTTMean: 1500,
		RTTMax: 2000, Port: p.EV.Port})
}

// Counts are the counts of SetCounts.
func (e *Endpoint) Counts(yield func(hostapi.EVCount) bool) {
	e.mu.Lock()
	counts := e.counts
	e.mu.Unlock()
	for _, c := range counts {
		if !yield(c) {
			return
		}
	}
}

// SetCounts sets what Counts says.
func (e *Endpoint) SetCounts(counts ...hostapi.EVCount) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counts = counts
}

// State returns the state that the endpoint holds; nil before the first change.
func (e *Endpoint) State() *hostapi.State {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state
}

// Changes returns the changes applied so far, in order.
func (e *Endpoint) Changes() []agent.Change {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]agent.Change(nil), e.changes...)
}
