package rocehost

import (
	"github.com/weft-sdn/weft/host/hostrun"
	"github.com/weft-sdn/weft/host/rc"
)

// Report is what a host did.
type Report struct {
	Host       string                 `json:"host"`
	Seconds    float64                `json:"seconds"`
	Written    uint64                 `json:"written"`  // octets acknowledged
	Received   uint64                 `json:"received"` // octets of payload executed
	Writes     []hostrun.WriteReport  `json:"writes,omitempty"`
	Regions    []hostrun.RegionReport `json:"regions,omitempty"`
	QueuePairs []QueuePairReport      `json:"queuePairs"`
	Counters   hostrun.HostCounters   `json:"counters"`
}

// QueuePairReport counts the packets of a queue pair.
type QueuePairReport struct {
	QPN    uint32 `json:"qpn"`
	Failed bool   `json:"failed"`

	RequestsSent   uint64 `json:"requestsSent"`
	RequestsResent uint64 `json:"requestsResent"`
	AcksReceived   uint64 `json:"acksReceived"`
	NAKsReceived   uint64 `json:"naksReceived"`
	RNRsReceived   uint64 `json:"rnrsReceived"`
	CNPsReceived   uint64 `json:"cnpsReceived"`
	Timeouts       uint64 `json:"timeouts"`
	MaxRetryRun    uint64 `json:"maxRetryRun"`

	RequestsReceived uint64 `json:"requestsReceived"`
	PayloadReceived  uint64 `json:"payloadReceived"`
	Duplicates       uint64 `json:"duplicates"`
	OutOfOrder       uint64 `json:"outOfOrder"`
	AcksSent         uint64 `json:"acksSent"`
	NAKsSent         uint64 `json:"naksSent"`
	RNRsSent         uint64 `json:"rnrsSent"`
	CNPsSent         uint64 `json:"cnpsSent"`
}

// report also saves the regions that are to be saved.
func (r *runner) report() (*Report, error) {
	n, c := r.Counts(), r.host.Counters()
	out := &Report{
		Host: r.cfg.Name, Seconds: hostrun.Seconds(n.SinceStart), Written: n.Written,
		Received: n.Received, Writes: r.Writes(n),
		Counters: hostrun.HostCounters{
			FramesReceived: c.FramesReceived, OctetsReceived: c.OctetsReceived, FramesSent: c.FramesSent,
			OctetsSent: c.OctetsSent, Refused: c.Refused.Map(),
		},
	}
	r.CountDrops(&out.Counters)
	var err error
	out.Regions, err = r.SaveRegions()
	for _, q := range r.queues {
		out.QueuePairs = append(out.QueuePairs, queuePairReport(q.qp))
	}
	return out, err
}

func queuePairReport(q *rc.QP) QueuePairReport {
	c := q.Counters()
	return QueuePairReport{
		QPN: q.Config().QPN, Failed: q.Failed(),
		RequestsSent: c.RequestsSent, RequestsResent: c.RequestsResent, AcksReceived: c.AcksReceived,
		NAKsReceived: c.NAKsReceived,
		RNRsReceived: c.RNRsReceived, CNPsReceived: c.CNPsReceived, Timeouts: c.Timeouts,
		MaxRetryRun:      c.MaxRetryRun,
		RequestsReceived: c.RequestsReceived, PayloadReceived: c.PayloadReceived,
		Duplicates: c.Duplicates, OutOfOrder: c.OutOfOrder,
		AcksSent: c.AcksSent, NAKsSent: c.NAKsSent, RNRsSent: c.RNRsSent, CNPsSent: c.CNPsSent,
	}
}
