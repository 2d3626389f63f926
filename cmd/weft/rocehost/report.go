package rocehost

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"time"

	"github.com/weft-sdn/weft/endpoint"
)

// Report is what a host did.
type Report struct {
	Host       string            `json:"host"`
	Seconds    float64           `json:"seconds"`
	Written    uint64            `json:"written"`  // octets acknowledged
	Received   uint64            `json:"received"` // octets of payload executed
	Writes     []WriteReport     `json:"writes,omitempty"`
	Regions    []RegionReport    `json:"regions,omitempty"`
	QueuePairs []QueuePairReport `json:"queuePairs"`
	Counters   HostCounters      `json:"counters"`
}

// WriteReport is what became of a write.
type WriteReport struct {
	File    string  `json:"file"`
	Octets  uint64  `json:"octets"` // acknowledged
	Seconds float64 `json:"seconds"`
	Status  string  `json:"status"` // "ok", "unfinished", or why it failed
	SHA256  string  `json:"sha256"` // of the file
}

// RegionReport is what a region holds at the end.
type RegionReport struct {
	RKey   uint32 `json:"rkey"`
	VA     uint64 `json:"va"`
	Size   int    `json:"size"`
	SHA256 string `json:"sha256"`
	Saved  string `json:"saved,omitempty"`
}

// HostCounters counts the frames of a host.
type HostCounters struct {
	FramesReceived uint64 `json:"framesReceived"`
	OctetsReceived uint64 `json:"octetsReceived"`
	FramesSent     uint64 `json:"framesSent"`
	OctetsSent     uint64 `json:"octetsSent"`
	SendDrops      uint64 `json:"sendDrops"`    // refused by the port
	ReceiveDrops   uint64 `json:"receiveDrops"` // came faster than they were handled
	// Refused counts frames that were not accepted, by reason.
	Refused map[string]uint64 `json:"refused"`
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
	n, c := r.counts(), r.host.Counters()
	out := &Report{
		Host: r.cfg.Name, Seconds: Seconds(n.SinceStart), Written: n.Written, Received: n.Received,
		Counters: HostCounters{
			FramesReceived: c.FramesReceived, OctetsReceived: c.OctetsReceived, FramesSent: c.FramesSent, OctetsSent: c.OctetsSent,
			SendDrops: r.refused, ReceiveDrops: r.dropped.Load(), Refused: c.Refused.Map(),
		},
	}
	for _, w := range r.writes {
		ended, status := w.ended, w.status.String()
		if ended == 0 {
			ended, status = n.SinceStart, "unfinished"
		}
		out.Writes = append(out.Writes, WriteReport{
			File: w.File, Octets: uint64(w.complete), Seconds: Seconds(ended - w.began), Status: status, SHA256: Digest(w.data),
		})
	}
	var errs []error
	for i, g := range r.regions {
		cfg := &r.cfg.Regions[i]
		report := RegionReport{RKey: cfg.RKey, VA: cfg.VA, Size: cfg.Size, SHA256: Digest(g.Buf())}
		if cfg.Save != "" {
			err := os.WriteFile(cfg.Save, g.Buf(), 0o644)
			if err == nil {
				report.Saved = cfg.Save
			}
			errs = append(errs, err)
		}
		out.Regions = append(out.Regions, report)
	}
	for i := range r.cfg.QueuePairs {
		q, err := r.host.QP(r.cfg.QueuePairs[i].QPN)
		if err != nil { // it was made by prepare
			errs = append(errs, err)
			continue
		}
		out.QueuePairs = append(out.QueuePairs, queuePairReport(q))
	}
	return out, errors.Join(errs...)
}

func queuePairReport(q *endpoint.QP) QueuePairReport {
	c := q.Counters()
	return QueuePairReport{
		QPN: q.Config().QPN, Failed: q.Failed(),
		RequestsSent: c.RequestsSent, RequestsResent: c.RequestsResent, AcksReceived: c.AcksReceived, NAKsReceived: c.NAKsReceived,
		RNRsReceived: c.RNRsReceived, CNPsReceived: c.CNPsReceived, Timeouts: c.Timeouts, MaxRetryRun: c.MaxRetryRun,
		RequestsReceived: c.RequestsReceived, PayloadReceived: c.PayloadReceived, Duplicates: c.Duplicates, OutOfOrder: c.OutOfOrder,
		AcksSent: c.AcksSent, NAKsSent: c.NAKsSent, RNRsSent: c.RNRsSent, CNPsSent: c.CNPsSent,
	}
}

// Digest is the SHA-256 of memory, in hexadecimal.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Seconds rounds to microseconds.
func Seconds(d time.Duration) float64 { return d.Round(time.Microsecond).Seconds() }
