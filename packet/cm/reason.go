package cm

import "fmt"

// Reason is why a REJ refuses (IBTA volume 1, section 12.6.7.2).
type Reason uint16

// The reasons that Weft gives, or that hosts give to it.
const (
	NoQP              Reason = 1
	NoResources       Reason = 3
	TimedOut          Reason = 4
	UnsupportedReq    Reason = 5
	InvalidCommID     Reason = 6
	InvalidInstance   Reason = 7
	InvalidServiceID  Reason = 8
	InvalidService    Reason = 9 // transport service type
	StaleConnection   Reason = 10
	InvalidGID        Reason = 12
	InvalidMTU        Reason = 26
	ConsumerReject    Reason = 28
	DuplicateCommID   Reason = 30
	InvalidClass      Reason = 31 // class version
	InvalidFlowLabel  Reason = 32
	UnsupportedVendor Reason = 35
)

var reasonNames = map[Reason]string{
	NoQP: "no queue pair available", NoResources: "no resources available", TimedOut: "timeout",
	UnsupportedReq: "unsupported request", InvalidCommID: "invalid communication id",
	InvalidInstance: "invalid communication instance", InvalidServiceID: "invalid service id",
	InvalidService: "invalid transport service type", StaleConnection: "stale connection",
	InvalidGID: "invalid primary remote port GID", InvalidMTU: "path MTU not supported",
	ConsumerReject: "rejected by the consumer", DuplicateCommID: "duplicate local communication id",
	InvalidClass: "unsupported class version", InvalidFlowLabel: "invalid primary flow label",
	UnsupportedVendor: "vendor option not supported",
}

// String returns the reason in words, or its number.
func (r Reason) String() string {
	if name := reasonNames[r]; name != "" {
		return name
	}
	return fmt.Sprintf("reason %d", uint16(r))
}
