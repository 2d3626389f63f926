package hosts

import "github.com/weft-sdn/weft/api/hostapi"

// An Observer is told what hosts report. Calls for one host come one after the other, Hello first
// and Gone last; those for different hosts come at the same time. A call that takes long holds up
// its host, and no other. An Observer may call the Server's methods.
type Observer interface {
	// Hello reports a host that has opened a stream. An error refuses the host, and the server sends
	// the error to the host.
	Hello(host string, h *hostapi.Hello) error
	// Applied reports the version that a host holds now. The refusals list the parts of the wanted
	// state that the host does not take, including parts beyond its capabilities; none: the host holds
	// everything. Applied is called again after Server.Set and after Hello if the host needed no
	// update: [Status.Obeys] reports whether the host is up to date.
	Applied(host string, v hostapi.Version, refusals []hostapi.Refused)
	// Refused reports an update that a host did not apply, or a profile that the server did not send
	// because the host's capabilities do not allow the profile (a zero version).
	Refused(host string, r *hostapi.Refused)
	// EVEvents reports state changes of EVs that the controller knows.
	EVEvents(host string, e *hostapi.EVEvents)
	// EVCounts reports counters of EVs that the controller knows.
	EVCounts(host string, c *hostapi.EVCounts)
	// ProbeResult reports the answer to Server.Probe.
	ProbeResult(host string, r *hostapi.ProbeResult)
	// PortStatus reports the host's ports that are up.
	PortStatus(host string, up hostapi.PortMask)
	// QueuePairs reports the queue pairs that applications have made on the host, and replaces the
	// previous report.
	QueuePairs(host string, q *hostapi.QueuePairs)
	// PortErrors reports the counters of errors of the host's ports, and replaces the previous report.
	PortErrors(host string, e *hostapi.PortErrors)
	// SelfProbeCounts reports what became of the probes of the host to itself.
	SelfProbeCounts(host string, c *hostapi.SelfProbeCounts)
	// Gone reports the end of a host's stream, and the reason. The host keeps its state.
	Gone(host string, err error)
}
