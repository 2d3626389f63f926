package agent

import "github.com/weft-sdn/weft/hostapi"

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

// A Change is from one state to another, neither of them nil.
type Change struct {
	From, To *hostapi.State
	// Delta is what differs, to be taken in this order: removed profiles, set profiles (new ones,
	// or in place of one of the name), then changes of EVs of the others: Replace, Allow, Deny. CC
	// profiles are set before and removed after the profiles that name them.
	Delta hostapi.Delta
}
