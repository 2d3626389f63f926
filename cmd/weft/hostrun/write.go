package hostrun

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weft-sdn/weft/endpoint/verbs"
)

// Write is a file that is sent by RDMA WRITE.
type Write struct {
	QPN  uint32 `yaml:"qpn"` // of the sending queue pair; default: the only one
	File string `yaml:"file"`
	RKey uint32 `yaml:"rkey"`
	VA   uint64 `yaml:"va"` // where the first octet goes; default 0
	// Message is the longest WRITE in octets. Default 1048576.
	Message int `yaml:"message"`
}

const (
	defaultMessage = 1 << 20
	maxMessage     = 1 << 30
)

// Complete fills in defaults and checks the write with an index of a host that has these queue pairs. Its error is a *FieldError.
func (w *Write) Complete(i int, qpns []uint32) error {
	var faults []error
	at := fmt.Sprintf("writes[%d]", i)
	if w.QPN == 0 && len(qpns) == 1 {
		w.QPN = qpns[0]
	}
	if !slices.Contains(qpns, w.QPN) {
		faults = append(faults, Fault(at+".qpn", "%d is not one of queuePairs", w.QPN))
	}
	if w.File == "" {
		faults = append(faults, Fault(at+".file", "is missing"))
	}
	if w.Message == 0 {
		w.Message = defaultMessage
	}
	if w.Message < 1 || w.Message > maxMessage {
		faults = append(faults, Fault(at+".message", "is %d: want 1 to %d octets", w.Message, maxMessage))
	}
	return errors.Join(faults...)
}

// writing is a Write under way.
type writing struct {
	Write
	immediate        *uint32 // that goes with its last WRITE
	data             []byte
	posted, complete int // octets
	began, ended     time.Duration
	status           verbs.Status
}

func (w *writing) done() bool { return w.complete == len(w.data) && w.posted == len(w.data) }

// WriteReport is what became of a write.
type WriteReport struct {
	File    string  `json:"file"`
	Octets  uint64  `json:"octets"` // acknowledged
	Seconds float64 `json:"seconds"`
	Status  string  `json:"status"` // "ok", "unfinished", or why it failed
	SHA256  string  `json:"sha256"` // of the file
}

// Writes reports the writes.
func (r *Runner) Writes(n Counts) (out []WriteReport) {
	for _, w := range r.writes {
		ended, status := w.ended, w.status.String()
		if ended == 0 {
			ended, status = n.SinceStart, "unfinished"
		}
		out = append(out, WriteReport{
			File: w.File, Octets: uint64(w.complete), Seconds: Seconds(ended - w.began), Status: status, SHA256: digest(w.data),
		})
	}
	return out
}
