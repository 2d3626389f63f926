package hoststest

import "github.com/weft-sdn/weft/api/hostapi"

// Silent is an observer that remembers nothing.
type Silent struct{}

// Hello lets every host in.
func (Silent) Hello(string, *hostapi.Hello) error { return nil }

// Applied does nothing.
func (Silent) Applied(string, hostapi.Version, []hostapi.Refused) {}

// Refused does nothing.
func (Silent) Refused(string, *hostapi.Refused) {}

// EVEvents does nothing.
func (Silent) EVEvents(string, *hostapi.EVEvents) {}

// EVCounts does nothing.
func (Silent) EVCounts(string, *hostapi.EVCounts) {}

// ProbeResult does nothing.
func (Silent) ProbeResult(string, *hostapi.ProbeResult) {}

// PortStatus does nothing.
func (Silent) PortStatus(string, hostapi.PortMask) {}

// PortErrors does nothing.
func (Silent) PortErrors(string, *hostapi.PortErrors) {}

// SelfProbeCounts does nothing.
func (Silent) SelfProbeCounts(string, *hostapi.SelfProbeCounts) {}

// QueuePairs does nothing.
func (Silent) QueuePairs(string, *hostapi.QueuePairs) {}

// Gone does nothing.
func (Silent) Gone(string, error) {}
