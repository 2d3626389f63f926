package agent

import "github.com/weft-sdn/weft/api/hostapi"

// An Endpoint holds what the controller sends: a software transport, or a NIC by its driver. Its
// methods are called one at a time; it may call the Agent's methods meanwhile.
type Endpoint interface {
	// Capabilities are asked for at every connection.
	Capabilities() hostapi.Capabilities
	// Apply makes the endpoint hold c.To in place of c.From, all of it or, with an error, nothing.
	// c.To is within the rules and the capabilities. An error that is a *hostapi.FieldError names
	// the field and reports whether it may pass (CodeBusy).
	Apply(c Change) error
	// Probe makes EV probes, and has done called once when it has the result: later, and from any
	// goroutine. The result's ID is filled in by the agent.
	Probe(p *hostapi.Probe, done func(hostapi.ProbeResult))
	// Counts calls yield with the counters of EVs, those that changed at least, until it returns
	// false.
	Counts(yield func(hostapi.EVCount) bool)
}

// An Occupied endpoint knows of the queue pairs that applications have made; others report none.
type Occupied interface {
	// QueuePairs groups them, in any order.
	QueuePairs() []hostapi.QueuePairGroup
}

// A SelfProber is an endpoint that sends probes to itself; its Capabilities have SelfProbes.
type SelfProber interface {
	// SelfProbe follows a plan in place of the plan before. What becomes of the probes goes to
	// Agent.SelfProbeCounts.
	SelfProbe(p *hostapi.SelfProbes)
}

// A Change leads from one state to another state; both are not nil.
type Change struct {
	From, To *hostapi.State
	// Delta holds the differences. Apply Delta in this order: removed profiles, set profiles (new
	// profiles, or replacements of the profile with the name), then EV changes of other profiles:
	// Replace, Allow, Deny. Set CC profiles before, and remove CC profiles after, the profiles that
	// name them.
	Delta hostapi.Delta
}
