package agent

import (
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
)

// A Device is an endpoint that has neither a lock nor a clock: one goroutine owns it. A *nic.NIC is
// one.
type Device interface {
	Capabilities() hostapi.Capabilities
	// Apply and Probe are an Endpoint's. done is called on the owner's goroutine.
	Apply(to *hostapi.State) error
	Probe(now time.Duration, p *hostapi.Probe, done func(hostapi.ProbeResult))
	Counts(yield func(hostapi.EVCount) bool)
}

// Serialized returns the endpoint of a device. do runs f on the device's goroutine, with the time
// there, then does the work that follows any call of the device, and returns. Its error means that
// f did not run, for example because the device has ended.
func Serialized(d Device, do func(f func(now time.Duration)) error) Endpoint {
	return serialized{d, do}
}

type serialized struct {
	device Device
	do     func(f func(now time.Duration)) error
}

// Capabilities are the device's; none when it has ended.
func (o serialized) Capabilities() (c hostapi.Capabilities) {
	_ = o.do(func(time.Duration) { c = o.device.Capabilities() })
	return c
}

// Apply applies the state that a change leads to.
func (o serialized) Apply(c Change) (err error) {
	if ended := o.do(func(time.Duration) { err = o.device.Apply(c.To) }); ended != nil {
		return ended
	}
	return err
}

// Probe makes the device send EV probes.
func (o serialized) Probe(p *hostapi.Probe, done func(hostapi.ProbeResult)) {
	if ended := o.do(func(now time.Duration) { o.device.Probe(now, p, done) }); ended != nil {
		done(hostapi.ProbeResult{ID: p.ID, Err: ended.Error()})
	}
}

// SelfProbe has the device follow a plan, if the device takes one.
func (o serialized) SelfProbe(p *hostapi.SelfProbes) {
	if d, ok := o.device.(interface {
		SelfProbe(now time.Duration, p *hostapi.SelfProbes)
	}); ok {
		_ = o.do(func(now time.Duration) { d.SelfProbe(now, p) })
	}
}

// Counts yields the counters of the device at one time.
func (o serialized) Counts(yield func(hostapi.EVCount) bool) {
	var all []hostapi.EVCount
	_ = o.do(func(time.Duration) {
		o.device.Counts(func(c hostapi.EVCount) bool {
			all = append(all, c)
			return true
		})
	})
	for _, c := range all {
		if !yield(c) {
			return
		}
	}
}

// QueuePairs returns the queue pairs of the device at one time; none if the device does not report
// queue pairs.
func (o serialized) QueuePairs() (groups []hostapi.QueuePairGroup) {
	if d, ok := o.device.(Occupied); ok {
		_ = o.do(func(time.Duration) { groups = d.QueuePairs() })
	}
	return groups
}
