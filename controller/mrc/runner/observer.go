package runner

import (
	"fmt"
	"strings"

	"github.com/weft-sdn/weft/api/hostapi"
)

// The methods below implement hosts.Observer. The core counts errors in reports of hosts.

// Hello admits hosts of the inventory, even hosts attached to no known switch: these hosts get no
// state yet.
func (r *Runner) Hello(host string, h *hostapi.Hello) error {
	if !r.known[host] {
		return fmt.Errorf("%.80q is no host of the controller's inventory", host)
	}
	r.post(func() {
		if _, ok := r.attached[host]; ok {
			_ = r.core.Hello(host, h) // it is there
			return
		}
		r.waiting[host] = &waiting{hello: h}
	})
	return nil
}

// welcome informs the core of a stream that a host had before it was attached.
func (r *Runner) welcome(host string) {
	w := r.waiting[host]
	delete(r.waiting, host)
	if w == nil {
		return
	}
	_ = r.core.Hello(host, w.hello)
	if w.up != nil {
		_ = r.core.PortStatus(host, *w.up)
	}
	if w.errors != nil {
		_ = r.core.PortErrors(host, w.errors)
	}
}

// Applied notes that a host holds the state that the controller sent.
func (r *Runner) Applied(host string, _ hostapi.Version, refusals []hostapi.Refused) {
	r.mu.Lock()
	seq := r.seqs[host]
	s, ok := r.streams.Status(host)
	r.mu.Unlock()
	r.post(func() {
		_ = r.core.Refused(host, describe(refusals))
		if ok && s.Obeys && seq > 0 {
			_ = r.core.Applied(host, seq)
		}
	})
}

// Refused is a host that does not take something.
func (r *Runner) Refused(host string, f *hostapi.Refused) {
	r.post(func() { _ = r.core.Refused(host, describe([]hostapi.Refused{*f})) })
}

// describe reports what a host does not take.
func describe(refusals []hostapi.Refused) string {
	text := make([]string, len(refusals))
	for i := range refusals {
		text[i] = refusals[i].Error().Error()
	}
	return strings.Join(text, "; ")
}

// EVEvents are EVs that a host found bad, or good again.
func (r *Runner) EVEvents(host string, e *hostapi.EVEvents) {
	r.post(func() { _ = r.core.EVEvents(host, e) })
}

// EVCounts hands the counts of EVs to the core.
func (r *Runner) EVCounts(host string, c *hostapi.EVCounts) {
	r.post(func() { _ = r.core.EVCounts(host, c) })
}

// ProbeResult hands the result of a probe to the core.
func (r *Runner) ProbeResult(host string, p *hostapi.ProbeResult) {
	r.post(func() { _ = r.core.ProbeResult(host, p) })
}

// PortStatus notes the ports of a host that are up.
func (r *Runner) PortStatus(host string, up hostapi.PortMask) {
	r.post(func() {
		if w := r.waiting[host]; w != nil {
			w.up = &up
			return
		}
		_ = r.core.PortStatus(host, up)
	})
}

// QueuePairs notes the queue pairs that applications have created on a host.
func (r *Runner) QueuePairs(host string, q *hostapi.QueuePairs) {
	r.post(func() { _ = r.core.QueuePairs(host, q) }) // one that is not attached has none
}

// PortErrors notes the counters of errors of a host's ports.
func (r *Runner) PortErrors(host string, e *hostapi.PortErrors) {
	r.post(func() {
		if w := r.waiting[host]; w != nil {
			w.errors = e
			return
		}
		_ = r.core.PortErrors(host, e)
	})
}

// SelfProbeCounts notes the results of a host's probes to itself.
func (r *Runner) SelfProbeCounts(host string, c *hostapi.SelfProbeCounts) {
	r.post(func() { _ = r.core.SelfProbeCounts(host, c) })
}

// Gone is the end of a host's stream.
func (r *Runner) Gone(host string, _ error) {
	r.post(func() {
		delete(r.waiting, host)
		if _, ok := r.attached[host]; ok {
			_ = r.core.Gone(host)
		}
	})
}
