// Package hoststest is an observer that remembers.
package hoststest

import (
	"fmt"
	"sync"

	"github.com/weft-sdn/weft/api/hostapi"
)

// An Observer remembers what hosts said, one line each, host by host. Its methods are safe for
// concurrent use.
type Observer struct {
	// Refuse, when not nil, reports why a host may have no stream.
	Refuse func(host string, h *hostapi.Hello) error
	// OnHello, when not nil, is called for every host that may.
	OnHello func(host string, h *hostapi.Hello)
	// OnApplied, when not nil, is called for every update that was applied.
	OnApplied func(host string, v hostapi.Version)

	mu     sync.Mutex
	said   map[string][]string
	events map[string][]hostapi.EVEvent
	counts map[string][]hostapi.EVCount
	result map[string]hostapi.ProbeResult
}

func (o *Observer) note(host, format string, args ...any) {
	if o.said == nil {
		o.said = make(map[string][]string)
		o.events = make(map[string][]hostapi.EVEvent)
		o.counts = make(map[string][]hostapi.EVCount)
		o.result = make(map[string]hostapi.ProbeResult)
	}
	o.said[host] = append(o.said[host], fmt.Sprintf(format, args...))
}

// Said returns the reports of a host so far.
func (o *Observer) Said(host string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.said[host]...)
}

// Events are a host's EV events so far.
func (o *Observer) Events(host string) []hostapi.EVEvent {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]hostapi.EVEvent(nil), o.events[host]...)
}

// Result is a host's last probe result.
func (o *Observer) Result(host string) hostapi.ProbeResult {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.result[host]
}

// Counts are a host's counters so far.
func (o *Observer) Counts(host string) []hostapi.EVCount {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]hostapi.EVCount(nil), o.counts[host]...)
}

// Hello remembers "hello".
func (o *Observer) Hello(host string, h *hostapi.Hello) error {
	if o.Refuse != nil {
		if err := o.Refuse(host, h); err != nil {
			return err
		}
	}
	o.mu.Lock()
	o.note(host, "hello %v", h.Version)
	o.mu.Unlock()
	if o.OnHello != nil {
		o.OnHello(host, h)
	}
	return nil
}

// Applied remembers "applied N", and what was left out.
func (o *Observer) Applied(host string, v hostapi.Version, refusals []hostapi.Refused) {
	o.mu.Lock()
	o.note(host, "applied %d", v.Number)
	for _, r := range refusals {
		o.note(host, "without %s", r.Field)
	}
	o.mu.Unlock()
	if o.OnApplied != nil {
		o.OnApplied(host, v)
	}
}

// Refused remembers "refused N: why".
func (o *Observer) Refused(host string, r *hostapi.Refused) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.note(host, "refused %d: %v: %v", r.Version.Number, r.Code, r.Error())
}

// EVEvents remembers the events.
func (o *Observer) EVEvents(host string, e *hostapi.EVEvents) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.note(host, "%d events, %d dropped", len(e.Events), e.Dropped)
	o.events[host] = append(o.events[host], e.Events...)
}

// EVCounts remembers the counters.
func (o *Observer) EVCounts(host string, c *hostapi.EVCounts) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.note(host, "%d counts", len(c.Counts))
	o.counts[host] = append(o.counts[host], c.Counts...)
}

// ProbeResult remembers "probe ID: received of sent".
func (o *Observer) ProbeResult(host string, r *hostapi.ProbeResult) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.note(host, "probe %d: %d of %d %s", r.ID, r.Received, r.Sent, r.Err)
	o.result[host] = *r
}

// PortStatus remembers "ports MASK".
func (o *Observer) PortStatus(host string, up hostapi.PortMask) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.note(host, "ports %#x", uint32(up))
}

// QueuePairs remembers "queue pairs" and the groups.
func (o *Observer) QueuePairs(host string, q *hostapi.QueuePairs) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.note(host, "queue pairs %v, %d more", q.Groups, q.LeftOut)
}

// PortErrors remembers "port errors" and the counters.
func (o *Observer) PortErrors(host string, e *hostapi.PortErrors) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.note(host, "port errors %v, %d more", e.Errors, e.LeftOut)
}

// SelfProbeCounts remembers "self-probes N" and each target, passed and lost.
func (o *Observer) SelfProbeCounts(host string, c *hostapi.SelfProbeCounts) {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := ""
	for _, n := range c.Counts {
		text += fmt.Sprintf(" %d: %d %d", n.Target, n.Passed, n.Lost)
	}
	o.note(host, "self-probes %d%s", c.Version.Number, text)
}

// Gone remembers "gone".
func (o *Observer) Gone(host string, _ error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.note(host, "gone")
}
