package hosts

import "github.com/weft-sdn/weft/hostapi"

// An Observer is told what hosts report. Calls for one host come one after the other, Hello first
// and Gone last; those for different hosts come at the same time. A call that takes long holds up
// its host, and no other. An Observer may call the Server's methods.
type Observer interface {
	// Hello is a host that has opened a stream; an error refuses it, and is told to the host.
	Hello(host string, h *hostapi.Hello) error
	// Applied is the version that a host holds now. The refusals are what it would not take of what it
	// was to hold, those of its capabilities among them; none: it holds everything. It is said again
	// after Server.Set and after Hello when the host needed no update: [Status.Obeys] reports whether
	// it is up to date.
	Applied(host string, v hostapi.Version, refusals []hostapi.Refused)
	// Refused is an update that a host did not apply, or a profile that it was not sent because its
	// capabilities do not allow for it (a zero version).
	Refused(host string, r *hostapi.Refused)
	// EVEvents are EVs that changed state, all of them known ones.
	EVEvents(host string, e *hostapi.EVEvents)
	// EVCounts are counters of EVs, all of them known ones.
	EVCounts(host string, c *hostapi.EVCounts)
	// ProbeResult is the answer to Server.Probe.
	ProbeResult(host string, r *hostapi.ProbeResult)
	// PortStatus is the host's ports that are up.
	PortStatus(host string, up hostapi.PortMask)
	// QueuePairs is what applications have made on the host, in place of what was said before.
	QueuePairs(host string, q *hostapi.QueuePairs)
	// Gone is the end of a host's stream, and why. A host that was told something keeps it.
	Gone(host string, err error)
}
